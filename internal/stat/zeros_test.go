package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMeansBeyond(t *testing.T) {
	zero := func(n int) []float64 { return make([]float64, n) }
	rose := []float64{0.38, 0.41, 0.40, 0.42, 0.39}
	for _, tt := range []struct {
		what         string
		b, a         []float64
		bound        float64
		above, below float64 // at most; 1: at least 5 %
	}{
		{"40 % in every one of 5", rose, zero(5), 1.1, 0.01, 1},
		{"of 3", rose[:3], zero(3), 1.1, 0.05, 1},
		{"two trials are too few", rose[:2], zero(2), 1.1, 1, 1},
		{"without spread", []float64{0.4, 0.4, 0.4, 0.4}, zero(4), 1.1, 0.02, 1},
		{"one of 5", []float64{0, 0, 0.4, 0, 0}, zero(5), 1.1, 1, 1},
		{"it fell to 0", zero(5), rose, 1.1, 1, 0.01},
		{"nothing before and now", zero(5), zero(5), 1.1, 1, 1},
		{"some were 0", rose, []float64{0, 0.001, 0, 0, 0.001}, 1.1, 1e-4, 1},
		{"ten times as much is allowed", []float64{0.004, 0.005, 0.006, 0.004}, []float64{0, 0.001, 0.001, 0}, 10, 1, 1},
		{"one of each", rose[:1], zero(1), 1, 1, 1},
	} {
		above, below, err := MeansBeyond(tt.b, tt.a, tt.bound, false, [2]float64{})
		if (err != nil) != (len(tt.a) < 2) {
			t.Errorf("%s: %v", tt.what, err)
		}
		for _, x := range [][2]float64{{above, tt.above}, {below, tt.below}} {
			if x[1] == 1 && x[0] < 0.05 || x[0] > x[1] {
				t.Errorf("%s: got %g and %g, want %g and %g", tt.what, above, below, tt.above, tt.below)
			}
		}
	}
	// By hand: q³(1−q)³ is largest at a half.
	if got, want := Oftener(3, 3, 3, 1), 2.0/64; math.Abs(got-want) > 1e-9 {
		t.Errorf("3 of 3 beside none of 3: got %g, want %g", got, want)
	}
}

// Where b is as large as a in truth, or 1.1 times, at most 2.5 % of comparisons say that it is more than that: whether
// single requests fail or those of a trial together, now and then. Of three times as much it is up to 5.5 %, where
// a trial has about one failure: Welch's t takes the little that a few trials show of the spread for all of it.
func TestMeansBeyondOfEquals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	r := rand.New(rand.NewPCG(2, 7))
	single := func(mean float64) func(times float64) float64 {
		return func(times float64) float64 { // as often, of 1000
			n := 0
			for range 1000 {
				if r.Float64() < times*mean/1000 {
					n++
				}
			}
			return float64(n) / 1000
		}
	}
	together := func(share float64) func(times float64) float64 {
		return func(times float64) float64 {
			if r.Float64() < 1-math.Pow(1-share, times) {
				return 0.4 + 0.02*r.Float64()
			}
			return 0
		}
	}
	const repeats = 500
	worst := 0.0
	for _, tt := range []struct {
		what string
		draw func(times float64) float64
	}{{"0.2 of 1000 fail", single(0.2)}, {"0.7 of 1000", single(0.7)}, {"3 of 1000", single(3)},
		{"one trial in 10", together(0.1)}, {"every second trial", together(0.5)}, {"4 of 5 trials", together(0.8)}} {
		for _, n := range []int{2, 3, 4, 5, 10} {
			for _, bound := range []float64{1, 1.1, 3} {
				if bound*0.8 > 1 && tt.what == "4 of 5 trials" || bound*0.5 > 1 && tt.what == "every second trial" {
					continue // a share has no room for so much
				}
				wrong := 0
				for range repeats {
					a, b := make([]float64, n), make([]float64, n)
					for i := range a {
						a[i], b[i] = tt.draw(1), tt.draw(bound)
					}
					if above, _, _ := MeansBeyond(b, a, bound, false, [2]float64{}); above < 0.05 {
						wrong++
					}
				}
				share, most := float64(wrong)/repeats, 0.025
				if bound > 2 {
					most = 0.055
				}
				worst = max(worst, share/most)
				if share > most+4*math.Sqrt(most/repeats) {
					t.Errorf("%s, %d trials a side, bound %g: above in %.1f %% of equals", tt.what, n, bound, 100*share)
				}
			}
		}
	}
	t.Logf("at most %.2g times as many wrong", worst)
}
