package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Attempts that took longer than a trial may are known to claims on any time of requests, of either side, and to the
// report, which says so of a treatment that has others; figures of whole trials have no such bound, and say how many.
func TestClaimsKnowWhatWasEnded(t *testing.T) {
	p := oneClaim(t)
	ends := func(of string, n int, blocks int) func(map[string]string, int) int {
		return func(at map[string]string, block int) int {
			if at["stack"] != of || block > blocks {
				return 0
			}
			return n
		}
	}
	for name, tt := range map[string]struct {
		ended func(map[string]string, int) int
		none  int // blocks in which rest has no valid trial
		lost  float64
		want  stat.Verdict
		says  string
	}{
		"none was":             {nil, 0, 0, stat.Confirmed, ""},
		"one attempt a trial":  {ends("rest", 1, 6), 0, 0.5, stat.Undecided, "(6 of rest): had these requests been answered"},
		"three attempts of it": {ends("rest", 3, 1), 1, 1, stat.Undecided, "(3 of rest): had these requests been answered"},
		"of the slower one":    {ends("axis2", 1, 6), 0, 0, stat.Confirmed, "in no figure: 6 of axis2"},
	} {
		w := exactly(func(at map[string]string, block int) float64 {
			switch {
			case at["stack"] != "rest":
				return 2e-3 * wobble(block+1)
			case block <= tt.none:
				return math.NaN()
			}
			return 1e-3 * wobble(block)
		})
		w.quality = func(map[string]string, int) []store.Quality { return ofRequests(0) }
		w.ended = tt.ended
		r := reportOf(t, w.write(t, claimed))
		for _, s := range r.Series() {
			if s.Response == "rtt" && s.Level("stack") == "rest" && math.Abs(s.Lost[1]-tt.lost) > 1e-9 {
				t.Errorf("%s: lost %v", name, s.Lost)
			}
		}
		j := p.Judge(r.Series(), r.mapping(), 0.95).Claims[0]
		said := strings.Join(j.Why, " ")
		if j.Verdict != tt.want || !strings.Contains(said, tt.says) || strings.Contains(said, "ended") != (tt.says != "") {
			t.Errorf("%s: %s: %q", name, j.Verdict, j.Why)
		}
		if alarmed := strings.Contains(strings.Join(r.Alarms, "\n"), "ended by timeouts.trial"); alarmed != (tt.says != "") {
			t.Errorf("%s: alarms %q", name, r.Alarms)
		}
	}
	x := Treatment{ended: map[int]int{1: 2}, failed: []stat.Share{{N: 10}}, lost: map[int]stat.Share{1: {Hits: 5, N: 10}}}
	for _, tt := range []struct {
		response string
		side     measure.Side
		want     float64
	}{{"rtt", measure.Client, 25. / 30}, {"serialization", measure.Client, 20. / 30},
		{"total_time", measure.Server, 20. / 30}, {"cpu", measure.Server, 0}, {"message_size", measure.Client, 0}} {
		c := Cell{Side: tt.side, Response: tt.response, Points: []Point{{Block: 1}}}
		if got := x.lostOf(c)[1]; math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s of the %s: %g lost, want %g", tt.response, tt.side, got, tt.want)
		}
	}
}
