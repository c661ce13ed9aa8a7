package advise

import (
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// Where requests fail, the mean of a time is that of those that were answered: it meets a bound only beside one on how
// many may fail, which is met. A bound that even those break is broken.
func TestAMeanOfAnsweredRequestsMeetsNoBoundAlone(t *testing.T) {
	const may = "failed_share < 5%"
	for _, tt := range []struct {
		failed        float64
		bound, beside string
		want, meets   stat.Verdict
		doubt         string
	}{
		{0, "rtt < 100ms", "", stat.Confirmed, stat.Confirmed, ""},
		{0.01, "rtt < 100ms", "", stat.Undecided, stat.Undecided,
			"kept by the answered requests; 1 % failed, and have no time: say how many may fail, too"},
		{0.01, "rtt.mean < 100ms", "", stat.Undecided, stat.Undecided, "kept by the answered requests"},
		{0.01, "rtt < 100ms", may, stat.Confirmed, stat.Confirmed, ""},
		{0.2, "rtt < 100ms", may, stat.Undecided, stat.Contradicted, "20 % failed, and have no time: " + may + " is not met"},
		{0.05, "rtt < 100ms", may, stat.Undecided, stat.Undecided, may + " is not met beyond doubt"},
		{0.01, "rtt < 100ms", "failed_share > 0.1%", stat.Undecided, stat.Undecided, "say how many may fail"},
		{0.2, "rtt < 1ms", "", stat.Contradicted, stat.Contradicted, ""},
		{0.2, "rtt > 1ms", "", stat.Confirmed, stat.Confirmed, ""},
		{0.2, "serialization < 100ms", "", stat.Confirmed, stat.Confirmed, ""},
	} {
		f := tt.failed
		all := []Series{series("a", "rtt", 0.010, 0.011, 0.0105), series("a", "serialization", 0.010, 0.011, 0.0105),
			series("a", "failed_share", f, 1.01*f, 0.99*f)}
		for i := range all {
			all[i].Failed = f
		}
		bounds := []Condition{mustRequire(t, tt.bound)}
		if tt.beside != "" {
			bounds = append(bounds, mustRequire(t, tt.beside))
		}
		c, err := Choose(all, []Objective{{Term: mustTerm(t, "rtt")}}, bounds, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		x := c.Candidates[0]
		if k := x.Checks[0]; k.Verdict != tt.want || x.Meets != tt.meets || (k.Doubt == "") != (tt.doubt == "") ||
			!strings.Contains(k.Doubt, tt.doubt) {
			t.Errorf("%g of the requests failed, %s beside %q: %s %q, meets: %s; want %s %q, %s", f, tt.bound, tt.beside,
				k.Verdict, k.Doubt, x.Meets, tt.want, tt.doubt, tt.meets)
		}
	}
}

// drawnHits are how many of n have a property that so large a share has.
func drawnHits(r *rand.Rand, n int, share float64) (hits int) {
	for range n {
		if r.Float64() < share {
			hits++
		}
	}
	return hits
}

// tooOften reports whether so many of n are more than chance makes of a rate.
func tooOften(hits, n int, rate float64) bool { return stat.AtLeast(hits, n, rate) < 1e-4 }

// A share of failed requests is drawn; what must not be said where it is on the wrong side of the bound is said no more
// often than the level allows: that a p95 is kept, which is then that of a request without an answer; that few fail,
// where in all trials none did; that nothing is sent again, where one request in a few hundred is.
func TestFewRequestsProveNothingOfTheirFailures(t *testing.T) {
	const studies = 600
	for _, tt := range []struct {
		what         string
		share        float64 // that fail, or are sent again, in truth
		trials, each int
		response     string
		bound        string
		want         bool // it is to be said, else it is not
	}{
		{"6 % fail, p95 of those answered", 0.06, 4, 50, "rtt", "rtt.p95 < 100ms", false},
		{"20 % fail, p95 of those answered", 0.2, 3, 40, "rtt", "rtt.p95 < 100ms", false},
		{"1 % fails, p95 of those answered", 0.01, 5, 400, "rtt", "rtt.p95 < 100ms", true},
		{"none fails, p95", 0, 3, 40, "rtt", "rtt.p95 < 100ms", true},
		{"5.5 % fail, few requests", 0.055, 2, 10, "failed_share", "failed_share < 5%", false},
		{"5.5 % fail", 0.055, 5, 200, "failed_share", "failed_share < 5%", false},
		{"4 % fail, too many", 0.04, 5, 40, "failed_share", "failed_share > 5%", false},
		{"none fails", 0, 3, 200, "failed_share", "failed_share < 5%", true},
		{"1 % fails", 0.01, 5, 400, "failed_share", "failed_share < 5%", true},
		{"1.2 % are sent again, few requests", 0.012, 3, 30, "resent", "resent < 0.01", false},
		{"none is sent again", 0, 3, 300, "resent", "resent < 0.01", true},
		{"1.2 % are retransmitted, few requests", 0.012, 3, 30, "retransmissions", "retransmissions < 0.01", false},
	} {
		r := rand.New(rand.NewPCG(29, 11))
		said := 0
		for range studies {
			var shares []float64
			hits := 0
			for range tt.trials {
				n := drawnHits(r, tt.each, tt.share)
				hits, shares = hits+n, append(shares, float64(n)/float64(tt.each))
			}
			s := series("a", tt.response, shares...)
			if tt.response == "rtt" {
				s = series("a", "rtt", around(r, 0.01, 0.02, tt.trials)...)
			}
			s.Requests = tt.trials * tt.each
			if tt.response == "rtt" || tt.response == "failed_share" {
				s.Failed = float64(hits) / float64(s.Requests)
			}
			k := mustRequire(t, tt.bound)
			c, err := Choose([]Series{s}, []Objective{{Term: Term{Response: tt.response, Figure: "mean"}}}, []Condition{k}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if c.Candidates[0].Checks[0].Verdict == stat.Confirmed {
				said++
			}
		}
		t.Logf("%s: %s in %.1f %%", tt.what, tt.bound, 100*float64(said)/studies)
		if !tt.want && tooOften(said, studies, 0.025) || tt.want && tooOften(studies-said, studies, 0.05) {
			t.Errorf("%s: %s is said of %d in %d studies", tt.what, tt.bound, said, studies)
		}
	}
}
