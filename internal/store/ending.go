package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// endingKey of the table meta says how a study ended; empty: it has not. Ledgers of
// older labs lack it.
const endingKey = "ending"

// An Ending is how a study ended: nothing was left to measure.
type Ending struct {
	At    time.Time `json:"at"`              // zero: the ledger is an older lab's, which does not say
	Unmet string    `json:"unmet,omitempty"` // why the precision that was asked for is not reached
}

// Ending is how the study ended; nil: it was begun, or asked for more, and has not ended yet.
func (s *Store) Ending() (*Ending, error) {
	var text string
	switch err := s.db.QueryRow("SELECT value FROM meta WHERE key = ?", endingKey).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
		return &Ending{}, nil
	case err != nil:
		return nil, s.word(err)
	case text == "":
		return nil, nil
	}
	var e Ending
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return nil, s.damaged("%s %.80q: %v", endingKey, text, err)
	}
	return &e, nil
}

// Left reports whether a lab has something left to do, if only to find that nothing is. Of an older
// lab's ledger that are trials that are neither valid nor abandoned after those retries.
func (s *Store) Left(retries int) (bool, error) {
	ending, err := s.Ending()
	if err != nil || ending == nil || !ending.At.IsZero() {
		return err == nil && ending == nil, err
	}
	pending, err := s.Pending()
	return slices.ContainsFunc(pending, func(t TrialState) bool { return t.Refused <= retries }), err
}

// End records that nothing is left to measure. It holds until the study is resumed with
// settings that ask for more.
func (s *Store) End(unmet string) error {
	text, err := json.Marshal(Ending{At: time.Now().UTC(), Unmet: unmet})
	if err != nil {
		return err
	}
	return s.change(func(tx *sql.Tx) error { return setMeta(tx, endingKey, string(text)) })
}

// goOn forgets an ending where the study asks for more now.
func (s *Store) goOn(asksMore bool) error {
	return s.change(func(tx *sql.Tx) error {
		if asksMore {
			return setMeta(tx, endingKey, "")
		}
		_, err := tx.Exec("INSERT OR IGNORE INTO meta VALUES (?, '')", endingKey) // of an older lab's ledger
		return err
	})
}

// workedKey of the table meta says until when each run gave work to benches or took results of them, by the clock of
// this machine: JSON, run to instant. Ledgers of older labs lack it, and so do those of studies run alone.
const workedKey = "worked"

// worked reads it.
func worked(from interface {
	QueryRow(query string, args ...any) *sql.Row
}) (map[int]time.Time, error) {
	var text string
	switch err := from.QueryRow("SELECT value FROM meta WHERE key = ?", workedKey).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
		return map[int]time.Time{}, nil
	case err != nil:
		return nil, err
	}
	all := map[int]time.Time{}
	if err := json.Unmarshal([]byte(text), &all); err != nil || all == nil {
		return nil, fmt.Errorf("%s %.80q in the ledger: not what a lab writes; restore it from a copy", workedKey, text)
	}
	return all, nil
}

// noteWork records that the last run works with benches now: the times of what they deliver are by their clocks.
func noteWork(tx *sql.Tx) error {
	all, err := worked(tx)
	if err != nil {
		return err
	}
	var run int
	if err := tx.QueryRow("SELECT max(run) FROM runs").Scan(&run); err != nil {
		return err
	}
	all[run] = time.Now().UTC()
	text, err := json.Marshal(all)
	if err == nil {
		err = setMeta(tx, workedKey, string(text))
	}
	return err
}

// Spent is how long the runs before the last one worked, each until the last that it did. A lab
// that measures is the last run itself.
func (s *Store) Spent() (time.Duration, error) {
	runs, err := s.Runs()
	if err != nil {
		return 0, err
	}
	of, err := s.RunOf(runs)
	if err != nil {
		return 0, err
	}
	attempts, err := s.Attempts(0)
	if err != nil {
		return 0, err
	}
	noted, err := worked(s.db)
	if err != nil {
		return 0, s.word(err)
	}
	until, first := make([]time.Time, len(runs)), len(runs)
	for i, r := range runs {
		if at, ok := noted[r.Number]; ok {
			until[i], first = at, min(first, i)
		}
	}
	for _, a := range attempts {
		at, ended := a.Ended, true
		if a.State == Interrupted || a.Ended.IsZero() { // it is the run after it that notes when
			at, ended = a.Began, false
		}
		i, ok := of[a.AttemptID]
		if !ok { // a bench's: once it has ended, by its clock
			if i = runAt(runs, at); ended && i >= first {
				continue
			}
		}
		if at.After(until[i]) {
			until[i] = at
		}
	}
	var spent time.Duration
	for i := range len(runs) - 1 {
		if next := runs[i+1].Started; until[i].After(next) { // a clock was set meanwhile
			until[i] = next
		}
		spent += max(0, until[i].Sub(runs[i].Started))
	}
	return spent, nil
}

// runAt is the run that was under way at an instant.
func runAt(runs []Run, at time.Time) int {
	found := 0
	for i, r := range runs {
		if !r.Started.After(at) {
			found = i
		}
	}
	return found
}
