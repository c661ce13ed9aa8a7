package kernel

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// OpenRegular opens a file that anybody may have written, to read: a regular one, or what a
// link to one leads to. Opening a FIFO would wait for ever, and a device may never end.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}, f.Close())
	}
	return f, nil
}

// ReadFile reads a file that anybody may have written: at most so many bytes, more is
// an error.
func ReadFile(path string, most int64) ([]byte, error) {
	// Subtle: without O_NONBLOCK opening a FIFO waits for a writer for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	return b, err
}

// ReadProc reads a file of /proc or /sys, which the kernel writes as it is read. os.ReadFile makes ten system calls
// where this makes four, since it prepares to wait, and a trial reads 150 such files.
func ReadProc(path string) ([]byte, error) {
	wrong := func(op string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, wrong("open", err)
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4<<10)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return b, wrong("read", err)
		case n == 0:
			return b, nil
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
	}
}

// DirFS is a folder that anybody may have written: its files are regular ones of at most so
// many bytes, others are errors.
func DirFS(dir string, most int64) fs.FS { return guarded{dir, most} }

type guarded struct {
	dir  string
	most int64
}

// Open opens a file or a folder, as fs.FS has it.
func (g guarded) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	path := filepath.Join(g.dir, filepath.FromSlash(name))
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		return f, nil
	case !st.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}
	case st.Size() > g.most:
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it has more than %d bytes", g.most)}
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}
