package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that never ends, or a FIFO that nobody writes to, does not hold the reader.
func TestReadFileEnds(t *testing.T) {
	dir := t.TempDir()
	fifo, small := filepath.Join(dir, "fifo"), filepath.Join(dir, "small")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(small, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(small, 3); string(b) != "abc" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
	if b, err := ReadFile(fifo, 3); len(b) > 0 || err != nil {
		t.Errorf("a FIFO without a writer: %q, %v", b, err)
	}
	for path, most := range map[string]int64{small: 2, "/dev/zero": 1000} {
		if _, err := ReadFile(path, most); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { w.WriteString("late"); w.Close() }()
	if b, err := ReadFile(fmt.Sprintf("/dev/fd/%d", r.Fd()), 100); string(b) != "late" || err != nil {
		t.Errorf("a pipe: %q, %v", b, err)
	}
}

// A file of any size is read whole, and one that is not there is an error by which callers know that a process is gone.
func TestReadProcReadsAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 4<<10 - 1, 4 << 10, 4<<10 + 1, 8 << 10, 300_001} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i % 251)
		}
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadProc(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d B: got %d B, %v", size, len(got), err)
		}
	}
	if _, err := ReadProc(file + "-gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if b, err := ReadProc("/proc/self/stat"); err != nil || !bytes.HasSuffix(b, []byte("\n")) {
		t.Errorf("/proc/self/stat: %q, %v", b, err)
	}
}
