package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// fabricated writes results in which every trial's RTT is known: rtt by stack
// and block; NaN is an invalid trial.
func fabricated(t testing.TB, file string, rtt func(at map[string]string, block int) float64,
	quality ...store.Quality) string {
	t.Helper()
	return exactly(rtt, quality...).write(t, file)
}

// exactly is the world in which every trial's RTT is known.
func exactly(rtt func(at map[string]string, block int) float64, quality ...store.Quality) world {
	w := world{value: func(map[string]string, measure.Side, string) (float64, float64) { return math.NaN(), 0 },
		method:  store.Measured,
		quality: func(map[string]string, int) []store.Quality { return quality }}
	w.exact = func(at map[string]string, block int) []store.Result {
		v := rtt(at, block)
		if math.IsNaN(v) {
			return nil
		}
		return []store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 100, Mean: v, SD: v / 10, Median: v,
			P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}}
	}
	return w
}

const twoStacks = "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [steady, spiky]}\ndesign: " +
	"{replications: 30, seed: 1}\n"

// wobble is a spread of 2 % that depends on the block only.
func wobble(block int) float64 { return 1 + 0.01*float64((block*7)%5-2) }

// A stack whose mean is higher is not called quicker by its typical trial, nor
// is a ratio below 1 called "next".
func TestMeanAndTypicalTrialMayDisagree(t *testing.T) {
	dir := fabricated(t, twoStacks, func(at map[string]string, block int) float64 {
		switch {
		case at["stack"] == "steady":
			return 1e-3 * wobble(block)
		case block%15 == 1:
			return 20e-3
		}
		return 0.5e-3 * wobble(block+1)
	})
	got := strings.Join(reportOf(t, dir).Verdict(), "\n")
	if strings.Contains(got, "next is spiky") || !strings.Contains(got, "mean and typical trial disagree") {
		t.Errorf("got %s", got)
	}
}

