package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Ledgers of before digests of runs open as before, are gone on with, and know from then on what a run was given.
func TestLedgersOlderThanRunDigests(t *testing.T) {
	ofFormat1(t)
	dir := finished(t)
	execSQL(t, dir, `DELETE FROM meta WHERE key = 'run_digests'; UPDATE runs SET overrides = '["retries=2"]'`)
	read := must[*Store](t)(OpenReadOnly(dir))
	verified(t, read)
	ok(t, read.Close())
	h := header(3)
	h.Overrides = []string{"retries=2"}
	ok(t, must[*Store](t)(Open(dir, h)).Close())
	read = must[*Store](t)(OpenReadOnly(dir))
	defer read.Close()
	verified(t, read)
	execSQL(t, dir, `UPDATE runs SET overrides = '[]'`) // of run 1 nothing was noted
	if bad := read.Verify(); len(bad) != 1 || !errors.Is(bad[0], ErrEdited) || !strings.Contains(bad[0].Error(), "run 2") {
		t.Errorf("got %v, want run 2 found", bad)
	}
}

// Of many trials whose rows were changed it is said once, with their number: nobody reads a line for each.
func TestEditedRowsAreSaidOnce(t *testing.T) {
	for where, want := range map[string]string{
		" WHERE trial = 2": "the rows of trial 2, attempt 1, were changed",
		"":                 "the rows of 2 trials, the first of them trial 1, attempt 1, were changed",
	} {
		dir := finished(t)
		execSQL(t, dir, "UPDATE results SET mean = mean / 2"+where)
		s := must[*Store](t)(OpenReadOnly(dir))
		if bad := s.Verify(); len(bad) != 1 || !errors.Is(bad[0], ErrEdited) || !strings.Contains(bad[0].Error(), want) {
			t.Errorf("%q: got %v, want %q", where, bad, want)
		}
		ok(t, s.Close())
	}
}

// A ledger that lost an attempt of a valid trial, or one that has figures, is not what the lab wrote: its trials would
// count as valid without a figure.
func TestMissingAttemptsAreFound(t *testing.T) {
	for _, lost := range []string{
		"PRAGMA foreign_keys = OFF; DELETE FROM attempts WHERE trial = 2",
		"PRAGMA foreign_keys = OFF; DELETE FROM attempts WHERE trial = 2; UPDATE trials SET state = 'planned' WHERE id = 2",
		`PRAGMA foreign_keys = OFF; DELETE FROM attempts WHERE trial = 2; DELETE FROM results WHERE trial = 2;
			DELETE FROM quality WHERE trial = 2; DELETE FROM files WHERE trial = 2`,
	} {
		dir := finished(t)
		execSQL(t, dir, lost)
		s := must[*Store](t)(OpenReadOnly(dir))
		if bad := s.Verify(); !slices.ContainsFunc(bad, func(err error) bool {
			return errors.Is(err, ErrEdited) && strings.Contains(err.Error(), "attempts of 1 trial are missing")
		}) {
			t.Errorf("%s: got %v", lost, bad)
		}
		ok(t, s.Close())
	}
}
