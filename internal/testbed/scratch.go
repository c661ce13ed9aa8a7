package testbed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/study"
)

// scratchPrefix begins the name of each lab's folder for temporary files; its
// kernel.Owner and some random digits follow.
const scratchPrefix = "edgegauge-lab-"

// A Scratch is a folder in which a lab and all it starts keep their temporary
// files, so that what a killed lab left is one folder, known to be its.
type Scratch struct {
	Dir   string
	Swept []string // folders of labs that were killed, which are gone now
	lock  *os.File
}

// NewScratch makes the folder below base (empty: the system's folder for
// temporary files), and removes those of labs that ended without doing so. It
// changes nothing of the process: hand Dir to whoever needs it.
func NewScratch(base string) (*Scratch, error) {
	if base == "" {
		base = os.TempDir()
	}
	s := &Scratch{Swept: kernel.SweepFolders(base, scratchPrefix)}
	var err error
	if s.Dir, s.lock, err = kernel.NewFolder(base, scratchPrefix); err == nil {
		err = os.Chmod(s.Dir, 0o711) // a stack's program may change its user: Apache does
	}
	if err != nil {
		return nil, fmt.Errorf("temporary files: %w; %s", err, elsewhere(err))
	}
	return s, nil
}

// seeTemporary finds that a lab could keep no temporary files here.
func (x *assembly) seeTemporary() {
	try, err := os.MkdirTemp(x.temp, "edgegauge-try-")
	if err == nil {
		err = os.Remove(try)
	}
	if err != nil {
		x.faults = append(x.faults, study.Error{Pos: study.Pos{File: x.plan.Study.File},
			What: "temporary files: " + err.Error(), Advice: elsewhere(err), Here: true})
	}
}

// elsewhere is what helps where a folder for temporary files cannot be used.
func elsewhere(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "make that folder, or set TMPDIR to one that exists"
	case errors.Is(err, syscall.ENOTDIR):
		return "set TMPDIR to a folder"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "set TMPDIR to a folder where you may write"
	}
	return "free space there, or set TMPDIR to another folder"
}

// Close removes the folder.
func (s *Scratch) Close() error {
	defer s.lock.Close()
	return os.RemoveAll(s.Dir)
}
