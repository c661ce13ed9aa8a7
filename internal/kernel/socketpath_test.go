package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A socket is found by its path, whether the address of one has room for that or not.
func TestUnixSocketsWithPathsOfAnyLength(t *testing.T) {
	for _, n := range []int{0, 50, 150, 250} {
		dir := t.TempDir()
		if n > 0 {
			dir = filepath.Join(dir, strings.Repeat("n", n))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "socket")
		if _, err := DialUnix(t.Context(), path); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%d: dialled before there is one: got %v", n, err)
		}
		l, err := ListenUnix(path)
		if err != nil {
			t.Errorf("%d: %v", n, err)
			continue
		}
		c, err := DialUnix(t.Context(), path)
		if err != nil {
			t.Errorf("%d: %v", n, err)
		} else {
			c.Close()
		}
		l.Close()
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%d: closing removed the file: %v", n, err)
		}
		if _, err := DialUnix(t.Context(), path); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%d: dialled when it is closed: got %v", n, err)
		}
	}
}
