package storebench

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestBenchRuns(t *testing.T) {
	var out strings.Builder
	if err := Run(&out, t.TempDir(), 4, 5000); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 trials of 5000 exchanges", "store, synced", "peak RSS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
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
