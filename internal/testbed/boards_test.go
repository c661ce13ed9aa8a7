package testbed

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
)

// A fakeBoard is one that is reached at an address and has CPUs.
type fakeBoard struct {
	device.Device
	at   netip.Addr
	cpus []int
	err  error
}

func (f fakeBoard) Addresses(context.Context) (board, lab netip.Addr, err error) {
	lab = netip.MustParseAddr("192.0.2.1")
	if f.at.Is6() {
		lab = netip.MustParseAddr("2001:db8::1")
	}
	return f.at, lab, f.err
}

func (f fakeBoard) CPUs(context.Context) ([]int, error) { return f.cpus, f.err }

// What a board cannot be asked for ends no study in the middle: check says it where a name and the configuration of ssh
// tell, and else run does, before the first trial.
func TestBoardsThatTheOtherSideCannotReach(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".ssh/config"), []byte("Host pi\n  HostName 192.0.2.7\n"+
			"Host far\n  ProxyJump gate\n"+
			"Host six\n  HostName 2001:db8::7\nHost near\n  HostName fe80::7\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := bed(t)
	const both = "factors: {ip: [ipv4, ipv6]}\n"
	for _, tt := range []struct {
		study, check string
		at           string // of the board, when it is reached
		run          string
	}{
		{"server: {device: 'ssh://pi@192.0.2.7'}", "", "192.0.2.7", ""},
		{"server: {device: 'ssh://pi@192.0.2.7'}\nip: ipv6", "5:5: the study asks for ipv6, but the board is reached at " +
			"192.0.2.7; write ip: ipv4, or name the board by another address, such as ssh://[2001:db8::7], or by a name of " +
			"which ~/.ssh/config says another HostName", "192.0.2.7", ""},
		{"server: {device: 'ssh://pi@192.0.2.7'}\n" + both, "or exclude: [{ip: ipv6}]", "192.0.2.7", ""},
		{"client: {device: 'ssh://pi@192.0.2.7'}\nip: ipv6", "the board is reached at 192.0.2.7", "192.0.2.7", ""},
		{"server: {device: 'ssh://me@pi'}\nip: ipv6", "the board is reached at 192.0.2.7", "192.0.2.7", ""},
		{"server: {device: 'ssh://six'}", "write ip: ipv6, or name the board by another address, such as " +
			"ssh://192.0.2.7", "2001:db8::7", ""},
		{"server: {device: 'ssh://six'}\nip: ipv6", "", "2001:db8::7", ""},
		{"server: {device: 'ssh://near'}\nip: ipv6", "fe80::7, a link-local address", "fe80::7", ""},
		{"server: {device: 'ssh://pi@[2001:db8::7]:22'}\nip: ipv6", "", "2001:db8::7", ""},
		{"server: {device: 'ssh://pi@[2001:db8::7]:22'}", "4:18: the study asks for ipv4, but the board is reached at " +
			"2001:db8::7; write ip: ipv6", "2001:db8::7", ""},
		{"server: {device: 'ssh://pi@[fe80::1%25eth0]'}\nip: ipv6", "fe80::1, a link-local address", "fe80::1", ""},
		{"factors: {server.device: ['ssh://pi@[2001:db8::7]:22', local]}\nip: ipv6\nexclude: [{server.device: local}]", "",
			"2001:db8::7", ""},
		{"server: {device: 'ssh://far'}", "ssh://far is behind a jump host; put both sides on it", "", ""},
		{"server: {device: 'ssh://far'}\nclient: {device: 'ssh://far'}", "", "", ""}, // its loopback
		{"server: {device: 'ssh://pi@192.0.2.7'}\nclient: {device: 'ssh://pi@192.0.2.7'}\nip: ipv6", "", "192.0.2.7", ""},
		{"server: {device: 'ssh://board'}\n" + both, "", "192.0.2.7", "the study asks for ipv6, but the board is reached " +
			"at 192.0.2.7; write ip: ipv4, or name the board by another address, such as ssh://[2001:db8::7], or by a name of " +
			"which ~/.ssh/config says another HostName, or exclude: [{ip: ipv6}]"},
		{"client: {device: 'ssh://board'}\nip: ipv6", "", "192.0.2.7", "but this machine is reached at 192.0.2.1"},
		{"server: {device: 'ssh://board'}\nip: ipv6", "", "2001:db8::7", ""},
		{"server: {device: 'ssh://board'}", "", "", "ssh://board is behind a jump host"},
		{"server: {device: 'ssh://board'}\nclient: {device: 'ssh://board'}", "", "", ""},
		{"server: {device: 'ssh://board'}\npin: {server: 3}", "", "192.0.2.7", ""},
		{"server: {device: 'ssh://board'}\npin: {server: [1, 3]}", "", "192.0.2.7", "4:18: pin: device ssh://board has " +
			"CPUs 0, 2, 3 only; pin to what it has, or remove pin"},
		{"client: {device: 'ssh://board'}\npin: {client: 4}", "", "192.0.2.7", "has CPUs 0, 2, 3 only"},
		{"client: {device: 'ssh://board'}\npin: {server: 0}", "", "192.0.2.7", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+tt.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		found := b.Obstacles(t.Context(), p)
		if got := fmt.Sprint(found); (found == nil) != (tt.check == "") || !strings.Contains(got, tt.check) ||
			len(found) > 1 {
			t.Errorf("%s: check says %s, want %s", tt.study, got, tt.check)
		}
		if tt.check != "" {
			continue
		}
		x := b.assemble(p, b.Exe, b.Temp)
		at, _ := netip.ParseAddr(tt.at)
		for _, w := range x.wants() {
			if isBoard(b, w.name) {
				x.lab.Devices[w.name] = fakeBoard{at: at, cpus: []int{0, 2, 3}}
			}
		}
		err = x.meetBoards(t.Context())
		if got := fmt.Sprint(err); (err == nil) != (tt.run == "") || !strings.Contains(got, tt.run) {
			t.Errorf("%s: run says %s, want %s", tt.study, got, tt.run)
		}
		for name := range x.lab.Devices {
			x.lab.Devices[name] = fakeBoard{err: errors.New(name + ": is it on")}
		}
		apart := !strings.Contains(tt.study, "client: {device") || !strings.Contains(tt.study, "server: {device")
		if err := x.meetBoards(t.Context()); apart != (err != nil) ||
			err != nil && !strings.HasPrefix(err.Error(), "device ssh://") {
			t.Errorf("%s: of a board that is off run says %v", tt.study, err)
		}
	}
}

// An emulated machine has one CPU, and pinning to another would fail in each trial.
func TestPinsOnEmulatedMachines(t *testing.T) {
	b := bed(t)
	for _, tt := range []struct{ study, want string }{
		{"server: {device: cortex-a53}\npin: {server: 1}", "4:18: pin: device cortex-a53 has CPU 0 only; pin to what it " +
			"has, or remove pin"},
		{"server: {device: cortex-a53/icount}\npin: {server: [0, 1]}", "pin: device cortex-a53/icount has CPU 0 only"},
		{"client: {device: cortex-a53}\npin: {client: 1}", "pin: device cortex-a53 has CPU 0 only"},
		{"client: {device: cortex-a7}\nserver: {device: cortex-a7}\nlink: {delay: 1ms}\npin: {server: 1}",
			"pin: device cortex-a7 has CPU 0 only"},
		{"server: {device: cortex-a53}\npin: {server: 0}", ""},
		{"server: {device: cortex-a53}\npin: {client: 0}", ""},
		{"factors: {server.device: [local, cortex-a53]}\npin: {server: 1}", "or exclude: [{server.device: cortex-a53}]"},
		{"server: {device: local}\npin: {server: 4000}", "pin: CPU 4000 is not one of those that this process may use"},
		{"server: {device: instructions-arm64}\npin: {server: 4000}", "pin: CPU 4000 is not one of those that this"},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+tt.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		var found []string
		for _, x := range b.Obstacles(t.Context(), p) {
			// This machine may have one CPU.
			if strings.Contains(x.What, "pin:") && !strings.Contains(x.What, "CPU 1 is not") {
				found = append(found, x.Error())
			}
		}
		if got := strings.Join(found, "\n"); (found == nil) != (tt.want == "") || !strings.Contains(got, tt.want) ||
			len(found) > 1 {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
	}
}
