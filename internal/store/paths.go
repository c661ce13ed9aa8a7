package store

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
)

// longestPath is what SQLite takes for a file, less the endings it adds itself
// (MAX_PATHNAME, 512, in os_unix.c).
const longestPath = 500

// checkPlace refuses a directory whose ledger SQLite could not open.
func checkPlace(dir string) error {
	whole, err := filepath.Abs(filepath.Join(dir, ledgerFile))
	if err != nil {
		return err
	}
	if len(whole) > longestPath {
		return fail(ErrForeign, "%.60s…: the path of its ledger has %d bytes, but SQLite allows only %d; use a shorter one",
			dir,
			len(whole), longestPath)
	}
	return nil
}

// createNew makes a file that was not there. What lies at the path is not
// followed, be it a symbolic link, a pipe or a file.
func createNew(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
}

// createPartial makes the file that is to become path, and locks it. What killed processes left is removed; beside a
// file that another process is writing now, it has a name of its own.
func createPartial(path string) (*os.File, error) {
	temp := path + partialSuffix
	if err := removeUnlocked(temp); err != nil {
		return nil, err
	}
	removeLeft(path)
	f, err := createNew(temp)
	if err == nil && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK && isStill(f, temp) {
		return f, nil
	}
	if err == nil { // another process has just taken it for a killed one's, and removed it
		f.Close()
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	for {
		own := path + "." + rand.Text() + partialSuffix
		f, err := createNew(own)
		if err != nil {
			return nil, err
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK && isStill(f, own) {
			return f, nil
		}
		f.Close() // likewise
	}
}

// ownText is what createPartial puts into a name of its own: rand.Text.
var ownText = lazy.Regexp(`^[A-Z2-7]{26}$`)

// removeLeft removes the unfinished files with names of their own that were to become path, unless somebody writes them
// now. Without locks nobody knows, and they stay.
func removeLeft(path string) {
	all, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range all {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		rest, partial := strings.CutSuffix(rest, partialSuffix)
		if !ours || !partial || !ownText().MatchString(rest) {
			continue
		}
		left := filepath.Join(filepath.Dir(path), e.Name())
		f, err := kernel.OpenRegular(left)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && isStill(f, left) {
			os.Remove(left) // what stays is removed by the next
		}
		f.Close()
	}
}

// removeUnlocked removes an unfinished file, unless somebody writes it now; of a link, the link.
func removeUnlocked(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // what is there a moment later is another's
	}
	if err == nil {
		defer f.Close()
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK || !isStill(f, path) {
			return nil
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// isStill reports whether an open file has that name.
func isStill(f *os.File, path string) bool {
	mine, err := f.Stat()
	there, err2 := os.Lstat(path)
	return err == nil && err2 == nil && os.SameFile(mine, there)
}

// openOwn opens a file of the directory for writing in place. It refuses one
// that leads elsewhere, or that has a second name elsewhere.
func openOwn(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|flags, 0o644)
	if errors.Is(err, unix.ELOOP) {
		return nil, leadsElsewhere(path)
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 {
		f.Close()
		return nil, errors.Join(err, leadsElsewhere(path))
	}
	return f, nil
}

// checkOwn refuses to write into a directory of which a part leads elsewhere.
func checkOwn(dir string) error {
	for _, name := range append([]string{invalidDir, trialsDir, benchesDir, incomingDir}, kinds...) {
		st, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && !st.IsDir() {
			return leadsElsewhere(filepath.Join(dir, name))
		}
	}
	// Here benches of this machine work, each in a folder of its own.
	err := filepath.WalkDir(filepath.Join(dir, incomingDir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&fs.ModeSymlink != 0 {
			return leadsElsewhere(path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return word(dir, err)
	}
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		st, err := os.Lstat(filepath.Join(dir, ledgerFile+end))
		if err == nil && !st.Mode().IsRegular() {
			return leadsElsewhere(filepath.Join(dir, ledgerFile+end))
		}
	}
	return nil
}

// makeFolder makes a folder for the logs of one attempt, whose number is new: no
// file can be in it yet.
func makeFolder(path string) error {
	err := os.Mkdir(path, 0o755)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if st, err := os.Lstat(path); err != nil || !st.IsDir() {
		return errors.Join(err, leadsElsewhere(path))
	}
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) > 0 {
		err = fail(ErrForeign, "%s: contains files from elsewhere; move them away", path)
	}
	return err
}

func leadsElsewhere(path string) error {
	return fail(ErrForeign,
		"%s: not a plain file or folder of this directory, but a link, a pipe or similar; edgegauge does not write through "+
			"it: "+
			"remove it", path)
}
