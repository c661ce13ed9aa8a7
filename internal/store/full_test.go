package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/measure"
)

// fillDisk mounts a small file system in this process's own mount namespace
// and measures until it is full, then frees space and resumes. Its stdout is
// read by people only; it fails by its exit code.
func fillDisk(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		return err
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o644); err != nil {
		return err
	}
	results := filepath.Join(dir, "results")
	h := header(crashTrials)
	s, err := Create(results, h)
	if err != nil {
		return err
	}
	done, err := runUntilFull(s)
	fmt.Printf("%d trials, then: %v\n", done, err)
	if done == 0 || !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "nothing committed is lost") {
		return fmt.Errorf("after %d trials got %w, want ErrDiskFull", done, err)
	}
	s.Close() // may itself find no space; the ledger must survive that
	if err := readable(results, done); err != nil {
		return fmt.Errorf("while full: %w", err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if s, err = Open(results, h); err != nil {
		return fmt.Errorf("after space was freed: %w", err)
	}
	more, err := runUntilFull(s)
	fmt.Printf("%d trials more, then: %v\n", more, err)
	s.Close()
	if more == 0 || !errors.Is(err, ErrDiskFull) {
		return fmt.Errorf("resumed, got %d trials and %w", more, err)
	}
	return readable(results, done+more)
}

func runUntilFull(s *Store) (done int, err error) {
	pending, err := s.Pending()
	if err != nil {
		return 0, err
	}
	for _, t := range pending {
		t.Refused = 1 // no invalid ones here
		if err := runTrial(s, t); err != nil {
			return done, err
		}
		done++
	}
	return done, errors.New("the disk never filled")
}

// readable checks that all committed trials are there and as they were written.
func readable(dir string, valid int) error {
	r, err := OpenReadOnly(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	if bad := errors.Join(r.Verify()...); bad != nil {
		return bad
	}
	n := 0
	for _, err := range r.Results() {
		if err != nil {
			return err
		}
		n++
	}
	if n != valid {
		return fmt.Errorf("got %d valid trials, want %d", n, valid)
	}
	return nil
}

func TestDiskFullLosesNothing(t *testing.T) {
	c := asRole("full", t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		c.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := c.CombinedOutput()
	if errors.Is(err, os.ErrPermission) && os.Getuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("no mount namespace for this user; run as root, or allow user namespaces. TestAFullDiskEndsTheAttempt " +
			"covers the writers")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "valid") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// A meanFile has room for so many bytes and then no more, or cannot be synced.
type meanFile struct {
	diskFile
	room int
	sync error
}

func (f *meanFile) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, &os.PathError{Op: "write", Path: "x.parquet", Err: syscall.ENOSPC}
	}
	f.room -= len(p)
	return f.diskFile.Write(p)
}

func (f *meanFile) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.diskFile.Sync()
}

// Wherever in a file the space ends, the attempt cannot be committed, the
// partial file is gone and the trial can be run again.
func TestAFullDiskEndsTheAttempt(t *testing.T) {
	for room, sync := range map[int]error{0: nil, 3: nil, 70000: nil, 1 << 30: syscall.EDQUOT} {
		s := create(t, 1)
		s.create = func(path string) (diskFile, error) {
			f, err := createFile(path)
			return &meanFile{f, room, sync}, err
		}
		a := must[*Attempt](t)(s.Begin(1))
		w := must[*ExchangeWriter](t)(a.Exchanges(measure.Client))
		appended := w.Append(exchanges(2*rowGroup, 1))
		closed := w.Close()
		if sync == nil && !errors.Is(closed, ErrDiskFull) || appended != nil && !errors.Is(appended, ErrDiskFull) {
			t.Errorf("room for %d: got %v, then %v; want ErrDiskFull", room, appended, closed)
		}
		if err := a.Commit(results, nil); !errors.Is(err, ErrDiskFull) {
			t.Errorf("room for %d: commit: got %v, want ErrDiskFull", room, err)
		}
		if left := must[[]string](t)(filepath.Glob(s.path("exchanges", "*"))); len(left) > 0 {
			t.Errorf("room for %d: left %v", room, left)
		}
		s.create = createFile
		ok(t, a.Invalidate("disk full", "", nil))
		ok(t, write(t, s, 1, 100).Commit(results, nil))
	}
}
