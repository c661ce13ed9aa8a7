package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// By hand: three blocks on each bench, differences of 1 and -1 with a variance of 0.01, so an error of 0.1/√3 and
// 4 degrees of freedom; of one sign no order turns.
func TestOrderOfBenches(t *testing.T) {
	o, ok := OrderOfBenches([][]float64{{1, 1.1, 0.9}, {-1, -1.1, -0.9}}, 2)
	want := tUpper(math.Sqrt(3)*10, 4)
	if !ok || math.Abs(o.P-want) > 1e-12 || o.Above != 0 || o.Below != 1 || o.Least != 1 || o.Most != 0 {
		t.Errorf("got %+v, %v, want p %g", o, ok, want)
	}
	if o, _ = OrderOfBenches([][]float64{{1, 1.1, 0.9}, {-1, -1.1, -0.9}, {3, 3.1, 2.9}}, 4); math.Abs(o.P-2*tUpper(
		math.Sqrt(3)*10, 6)) > 1e-12 || o.Most != 2 || o.Least != 1 || math.Abs(o.Range-4/(0.1*math.Sqrt(2./3))) > 1e-9 {
		t.Errorf("three benches: got %+v", o)
	}
	if o, ok = OrderOfBenches([][]float64{{1, 1.1, 0.9}, {3, 3.1, 2.9}}, 4); !ok || o.P < 0.9 {
		t.Errorf("both are above 0: got %+v", o)
	}
	for _, none := range [][][]float64{{{1}, {-1}}, {{1, 2}}, {{1, 2}, {}}, {{1, 1}, {2, 2}}, nil} {
		if o, ok := OrderOfBenches(none, 4); ok {
			t.Errorf("%v has no error: got %+v", none, o)
		}
	}
}

// Where one bench has a difference and the others none, an order turns by chance in at most one fleet of twenty; where
// none has, or all are on one side, in hardly any.
func TestOrdersTurnSeldomByChance(t *testing.T) {
	const fleets = 4000
	for _, tt := range []struct {
		means     []float64
		from, to  float64
		different string
	}{
		{[]float64{9, 0, 0, 0}, 0.03, 0.06, "one, by far"}, {[]float64{0, 0, 0, 0}, 0, 0.01, "none"},
		{[]float64{1, 1, 1, 2}, 0, 0.001, "all, on one side"}, {[]float64{1, 1, 1, -1}, 0.95, 1, "one, on the other side"},
	} {
		r, turns := rand.New(rand.NewPCG(7, 7)), 0
		for range fleets {
			var all [][]float64
			for _, m := range tt.means {
				var own []float64
				for range 5 {
					own = append(own, m+0.5*r.NormFloat64())
				}
				all = append(all, own)
			}
			if o, ok := OrderOfBenches(all, 4); !ok {
				t.Fatal("no error")
			} else if o.P < 0.05 {
				turns++
			}
		}
		share := float64(turns) / fleets
		t.Logf("different: %s: an order turns in %.1f %%", tt.different, 100*share)
		if share < tt.from || share > tt.to {
			t.Errorf("different: %s: an order turns in %.2f %%", tt.different, 100*share)
		}
	}
}
