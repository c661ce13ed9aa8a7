package advise

import (
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
