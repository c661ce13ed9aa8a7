package ssh

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/ssh/sshtest"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// TestMain makes the test binary its own agent and supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case device.SuperviseVerb:
			os.Exit(device.Supervise(os.Args[2:]))
		case device.AgentVerb:
			// as a reboot does, once: the connection is cut and all is killed
			if once := os.Getenv("EDGEGAUGE_TEST_REBOOT"); once != "" && os.Remove(once) == nil {
				unix.Kill(os.Getppid(), unix.SIGKILL)
				unix.Kill(os.Getpid(), unix.SIGKILL)
			}
			os.Exit(device.AgentMain(os.Args[2:], os.Getenv("EDGEGAUGE_TEST_BUILD"), nil))
		}
	}
	os.Exit(m.Run())
}

// serve runs an sshd that is "board" for this test, and works in its own folder.
func serve(t *testing.T, lines ...string) (*sshtest.Server, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an SSH server")
	}
	if missing := sshtest.Missing(); missing != "" {
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	s, err := sshtest.Start(t.TempDir(), lines...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	t.Setenv("HOME", s.Home)
	t.Setenv("SSH_AUTH_SOCK", "")
	work := t.TempDir()
	return s, work
}

func board(t *testing.T, name string) *Board {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(name, exe, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// nothing must be left in a folder of the board.
func nothing(t *testing.T, dir string) {
	t.Helper()
	var left []os.DirEntry
	for range 300 {
		if left, _ = os.ReadDir(dir); len(left) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("left on the board: %v", left)
}

func TestBoard(t *testing.T) {
	_, work := serve(t)
	b := board(t, "ssh://board"+work)
	f, err := b.Facts(t.Context())
	if err != nil || f.CPUs < 1 {
		t.Fatalf("got %+v, %v", f, err)
	}
	if cpus, err := b.CPUs(t.Context()); err != nil || len(cpus) != f.CPUs {
		t.Errorf("got CPUs %v, %v, want %d", cpus, err, f.CPUs)
	}
	p, err := b.Start(t.Context(), device.Command{Argv: []string{"sh", "-c", "read x; echo got $x"}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.Stdin, "hello")
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); line != "got hello\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if e := p.Wait(); e.Code != 0 {
		t.Errorf("got %+v", e)
	}
	there, here, err := b.Addresses(t.Context())
	if err != nil || there.String() != "127.0.0.1" || here.String() != "127.0.0.1" {
		t.Errorf("got %v, %v, %v", there, here, err)
	}
	if _, err := os.Stat(filepath.Join(work, "edgegauge")); err == nil {
		t.Error("the binary lies there while it runs")
	}
	b.Close()
	nothing(t, work)
}

// A board is reached at an IPv6 address, between brackets as in a URL.
func TestBoardAtAnIPv6Address(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	l.Close()
	s, work := serve(t, "ListenAddress ::1")
	for _, x := range []struct{ file, from, to string }{
		{".ssh/config", "Host board board-*\n  HostName 127.0.0.1\n", "Host ::1\n"}, {".ssh/known_hosts", "127.0.0.1", "::1"},
	} {
		file := filepath.Join(s.Home, x.file)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.Replace(string(text), x.from, x.to, 1)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := board(t, "ssh://"+s.User+"@[::1]:"+s.Port+work)
	there, here, err := b.Addresses(t.Context())
	if err != nil || there.String() != "::1" || here.String() != "::1" {
		t.Errorf("got %v, %v, %v", there, here, err)
	}
	b.Close()
	nothing(t, work)
}

// The facts have the checksum of what was sent, whichever that was.
func TestFactsNameTheAgent(t *testing.T) {
	_, work := serve(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sums := map[string]string{}
	for name, more := range map[string]string{"edgegauge": "", boardFile + ownArch(): "small"} { // runs with a tail, too
		b := append(program[:len(program):len(program)], more...)
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(b))
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for whole, want := range map[bool]string{false: boardFile + ownArch(), true: "edgegauge"} {
		b, err := New("ssh://board"+work, filepath.Join(dir, "edgegauge"), "")
		if err != nil {
			t.Fatal(err)
		}
		b.Whole = whole
		f, err := b.Facts(t.Context())
		if err != nil || f.Agent == nil || f.Agent.File != want || f.Agent.SHA256 != sums[want] || f.Agent.Why == "" {
			t.Errorf("whole %v: got %+v, %v, want %s %s", whole, f.Agent, err, want, sums[want])
		}
		b.Close()
	}
	nothing(t, work)
}

// What the network, the board and its owner do to a connection; each says what
// happened and what to do, and leaves nothing.
func TestRefusals(t *testing.T) {
	s, work := serve(t)
	name := "ssh://board" + work
	scripts := t.TempDir()
	script := func(text string) string {
		f := filepath.Join(scripts, strconv.Itoa(len(text)))
		kerneltest.WriteProgram(t, f, "#!/bin/sh\n"+text)
		return f
	}
	config := func(from, to string) func() {
		return func() {
			file := filepath.Join(s.Home, ".ssh/config")
			b, _ := os.ReadFile(file)
			os.WriteFile(file, []byte(strings.Replace(string(b), from, to, 1)), 0o600)
		}
	}
	before, _ := os.ReadFile(filepath.Join(s.Home, ".ssh/config"))
	keys, _ := os.ReadFile(filepath.Join(s.Dir, "authorized_keys"))
	private, _ := os.ReadFile(filepath.Join(s.Home, ".ssh/id_ed25519"))
	for _, tt := range []struct {
		what string
		do   func()
		name string
		exe  string
		want []string
	}{
		{"another host key", func() { s.Know("other") }, name, "",
			[]string{"not the known one", "known_hosts:1", "ssh-keygen -R", "then: ssh board true"}},
		{"an unknown host key", func() { os.Remove(filepath.Join(s.Home, ".ssh/known_hosts")) }, name, "",
			[]string{"is not known", "SHA256:", "compare it", "true"}},
		{"a broken known_hosts", func() {
			os.WriteFile(filepath.Join(s.Home, ".ssh/known_hosts"), []byte("board ssh-ed25519 AAAA\n"), 0o600)
		}, name, "", []string{"known_hosts", "fix or remove that line"}},
		{"a key that is not accepted", func() { os.Remove(filepath.Join(s.Dir, "authorized_keys")) }, name, "",
			[]string{"accepted none of our keys", "id_ed25519", "ssh-copy-id board"}},
		{"no key at all", func() { os.Remove(filepath.Join(s.Home, ".ssh/id_ed25519")) }, name, "",
			[]string{"there is no key"}},
		{"nobody listens", config(s.Port, "1"), name, "", []string{"connection refused", "is it on"}},
		{"no such folder", nil, "ssh://board/no/such/folder", "",
			[]string{"create a folder to work in", "No such file", "name another folder"}},
		{"an agent of another version", nil, name,
			script(`echo 'edgegauge-agent {"protocol":99,"build":"v9"}'; exec cat >/dev/null`),
			[]string{"speaks protocol 99", "same edgegauge at both ends"}},
		{"a binary for another machine", nil, name, script("echo no such instruction >&2; exit 1\n"),
			[]string{"no such instruction"}},
		{"an agent that says nothing", nil, name, script("echo a line of noise\n"), []string{"a line of noise"}},
	} {
		if tt.do != nil {
			tt.do()
		}
		b := board(t, tt.name)
		if tt.exe != "" {
			b.Exe = tt.exe
		}
		_, err := b.Facts(t.Context())
		for _, want := range append(tt.want, tt.name) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v\nwant %q", tt.what, err, want)
			}
		}
		b.Close()
		nothing(t, work)
		s.Know("host")
		os.WriteFile(filepath.Join(s.Home, ".ssh/config"), before, 0o600)
		os.WriteFile(filepath.Join(s.Dir, "authorized_keys"), keys, 0o600)
		os.WriteFile(filepath.Join(s.Home, ".ssh/id_ed25519"), private, 0o600)
	}
}

// The connection is cut, then the machine "rebooted", while a program runs; each
// time the program's end is told, nothing runs on, and the board comes back.
func TestLostInMidTrial(t *testing.T) {
	s, work := serve(t)
	b := board(t, "ssh://board"+work)
	for _, tt := range []struct {
		what string
		lose func()
	}{{"cut", s.Cut}, {"reboot", s.Reboot}} {
		p, err := b.Start(t.Context(), device.Command{Argv: []string{"sh", "-c", "trap '' HUP TERM; echo $$; sleep 1000"}})
		if err != nil {
			t.Fatalf("%s: %v", tt.what, err)
		}
		line, _ := bufio.NewReader(p.Stdout).ReadString('\n')
		pid, _ := strconv.Atoi(strings.TrimSpace(line))
		tt.lose()
		if e := p.Wait(); e.Code != -1 || !strings.Contains(e.Err, "connection was lost") ||
			!strings.Contains(e.Err, "ssh://board") {
			t.Errorf("%s: got %+v", tt.what, e)
		}
		for range 500 {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); errors.Is(err, os.ErrNotExist) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("%s: process %d runs on", tt.what, pid)
		}
		if _, err := b.Facts(t.Context()); err != nil {
			t.Errorf("%s: it did not come back: %v", tt.what, err)
		}
	}
	b.Close()
	nothing(t, work)
}

// A board that boots is awaited.
func TestBootingBoardIsAwaited(t *testing.T) {
	s, work := serve(t)
	b := board(t, "ssh://board"+work)
	r, err := b.Remote(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Reboot()
	<-r.Lost()
	s.Stop()
	up := make(chan error, 1)
	time.AfterFunc(3*time.Second, func() { up <- s.Run("host") })
	if _, err := b.Facts(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
	if err := <-up; err != nil {
		t.Fatal(err)
	}
	b.Close()
	nothing(t, work)
	s.Stop()
	b.Patience = 0
	b.before = true
	if _, err := b.Facts(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

// After a reboot at the very end Close goes there once more.
func TestCloseSweeps(t *testing.T) {
	s, work := serve(t)
	b := board(t, "ssh://board"+work)
	r, err := b.Remote(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Reboot()
	<-r.Lost()
	if left, _ := os.ReadDir(work); len(left) != 1 {
		t.Fatalf("a killed agent leaves its folder; got %v", left)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	nothing(t, work)
}

// A disk that is full: while the binary is copied, while a stack's files are.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small disk")
	}
	_, _ = serve(t)
	for _, tt := range []struct{ size, want string }{
		{"1m", "copy edgegauge"},
		{"64m", "copy stack/big"},
	} {
		disk := t.TempDir()
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+tt.size, "tmpfs",
			disk).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		err := func() error {
			b := board(t, "ssh://board"+disk)
			defer b.Close()
			r, err := b.Remote(t.Context())
			if err != nil {
				return err
			}
			here := t.TempDir()
			os.WriteFile(filepath.Join(here, "big"), make([]byte, 80<<20), 0o644)
			_, err = r.PutAll(t.Context(), here, []string{"big"}, "stack")
			return err
		}()
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "no space left") ||
			!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "name another folder") {
			t.Errorf("%s: got %v, want %q", tt.size, err, tt.want)
		}
		nothing(t, disk)
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func TestAnotherBuildIsRefused(t *testing.T) {
	_, work := serve(t)
	b := board(t, "ssh://board"+work)
	b.Build = "v2 abc"
	if _, err := b.Facts(t.Context()); err == nil || !strings.Contains(err.Error(), "this program from v2 abc") {
		t.Errorf("got %v", err)
	}
	nothing(t, work)
}

// Through a jump host there are no addresses, and all else works.
func TestJump(t *testing.T) {
	s, work := serve(t)
	f, err := os.OpenFile(filepath.Join(s.Home, ".ssh/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "Host board-behind\n  ProxyJump board\n")
	f.Close()
	b := board(t, "ssh://board-behind"+work)
	if _, err := b.Facts(t.Context()); err != nil {
		t.Fatal(err)
	}
	there, here, err := b.Addresses(t.Context())
	if err != nil || there.IsValid() || here.IsValid() {
		t.Errorf("got %v, %v, %v", there, here, err)
	}
	b.Close()
	nothing(t, work)
}

// The key may be in an agent only, and a login script may print.
func TestKeyFromTheAgent(t *testing.T) {
	s, work := serve(t, "SetEnv EDGEGAUGE_TEST_BUILD=x")
	sock := filepath.Join(t.TempDir(), "agent")
	agent := exec.Command("ssh-agent", "-D", "-a", sock)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { agent.Process.Kill(); agent.Wait() }()
	key := filepath.Join(s.Home, ".ssh/id_ed25519")
	var err error
	for range 200 {
		add := exec.Command("ssh-add", key)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+sock)
		if err = add.Run(); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh-keygen", "-q", "-p", "-N", "secret", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b := board(t, "ssh://board"+work)
	if _, err := b.Facts(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "locked by a passphrase: run ssh-add") {
		t.Errorf("got %v", err)
	}
	config := filepath.Join(s.Home, ".ssh/config")
	text, _ := os.ReadFile(config)
	os.WriteFile(config, []byte(strings.Replace(string(text), "IdentityAgent none", "IdentityAgent "+sock, 1)), 0o600)
	b.Build = "x"
	if _, err := b.Facts(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestShellWithoutATerminal(t *testing.T) {
	serve(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "echo $((6*7)); exit 5\n")
	w.Close()
	var out strings.Builder
	code, err := Shell(context.Background(), "ssh://board", r, &out, io.Discard)
	if err != nil || code != 5 || !strings.Contains(out.String(), "42") {
		t.Errorf("got %d, %v, %q", code, err, out.String())
	}
}
