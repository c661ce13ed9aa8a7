package store

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Of two that write one file at the same time, each puts its own there whole, and nothing is left of what a killed one
// had begun.
func TestReplaceByTwo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	ok(t, os.WriteFile(path+partialSuffix, []byte("killed"), 0o644))
	whole := map[byte]string{}
	for _, c := range []byte("abcdefgh") {
		whole[c] = strings.Repeat(string(c), 1<<17)
	}
	put := func(c byte, between func()) error {
		return Replace(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, whole[c][:1<<16]); err != nil {
				return err
			}
			between()
			_, err := io.WriteString(w, whole[c][1<<16:])
			return err
		})
	}
	content := func() string { return string(must[[]byte](t)(os.ReadFile(path))) }
	ok(t, put('a', func() {
		ok(t, put('b', func() {}))
		if content() != whole['b'] {
			t.Error("the inner one is not there whole")
		}
	}))
	if content() != whole['a'] {
		t.Error("the outer one is not there whole")
	}
	var all sync.WaitGroup
	for c := range whole {
		all.Go(func() {
			for range 20 {
				if err := put(c, func() {}); err != nil {
					t.Error(err)
				}
				if got := content(); got == "" || got != whole[got[0]] {
					t.Errorf("%d B of %.3q are there", len(got), got)
				}
			}
		})
	}
	all.Wait()
	if left := must[[]os.DirEntry](t)(os.ReadDir(dir)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
