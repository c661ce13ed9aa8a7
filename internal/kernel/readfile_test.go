package kernel

import (
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
