package store

import (
	"errors"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// oneFile begins a trial's attempt, and writes one of its files.
func oneFile(t *testing.T, s *Store) *Attempt {
	t.Helper()
	a := must[*Attempt](t)(s.Begin(1))
	w := must[*ExchangeWriter](t)(a.Exchanges(measure.Client))
	ok(t, w.Append(exchanges(5, 1)))
	ok(t, w.Close())
	return a
}

// figure is one that an attempt is committed with.
var figure = []Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 5, Mean: 1, Method: Measured}}

// The rows of an attempt are inserted while the disk takes its files, and nobody sees them before it has.
func TestRowsAreInsertedWhileTheDiskWorks(t *testing.T) {
	s := create(t, 1)
	a := oneFile(t, s)
	s.syncDir = func(dir string) error {
		for end := time.Now().Add(time.Minute); s.mu.TryLock(); time.Sleep(time.Millisecond) {
			s.mu.Unlock()
			if time.Now().After(end) {
				return errors.New("the ledger waits for the disk")
			}
		}
		r, err := OpenReadOnly(s.Dir())
		if err != nil {
			return err
		}
		defer r.Close()
		if trials, err := r.Trials(); err != nil || trials[0].State != Running {
			t.Errorf("while its files may be lost: %+v, %v", trials, err)
		}
		return syncDir(dir)
	}
	ok(t, a.Commit(figure, quality))
	if got := must[[]TrialState](t)(s.Trials())[0].State; got != Valid {
		t.Errorf("got %s", got)
	}
}

// An attempt whose files may be lost is not committed, and none of its rows is.
func TestNothingIsCommittedWithoutItsFiles(t *testing.T) {
	s := create(t, 1)
	a := oneFile(t, s)
	lost := errors.New("the disk is gone")
	s.syncDir = func(string) error { return lost }
	if err := a.Commit(figure, quality); !errors.Is(err, lost) {
		t.Errorf("got %v, want %v", err, lost)
	}
	if got := must[[]TrialState](t)(s.Trials())[0].State; got != Running {
		t.Errorf("the trial is %s", got)
	}
	for _, table := range []string{"results", "quality", "files"} {
		var n int
		ok(t, s.db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		if n > 0 {
			t.Errorf("%d rows of %s are kept", n, table)
		}
	}
}
