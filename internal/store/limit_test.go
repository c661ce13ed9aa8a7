package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// meetLimits measures with ever other limits of file sizes, each until it is met, and goes on without.
func meetLimits(dir string) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	whole := limit.Cur
	for n := range 40 {
		results, h := filepath.Join(dir, fmt.Sprint(n)), header(crashTrials)
		limit.Cur = uint64(1000 + 9973*n)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		done := 0
		s, err := Create(results, h)
		if err == nil {
			done, err = runUntilFull(s)
			s.Close()
		}
		if !errors.Is(err, ErrFileLimit) || !strings.Contains(err.Error(), results+"/") ||
			!strings.Contains(err.Error(), fmt.Sprintf("at most %d kB (ulimit -f)", limit.Cur/1000)) {
			return fmt.Errorf("files of at most %d B, after %d trials: %w", limit.Cur, done, err)
		}
		if limit.Cur = whole; syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) != nil {
			return errors.New("the limit cannot be raised again")
		}
		if holdsResults(results) != nil {
			continue // there was no room for a ledger
		}
		if s, err = Open(results, h); err != nil {
			return fmt.Errorf("of files of at most %d B, without the limit: %w", limit.Cur, err)
		}
		s.Close()
		if err := readable(results, done); err != nil {
			return err
		}
	}
	return nil
}

// Where no file may be as large as a ledger or a table becomes, it is said which one that is, and nothing committed is
// lost.
func TestLimitsOfFilesAreSaid(t *testing.T) {
	dir := t.TempDir()
	if out, err := asRole("limited", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "39")); err != nil {
		t.Error(err)
	}
}
