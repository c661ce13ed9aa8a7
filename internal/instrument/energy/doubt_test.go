package energy

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
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

// A counter that stands still for the whole trial is doubted, however few readings there are, and though it moved
// while idle was measured.
func TestACounterThatStandsStillIsDoubted(t *testing.T) {
	idle := Window{100 * ms, 900 * ms}
	for _, c := range []struct {
		what     string
		readings int // of the trial, 10 ms apart
		joules   func(i int) float64
		idle     []Idle
		want     bool
	}{
		{"it moves", 10, func(i int) float64 { return 0.01 * float64(i) }, nil, false},
		{"it stands still", 10, func(int) float64 { return 3 }, nil, true},
		{"two readings", 2, func(int) float64 { return 3 }, nil, false},
		{"it moved before", 10, func(i int) float64 { return 0.01 * float64(min(i, 100)) }, []Idle{{Window: idle, Power: 1,
			N: 80}}, true},
		{"it moves once", 10, func(i int) float64 { return 0.01 * float64(min(i, 104)) }, []Idle{{Window: idle, Power: 1,
			N: 80}}, false},
	} {
		values := make([]float64, 120)
		for i := range values {
			values[i] = c.joules(i)
		}
		trace := NewTrace(Facts{Kind: Cumulative, Interval: 10 * ms}, samples(Counter, 10*ms, values...))
		from := 1010 * ms
		e, err := OfTrial(trace, Window{from, from + time.Duration(c.readings)*10*ms}, c.idle...)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		got := slices.ContainsFunc(e.Doubts, func(err error) bool {
			var d Doubt
			return errors.As(err, &d) && d.Key == "stuck"
		})
		if got != c.want {
			t.Errorf("%s: doubted is %v: %v", c.what, got, e.Doubts)
		}
	}
}