// Levels of a link are never ranked against each other, and the answer is no
// longer than a screen whatever the number of treatments.
func TestOneVerdictForEachLink(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	file := "study: s\nservice: monitor\nrequests: 100\nfactors:\n  stack: [a, b]\n  link: [none, {name: far, delay: " +
		"20ms}]\ndesign: {replications: 5, seed: 1}\n"
	dir := fabricated(t, file, func(at map[string]string, block int) float64 {
		v := map[string]float64{"a": 21e-6, "b": 30e-6}[at["stack"]] * wobble(block)
		if at["link"] == "far" {
			v += 40e-3 * wobble(block+2)
		}
		return v
	})
	lines := reportOf(t, dir).Verdict()
	for _, line := range lines {
		if strings.Contains(line, "none") && strings.Contains(line, "far") {
			t.Errorf("two links in one sentence: %s", line)
		}
	}
	for _, want := range []string{"Quickest, link none: a, 21.0 µs", "Quickest, link far: a, "} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("no %q in %q", want, lines)
		}
	}
	var text strings.Builder
	if err := reportOf(t, dir).Text(&text); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Contains(got, "sooner than far") || strings.Contains(got, "sooner than b") ||
		strings.Contains(got, "to answer as") {
		t.Errorf("the text says which link is quicker, or an average over links:\n%s", got)
	}
	var many []string
	for i := range 30 {
		many = append(many, "s"+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	file = "study: s\nservice: monitor\nrequests: 100\nfactors:\n  stack: [" + strings.Join(many, ", ") +
		"]\n  n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\ndesign: {replications: 3, seed: 1}\n"
	dir = fabricated(t, file, func(at map[string]string, block int) float64 { return 1e-3 * wobble(block+len(at["n"])) })
	var b strings.Builder
	for _, line := range reportOf(t, dir).Verdict() {
		wrap(&b, line, "  ")
	}
	if n := strings.Count(b.String(), "\n"); n > 30 {
		t.Errorf("the answer has %d lines:\n%s", n, b.String())
	}
}

// A busy machine stands in the answer itself.
func TestStarvationIsInTheAnswer(t *testing.T) {
	q := []store.Quality{{Key: "span", Unit: "s", Value: 1}, {Key: "run_queue_wait_client", Unit: "s", Value: 0.08},
		{Key: "stolen_client", Unit: "s", Value: 0.05}} // 0.13 together: over the limit of 0.1
	dir := fabricated(t, twoStacks, func(at map[string]string,
		block int) float64 {
		return 1e-3 * wobble(block+len(at["stack"]))
	}, q...)
	r := reportOf(t, dir)
	if got := r.Verdict()[0]; !strings.HasPrefix(got, "CPU starvation: in 2 of 2 treatments threads were ready "+
		"to run and had no CPU, for a total of up to ") {
		t.Errorf("got %q", got)
	}
	for _, s := range r.Series() {
		if !s.Starved() {
			t.Errorf("%s is not starved", s.Name())
		}
	}
}

// Programs in a machine that counts instructions wait for each other only, however busy the machine below is: that is
// no starvation, and it keeps nothing undecided. Another lab takes nothing from them either.
func TestNothingStarvesInCountedTime(t *testing.T) {
	for method, starves := range map[store.Method]bool{store.Counted: false, store.Measured: true} {
		w := world{value: twoTruths, exact: func(at map[string]string, block int) []store.Result {
			all := resultsOf(at, block, twoTruths, method)
			for i := range all {
				all[i].Method = method
			}
			return all
		}, quality: func(map[string]string, int) []store.Quality {
			return []store.Quality{{Key: "span", Unit: "s", Value: 1}, {Key: "run_queue_wait_server", Unit: "s", Value: 0.8},
				{Key: "other_labs", Unit: "1", Value: 1}}
		}}
		r := reportOf(t, w.write(t, twoFactors))
		if got := len(r.Starved) > 0; got != starves {
			t.Errorf("%s: starved is %v, want %v", method, got, starves)
		}
		for _, c := range r.Cells {
			if !starves && c.Waiting > 0 {
				t.Errorf("%s: %s waits for %g s in each second", method, c.Response, c.Waiting)
			}
			if said := strings.Contains(strings.Join(c.Warnings, "\n"), "another lab"); said && !starves {
				t.Errorf("%s: %s doubts a count: %q", method, c.Response, c.Warnings)
			}
		}
	}
}

// What waiting for a CPU may explain is no answer, wherever one stands: the first sentences, the
// effects of factors, and choose say so alike. What is further apart is one.
func TestWaitingIsSaidWhereTheAnswerStands(t *testing.T) {
	const file = "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [quick, near, far], n: [1, 2]}\n" +
		"design: {replications: 6, seed: 1}\nresponses: [rtt, message_size]\n"
	times := map[string]float64{"quick": 1e-3, "near": 1.4e-3, "far": 5e-3}
	read := func(waiting float64) *Report {
		dir := fabricated(t, file, func(at map[string]string, block int) float64 {
			return times[at["stack"]] * wobble(block+len(at["stack"]))
		}, store.Quality{Key: "span", Unit: "s", Value: 1},
			store.Quality{Key: "run_queue_wait_client", Unit: "s", Value: waiting})
		return reportOf(t, dir)
	}
	const near = "cannot be distinguished from it, since waiting for a CPU may explain the difference: near"
	for _, tt := range []struct {
		waiting     float64
		answer, not string
		levels      [2]string // sentences of near and far
	}{
		{0, "next is near, 1.", "waiting", [2]string{"near takes 1.", "far takes 5"}},
		{0.4, near, "next is near", [2]string{"quick and near cannot be distinguished in RTT, since waiting",
			"far takes 5"}},
	} {
		r := read(tt.waiting)
		if got := strings.Join(r.Verdict(), "\n"); !strings.Contains(got, tt.answer) || strings.Contains(got, tt.not) ||
			!strings.Contains(got, " is far, 5") {
			t.Errorf("waiting %g: got %s", tt.waiting, got)
		}
		var says []string
		for _, e := range r.Effects {
			says = append(says, e.sentences(0.95, nil)...)
		}
		for _, want := range tt.levels {
			if !slices.ContainsFunc(says, func(s string) bool { return strings.HasPrefix(s, want) }) {
				t.Errorf("waiting %g: no %q in %q", tt.waiting, want, says)
			}
		}
		alike := slices.ContainsFunc(says, func(s string) bool { return strings.HasPrefix(s, "n 1 and n 2 are alike") })
		if alike != (tt.waiting == 0) {
			t.Errorf("waiting %g: got %q", tt.waiting, says)
		}
		for _, l := range r.Levels() {
			o := advise.Objective{Term: l.Headline(advise.Term{Response: "rtt"})}
			c, err := advise.Choose(l.Series, []advise.Objective{o}, nil, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if got := (LevelChoice{Choice: c}).answer(); strings.Contains(got, near) != (tt.waiting > 0) {
				t.Errorf("waiting %g: choose says %q", tt.waiting, got)
			}
		}
	}
}

// Whatever other programs of a machine may lengthen is left undecided, and not times of requests alone. A new response
// must say here whether it waits.
func TestEveryResponseThatWaitsIsKnownTo(t *testing.T) {
	steady := []string{"message_size", "response_size", "datagram_bytes", "wire_bytes",
		"handshake_bytes", "peak_rss", "cpu",
		"instructions", "packets", "retransmissions"}
	for _, x := range measure.Responses() {
		if x.Waits() == slices.Contains(steady, x.Name) {
			t.Errorf("%s: waits: %v", x.Name, x.Waits())
		}
	}
}

// Intervals of positive quantities are positive, and two clusters of trials are
// told, with the median in their place.
func TestIntervalsArePositiveAndClustersTold(t *testing.T) {
	dir := fabricated(t, strings.Replace(twoStacks, "30", "10", 1), func(at map[string]string, block int) float64 {
		if at["stack"] == "steady" {
			return map[bool]float64{true: 400e-6, false: 5e-6}[block == 3]
		}
		return map[bool]float64{true: 60e-6, false: 13e-6}[block%2 == 0] * wobble(block)
	})
	r := reportOf(t, dir)
	for _, c := range r.Cells {
		if c.Mean.Lo <= 0 {
			t.Errorf("%s: %v to %v", r.Treatments[c.Treatment].Name(), c.Mean.Lo, c.Mean.Hi)
		}
	}
	r.Facts.Placement = map[string]study.Pin{} // results of today
	if err := r.chooseHeadlines(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Verdict(), "\n"); !strings.Contains(got, "medians, since trials fall into two clusters") {
		t.Errorf("got %s", got)
	}
}

// An RTT of a timer is an alarm with its cause.
func TestTimersAreAlarms(t *testing.T) {
	dir := fabricated(t, twoStacks, func(at map[string]string, block int) float64 {
		return map[string]float64{"steady": 220e-6, "spiky": 41e-3}[at["stack"]] * wobble(block)
	})
	r := reportOf(t, dir)
	if len(r.Alarms) != 1 || !strings.Contains(r.Alarms[0], "spiky") || !strings.Contains(r.Alarms[0], "TCP_NODELAY") {
		t.Errorf("got %q", r.Alarms)
	}
	if got := strings.Join(r.Verdict(), "\n"); !strings.Contains(got, "Check: spiky: ") {
		t.Errorf("got %s", got)
	}
}

// Where connections that were to be kept are made anew, the treatment is not what it is called.
func TestConnectionsThatAreNotKept(t *testing.T) {
	for anew, want := range map[float64]bool{0: false, 1: false, 2: true, 100: true} {
		rtt := func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }
		r := reportOf(t, fabricated(t, twoStacks, rtt,
			store.Quality{Key: "requests", Unit: "1", Value: 100}, store.Quality{Key: "reconnects", Unit: "1", Value: anew}))
		said := false
		for _, c := range r.Cells {
			text := strings.Join(c.Warnings, "\n")
			said = said || strings.Contains(text, "needed a new connection, since the server had closed")
		}
		if said != want {
			t.Errorf("%.0f of 100: said %v", anew, said)
		}
	}
}

// Connections that the client closed, since answers were longer than their length, are not said to be closed by the
// server.
func TestConnectionsAfterSurplusBytes(t *testing.T) {
	for surplus, want := range map[float64][2]bool{0: {false, true}, 60: {true, true}, 100: {true, false}} {
		rtt := func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }
		r := reportOf(t, fabricated(t, twoStacks, rtt, store.Quality{Key: "requests", Unit: "1", Value: 100},
			store.Quality{Key: "reconnects", Unit: "1", Value: 99},
			store.Quality{Key: "surplus_answers", Unit: "1", Value: surplus}))
		var text string
		for _, c := range r.Cells {
			text += strings.Join(c.Warnings, "\n")
		}
		if got := [2]bool{strings.Contains(text, "bytes beyond its length"),
			strings.Contains(text, "since the server had closed")}; got != want {
			t.Errorf("%.0f of 100: said %v: %s", surplus, got, text)
		}
	}
}

