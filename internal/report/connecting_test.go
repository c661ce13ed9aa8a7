package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A treatment that connects for each request is not quickest because its RTT is short: where the time
// with connecting was measured it decides, in the answer, the sentences and the picture; where it was
// not, the answer says what the RTT leaves out.
func TestConnectingCounts(t *testing.T) {
	study := func(factor string) string {
		return "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, b], " + factor +
			"}\ndesign: {replications: 8, seed: 1}\n"
	}
	times := func(total bool) world {
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			of := func(response string, v float64) store.Result {
				v *= wobble(block)
				m, _ := measure.FindResponse(response)
				return store.Result{Side: measure.Client, Response: response, Unit: m.Unit, N: 100, Mean: v, SD: v / 10,
					Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}
			}
			rtt := map[string]float64{"a": 1e-3, "b": 2e-3}[at["stack"]]
			all := []store.Result{of("message_size", 100)}
			if at["connection"] == "per-request" {
				rtt *= 0.9
			}
			if all = append(all, of("rtt", rtt)); total {
				all = append(all, of("total_time", rtt+map[string]float64{"per-request": 5e-3}[at["connection"]]))
			}
			return all
		}
		return w
	}
	for _, c := range []struct {
		name, file, want string
		total            bool
		sentence, axis   string
	}{
		{"some connect", study("connection: [keep-alive, per-request]"),
			"Quickest, connecting included: a keep-alive, 1.00 ms", true, "keep-alive is done", "total time"},
		{"not measured", study("connection: [keep-alive, per-request]"),
			"Quickest once connected: a per-request, 901 µs", false, "keep-alive takes 1.111 times as long to answer as per-request", "RTT"},
		{"none connects", study("encoding: [json, cbor]"), "Quickest: a json, 1.00 ms", true,
			"b takes 2.00 times as long to answer as a", "RTT"},
	} {
		r := reportOf(t, times(c.total).write(t, c.file))
		r.Effects = r.effectsOfAll()
		if got := strings.Join(r.Verdict(), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in %s", c.name, c.want, got)
		}
		var b strings.Builder
		r.effectsText(&b)
		if !strings.Contains(b.String(), c.sentence) {
			t.Errorf("%s: want %q in %s", c.name, c.sentence, b.String())
		}
		pictures := r.paretos()
		b.Reset()
		if len(pictures) != 1 {
			t.Fatalf("%s: %d pictures", c.name, len(pictures))
		}
		if err := pictures[0].File(&b); err != nil || !strings.Contains(b.String(), ">"+capital(c.axis)+" and message size") {
			t.Errorf("%s: want the axis %q in %s (%v)", c.name, c.axis, b.String(), err)
		}
	}
}

// A meter at the server answers the question of the least energy, too.
func TestLeastEnergyOfTheServer(t *testing.T) {
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		v := map[string]float64{"steady": 2e-6, "spiky": 6e-6}[at["stack"]] * wobble(block)
		return []store.Result{{Side: measure.Server, Response: "energy", Unit: "J", N: 1, Mean: v, SD: math.NaN(), Median: v,
			P95: v, Min: v, Max: v, Method: store.Modelled}}
	}
	got := strings.Join(reportOf(t, w.write(t, twoStacks)).Verdict(), "\n")
	if !strings.Contains(got, "Least energy of the server (modelled, not measured): steady, 2.00 µJ") {
		t.Errorf("got %s", got)
	}
}

// Rows of one link's table need not repeat its name.
func TestChoiceLeavesOutItsLevel(t *testing.T) {
	of := func(names ...string) LevelChoice {
		c := LevelChoice{Name: "link far"}
		for _, n := range names {
			c.Candidates = append(c.Candidates, advise.Candidate{Name: n, Meets: stat.Confirmed})
		}
		return c
	}
	for _, x := range []struct {
		c    LevelChoice
		want string
	}{
		{of("far a", "far b"), "a"}, {of("a far", "b far"), "a"}, {of("far a", "b far"), "far a"}, {of("a", "b"), "a"},
	} {
		if got := x.c.short(x.c.Candidates[0].Name); got != x.want {
			t.Errorf("%q: got %q, want %q", x.c.Candidates[0].Name, got, x.want)
		}
	}
}
