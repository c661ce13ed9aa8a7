package paper

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// A phase that holds less than the paper's of that name is set beside no published figure, and decides no claim: the
// same figures of another stack do both.
func TestPhasesThatHoldLessAreNotCompared(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	for stack, want := range map[string]int{"dpws-sdcri": 3, "jmeds": 1} {
		var all []advise.Series
		for _, response := range []string{"serialization", "rtt", "deserialization"} {
			s := advise.Series{Factors: []string{"stack"}, Levels: []string{"dpws"}, Stack: stack, Side: measure.Client,
				Response: response, Unit: "s"}
			for i, mean := range []float64{10e-6, 11e-6, 12e-6, 11e-6} {
				s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: mean, Median: mean})
			}
			all = append(all, s)
		}
		beside, err := p.Beside(all, Mapping{}, 0.95)
		if err != nil || len(beside) != want {
			t.Errorf("%s: %d figures beside published ones, want %d (%v)", stack, len(beside), want, err)
		}
		for _, j := range p.Judge(all, Mapping{}, 0.95).Claims {
			if j.ID == "dpws-symmetry" && (len(j.Parts) > 0) != (stack != "jmeds") {
				t.Errorf("%s: got %+v", stack, j)
			}
			if j.ID == "dpws-symmetry" && stack != "jmeds" && (len(j.Beyond) != 2 ||
				!strings.Contains(j.Decided(), "serialization of jmeds") || !strings.Contains(j.Decided(), "stays undecided")) {
				t.Errorf("%s: %q promises what no run can give: %q", stack, j.Decided(), j.Beyond)
			}
		}
	}
}
