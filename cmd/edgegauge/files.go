package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFile opens a file that a person named, for reading.
func openFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("%s is a folder; name a file", name)
	}
	return f, nil
}

// creatable says why no file can be made where a flag says; nil where one can.
func creatable(flag, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return exit{exitUsage, fmt.Errorf("%s %s is a folder; name a file", flag, path)}
	}
	if err := writable(filepath.Dir(path)); err != nil {
		return exit{exitUsage, fmt.Errorf("%s %s: %w", flag, path, err)}
	}
	return nil
}

// A printed remembers what could not be printed: no command that passes over it may say that all is well.
type printed struct {
	w   io.Writer
	err error // the first
}

func (p *printed) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// outputError replaces an error of writing to standard output by one that says what to do.
func outputError(err error) error {
	if p := new(fs.PathError); errors.As(err, &p) && p.Path == os.Stdout.Name() && errors.Is(p.Err, syscall.ENOSPC) {
		return exit{exitUnmeasured,
			fmt.Errorf("standard output cannot be written: %w; free some, or write to another disk", p.Err)}
	}
	return err
}
