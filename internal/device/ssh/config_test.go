package ssh

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
)

// Where a board is that its name and the configuration say already, without a look at the network.
func TestAddressesInTheConfiguration(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh/config"), []byte("Host pi\n  HostName 192.0.2.7\n"+
		"Host far\n  HostName 192.0.2.8\n  ProxyJump pi\nHost odd\n  ProxyCommand nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, at string
		direct   bool
		err      string
	}{
		{"ssh://pi@192.0.2.9/tmp", "192.0.2.9", true, ""},
		{"ssh://[2001:db8::7]", "2001:db8::7", true, ""},
		{"ssh://[fe80::1%25eth0]:22", "fe80::1", true, ""},
		{"ssh://[::ffff:192.0.2.9]", "192.0.2.9", true, ""},
		{"ssh://me@pi", "192.0.2.7", true, ""},
		{"ssh://far", "192.0.2.8", false, ""},
		{"ssh://elsewhere", "invalid IP", true, ""},
		{"ssh://odd", "invalid IP", false, "ProxyCommand"},
		{"ssh://", "invalid IP", false, "invalid board"},
	} {
		at, direct, err := At(tt.name)
		if at.String() != tt.at || direct != tt.direct || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v, %v, %v", tt.name, at, direct, err)
		}
	}
}

func TestConfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	os.MkdirAll(filepath.Join(home, ".ssh/conf.d"), 0o700)
	os.WriteFile(filepath.Join(home, ".ssh/conf.d/pi"), []byte("Host pi\n\tUser raspi\n"), 0o600)
	os.WriteFile(filepath.Join(home, ".ssh/config"), []byte(`# comment
Include conf.d/*
Host pi *.lab !secret.lab
    HostName = %h.example.net
    Port 2222
    IdentityFile "~/.ssh/a key"
    ProxyJump gate,other@hop:2200
Match host pi
    IdentitiesOnly yes
Match exec "true"
    Port 1
Host *
    User nobody
    IdentityFile ~/.ssh/%r-%n
    Port 22
    IdentityAgent none
`), 0o600)
	h, err := lookup(Target{Host: "pi"})
	if err != nil {
		t.Fatal(err)
	}
	want := host{asked: Target{Host: "pi"}, name: "pi.example.net", user: "raspi", port: "2222", onlyKeys: true,
		jump: []string{"gate", "other@hop:2200"},
		keys: []string{home + "/.ssh/a key", home + "/.ssh/raspi-pi"},
		known: []string{home + "/.ssh/known_hosts", home + "/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts",
			"/etc/ssh/ssh_known_hosts2"}}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
	for _, tt := range []struct{ asked, name, user, port string }{
		{"a.lab", "a.lab.example.net", "nobody", "2222"},
		{"secret.lab", "secret.lab", "nobody", "22"},
	} {
		h, err := lookup(Target{Host: tt.asked})
		if err != nil || h.name != tt.name || h.user != tt.user || h.port != tt.port {
			t.Errorf("%s: got %+v, %v", tt.asked, h, err)
		}
	}
	if h, _ := lookup(Target{User: "me", Host: "pi", Port: "7"}); h.user != "me" || h.port != "7" {
		t.Errorf("what the study says counts first; got %+v", h)
	}
	for text, want := range map[string]string{
		"Host \"pi\n":                  "config:1: an unclosed quote",
		"Include config\n":             "includes itself",
		"Host *\nProxyCommand nc %h\n": "use ProxyJump instead",
	} {
		os.WriteFile(filepath.Join(home, ".ssh/config"), []byte(text), 0o600)
		if _, err := lookup(Target{Host: "pi"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestTargets(t *testing.T) {
	for s, want := range map[string]Target{
		"ssh://pi@board":             {User: "pi", Host: "board"},
		"ssh://board:2222/var/tmp":   {Host: "board", Port: "2222", Dir: "/var/tmp"},
		"ssh://pi@[2001:db8::7]:22/": {User: "pi", Host: "2001:db8::7", Port: "22"},
	} {
		if got, err := ParseTarget(s); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", s, got, err)
		}
	}
	for s, want := range map[string]string{
		"ssh://":                "write ssh://user@host",
		"pi@board":              "write ssh://user@host",
		"ssh://pi:secret@board": "ssh-copy-id pi@board",
		"ssh://-oProxy@board":   "names cannot begin with -",
		"ssh://board?x=1":       "write ssh://user@host",
		"ssh://bo ard":          "write ssh://user@host",

		"ssh://pi@[fe80::1%eth0]":      "a link-local address reaches nothing but the board itself",
		"ssh://pi@[fe80::1%eth0]:22/a": "or with both sides on the board %25 for the %",
		"ssh://pi@2001:db8::7":         "write an IPv6 address between brackets",
		"ssh://fe80::1%eth0/tmp":       "write an IPv6 address between brackets",
		"ssh://pi@[board]":             "between brackets stands an IPv6 address",
		"ssh://pi@[192.0.2.7]:22":      "between brackets stands an IPv6 address",
		"ssh://pi@[2001:db8::7":        "write ssh://user@host",
		"ssh://pi@[]":                  "between brackets stands an IPv6 address",
		"ssh://pi@[2001:db8::7]:99999": "has an invalid port",
	} {
		if _, err := ParseTarget(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", s, err, want)
		}
	}
}

func TestBinaries(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", "")
	exe := filepath.Join(dir, "bin", "edgegauge")
	for whole, want := range map[bool]string{
		true:  "GOARCH=arm GOARM=6 go build -trimpath -o " + dir + "/.cache/edgegauge/edgegauge-arm6 ./cmd/edgegauge",
		false: "go build -trimpath -tags board -o " + dir + "/.cache/edgegauge/edgegauge-board-arm6 ./cmd/edgegauge-board",
	} {
		b := &Board{Exe: exe, Whole: whole}
		if _, _, err := b.findBinary("armv6l"); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, _, err := (&Board{Exe: exe}).findBinary("vax"); err == nil {
		t.Error("a vax was found")
	}
	file := func(name string) string {
		name = filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(name), 0o755)
		os.WriteFile(name, nil, 0o755)
		return name
	}
	check := func(machine string, whole bool, want string) {
		t.Helper()
		if got, why, err := (&Board{Exe: exe, Whole: whole}).findBinary(machine); err != nil || got != want || why == "" {
			t.Errorf("%s, whole %v: got %s (%s), %v, want %s", machine, whole, got, why, err, want)
		}
	}
	older := file("bin/edgegauge-arm6")
	check("armv7l", true, older) // which runs on ARMv7
	check("armv7l", false, older)
	cached := file(".cache/edgegauge/edgegauge-board-arm6")
	check("armv7l", false, cached)
	check("armv7l", true, older)
	beside := file("bin/edgegauge-board-arm7")
	check("armv7l", false, beside)
	link := filepath.Join(dir, "link") // as a run names its own program
	os.Symlink(file("bin/edgegauge"), link)
	if got, _, err := (&Board{Exe: link}).findBinary("armv7l"); err != nil || got != beside {
		t.Errorf("by a link: got %s, %v", got, err)
	}
	own := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[ownArch()]
	if own != "" {
		check(own, false, exe)
		small := file("bin/edgegauge-board-" + ownArch())
		check(own, false, small)
		check(own, true, exe)
	}
}

// What is said to be built is what this program takes: of the same release, for the byte order and the units that
// are there.
func TestTheCommandThatIsNamed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	for _, tt := range []struct{ machine, order, build, want string }{
		{"riscv64", "l", "v1.2.3", `-tags board -ldflags "-X 'main.stamp=v1.2.3'" -o `},
		{"riscv64", "l", device.Build(""), "-tags board -o "},
		{"riscv64", "l", "", "-tags board -o "},
		{"mips", "l", "", "GOARCH=mipsle GOMIPS=softfloat go build"},
		{"mips", "b", "", "GOARCH=mips GOMIPS=softfloat go build"},
		{"mips64", "l", "", "GOARCH=mips64le GOMIPS64=softfloat go build"},
		{"mips64", "b", "", "GOARCH=mips64 GOMIPS64=softfloat go build"},
		{"armv5tel", "l", "", "GOARCH=arm GOARM=5 go build"},
	} {
		b := &Board{Exe: "/nowhere/edgegauge", Build: tt.build}
		if _, _, err := b.findBinary(ordered(tt.machine, tt.order)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}

// A board's shell says what it is in the words that are looked for.
func TestWhatABoardSaysOfItself(t *testing.T) {
	out, err := exec.Command("sh", "-c", whatItIs).Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) != 4 || !strings.HasPrefix(lines[0], "Linux ") ||
		lines[2] != "gzip" && lines[2] != "none" {
		t.Fatalf("got %q, %v", out, err)
	}
	want := "l"
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		want = "b"
	}
	if lines[1] != want {
		t.Errorf("got byte order %q, want %q", lines[1], want)
	}
}

func FuzzConfigLine(f *testing.F) {
	f.Add(`IdentityFile "~/.ssh/a key" # why`)
	f.Add("Host=pi *.lab")
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, line string) {
		key, args, err := splitLine(line)
		if err == nil && key == "" && len(args) > 0 {
			t.Errorf("%q: arguments %q of nothing", line, args)
		}
	})
}

// Advice names a host as it was given: a block of the configuration holds for its alias alone.
func TestAdviceNamesTheHostAsGiven(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	const text = "Host board\n  HostName 127.0.0.1\n  Port 2299\n  User pi\n  UserKnownHostsFile ~/boards\n"
	if err := os.WriteFile(filepath.Join(home, ".ssh", "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ssh://board":             "board",
		"ssh://me@board":          "me@board",
		"ssh://me@board:22":       "me@board",
		"ssh://me@board:7/tmp/x":  "-p 7 me@board",
		"ssh://pi@127.0.0.1:2299": "-p 2299 pi@127.0.0.1",
	} {
		target, err := ParseTarget(name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.byHand(); got != "ssh "+want+" true" {
			t.Errorf("%s: got %q", name, got)
		}
		said := h.explain(t.Context(), keyring{}, errors.New("ssh: unable to authenticate"))
		if !strings.HasSuffix(said.Error(), "run: ssh-copy-id "+want) {
			t.Errorf("%s: got %v", name, said)
		}
	}
}
