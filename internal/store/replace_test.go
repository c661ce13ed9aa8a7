package store

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
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

// What killed writers left under names of their own is removed; what somebody writes now, or another has put there, is
// not.
func TestReplaceSweepsWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	own := func(file string) string { return path(file + "." + rand.Text() + partialSuffix) }
	killed, alive, link := own("page.html"), own("page.html"), own("page.html")
	others := []string{alive, own("page"), own("other.html"), path("page.html.mine.partial"), path("mine")}
	for _, name := range append(others, killed) {
		ok(t, os.WriteFile(name, nil, 0o644))
	}
	ok(t, os.Symlink("mine", link))
	f := must[*os.File](t)(os.Open(alive))
	defer f.Close()
	ok(t, kernel.Lock(f))
	ok(t, Replace(path("page.html"), func(io.Writer) error { return nil }))
	if _, err := os.Lstat(killed); err == nil {
		t.Error("the file of a killed writer is left")
	}
	for _, name := range append(others, link) {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
}