// Where the kernel knows of connections that the client says nothing of, each of its times says so; where they are many
// of the requests, the answer does, too.
func TestConnectionsThatNobodyTellsOf(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for _, tt := range []struct {
		had, asked, told, repeated, failed float64
		says, alarms                       bool
	}{
		{had: 1, asked: 1}, {had: 8, asked: 8}, {had: 3, asked: 8}, // it need not make as many
		{}, // nobody counted
		{had: 2, asked: 1, says: true}, {had: 9, asked: 8, says: true}, {had: 3, asked: 1, says: true, alarms: true},
		{had: 6, asked: 1, told: 5}, {had: 6, asked: 1, repeated: 5}, {had: 6, asked: 1, told: 5, repeated: 5},
		{had: 6, asked: 1, told: 2, says: true, alarms: true}, {had: 6, asked: 1, failed: 5},
		{had: 6, asked: 1, failed: 4, says: true},
	} {
		rtt := func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }
		var noted []store.Quality
		for key, value := range map[string]float64{"requests": 100, "connections_had": tt.had, "connections_asked": tt.asked,
			"reconnects": tt.told, "repetitions": tt.repeated, "failures": tt.failed} {
			noted = append(noted, store.Quality{Key: key, Unit: "1", Value: value})
		}
		r := reportOf(t, fabricated(t, twoStacks, rtt, noted...))
		want := fmt.Sprintf("in 30 of 30 trials the client opened more connections than it should keep, at least %.0f instead "+
			"of %.0f,", tt.had, tt.asked)
		for _, c := range r.Cells {
			if c.Side == measure.Client && strings.Contains(strings.Join(c.Warnings, "\n"), want) != tt.says {
				t.Errorf("%+v: %s: %q", tt, c.Response, c.Warnings)
			}
		}
		if alarms := strings.Contains(strings.Join(r.Alarms, "\n"), want); alarms != tt.alarms {
			t.Errorf("%+v: alarms %q", tt, r.Alarms)
		}
	}
}

