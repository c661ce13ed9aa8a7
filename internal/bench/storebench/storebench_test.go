package storebench

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
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

// Exchanges that were made once are those of a closed loop in each trial: numbered from 1, due after those before, and
// nothing else is changed.
func TestASourceGivesTrials(t *testing.T) {
	s, m := newSource(7), maker{state: 7}
	made := make([]measure.Exchange, 4*4096)
	m.fill(made)
	turn, failed := 0, 0
	for _, requests := range []int{9999, 1, 4096, 30000} {
		s.begin()
		var seq uint64
		var due time.Duration
		for left := requests; left > 0; {
			xs := s.next(left)
			left -= len(xs)
			for i, got := range xs {
				want := made[turn*4096+i]
				later := due - want.Due
				if seq++; want.Failure == "" {
					want.Done += later
				} else {
					failed++
				}
				want.Seq, want.Due, want.Sent = seq, want.Due+later, want.Sent+later
				if got != want {
					t.Fatalf("request %d of %d: got %+v, want %+v", seq, requests, got, want)
				}
				due = got.Due + got.Total + idle
			}
			turn = (turn + 1) % 4
		}
		if seq != uint64(requests) {
			t.Errorf("%d requests, not %d", seq, requests)
		}
	}
	if failed == 0 {
		t.Error("none failed: the test sees too little")
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
