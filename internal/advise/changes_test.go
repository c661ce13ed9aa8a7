package advise

import (
	"math"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// What is said of a condition's figure is what is said of the figure elsewhere; of a figure that stands nowhere else,
// what its own test says.
func TestConditionsSayWhatTheirFiguresSay(t *testing.T) {
	series := func(factor float64) []Series {
		s := Series{Factors: []string{"stack"}, Levels: []string{"a"}, Side: measure.Client, Response: "rtt", Unit: "s"}
		for i := range 8 {
			v := factor * (1 + 0.001*float64(i*3%8))
			s.Trials = append(s.Trials, TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: 2 * v, SD: v / 10})
		}
		return []Series{s}
	}
	for _, tt := range []struct {
		factor float64
		change Change
	}{{2.5, Higher}, {1, Equal}, {0.4, Lower}} {
		for _, text := range []string{"rtt > 20%", "rtt.p95 > 20%"} {
			k, err := ParseDetect(text)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Compare(series(1), series(tt.factor), []Condition{k, k}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range c.Outcomes {
				if x := o.Contrast; x.Change != tt.change || math.IsNaN(x.PHolm) || x.Figure == c.Contrasts[0].Figure &&
					x.PHolm != c.Contrasts[0].PHolm {
					t.Errorf("%s, %g times: the condition says %s, p %g; the figure %s, p %g", text, tt.factor, x.Change, x.PHolm,
						c.Contrasts[0].Change, c.Contrasts[0].PHolm)
				}
			}
		}
	}
}