// Processes that the memory limit killed are said in the answer and with each figure of their side, and of no other.
func TestKillsForMemoryAreInTheAnswer(t *testing.T) {
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		rtt := func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }
		r := reportOf(t, fabricated(t, twoStacks, rtt,
			store.Quality{Key: "killed_for_memory_" + string(side), Unit: "1", Value: 2}))
		says := "in 30 of 30 trials the device's memory limit killed processes that the " + string(side) +
			" had started, 60 in all"
		if got := strings.Count(strings.Join(r.Alarms, "\n"), says); got != 2 {
			t.Errorf("%s: %d alarms of 2: %q", side, got, r.Alarms)
		}
		for _, c := range r.Cells {
			if got := strings.Contains(strings.Join(c.Warnings, "\n"), says); got != (c.Side == side) {
				t.Errorf("%s: %s of the %s: %q", side, c.Response, c.Side, c.Warnings)
			}
		}
	}
}

// What the kernel counts late is said of the memory of that side alone.
func TestMemoryThatIsCountedLate(t *testing.T) {
	for _, lacks := range []float64{0, 262144} {
		w := exactly(nil)
		w.exact = func(_ map[string]string, block int) (out []store.Result) {
			for _, side := range []measure.Side{measure.Client, measure.Server} {
				for _, response := range []string{"rtt", "peak_rss"} {
					v := 4096 * wobble(block)
					out = append(out, store.Result{Side: side, Response: response, Unit: "B", N: 1, Mean: v, Median: v, P95: v,
						Min: v, Max: v, Method: store.Measured})
				}
			}
			return out
		}
		w.quality = func(map[string]string, int) []store.Quality {
			if lacks == 0 {
				return nil
			}
			return []store.Quality{{Key: "peak_rss_lacks_server", Unit: "B", Value: lacks}}
		}
		for _, c := range reportOf(t, w.write(t, twoStacks)).Cells {
			want := lacks > 0 && c.Side == measure.Server && c.Response == "peak_rss"
			if got := strings.Contains(strings.Join(c.Warnings, "\n"), "the figure may lack 262 kB"); got != want {
				t.Errorf("lacks %g: %s of the %s: %q", lacks, c.Response, c.Side, c.Warnings)
			}
		}
	}
}

// A treatment that alone has what one does not choose, such as a size, is not passed over in silence.
func TestATreatmentThatIsComparedWithNone(t *testing.T) {
	const twoSizes = "study: s\nservice: monitor\nrequests: 100\nfactors: {n: [1, 2], stack: [steady, spiky]}\ndesign: " +
		"{replications: 6, seed: 1}\n"
	const says = "Not compared: 2 steady, since no other treatment has the same link, devices, load and message."
	rtt := func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }
	for file, want := range map[string]bool{twoSizes: false, twoSizes + "exclude: [{n: 2, stack: spiky}]\n": true,
		twoSizes + "exclude: [{stack: spiky}]\n": false} { // of two sizes alone, one is held against the other
		got := strings.Join(reportOf(t, fabricated(t, file, rtt)).Verdict(), "\n")
		if strings.Contains(got, says) != want || !want && strings.Contains(got, "Not compared") {
			t.Errorf("%s: got %q", file, got)
		}
	}
}

