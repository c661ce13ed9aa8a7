package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"edgegauge.example/edgegauge/internal/kernel"
)

// partialSuffix marks a file not yet whole. No *.parquet pattern matches it.
const partialSuffix = ".partial"

// diskFile is what a file being written must do; tests hand in failing ones.
type diskFile interface {
	io.WriteCloser
	Sync() error
}

func createFile(path string) (diskFile, error) {
	return createNew(path)
}

// A fileWriter writes path+".partial" and knows its checksum and size.
type fileWriter struct {
	f     diskFile
	buf   *bufio.Writer
	sum   hash.Hash
	bytes int64
	path  string
}

func newFileWriter(create func(string) (diskFile, error), path string) (*fileWriter, error) {
	f, err := create(path + partialSuffix)
	if err != nil {
		return nil, err
	}
	return &fileWriter{f: f, buf: bufio.NewWriterSize(f, 1<<16), sum: sha256.New(), path: path}, nil
}

func (w *fileWriter) Write(p []byte) (int, error) {
	n, err := w.buf.Write(p)
	w.sum.Write(p[:n])
	w.bytes += int64(n)
	return n, err
}

// abandon removes the partial file, so that a full disk has room for the ledger.
func (w *fileWriter) abandon() {
	w.f.Close()
	os.Remove(w.path + partialSuffix)
}

func (w *fileWriter) digest() string { return hex.EncodeToString(w.sum.Sum(nil)) }

// Replace writes a file of the results directory whole: readers see the old
// one or the new one, and of two writers each its own. For what can be made
// again: summary.csv, report.html.
func Replace(path string, write func(io.Writer) error) error {
	f, err := createPartial(path)
	if err != nil {
		return word(filepath.Dir(path), err)
	}
	buf := bufio.NewWriter(f)
	if err = write(buf); err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	if closed := f.Close(); err == nil { // it is locked until it has its name
		err = closed
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	return word(filepath.Dir(path), err)
}

func replaceFile(path string, b []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// settle makes temp durable under its final name.
func settle(temp, path string) error {
	f, err := openOwn(temp, 0)
	if err != nil {
		return err
	}
	if err := settled(f); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames in dir durable (fsync(2), notes on directories).
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// syncDirs is syncDir for several at once: the disk takes hardly longer than for one.
func (s *Store) syncDirs(dirs []string) error {
	errs := make([]error, len(dirs))
	var all sync.WaitGroup
	for i, dir := range dirs {
		all.Go(func() { errs[i] = s.syncDir(s.path(dir)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func copyFile(to, from string) error {
	b, err := kernel.ReadFile(from, mostBytes)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// checksum is the SHA-256 of a file, as sha256sum prints it; empty: it has not that size, or is hollow. Size -1: any
// that a text has. It is an error once until is closed.
func checksum(path string, size int64, until <-chan struct{}) (string, error) {
	f, err := kernel.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || size >= 0 && st.Size() != size || size < 0 && st.Size() > mostText || hollow(st) {
		return "", err
	}
	sum := sha256.New()
	// Note: not beyond its size, should it grow meanwhile.
	if _, err := io.CopyBuffer(sum, endingReader{io.LimitReader(f, st.Size()), until}, make([]byte, 1<<18)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// An endingReader reads until a channel is closed.
type endingReader struct {
	io.Reader
	until <-chan struct{}
}

func (r endingReader) Read(b []byte) (int, error) {
	select {
	case <-r.until:
		return 0, context.Canceled
	default:
		return r.Reader.Read(b)
	}
}

// hollow reports whether a file is large, and hardly any of it on the disk: it came as a few bytes and would take for
// ever to read. No lab writes one.
func hollow(st os.FileInfo) bool {
	const large, part = 1 << 30, 64
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && st.Size() > large && sys.Blocks*512 < st.Size()/part
}
