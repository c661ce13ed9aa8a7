package qemu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A machine that can have no network card says what to do.
func TestNoNetworkCardSaysWhy(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tun")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := canTUN(file); err != nil {
		t.Errorf("one that is open: %v", err)
	}
	if err := canTUN(filepath.Join(dir, "none")); err == nil ||
		!strings.Contains(err.Error(), "modprobe tun; in a container") {
		t.Errorf("one that is not there: got %v", err)
	}
	if err := canTUN(dir); err == nil || !strings.Contains(err.Error(), dir) { // no file that can be written
		t.Errorf("one that is none: got %v", err)
	}
}

// Two machines of one lab have addresses that differ, in networks of their own.
func TestWiresDiffer(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("needs root, for network namespaces")
	}
	seen := map[string]bool{}
	for n := range uint8(2) {
		w, err := newEthernet(n)
		if err != nil {
			t.Fatal(err)
		}
		defer w.release()
		for _, a := range []string{w.host.IPv4.String(), w.host.IPv6.String(), w.guest.IPv4.String(), w.guest.IPv6.String()} {
			if seen[a] {
				t.Errorf("%s twice", a)
			}
			seen[a] = true
		}
		if p, err := w.host.IPv4.Prefix(bits4); err != nil || !p.Contains(w.guest.IPv4) {
			t.Errorf("%v and %v are in two networks", w.host, w.guest)
		}
	}
}
