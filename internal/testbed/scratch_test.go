package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
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

// Labs that measure beside this one are those whose process lives and says that it measures.
func TestLabsThatMeasureBesideThisOne(t *testing.T) {
	base := t.TempDir()
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	p, err := kernel.ReadProcess(other.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	owner := fmt.Sprintf("%d.%d", other.Process.Pid, p.Began)
	b := New(Options{Temp: base})
	for _, x := range []struct {
		owner    string
		measures bool
		want     []int
	}{{kernel.Owner(), true, nil}, {fmt.Sprintf("%d.77", dead.Process.Pid), true, nil}, {"nobody", true, nil},
		{owner, false, nil}, {owner, true, []int{other.Process.Pid}}} {
		dir := filepath.Join(base, scratchPrefix+x.owner+"-123")
		if err := os.MkdirAll(dir, 0o711); err != nil {
			t.Fatal(err)
		}
		if x.measures {
			if err := os.WriteFile(filepath.Join(dir, lab.MeasuresFile), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.Beside(); !slices.Equal(got, x.want) {
			t.Errorf("%s, measures %v: got %v, want %v", x.owner, x.measures, got, x.want)
		}
	}
}
