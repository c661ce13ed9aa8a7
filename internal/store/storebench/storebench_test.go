package storebench

import (
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// EDGEGAUGE_BENCH_STORE=100x100000 prints the full table.
func TestBenchRuns(t *testing.T) {
	if err := Run(io.Discard, t.TempDir(), 4, 5000); err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.Atoi(os.Getenv("STOREBENCH_REQUESTS")); err == nil {
		if err := Run(os.Stdout, os.Getenv("STOREBENCH_DIR"), 100, n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQuantileIsThatOfTheSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 200; n++ {
		v := make([]int64, n)
		for i := range v {
			v[i] = r.Int64N(int64(n)) // with ties
		}
		sorted := slices.Sorted(slices.Values(v))
		for _, q := range []float64{0, 0.5, 0.95, 1} {
			h := q * float64(n-1)
			k := int(h)
			want := float64(sorted[k])
			if k+1 < n {
				want += (h - float64(k)) * float64(sorted[k+1]-sorted[k])
			}
			if got := quantile(slices.Clone(v), q); got != want {
				t.Fatalf("n %d, q %v: got %v, want %v", n, q, got, want)
			}
		}
	}
}