// Times that cannot be are said where all trials of a treatment have them: one trial may have met a busy machine.
func TestClocksThatCannotBeAreInTheAnswer(t *testing.T) {
	for key, says := range map[string]string{
		"untold":             "spiky: the client's records do not account for 20.0 ms of each run, by the lab's clock",
		"handled_beyond_rtt": "spiky: the server handled each request for 20.0 ms longer than the client waited",
	} {
		for _, some := range []bool{false, true} {
			w := exactly(func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) })
			w.quality = func(at map[string]string, block int) []store.Quality {
				if at["stack"] == "steady" || some && block == 7 {
					return nil
				}
				return []store.Quality{{Key: key, Unit: "s", Value: 0.02}}
			}
			r := reportOf(t, w.write(t, twoStacks))
			if said := strings.Contains(strings.Join(r.Alarms, "\n"), says); said == some {
				t.Errorf("%s in some trials: %v; alarms %q", key, some, r.Alarms)
			}
		}
	}
}

// Where answers may be those of earlier requests, each of the client's figures says so.
func TestUnsureAnswers(t *testing.T) {
	for unsure, want := range map[float64]bool{0: false, 1: true} {
		rtt := func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }
		r := reportOf(t, fabricated(t, twoStacks, rtt, store.Quality{Key: "requests", Unit: "1", Value: 100},
			store.Quality{Key: "unsure_answers", Unit: "1", Value: unsure}))
		for _, c := range r.Cells {
			text := strings.Join(c.Warnings, "\n")
			if said := strings.Contains(text, " had an answer that may belong to an earlier request"); said != (want &&
				c.Side == measure.Client) {
				t.Errorf("%.0f unsure: %s of the %s: %q", unsure, c.Response, c.Side, c.Warnings)
			}
		}
	}
}

// Where another lab measured on the machine, each figure that it may have changed says so.
func TestWhatTimesMayIncludeIsSaid(t *testing.T) {
	for key, says := range map[string]string{"other_labs": "another lab measured on this machine",
		"waiting_untold_client": "CONFIG_SCHED_INFO"} {
		for value, want := range map[float64]bool{0: false, 1: true} {
			rtt := func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }
			r := reportOf(t, fabricated(t, twoStacks, rtt, store.Quality{Key: key, Unit: "1", Value: value}))
			if len(r.Cells) == 0 {
				t.Fatal("no figure")
			}
			for _, c := range r.Cells {
				if said := strings.Contains(strings.Join(c.Warnings, "\n"), says); said != want {
					t.Errorf("%s %.0f: %s of the %s: %q", key, value, c.Response, c.Side, c.Warnings)
				}
			}
		}
	}
}

// A request that times out takes its connection with it: that connections are made anew for the next one says nothing
// of the server, and the treatment is keep-alive.
func TestConnectionsAfterRequestsThatFailed(t *testing.T) {
	for _, tt := range []struct {
		what         string
		anew, failed float64 // of 50
		want, not    []string
	}{
		{"each after a failed one", 4, 4, []string{"4 of 50 requests needed a new connection, as the one after a " +
			"request that failed may (4 did);"}, []string{"closed", "half of the message IDs", "not keep-alive"}},
		{"more than failed", 9, 4, []string{"since the server had closed the one that was to be kept, or the request " +
			"before had failed, or a CoAP client", "not keep-alive"}, nil},
		{"none failed", 9, 0, []string{"since the server had closed the one that was to be kept, or a CoAP client",
			"not keep-alive"}, []string{"the request before"}},
	} {
		r := &Report{Treatments: []Treatment{{}}, Cells: []Cell{{Side: measure.Client, Response: "rtt"}}}
		r.doubtRequests(0, []map[string]float64{{"requests": 50, "reconnects": tt.anew, "failures": tt.failed}})
		said := strings.Join(r.Cells[0].Warnings, "\n")
		for _, want := range tt.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: want %q in %s", tt.what, want, said)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(said, not) {
				t.Errorf("%s: %q in %s", tt.what, not, said)
			}
		}
	}
}
