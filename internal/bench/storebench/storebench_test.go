package storebench

import (
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
