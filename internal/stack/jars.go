package stack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A stack in Java lists its jars, as sha256sum does, by path in its folder. Its
// class path is the whole of jarFolder, so a jar there that is not listed would run
// with it.
const (
	jarList   = "jars.sha256"
	jarFolder = "build/lib"
)

// unlisted are the files among a stack's jars that neither its list of jars names
// nor the user brought. A stack without a list has none.
func (d Description) unlisted() ([]string, error) {
	text, err := kernel.ReadFile(filepath.Join(d.Dir, jarList), 16<<20)
	if err != nil {
		return nil, absent(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			known[f[1]] = true
		}
	}
	for _, n := range d.Needs {
		if n.Brought {
			known[filepath.Join(jarFolder, filepath.Base(n.File))] = true
		}
	}
	var out []string
	err = filepath.WalkDir(filepath.Join(d.Dir, jarFolder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if rel, _ := filepath.Rel(d.Dir, path); !known[rel] {
			out = append(out, rel)
		}
		return nil
	})
	slices.Sort(out)
	return out, absent(err)
}

func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeUnlisted makes a folder of jars what its list says, before a build.
func (d Description) removeUnlisted() error {
	extra, err := d.unlisted()
	for _, f := range extra {
		err = errors.Join(err, os.Remove(filepath.Join(d.Dir, f)))
	}
	return err
}
