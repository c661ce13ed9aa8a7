package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestWithinTrialAgainstSorting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func(i, n int) float64{
		"normal":     func(i, n int) float64 { return random.NormFloat64() },
		"heavy ties": func(i, n int) float64 { return float64(random.IntN(3)) },
		"all equal":  func(i, n int) float64 { return 4 },
		"ascending":  func(i, n int) float64 { return float64(i) },
		"descending": func(i, n int) float64 { return float64(-i) },
		"organ pipe": func(i, n int) float64 { return float64(min(i, n-i)) },
		"sawtooth":   func(i, n int) float64 { return float64(i % 17) },
		"far off":    func(i, n int) float64 { return 1e9 + random.Float64() },
		"skewed":     func(i, n int) float64 { return math.Exp(3 * random.NormFloat64()) },
		"tiny":       func(i, n int) float64 { return 1e-300 * random.Float64() },
		"outlier":    func(i, n int) float64 { return max(1e9*float64(1-i), random.Float64()) },
		"two lumps":  func(i, n int) float64 { return float64(i%2) + 1e-9*random.Float64() },
	}
	for words, shape := range shapes {
		for _, n := range []int{1, 2, 3, 19, 20, 26, 99, 100, 101, 1000, 5003, manyValues, 20_011} {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = shape(i, n)
			}
			sorted := slices.Sorted(slices.Values(xs))
			whole := make([]int64, n)
			for i := range xs {
				whole[i] = int64(xs[i])
			}
			mean, v := moments(xs)
			w, err := WithinTrial(xs)
			if err != nil {
				t.Fatal(err)
			}
			// rounding adds up to n times 1.1e-16
			if w.N != n || w.Min != sorted[0] || w.Max != sorted[n-1] || !within(w.Mean, mean, 1e-11) &&
				math.Abs(w.Mean-mean) > 1e-11 {
				t.Errorf("%s of %d: got %+v, mean %v", words, n, w, mean)
			}
			if n > 1 && !within(w.SD, math.Sqrt(v), 1e-9) {
				t.Errorf("%s of %d: sd %v, want %v", words, n, w.SD, math.Sqrt(v))
			}
			type7 := func(q float64, least int) float64 {
				if n < least {
					return math.NaN()
				}
				h := q * float64(n-1)
				k := int(h)
				return sorted[k] + (h-float64(k))*(sorted[min(k+1, n-1)]-sorted[k])
			}
			for _, c := range []struct{ got, want float64 }{{w.Median, type7(0.5, 1)}, {w.P95, type7(0.95, 20)},
				{w.P99, type7(0.99, 100)}} {
				if !within(c.got, c.want, 1e-14) {
					t.Errorf("%s of %d: got %v, want %v", words, n, c.got, c.want)
				}
			}
			if !slices.Equal(slices.Sorted(slices.Values(xs)), sorted) {
				t.Errorf("%s of %d: values were changed, not only reordered", words, n)
			}
			i, err := WithinTrial(whole)
			if err != nil || i.Min != float64(int64(sorted[0])) {
				t.Errorf("%s of %d as int64: got %+v, %v", words, n, i, err)
			}
		}
	}
}

func TestWithinTrialRefuses(t *testing.T) {
	for words, xs := range map[string][]float64{"NaN first": {math.NaN(), 1}, "NaN last": {1, math.NaN()},
		"Inf": {1, math.Inf(-1)}} {
		if w, err := WithinTrial(xs); !errors.Is(err, ErrNotFinite) {
			t.Errorf("%s: got %+v, %v", words, w, err)
		}
	}
	if _, err := WithinTrial([]time.Duration{}); !errors.Is(err, ErrNoData) {
		t.Errorf("nothing: got %v", err)
	}
}

// A tenth is not exact in binary: ten million of them added one by one miss
// their sum by 1.6e-11 of it.
func TestMeanOfTenMillionKeepsItsDigits(t *testing.T) {
	xs := make([]float64, 10_000_000)
	for i := range xs {
		xs[i] = 0.1
	}
	if m, _, _ := center(xs); !within(m, 0.1, 1e-13) {
		t.Errorf("got %.17g (relative %.2g)", m, m/0.1-1)
	}
}

func TestWithinTrialTakesDurationsAndAllocatesNothing(t *testing.T) {
	xs := make([]time.Duration, 10_000)
	random := rand.New(rand.NewPCG(3, 4))
	if n := testing.AllocsPerRun(3, func() {
		for i := range xs {
			xs[i] = time.Duration(random.IntN(1_000_000))
		}
		if w, err := WithinTrial(xs); err != nil || w.N != len(xs) {
			t.Fatal(w, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// 10 million requests of one trial: `go test -bench Within ./internal/stat`.
func BenchmarkWithinTrial(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6))
	for words, draw := range map[string]func() int64{
		"int64_distinct": func() int64 { return int64(random.ExpFloat64() * 1e6) },
		"int64_ties":     func() int64 { return int64(random.ExpFloat64() * 10) },
	} {
		source := make([]int64, 10_000_000)
		for i := range source {
			source[i] = draw()
		}
		xs := make([]int64, len(source))
		b.Run(words, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				copy(xs, source)
				b.StartTimer()
				if _, err := WithinTrial(xs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("float64", func(b *testing.B) {
		xs := make([]float64, 10_000_000)
		for b.Loop() {
			b.StopTimer()
			for i := range xs {
				xs[i] = random.ExpFloat64()
			}
			b.StartTimer()
			if _, err := WithinTrial(xs); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What failed counts as slower than all that was answered: the type 7 quantile over both, sorted, with +Inf for each.
func TestQuantileOfAllTakesFailuresLast(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		xs, more := make([]float64, random.IntN(60)), random.IntN(12)
		q := []float64{0.05, 0.25, 0.5, 0.9, 0.95}[random.IntN(5)]
		for i := range xs {
			xs[i] = math.Round(random.ExpFloat64() * 10)
		}
		all := slices.Concat(xs, slices.Repeat([]float64{math.Inf(1)}, more))
		slices.Sort(all)
		got, err := QuantileOfAll(xs, more, q)
		if !enough(len(all), q) {
			if !errors.Is(err, ErrNoData) {
				t.Errorf("%d values and %d failures, %g: got %v, %v", len(xs), more, q, got, err)
			}
			continue
		}
		at := q * float64(len(all)-1)
		k := int(math.Floor(at + 1e-9))
		want := all[k]
		if part := at - float64(k); part > 1e-9 {
			want += part * (all[k+1] - all[k])
		}
		if math.IsNaN(want) { // between two that failed
			want = math.Inf(1)
		}
		lost := math.IsInf(want, 1)
		if err != nil || lost != math.IsInf(got, 1) || !lost && math.Abs(got-want) > 1e-9 {
			t.Errorf("%d values and %d failures, %g: got %v, %v; want %v", len(xs), more, q, got, err, want)
		}
	}
}

func TestMiddle(t *testing.T) {
	for _, tt := range []struct {
		xs   []int64
		want float64
	}{{[]int64{3}, 3}, {[]int64{5, 2}, 3.5}, {[]int64{9, 1, 2}, 2}, {[]int64{4, 1, 3, 2}, 2.5}} {
		before := slices.Clone(tt.xs)
		if got := Middle(tt.xs); got != tt.want || !slices.Equal(before, tt.xs) {
			t.Errorf("%v: got %v, want %v; left %v", before, got, tt.want, tt.xs)
		}
	}
	if got := Middle([]float64{}); !math.IsNaN(got) {
		t.Errorf("of none: got %v", got)
	}
}
