package energy

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// What no supply gives is doubted, each by its key; what supplies do give is not.
func TestOddReadingsAreDoubted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	every := func(n int, x float64) func(int, float64) float64 {
		return func(i int, w float64) float64 {
			if i%n == n/2 {
				return x
			}
			return w
		}
	}
	plain := func(_ int, w float64) float64 { return w }
	for _, c := range []struct {
		what         string
		level, noise float64
		change       func(int, float64) float64
		want         string // keys
	}{
		{"a steady load with noise", 1.2, 0.01, plain, ""},
		{"noise about zero", 0, 0.01, plain, ""},
		{"idle and load by turns", 1.2, 0.01, func(i int, w float64) float64 { return w + float64(i/100%2) }, ""},
		{"one radio burst in ten", 0.05, 0.001, every(10, 0.4), ""},
		{"every reading the same", 1.2, 0, plain, "stuck"},
		{"every 20th reading -5 W", 1.2, 0.01, every(20, -5), "negative"},
		{"every 5th reading -5 W", 1.2, 0.01, every(5, -5), "negative"},
		{"the wires the wrong way round", -1.2, 0.01, plain, "negative"},
		{"one reading of 300 W", 1.2, 0.01, func(i int, w float64) float64 {
			if i == 100 {
				return 300
			}
			return w
		}, "outliers"},
	} {
		values := make([]float64, 400)
		for i := range values {
			values[i] = c.change(i, c.level+c.noise*r.NormFloat64())
		}
		trace := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, values...))
		e, err := OfTrial(trace, Window{1000 * ms, 3000 * ms},
			Idle{Window: Window{100 * ms, 900 * ms}, Power: c.level / 2, N: 80})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		var keys []string
		for _, d := range e.Doubts {
			var k Doubt
			if !errors.As(d, &k) || Words[k.Key] == "" {
				t.Errorf("%s: %v has no words", c.what, d)
			}
			if slices.Contains([]string{"stuck", "negative", "outliers"}, k.Key) {
				keys = append(keys, k.Key)
			}
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("%s: got %q, want %q (%v)", c.what, got, c.want, e.Doubts)
		}
	}
}
