package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// A ran is a treatment of which each block from the first on gave one RTT.
type ran struct {
	name  string
	first int
	rtts  []float64
}

// reportOfRan is a report of treatments that ran so.
func reportOfRan(t *testing.T, all ...ran) *Report {
	t.Helper()
	r := &Report{}
	r.Study.Design.Confidence = 0.95
	for i, x := range all {
		n := len(x.rtts)
		r.Treatments = append(r.Treatments, Treatment{Levels: []string{x.name}, Floor: -1, Wanted: n, Valid: n})
		c := Cell{Treatment: i, Side: measure.Client, Response: "rtt", Unit: "s"}
		for b, v := range x.rtts {
			c.Points = append(c.Points, Point{Trial: len(all)*b + i + 1, Block: b + x.first, Mean: v, Median: v, P95: v})
		}
		if err := c.summarize(0.95); err != nil {
			t.Fatal(err)
		}
		r.Cells = append(r.Cells, c)
	}
	r.Facts.Placement = map[string]study.Pin{} // results of today
	if err := r.chooseHeadlines(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Who ranks behind the best, and is better in the blocks that both have, is not called the next: where the
// best lacks slow blocks, and where a median tells another story than the blocks.
func TestNobodyIsNextWhoIsBetterInCommonBlocks(t *testing.T) {
	var quick, all, clustered, steady []float64
	for b := range 30 {
		wobble := 1e-3 * (1 + 0.004*math.Sin(float64(3*b)))
		if b < 5 {
			quick, all = append(quick, wobble), append(all, 0.9e-3*(1+0.003*math.Cos(float64(b))))
		} else if b < 10 {
			all = append(all, (1.1+0.2*float64(b-5))*wobble)
		}
		steady = append(steady, 1.2*wobble)
		clustered = append(clustered, 1e-3)
		if 7*b%10 > 5 {
			clustered[b] = 3e-3
		}
	}
	const less = "; behind it, and yet less in the blocks that both have: "
	for _, x := range []struct {
		of           []ran
		figure       string
		medians, yet string
	}{
		{[]ran{{"quick", 1, quick}, {"all", 1, all}}, "mean", "", less + "all, 0.9"},
		{[]ran{{"clustered", 1, clustered}, {"steady", 1, steady}}, "median",
			" (medians, since trials fall into two clusters)", less + "steady, 0.7"},
	} {
		r := reportOfRan(t, x.of...)
		got := strings.Join(r.Verdict(), " ")
		if !strings.HasPrefix(got, "Quickest: "+x.of[0].name) || !strings.Contains(got, x.medians+x.yet) ||
			strings.Contains(got, "next is") || strings.Contains(got, "a few slow trials") {
			t.Errorf("got %q, want %q in it", got, x.medians+x.yet)
		}
		c := chosenBy(t, r, x.figure)
		if got := (LevelChoice{Choice: c}).answer(); !strings.Contains(got, x.yet) {
			t.Errorf("choose: got %q, want %q in it", got, x.yet)
		}
		if c.Candidates[1].Odd || !c.Candidates[1].Turned {
			t.Errorf("got %+v", c.Candidates[1])
		}
	}
}

// chosenBy is the choice of the least RTT by one figure of the trials.
func chosenBy(t *testing.T, r *Report, figure string) advise.Choice {
	t.Helper()
	of := advise.Term{Response: "rtt", Figure: figure}
	c, err := advise.Choose(r.Series(), []advise.Objective{{Term: of}}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What is said of the levels of a factor does not depend on their order in the study, though not all are
// combined with all: here b is a little quicker than a, and c far slower than a, but not than b.
func TestLevelsInAnyOrder(t *testing.T) {
	times := map[string]float64{"a ipv4": 1, "b ipv4": 0.95, "a ipv6": 1, "c ipv6": 3, "b both": 1, "c both": 1.1}
	truth := func(at map[string]string, side measure.Side, response string) (float64, float64) {
		v, ok := times[at["stack"]+" "+at["options.on"]]
		if !ok || side != measure.Client || response != "rtt" {
			return math.NaN(), 0
		}
		return 1e-3 * v, 1e-6
	}
	var want []string
	for _, order := range []string{"a, b, c", "a, c, b", "b, a, c", "b, c, a", "c, a, b", "c, b, a"} {
		file := fmt.Sprintf("study: s\nservice: monitor\nfactors: {stack: [%s], options.on: [ipv4, ipv6, both]}\n"+
			"exclude: [{stack: a, options.on: both}, {stack: b, options.on: ipv6}, {stack: c, options.on: ipv4}]\n"+
			"design: {replications: 8}\n", order)
		e := effectsOf(t, reportOf(t, simulated(t, file, truth)), "rtt")
		var said []string
		for _, c := range e.Levels {
			if c.Factor != "stack" {
				continue
			}
			said = append(said, c.Sentence(e.Panel, 0.95))
			if c.Estimate < 1 {
				t.Errorf("%s: %s is called better than %s, and takes %v times as long", order, c.Best, c.Other, 1/c.Estimate)
			}
		}
		slices.Sort(said)
		if want == nil {
			want = said
		}
		if len(said) != 2 || !slices.Equal(said, want) {
			t.Errorf("%s: got %q, want %q", order, said, want)
		}
	}
}

// So it is where a level lacks trials, and blocks that it has tell another story than those that it lacks.
func TestLevelsOfSomeBlocksInAnyOrder(t *testing.T) {
	times := map[string][]float64{
		"a": {0.9, 0.9, 0.9, 0.9, 1.2, 1.2, 1.2, 1.2},
		"b": {1, 1, 1, 1, 1, 1, 1, 1},
		"c": {0, 0, 0, 0, 1.05, 1.05, 1.05, 1.05}, // 0: not valid
	}
	r := &Report{}
	r.Study.Design.Confidence = 0.95
	var want []string
	for _, names := range [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"}, {"c", "a", "b"},
		{"c", "b", "a"}} {
		var all []advise.Series
		for _, n := range names {
			s := advise.Series{Factors: []string{"stack"}, Levels: []string{n}, Response: "rtt", Side: measure.Client, Unit: "s"}
			for i, v := range times[n] {
				if v > 0 {
					s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: v})
				}
			}
			all = append(all, s)
		}
		got, ok := r.levelOrder(all, "stack", names)
		if want == nil {
			want = got
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", names, got, want)
		}
	}
}

// In what set-ups differ is the same from both sides.
func TestSetupDifferencesFromBothSides(t *testing.T) {
	var old, new Report
	for r, text := range map[*Report]string{
		&old: `{"devices":{"local":{"model":"m","kernel":"6.1"},"board":{"model":"n"}}}`,
		&new: `{"devices":{"local":{"model":"m","kernel":"6.2"}}}`,
	} {
		if err := json.Unmarshal([]byte(text), &r.Facts); err != nil {
			t.Fatal(err)
		}
	}
	there, back := SetupDifferences(&old, &new), SetupDifferences(&new, &old)
	if want := []string{"device board: n before, not set now", "device local: m, 6.1 before, m, 6.2 now"}; !slices.Equal(
		there, want) {
		t.Errorf("got %q, want %q", there, want)
	}
	if len(back) != len(there) {
		t.Errorf("got %q, the other way round %q", there, back)
	}
}

// What makes two results unlike is said, whatever it is called in the study: a level that sets something else under
// the same name, a pin, time-outs, CPUs, a runtime.
func TestWhatMakesResultsUnlikeIsSaid(t *testing.T) {
	const head = "study: s\nservice: monitor\nstack: a\ndesign: {replications: 3, seed: 1}\n"
	result := func(more string, change func(*Report)) *Report {
		r := reportOf(t, fabricated(t, head+more, func(_ map[string]string, b int) float64 { return 1e-3 * wobble(b) }))
		r.Runtimes = map[string][]string{"a": {"JVM 17"}}
		withCPUs(t, r, 2)
		if change != nil {
			change(r)
		}
		return r
	}
	const levels = "factors: {way: [{name: few, requests: 100}, {name: many, requests: %d}]}\n"
	fixed := result("requests: 100\n", nil)
	for want, pair := range map[string][2]*Report{
		"":                                    {fixed, result("requests: 100\n", nil)},
		"requests: 100 before, 50 now":        {fixed, result("requests: 50\n", nil)},
		"the settings of many, or their":      {result(fmt.Sprintf(levels, 200), nil), result(fmt.Sprintf(levels, 300), nil)},
		"pin: client on CPU 0, server on ":    {result("pin: {client: 0}\n", nil), result("pin: {client: 1}\n", nil)},
		"timeouts: ready ":                    {fixed, result("requests: 100\ntimeouts: {request: 3s}\n", nil)},
		"device local, CPUs: 2 before, 4 now": {fixed, result("requests: 100\n", func(r *Report) { withCPUs(t, r, 4) })},
		"runtime of a: JVM 17 before, JVM 21 now": {fixed, result("requests: 100\n", func(r *Report) {
			r.Runtimes = map[string][]string{"a": {"JVM 21"}}
		})},
	} {
		got := SetupDifferences(pair[0], pair[1])
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func withCPUs(t *testing.T, r *Report, n int) {
	t.Helper()
	r.Facts.Devices = nil
	if err := json.Unmarshal(fmt.Appendf(nil, `{"devices":{"local":{"model":"m","cpus":%d}}}`, n), &r.Facts); err != nil {
		t.Fatal(err)
	}
}

// Names that are cut stay apart.
func TestShortenedNamesStayApart(t *testing.T) {
	for _, x := range []struct{ names, want []string }{
		{[]string{"short", "longer than ten"}, []string{"short", "longer th…"}},
		{[]string{"californium none", "californium dtls"}, []string{"calif…none", "calif…dtls"}},
		{[]string{"californium none", "californium none"}, []string{"californi…", "californi…"}},
		{[]string{"aaaaaaaaaxbbbbb", "aaaaaaaaaybbbbb"}, []string{"aaaaaaaaaxbbbbb", "aaaaaaaaaybbbbb"}},
	} {
		if got := shortened(x.names, 10); !slices.Equal(got, x.want) {
			t.Errorf("%q: got %q, want %q", x.names, got, x.want)
		}
	}
}

// So do those in the rows of a picture, which are cut in the middle as long as that tells them apart.
func TestNamesOfRowsStayApart(t *testing.T) {
	for _, x := range []struct{ names, want []string }{
		{[]string{"short", "longer than ten", "longer even"}, []string{"short", "longe… ten", "longe…even"}},
		{[]string{"aaaaaaXaaaaaaaa", "aaaaaaYaaaaaaaa", "b"}, []string{"aaaaaaXaa…", "aaaaaaYaa…", "b"}},
		{[]string{"aaaaaaaaaXaaaaa", "aaaaaaaaaYaaaaa"}, []string{"…aaaXaaaaa", "…aaaYaaaaa"}},
		{[]string{"aaaaaaaaaaXaaaaaaaaaa", "aaaaaaaaaaYaaaaaaaaaa"}, []string{"aaaaaaaaaaXaaaaaaaaaa",
			"aaaaaaaaaaYaaaaaaaaaa"}},
		{[]string{"twice the same name", "twice the same name"}, []string{"twice…name", "twice…name"}},
	} {
		if got := cutApart(x.names, 10); !slices.Equal(got, x.want) {
			t.Errorf("%q: got %q, want %q", x.names, got, x.want)
		}
	}
	long := strings.Repeat("a", 25)
	var b strings.Builder
	row := func(name string) ChartRow { return ChartRow{Name: name, Points: []float64{1}, Center: 1} }
	if err := figureWith(row(long+"-one-"+long), row(long+"-two-"+long)).File(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-one-", "-two-"} {
		if !strings.Contains(b.String(), ">"+long+want) {
			t.Errorf("the picture has no row %s: %s", want, b.String())
		}
	}
}

// What is said of one treatment is said of another, too, though its name is the end of the first one's.
func TestDoubtsOfNamesThatEndAlike(t *testing.T) {
	r := reportOfRan(t, ran{"libcoap", 1, []float64{1, 2, 3}}, ran{"coap", 1, []float64{1, 2, 3}})
	for i := range r.Treatments {
		r.Treatments[i].Wanted = 4
	}
	r.Alarms = []string{"the CPU did not run at one speed"}
	r.Cells[0].Warnings = append(r.Cells[0].Warnings, r.Alarms...)
	r.doubts()
	got := r.Doubts()
	for _, want := range []string{"libcoap: 3 of 4 trials are valid", "coap: 3 of 4 trials are valid"} {
		if !slices.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if n := strings.Count(strings.Join(got, "; "), r.Alarms[0]); n != 1 {
		t.Errorf("an alarm is said %d times: %q", n, got)
	}
}

// A treatment that lost all trials but one may be the best: the verdict says that it is not ranked.
func TestVerdictNamesWhoIsNotRanked(t *testing.T) {
	r := reportOfRan(t, ran{"quick", 1, []float64{1e-3}}, ran{"slow", 1, []float64{2e-3, 2.1e-3, 1.9e-3}},
		ran{"slower", 1, []float64{4e-3, 4.1e-3, 3.9e-3}})
	r.Treatments[0].Wanted = 3
	got := strings.Join(r.Verdict(), " ")
	if !strings.HasPrefix(got, "Quickest: slow, ") || !strings.HasSuffix(got,
		"; not ranked, since fewer than two of its trials are valid: quick.") {
		t.Errorf("got %q", got)
	}
}

// A difference has its unit, and its digits however small it is.
func TestDifferencesHaveAUnit(t *testing.T) {
	r := reportOfRan(t, ran{"less", 1, []float64{-1e-9, 1e-9, 0.5e-9}}, ran{"more", 1, []float64{50e-9, 52e-9, 51e-9}})
	for i := range r.Cells {
		r.Cells[i].Response, r.Cells[i].Unit = "energy", "J"
	}
	if got := strings.Join(r.Verdict(), " "); !strings.Contains(got, "next is more, 50.8 nJ more (") {
		t.Errorf("got %q", got)
	}
	c, err := advise.Choose(r.Series(), []advise.Objective{{Term: advise.Term{Response: "energy", Figure: "mean"}}}, nil,
		0.95)
	if err != nil {
		t.Fatal(err)
	}
	if got := noiseWord(c.Candidates[1]); !strings.HasPrefix(got, "50.8 nJ more (") {
		t.Errorf("choose: got %q", got)
	}
}
