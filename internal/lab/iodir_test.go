package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
)

// What a killed lab left in io_dir goes before the next trial that has a folder there; those of labs that live, and
// what is somebody's own, stay. The trial's own goes with it.
func TestIODirIsLeftAsItWas(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	gone := fmt.Sprintf("%s%d.77-1", ioPrefix, dead.Process.Pid)
	alive, own := ioPrefix+kernel.Owner()+"-1", ioPrefix+"mine"
	for _, name := range []string{gone, alive, own} {
		if err := os.MkdirAll(filepath.Join(base, name, "files"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l, _ := fakeLab(t, soundStack(), 1)
	defer l.Store.Close()
	l.launch = func(context.Context, device.Device, device.Command) (process, *stack.Conn, error) {
		return nil, nil, context.Canceled
	}
	attempt, err := l.Store.Begin(1)
	if err != nil {
		t.Fatal(err)
	}
	r := newTrialRunner(l, l.Plan.Trials[0], attempt)
	defer r.abandon()
	r.setup.IODir = base
	r.programs.before(t.Context())
	if _, err := os.Stat(r.programs.scratch()); err != nil || filepath.Dir(r.programs.scratch()) != base {
		t.Errorf("the server's folder is %s: %v", r.programs.scratch(), err)
	}
	if lock, err := kernel.LockFolder(r.programs.scratch()); err == nil {
		lock.Close()
		t.Error("another lab may take the server's folder for one that was left")
	}
	r.programs.close()
	for name, want := range map[string]bool{gone: false, alive: true, own: true,
		filepath.Base(r.programs.scratch()): false} {
		if _, err := os.Stat(filepath.Join(base, name)); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", name, err == nil, want)
		}
	}
}
