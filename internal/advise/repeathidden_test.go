package advise

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Where the steps of a clock, or what a meter does not see, leave open whether a figure agrees, more replications are
// not advised: no number of them decides. Where they may decide they are.
func TestRepetitionsThatAMeterHidesCallForNoReplications(t *testing.T) {
	const studies = 300
	for _, tt := range []struct {
		what    string
		size    float64 // in steps of the clock; 0: it has none
		unseen  float64 // share of a figure that the meter may be off by
		spread  float64 // of a trial
		ratio   float64 // in truth
		trials  int
		want    Why
		least   float64 // share of those that cannot tell whose reason it is
		decides bool    // 2,000 trials do
	}{
		{"30 steps, equals", 30, 0, 0.01, 1, 8, Hidden, 0.97, false},
		{"30 steps, 1.06 times", 30, 0, 0.01, 1.06, 8, Hidden, 0.9, false},
		{"a meter off by 5 %, equals", 0, 0.05, 0.01, 1, 8, Hidden, 0.97, false},
		{"100 steps, trials that scatter", 100, 0, 0.1, 1, 5, Straddles, 0.97, true},
		{"no steps, trials that scatter", 0, 0, 0.1, 1, 5, Straddles, 1, true},
	} {
		r := rand.New(rand.NewPCG(uint64(tt.size), 50))
		draw := func(trials int, of float64) Series {
			values := make([]float64, trials)
			for i := range values {
				values[i] = max(1, tt.size) * of * math.Exp(tt.spread*r.NormFloat64())
				if tt.size > 0 {
					values[i] = math.Round(values[i])
				}
			}
			s := seriesOf("b", values...)
			s.Ticks, s.Unseen = tt.size > 0, tt.unseen*max(1, tt.size)
			return s
		}
		open, said := 0, 0
		for range studies {
			got, err := Repeat([]Series{draw(tt.trials, 1)}, []Series{draw(tt.trials, tt.ratio)}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if x := got.Figures[0]; x.Agreement == CannotTell {
				if open++; x.Why == tt.want {
					said++
				}
			}
		}
		t.Logf("%s: %d of %d are open, %d of them %s", tt.what, open, studies, said, tt.want)
		if open < studies/4 || float64(said) < tt.least*float64(open) {
			t.Errorf("%s: %d of %d are open, %d of them %s", tt.what, open, studies, said, tt.want)
		}
		got, err := Repeat([]Series{draw(2000, 1)}, []Series{draw(2000, tt.ratio)}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if decided := got.Figures[0].Agreement != CannotTell; decided != tt.decides {
			t.Errorf("%s: 2000 trials decide: %v", tt.what, decided)
		}
	}
}
