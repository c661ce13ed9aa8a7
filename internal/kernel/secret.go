package kernel

import (
	"errors"
	"os"
	"path/filepath"
)

// ReplaceSecret writes a file that only its owner may read, durably: readers see the old or the new. Whatever has that
// name goes, and a link is not followed.
func ReplaceSecret(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".edgegauge-*.new") // for its owner alone
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
