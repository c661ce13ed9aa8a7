package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
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

// createAfresh is createNew where a killed lab may have left an unfinished file.
func createAfresh(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a link: the link
		return nil, err
	}
	return createNew(path)
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
