package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// lockMagic is the first line of the lock file. It also marks a directory as
// ours before it has a ledger.
const lockMagic = "edgegauge results"

// takeLock locks dir for one lab. The lock is the kernel's and dies with the
// process, so a killed lab leaves none behind; the file says who holds it.
// Subtle: Go opens it close-on-exec, or a stack that outlived the lab would
// keep the lock.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, word(dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fail(ErrLocked, "%s: another lab is writing here (%s); wait for it, or stop it first", dir, holder(path))
		}
		return nil, fmt.Errorf("%s: lock: %w; results need a file system with flock", path, err)
	}
	host, _ := os.Hostname()
	text := fmt.Sprintf("%s\npid %d on %s since %s\n", lockMagic, os.Getpid(), host, now())
	if err := overwrite(f, text); err != nil {
		f.Close()
		return nil, word(dir, err)
	}
	return f, nil
}

// overwrite keeps the file non-empty at all times: its first line marks the
// directory as ours.
func overwrite(f *os.File, text string) error {
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

func holder(path string) string {
	b, _ := os.ReadFile(path)
	if _, who, ok := strings.Cut(string(b), "\n"); ok && strings.TrimSpace(who) != "" {
		return strings.TrimSpace(who)
	}
	return "it has not yet said who it is"
}

// usable refuses to create results where there are some, or something else.
func usable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail(ErrForeign, "%s: %v; name a directory for the results", dir, err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	switch {
	case slices.Contains(names, ledgerFile):
		return fail(ErrExists, "%s: holds results already; resume them, or choose another directory", dir)
	case len(names) == 0 || isMarked(dir) || onlyEmptyLock(dir, names):
		return nil
	}
	return fail(ErrForeign, "%s: not empty and not results of edgegauge (it has %q); choose another directory", dir, names[0])
}

// onlyEmptyLock tells of a creation killed between making and marking the lock.
func onlyEmptyLock(dir string, names []string) bool {
	st, err := os.Stat(filepath.Join(dir, lockFile))
	return err == nil && len(names) == 1 && st.Size() == 0
}

func isMarked(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	return strings.TrimSpace(line) == lockMagic
}

// holdsResults says why dir cannot be opened, if it cannot.
func holdsResults(dir string) error {
	_, err := os.Stat(filepath.Join(dir, ledgerFile))
	switch {
	case err == nil:
		return nil
	case isMarked(dir):
		return fail(ErrMissing, "%s: half written: it has no %s; run the study again with this directory, or restore the ledger from a copy", dir, ledgerFile)
	case errors.Is(err, os.ErrNotExist):
		return fail(ErrForeign, "%s: no results here (no %s); name a directory that edgegauge run wrote", dir, ledgerFile)
	}
	return word(dir, err)
}
