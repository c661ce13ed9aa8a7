package qemu

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
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

// What the guest says to its kernel is what ip(8) reads there, and may be said again with another size of packets.
func TestTheGuestsEndOfTheWire(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("needs root, for network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil && os.Getenv("CI") == "" {
		t.Skip("needs ip(8)")
	}
	w, err := newEthernet(7)
	if err != nil {
		t.Fatal(err)
	}
	defer w.release()
	err = kernel.InNetwork(w.ns, func() error {
		ip := func(args ...string) string {
			out, err := exec.Command("ip", args...).CombinedOutput()
			if err != nil {
				t.Errorf("ip %v: %v: %s", args, err, out)
			}
			return string(out)
		}
		if _, err := cardIndex("there"); err == nil {
			t.Error("a card that is not there was found")
		}
		ip("link", "add", "there", "type", "veth", "peer", "name", "here")
		ip("link", "set", "here", "up")
		for _, mtu := range []int{1500, 1280} {
			if err := setUpCard("there", uint32(mtu), [2]netip.Addr{w.guest.IPv4, w.guest.IPv6},
				[2]netip.Addr{w.host.IPv4, w.host.IPv6}); err != nil {
				t.Fatal(err)
			}
			said := ip("addr", "show", "dev", "there") + ip("route") + ip("-6", "route")
			for _, want := range []string{fmt.Sprintf("mtu %d ", mtu), ",UP", "inet 10.104.7.2/30 ", "scope global there",
				"inet6 fd00:6568:0:7::2/64 scope global nodad", "default via 10.104.7.1 dev there",
				"default via fd00:6568:0:7::1 dev there"} {
				if !strings.Contains(said, want) {
					t.Errorf("with an MTU of %d there is no %q in\n%s", mtu, want, said)
				}
			}
		}
		if err := setGateway(1<<20, w.host.IPv4); err == nil {
			t.Error("a route by an interface that is not there: no error")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
