package testbed

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// A product that was written over in place, by as many bytes and with its former time, is not what the run began with.
func TestARewrittenProductIsSeen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "product")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	d := stack.Description{Dir: dir}
	d.Build.Product = []string{"product"}
	was, err := stamps(d)
	if err != nil || len(was) != 1 {
		t.Fatalf("%v: %v", was, err)
	}
	time.Sleep(20 * time.Millisecond) // more than a tick of the kernel's clock for files
	write("new")
	if err := os.Chtimes(file, time.Time{}, was[file].modified); err != nil {
		t.Fatal(err)
	}
	is, err := stamps(d)
	if err != nil || maps.Equal(is, was) || !is[file].modified.Equal(was[file].modified) {
		t.Errorf("got %v, was %v: %v", is, was, err)
	}
}
