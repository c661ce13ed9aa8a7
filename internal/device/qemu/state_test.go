package qemu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Two machines of one lab, or of two, may boot at once from one folder of states.
func TestEachMachineWritesAStateOfItsOwn(t *testing.T) {
	if a, b := partOf("x.state"), partOf("x.state"); a == b {
		t.Errorf("two machines write to %s", a)
	}
}

// A state that cannot be restored, such as one that another lab has removed meanwhile, costs a boot and no trial. What
// labs that are gone have left in mid-write goes, and what others write stays.
func TestAStateThatCannotBeRestored(t *testing.T) {
	wire, err := newEthernet(0)
	if err != nil {
		t.Skip(err)
	}
	wire.release()
	seen := filepath.Join(t.TempDir(), "seen")
	fakeQEMU(t, sound, "echo \"$@\" >>"+seen+"; echo 'qemu: not today' >&2; exit 1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &Interactive{Image: fakeImage(t), Exe: exe, Guest: exe, Temp: t.TempDir(), Mode: Free, Cache: t.TempDir()}
	defer d.Close()
	if restored, err := d.boot(t.Context(), true); restored || err == nil {
		t.Fatalf("without a state: restored %v, %v", restored, err)
	}
	state, err := d.state(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left, others := state+".4194305.1-X", partOf(state) // no process has that number
	for _, name := range []string{seen, state, left, others} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Remote(t.Context()); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("got %v", err)
	}
	text, err := os.ReadFile(seen)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0], "-incoming") ||
		strings.Contains(lines[1], "-incoming") {
		t.Errorf("it was started %d times (%v):\n%s", len(lines), err, text)
	}
	for name, stays := range map[string]bool{state: false, left: false, others: true} {
		if exists(name) != stays {
			t.Errorf("%s is there: %v", filepath.Base(name), !stays)
		}
	}
	if kernel.OwnerGone(kernel.Owner()) {
		t.Error("this process is said to be gone")
	}
}
