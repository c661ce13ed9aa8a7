package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// Trials that a run never started, since it was interrupted, are not lost: equals of which the new run was interrupted
// are not worse, wherever that was. A treatment of which none was run leaves it open; one whose trials failed lost
// them.
func TestWhatWasNotRunIsNotLost(t *testing.T) {
	gate, err := advise.ParseChange("rtt > 50%")
	if err != nil {
		t.Fatal(err)
	}
	file := strings.Replace(oneTreatment, "replications: 6", "replications: 12", 1)
	of := func(from, fails int) *Report { // b was not run from that block on, or failed
		w := exactly(func(at map[string]string, block int) float64 {
			if at["stack"] == "b" && block > fails {
				return math.NaN()
			}
			return 1e-3 * wobble(block)
		})
		w.unrun = func(at map[string]string, block int) bool { return at["stack"] == "b" && block > from }
		return reportOf(t, w.write(t, file))
	}
	whole := of(99, 99)
	if whole.Treatments[1].Valid != 12 {
		t.Fatalf("got %+v", whole.Treatments[1])
	}
	for _, tt := range []struct {
		from, fails int
		want        stat.Verdict
		says        string
	}{
		{99, 99, stat.Contradicted, "good"},
		{11, 99, stat.Contradicted, "good"},
		{6, 99, stat.Contradicted, "good"},
		{4, 99, stat.Contradicted, "good"},
		{0, 99, stat.Undecided, "undecided: of a treatment no trial was run yet; finish the run"},
		{99, 4, stat.Confirmed, "worse: valid trials are missing"},
		{8, 2, stat.Confirmed, "worse: valid trials are missing"},
	} {
		c, err := Compare(whole, of(tt.from, tt.fails), Terms{Conditions: []advise.Condition{gate}, Margin: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if c.Verdict() != tt.want || !strings.HasPrefix(c.Says(), tt.says) {
			t.Errorf("run to block %d, failed after %d: %s, %q, want %s, %q", tt.from, tt.fails, c.Verdict(), c.Says(),
				tt.want, tt.says)
		}
	}
}
