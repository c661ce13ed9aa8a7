package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"edgegauge/internal/device"
)

// scratchPrefix begins the name of each lab's folder for temporary files; its
// device.Owner and some random digits follow.
const scratchPrefix = "edgegauge-lab-"

// A Scratch is a folder in which this process and all it starts keep their
// temporary files, so that what a killed lab left is one folder, known to be its.
type Scratch struct {
	Dir   string
	Swept []string // folders of labs that were killed, which are gone now
	lock  *os.File
}

// NewScratch makes the folder, names it to this process and its children as
// TMPDIR, and removes those of labs that have ended without doing so.
func NewScratch() (*Scratch, error) {
	base := os.TempDir()
	s := &Scratch{Swept: sweepScratch(base)}
	var err error
	if s.Dir, err = os.MkdirTemp(base, scratchPrefix+device.Owner()+"-"); err == nil {
		err = os.Chmod(s.Dir, 0o711) // a stack's program may change its user: Apache does
	}
	if err == nil {
		s.lock, err = lockFolder(s.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("temporary files: %w; make room there, or name another folder with TMPDIR", err)
	}
	return s, os.Setenv("TMPDIR", s.Dir)
}

// Close removes the folder.
func (s *Scratch) Close() error {
	defer s.lock.Close()
	return errors.Join(os.Setenv("TMPDIR", filepath.Dir(s.Dir)), os.RemoveAll(s.Dir))
}

// lockFolder takes a lock that ends with this process, however it ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: dir, Err: err}
	}
	return f, nil
}

// sweepScratch removes this user's folders of labs that are gone. Two signs are
// needed: no process here has that number and beginning, and nobody holds the lock,
// since in another container there may be one that is not seen here.
func sweepScratch(base string) (swept []string) {
	all, _ := filepath.Glob(filepath.Join(base, scratchPrefix+"*"))
	for _, dir := range all {
		owner, _, ok := strings.Cut(strings.TrimPrefix(filepath.Base(dir), scratchPrefix), "-")
		if !ok || !device.OwnerGone(owner) || !isOwnFolder(dir) {
			continue
		}
		lock, err := lockFolder(dir)
		if err != nil {
			continue
		}
		if os.RemoveAll(dir) == nil {
			swept = append(swept, dir)
		}
		lock.Close()
	}
	return swept
}

func isOwnFolder(dir string) bool {
	i, err := os.Lstat(dir)
	if err != nil || !i.IsDir() {
		return false
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
