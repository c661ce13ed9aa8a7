package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
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
	f, err := kernel.LockFile(path, 0o644)
	for range 1000 {
		if !errors.Is(err, kernel.ErrLocked) || Busy(dir) {
			break
		}
		time.Sleep(time.Millisecond) // somebody only asked whether a lab writes here, as Busy does
		f, err = kernel.LockFile(path, 0o644)
	}
	switch {
	case errors.Is(err, kernel.ErrLocked):
		return nil, fail(ErrLocked, "%s: another lab is writing here (%s); wait for it, or stop it first", dir, holder(path))
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("%s: %w; results need a file system with flock", path, err)
	case err != nil:
		return nil, word(dir, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Nlink > 1 {
		f.Close()
		return nil, errors.Join(err, leadsElsewhere(path))
	}
	host, _ := os.Hostname()
	text := fmt.Sprintf("%s\npid %d on %s since %s\nboot %s\n", lockMagic, os.Getpid(), host, now(), kernel.BootID())
	if err := overwrite(f, text); err != nil {
		f.Close()
		return nil, word(dir, err)
	}
	return f, nil
}

// Busy says whether a lab is writing to dir, on this machine or, where the file system keeps
// locks for several, on another.
func Busy(dir string) bool {
	f, err := kernel.OpenRegular(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// A lockText is what a lock file says of the lab that took the lock last.
type lockText struct {
	pid        int
	host, boot string // boot: of the machine; empty: the lab was older, and did not say
}

func readLock(path string) (x lockText, ok bool) {
	b, err := kernel.ReadFile(path, 4096)
	if err != nil {
		return x, false
	}
	n, _ := fmt.Sscanf(string(b), lockMagic+"\npid %d on %s since", &x.pid, &x.host)
	if _, after, found := strings.Cut(string(b), "\nboot "); found {
		x.boot, _, _ = strings.Cut(after, "\n")
	}
	return x, n == 2 && x.pid > 1
}

// here says whether the lab was on this machine, and since it was started.
func (x lockText) here() bool {
	host, _ := os.Hostname()
	return x.host == host && (x.boot == "" || x.boot == kernel.BootID())
}

// ErrNoWriter means that no lab writes to a directory, as far as this user can tell.
var ErrNoWriter = errors.New("no lab writes there")

// ErrElsewhere means that a lab writes to a directory, but on another machine, which shares it.
var ErrElsewhere = errors.New("a lab on another machine writes there")

// Writer is the process of the lab that writes to dir, to be signalled, or ErrNoWriter, or
// ErrElsewhere, which says where. The lock file names it, but is not believed, since results of strangers
// may name any process: the process must have that very file open, or the lock be held.
func Writer(dir string) (*os.Process, error) {
	path := filepath.Join(dir, lockFile)
	lock, err := os.Lstat(path)
	if err != nil || !lock.Mode().IsRegular() {
		return nil, ErrNoWriter
	}
	said, ok := readLock(path)
	switch {
	case !ok:
		return nil, ErrNoWriter
	case !said.here() && Busy(dir): // Subtle: asked of no lab that is here, which it would stand in the way of
		return nil, fmt.Errorf("%w: %s", ErrElsewhere, holder(path))
	case !said.here():
		return nil, ErrNoWriter
	}
	// Subtle: the handle is taken first. What the number stands for may change; what the handle does cannot.
	p, err := os.FindProcess(said.pid)
	if err != nil {
		return nil, ErrNoWriter
	}
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", said.pid))
	for _, fd := range open {
		if f, err := os.Stat(fd); err == nil && os.SameFile(f, lock) {
			return p, nil
		}
	}
	return nil, errors.Join(ErrNoWriter, p.Release())
}

// overwrite keeps the file non-empty at all times: its first line marks the
// directory as ours. It is durable, and so is its name, before anything else is
// made: after a power cut the directory is still known as ours.
func overwrite(f *os.File, text string) error {
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(text))); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.Name()))
}

func holder(path string) string {
	b, _ := kernel.ReadFile(path, 1<<12)
	if _, after, ok := strings.Cut(string(b), "\n"); ok {
		if who, _, _ := strings.Cut(after, "\n"); strings.TrimSpace(who) != "" {
			return strings.TrimSpace(who)
		}
	}
	return "it has not identified itself yet"
}

// usable refuses to create results where there are some, or something else.
func usable(dir string) error {
	if err := checkPlace(dir); err != nil {
		return err
	}
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
		return fail(ErrExists, "%s: already contains results; resume them, or choose another directory", dir)
	case len(names) == 0 || isMarked(dir) || cutShort(dir, names):
		return nil
	}
	return fail(ErrForeign, "%s: not empty, and not results of edgegauge (it contains %q); choose another directory",
		dir, names[0])
}

// cutShort tells of a creation that a power cut ended before the lock's text was
// on disk: a lock without text, and nothing but what a creation makes.
func cutShort(dir string, names []string) bool {
	st, err := os.Lstat(filepath.Join(dir, lockFile))
	if err != nil || !st.Mode().IsRegular() || st.Size() != 0 {
		return false
	}
	made := append([]string{lockFile, invalidDir, trialsDir, planFile, studyFile, factsFile, ledgerFile}, kinds...)
	return !slices.ContainsFunc(names, func(name string) bool {
		whole, _ := strings.CutSuffix(name, partialSuffix)
		return !slices.Contains(made, whole)
	})
}

func isMarked(dir string) bool {
	f, err := kernel.OpenRegular(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 1<<10)).ReadString('\n')
	return strings.TrimSpace(line) == lockMagic
}

// Missing says why dir holds no results, if it does not: ErrForeign where nothing there is a store's.
func Missing(dir string) error { return holdsResults(dir) }

// holdsResults says why dir cannot be opened, if it cannot.
func holdsResults(dir string) error {
	if err := checkPlace(dir); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(dir, ledgerFile))
	switch {
	case err == nil:
		return nil
	case isMarked(dir):
		advice := "run the study again with this directory, or restore the ledger from a copy"
		if logs, _ := os.ReadDir(filepath.Join(dir, trialsDir)); len(logs) > 0 { // which no run writes over
			advice = "restore the ledger from a copy, or run the study into a new directory"
		}
		return fail(ErrMissing, "%s: incomplete: %s is missing; %s", dir, ledgerFile, advice)
	case errors.Is(err, os.ErrNotExist):
		return fail(ErrForeign, "%s: no results here (no %s); name a directory that edgegauge run wrote", dir, ledgerFile)
	}
	return word(dir, err)
}
