package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Folders of labs that are gone are removed, and none else.
func TestScratchOfDeadLabsIsSwept(t *testing.T) {
	base := t.TempDir()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(kernel.Owner(), ".")
	folder := func(owner string) string {
		dir := filepath.Join(base, scratchPrefix+owner+"-123")
		if err := os.MkdirAll(filepath.Join(dir, "edgegauge-machine-1"), 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	gone, reused := folder(fmt.Sprintf("%d.77", dead.Process.Pid)), folder(pid+".1") // its number is another's now
	kept := []string{folder(kernel.Owner()), folder("nobody"), folder(fmt.Sprintf("%d.78", dead.Process.Pid))}
	lock, err := kernel.LockFolder(kept[2]) // its lab lives where we cannot see it
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	other := filepath.Join(base, "edgegauge-labour")
	os.Mkdir(other, 0o700)

	before := os.TempDir()
	one, err := NewScratch(base)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(one.Swept); !slices.Equal(one.Swept, slices.Sorted(slices.Values([]string{gone, reused}))) {
		t.Errorf("it removed %v, want %v and %v", one.Swept, gone, reused)
	}
	for _, dir := range append(kept, other) {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s is gone: %v", dir, err)
		}
	}
	if got := os.TempDir(); got != before {
		t.Errorf("the process's folder for temporary files is %s now, was %s: a lab changes nothing of its process", got,
			before)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(one.Dir); err == nil {
		t.Errorf("%s is still there", one.Dir)
	}
}

// Where no temporary files can be made, the advice is one that helps.
func TestScratchSaysWhatHelps(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		filepath.Join(base, "none"): "; make that folder, or set TMPDIR to one that exists",
		file:                        "; set TMPDIR to a folder",
	} {
		if s, err := NewScratch(dir); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v %v, want %q", dir, s, err, want)
		}
	}
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "free space there, or set TMPDIR to another folder",
		syscall.EDQUOT: "free space there, or set TMPDIR to another folder",
		syscall.EACCES: "set TMPDIR to a folder where you may write",
		syscall.EROFS:  "set TMPDIR to a folder where you may write",
	} {
		if got := elsewhere(&os.PathError{Op: "mkdir", Path: base, Err: errno}); got != want {
			t.Errorf("%v: got %q, want %q", errno, got, want)
		}
	}
}
