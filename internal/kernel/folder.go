package kernel

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// NewFolder makes a folder below base for what this process keeps as long as it lives: PREFIX OWNER-DIGITS. It is
// locked until the returned file is closed, so that no SweepFolders takes it for one that was left.
func NewFolder(base, prefix string) (dir string, lock *os.File, err error) {
	if dir, err = os.MkdirTemp(base, prefix+Owner()+"-"); err != nil {
		return "", nil, err
	}
	if lock, err = LockFolder(dir); err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	return dir, lock, nil
}

// Matching lists the paths of what a folder holds whose names match a pattern (path.Match), in order. Unlike with
// filepath.Glob, the folder may have any name: no part of it is a pattern.
func Matching(dir, pattern string) (paths []string) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if ok, err := path.Match(pattern, e.Name()); ok && err == nil {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// SweepFolders removes this user's folders of that prefix whose processes are gone. Two signs are
// needed: no process here has that number and beginning, and nobody holds the lock,
// since in another container there may be one that is not seen here.
func SweepFolders(base, prefix string) (swept []string) {
	for _, dir := range Matching(base, prefix+"*") {
		owner, _, ok := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		if !ok || !OwnerGone(owner) || !IsOwnFolder(dir) {
			continue
		}
		lock, err := LockFolder(dir)
		if err != nil {
			continue
		}
		if os.RemoveAll(dir) == nil {
			swept = append(swept, dir)
		}
		lock.Close()
	}
	return swept
}
