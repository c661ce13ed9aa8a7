package device

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Files lists a file, or what stands below a folder, as it is to stand at the path
// to of a device: regular files, and the folders that are empty. A link is what it
// names, since what that is need not stand on the device. Pipes, sockets and devices
// are left out.
func Files(from, to string) ([]File, error) { return files(from, to, nil) }

// files is Files below folders that it has come through.
func files(from, to string, through []fs.FileInfo) ([]File, error) {
	i, err := os.Stat(from)
	switch {
	case err != nil:
		return nil, err
	case i.Mode().IsRegular():
		return []File{{Name: to, Mode: i.Mode().Perm(), Source: from}}, nil
	case !i.IsDir():
		return nil, nil
	case slices.ContainsFunc(through, func(f fs.FileInfo) bool { return os.SameFile(f, i) }):
		return nil, fmt.Errorf("%s is a link to a folder that it lies in, so a copy of it would have no end; remove it", from)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var all []File
	through = append(slices.Clip(through), i)
	for _, e := range entries {
		below, err := files(filepath.Join(from, e.Name()), path.Join(to, e.Name()), through)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	if len(all) == 0 {
		all = []File{{Name: to, Mode: fs.ModeDir | 0o755}}
	}
	return all, nil
}
