package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
)

// A board's QEMU is looked at before anything is started.
func TestQEMUsThatAreUsable(t *testing.T) {
	b, _ := Find("cortex-a7")
	for version, want := range map[string]string{
		"QEMU emulator version 5.2.0": "7.1 or newer", "QEMU emulator version 7.0.0": "7.1 or newer",
		"QEMU emulator version 7.1.0": "", sound: "", "QEMU emulator version 10.0.2": "", "hello": "not a version of QEMU",
	} {
		fakeQEMU(t, version, "")
		err := b.Usable(t.Context())
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "device cortex-a7: ")) {
			t.Errorf("%s: got %v, want %q", version, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := b.Usable(t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install qemu-system-arm") {
		t.Errorf("missing: got %v", err)
	}
}

// A machine that can have no network card says so, for whatever reason.
func TestCheckSaysWhyThereIsNoCard(t *testing.T) {
	b, _ := Find("cortex-a7")
	for _, f := range b.Check(t.Context(), t.TempDir(), errors.New("no user namespaces here")) {
		if f.What == "network" && (f.Do != "no user namespaces here" || strings.Contains(f.Says, "can be created")) {
			t.Errorf("got %+v", f)
		}
	}
}

// Links of a stack's product are copied as what they name: outside of it they would name nothing in a guest.
func TestLinksOfAProductReachAGuest(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"shared/lib", "stack/build", "stack/build/logs"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(root, "shared/lib/a.jar"), []byte("a"), 0o600),
		os.Symlink("../../shared/lib", filepath.Join(root, "stack/build/lib"))); err != nil {
		t.Fatal(err)
	}
	got, err := products(device.Program{Name: "x", Dir: filepath.Join(root, "stack"), Products: []string{"build"}},
		"/stacks/x")
	if err != nil || len(got) != 2 || got[0].Name != "/stacks/x/build/lib/a.jar" || got[0].Mode != 0o644 ||
		got[1].Name != "/stacks/x/build/logs" || !got[1].Mode.IsDir() {
		t.Errorf("got %+v, %v", got, err)
	}
}
