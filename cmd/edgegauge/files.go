package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// openFile opens a file that a person named, for reading; kinds are endings of those that may be meant by a folder.
func openFile(name string, kinds ...string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		for _, dir := range []string{name, filepath.Join(name, "packets")} {
			if found := kernel.Matching(dir, "*.pcapng"); len(found) > 0 && slices.Contains(kinds, ".pcapng") {
				return nil, fmt.Errorf("%s is a folder; name a file, such as %s", name, found[0])
			}
		}
		if exists(filepath.Join(name, "ledger.sqlite")) {
			return nil, fmt.Errorf("%s is a folder of results; name a file; edgegauge report %s shows its statistics", name,
				report.QuotedPath(name))
		}
		return nil, fmt.Errorf("%s is a folder; name a file", name)
	}
	return f, nil
}

// creatable says why no file can be made where a flag says; nil where one can.
func creatable(flag, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return exit{exitUsage, fmt.Errorf("%s %s is a folder; name a file", flag, path)}
	}
	if stays(path) {
		return uncreatable(flag, path)
	}
	if err := writable(filepath.Dir(path)); err != nil {
		return exit{exitUsage, fmt.Errorf("%s %s: %w", flag, path, err)}
	}
	return nil
}

// uncreatable says why no file can be made where the symbolic link at a path leads, if nothing is there yet.
func uncreatable(flag, path string) error {
	_, err := os.Stat(path)
	to, err2 := os.Readlink(path)
	if err == nil || err2 != nil {
		return nil
	}
	end := to
	if !filepath.IsAbs(end) {
		end = filepath.Join(filepath.Dir(path), end)
	}
	if errors.Is(err, syscall.ELOOP) || stays(end) && uncreatable(flag, end) != nil || !exists(filepath.Dir(end)) {
		return exit{exitUsage, fmt.Errorf("%s %s is a symbolic link to %s, where no file can be made; remove the link, or "+
			"name another file", flag, path, to)}
	}
	return nil
}

// stays says whether what is at a path is written to, not replaced: a link, /dev/stdout, a pipe. In its place nobody
// wants a file. A link among results is replaced: who sent them may have made it lead anywhere.
func stays(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().IsRegular() {
		return false
	}
	return info.Mode().Type() != fs.ModeSymlink || !exists(filepath.Join(filepath.Dir(path), "ledger.sqlite"))
}

// putFile writes the file that a flag names, whole or not at all where it can be replaced.
func putFile(path string, write func(io.Writer) error) error {
	if !stays(path) {
		return store.Replace(path, write)
	}
	if f := standard(path); f != nil {
		return writeTo(f, write)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(writeTo(f, write), f.Close())
}

func writeTo(w io.Writer, write func(io.Writer) error) error {
	buf := bufio.NewWriter(w)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

// standard is standard output or error, if a path leads there. Opened anew, a file behind it would be written from its
// beginning, over what it has and what is printed.
func standard(path string) *os.File {
	there, err := os.Stat(path)
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if is, err2 := f.Stat(); err == nil && err2 == nil && os.SameFile(there, is) {
			return f
		}
	}
	return nil
}

// turnWithin is how long a command waits for others that change the same files.
const turnWithin = 10 * time.Second

// turnIn waits for the turn to read and change files of a folder; it ends when the folder is closed.
func turnIn(ctx context.Context, dir string) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, turnWithin, fmt.Errorf("another command holds it for %v", turnWithin))
	defer cancel()
	return kernel.WaitLockFolder(ctx, dir)
}

// A printed remembers what could not be printed: no command that passes over it may say that all is well.
type printed struct {
	w       io.Writer
	columns int   // of the terminal that it is; 0: it is none
	err     error // the first
}

// Columns is how wide the terminal is; 0: it is none.
func (p *printed) Columns() int { return p.columns }

func (p *printed) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// outputError replaces an error of writing to standard output by one that says what to do. A pipe that is closed is
// none: it ends this process by SIGPIPE, as it does others.
func outputError(err error) error {
	p := new(fs.PathError)
	if !errors.As(err, &p) || p.Op != "write" || p.Path != os.Stdout.Name() {
		return err
	}
	advice := ""
	switch {
	case errors.Is(p.Err, syscall.ENOSPC), errors.Is(p.Err, syscall.EDQUOT):
		advice = "; free some, or write to another disk"
	case errors.Is(p.Err, syscall.EFBIG):
		advice = "; raise the limit of file sizes, as with ulimit -f unlimited"
	}
	return exit{exitUnmeasured, fmt.Errorf("standard output cannot be written: %w%s", p.Err, advice)}
}
