package qemu

import (
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// readArchive unpacks what writeArchive wrote, below dir: folders, regular files
// and symbolic links. Nothing leads out of dir.
func readArchive(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for {
		name, mode, size, err := readHeader(r)
		if err != nil {
			return fmt.Errorf("an archive: %w", err)
		}
		if name == "TRAILER!!!" {
			return nil
		}
		if err := readEntry(r, root, name, mode, size); err != nil {
			return fmt.Errorf("an archive: %s: %w", name, err)
		}
	}
}

// readHeader reads an entry's header and name; writeArchive draws them.
func readHeader(r io.Reader) (name string, mode uint32, size int64, err error) {
	const length, largestName = 110, 4096
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return "", 0, 0, err
	}
	field := func(i int) uint32 {
		var b [4]byte
		if _, bad := hex.Decode(b[:], header[6+8*i:14+8*i]); bad != nil && err == nil {
			err = bad
		}
		return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	}
	mode, size = field(1), int64(field(6))
	n := field(11)
	if string(header[:6]) != "070701" || err != nil || n == 0 || n > largestName {
		return "", 0, 0, fmt.Errorf("invalid entry header %q", header[:6])
	}
	text := make([]byte, int(n)+len(zeros(length+int(n))))
	if _, err := io.ReadFull(r, text); err != nil {
		return "", 0, 0, err
	}
	name = string(text[:n-1])
	if !filepath.IsLocal(name) {
		return "", 0, 0, fmt.Errorf("%q points outside it", name)
	}
	return name, mode, size, nil
}

func readEntry(r io.Reader, root *os.Root, to string, mode uint32, size int64) error {
	content := io.LimitReader(r, size)
	perm := fs.FileMode(mode & 0o777)
	switch mode &^ 0o777 {
	case unixMode(fs.ModeDir):
		return root.MkdirAll(to, perm)
	case unixMode(fs.ModeSymlink):
		var target strings.Builder
		if _, err := io.Copy(&target, content); err != nil {
			return err
		}
		if err := root.Symlink(target.String(), to); err != nil {
			return err
		}
	case 0o100000:
		f, err := root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
		if err != nil {
			return err
		}
		n, err := io.Copy(f, content)
		if err == nil && n < size {
			err = io.ErrUnexpectedEOF
		}
		if bad := f.Close(); err == nil {
			err = bad
		}
		if err != nil {
			return err
		}
	default:
		return fmt.Errorf("it is of kind %o", mode)
	}
	_, err := io.CopyN(io.Discard, r, int64(len(zeros(int(size&3)))))
	return err
}
