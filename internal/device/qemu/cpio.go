package qemu

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A File goes into a guest's initial file system.
type File struct {
	Name   string      // slash-separated, without a leading slash
	Mode   fs.FileMode // permissions, and the type of anything but a regular file
	Data   []byte      // content, or the target of a symbolic link
	Source string      // a file of the host whose content is taken instead of Data
	Device [2]uint32   // major and minor of a character device
}

// withParents adds the folders that files stand in, sorted so that each comes
// before what is in it.
func withParents(files []File) []File {
	all := map[string]File{}
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			all[dir] = File{Name: dir, Mode: fs.ModeDir | 0o755}
		}
	}
	for _, f := range files {
		all[f.Name] = f
	}
	out := make([]File, 0, len(all))
	for _, f := range all {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// writeArchive writes files as a cpio archive in the form that Linux unpacks
// (newc; Documentation/driver-api/early-userspace/buffer-format.rst). The same
// files make the same bytes: sorted, owned by root, of the year 1970.
//
//	"070701" ino mode uid gid nlink mtime size devmajor devminor rdevmajor rdevminor namesize check
//	name 0, zeros up to a multiple of 4; content, zeros up to a multiple of 4
//
// each number in 8 hexadecimal digits; the last entry is named TRAILER!!!.
func writeArchive(w io.Writer, files []File) error {
	for i, f := range append(withParents(files), File{Name: "TRAILER!!!"}) {
		if err := writeEntry(w, i+1, f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func writeEntry(w io.Writer, inode int, f File) error {
	size := int64(len(f.Data))
	var from io.Reader = strings.NewReader(string(f.Data))
	if f.Source != "" {
		file, err := os.Open(f.Source)
		if err != nil {
			return err
		}
		defer file.Close()
		fi, err := file.Stat()
		if err != nil {
			return err
		}
		from, size = file, fi.Size()
	}
	links := 1
	if f.Mode.IsDir() {
		links = 2
	}
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		inode, unixMode(f.Mode), 0, 0, links, 0, size, 0, 0, f.Device[0], f.Device[1], len(f.Name)+1, 0, f.Name)
	if _, err := io.WriteString(w, header+zeros(len(header))); err != nil {
		return err
	}
	if n, err := io.CopyN(w, from, size); err != nil {
		return fmt.Errorf("%d of %d B: %w", n, size, err)
	}
	_, err := io.WriteString(w, zeros(int(size&3)))
	return err
}

// zeros fill n bytes up to a multiple of 4.
func zeros(n int) string { return "\x00\x00\x00"[:-n&3] }

// unixMode is a mode in the numbers of stat(2).
func unixMode(m fs.FileMode) uint32 {
	out := uint32(m.Perm())
	switch m.Type() {
	case 0:
		if out == 0 { // the trailer
			return 0
		}
		return out | 0o100000
	case fs.ModeDir:
		return out | 0o040000
	case fs.ModeSymlink:
		return out | 0o120000
	case fs.ModeDevice | fs.ModeCharDevice:
		return out | 0o020000
	}
	return out
}
