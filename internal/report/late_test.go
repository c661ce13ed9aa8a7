package report

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	made "edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// How requests failed is read from the exchanges of any results, however old; a copy without them does not know.
func TestHowRequestsFailedIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	kept, plan, err := made.Create(dir, []byte("study: s\nservice: echo\nfactors: {stack: [a, b]}\nrequests: 10\n"+
		"failures: 90%\ndesign: {replications: 2, seed: 1}\nresponses: [rtt, failed_share]\n"))
	if err != nil {
		t.Fatal(err)
	}
	why := []string{"status 500", "no response within 5s", "status 500", "connection reset before a response", ""}
	for _, trial := range plan.Trials {
		a, err := kept.BeginOn(trial.ID, store.Bench{})
		if err != nil {
			t.Fatal(err)
		}
		var xs []measure.Exchange
		failed := 0.0
		for i := range 10 {
			x := measure.Exchange{Seq: uint64(i + 1), Sent: time.Duration(i) * time.Second, Failure: why[i%5]}
			if trial.Cell == 1 && x.Failure != why[1] {
				x.Failure = ""
			}
			if x.Failure != "" {
				failed++
			} else {
				x.Done = x.Sent + time.Millisecond
			}
			xs = append(xs, x)
		}
		w, err := a.Exchanges(measure.Client)
		if err != nil || w.Append(xs) != nil || w.Close() != nil {
			t.Fatal("exchanges cannot be written", err)
		}
		if err := a.Commit([]store.Result{{Side: measure.Client, Response: "failed_share", Unit: "1", N: 1,
			Method: store.Measured, Mean: failed / 10, Median: failed / 10, Min: failed / 10, Max: failed / 10}},
			[]store.Quality{{Key: "requests", Unit: "1", Value: 10}, {Key: "failures", Unit: "1", Value: failed}}); err != nil {
			t.Fatal(err)
		}
	}
	kept.Close()
	r := reportOf(t, dir)
	if a := r.Attempts(); !slices.Equal(a[0].Late, []int{2, 2}) || !slices.Equal(a[1].Late, []int{2, 2}) ||
		a[0].Failed[0].Hits != 8 || a[1].Failed[0].Hits != 2 {
		t.Errorf("got %+v", a)
	}
	for i, want := range []float64{0.8, 0.2} {
		s := r.Series()[i]
		if x := s.Trials[0]; s.Response != "failed_share" || x.Mean != want || x.Late != 0.2 {
			t.Errorf("got %+v", s)
		}
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err = ReadPast(s); err != nil {
		t.Fatal(err)
	}
	if a := r.Attempts(); a[0].Late != nil || a[1].Late != nil || r.Series()[0].Trials[0].Late != 0.8 {
		t.Errorf("without exchanges: got %+v", a)
	}
}
