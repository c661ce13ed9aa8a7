package qemu

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Of two builds at once one works, and the other finds what that has made; what a killed one left goes.
func TestBuildsWaitForEachOther(t *testing.T) {
	u := Builder{Cache: t.TempDir(), Tell: func(string) {}}
	left, made := filepath.Join(u.Cache, workPrefix+"123"), filepath.Join(u.Cache, "made")
	if err := os.MkdirAll(filepath.Join(left, "usr/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	ready := func() error { _, err := os.Stat(made); return err }
	var working, most, built atomic.Int32
	build := func() error {
		most.Store(max(most.Load(), working.Add(1)))
		defer working.Add(-1)
		built.Add(1)
		time.Sleep(50 * time.Millisecond)
		return os.WriteFile(made, nil, 0o644)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := u.Once(t.Context(), false, ready, build); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != 1 || built.Load() != 1 {
		t.Errorf("%d builds, up to %d at once", built.Load(), most.Load())
	}
	if did, err := u.Once(t.Context(), true, ready, build); !did || err != nil {
		t.Errorf("again: built %v, %v", did, err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed build left is there")
	}
}

// A lab that packs a root at the same time as another writes a file of its own, and what killed ones left goes.
func TestRootsPackedAtOnce(t *testing.T) {
	if needSquash() != nil {
		t.Skip(needSquash())
	}
	im := Image{Dir: t.TempDir()}
	dead := filepath.Join(im.Dir, treePrefix+"4194304.1-5")
	living := filepath.Join(im.Dir, treePrefix+kernel.Owner()+"-5")
	for _, dir := range []string{dead, living} {
		os.Mkdir(dir, 0o755)
	}
	var all sync.WaitGroup
	var roots [3][]byte
	for i := range roots {
		all.Go(func() {
			var err error
			if roots[i], err = im.root(t.Context(), []byte("a program")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, r := range roots {
		if len(r) == 0 || string(r) != string(roots[0]) {
			t.Errorf("got %d B and %d B of the same", len(r), len(roots[0]))
		}
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("what a killed lab left is there")
	}
	if _, err := os.Stat(living); err != nil {
		t.Error("what a living lab works on is gone")
	}
	if parts, _ := filepath.Glob(filepath.Join(im.Dir, "*.squashfs.*")); len(parts) > 0 {
		t.Errorf("left: %v", parts)
	}
}
