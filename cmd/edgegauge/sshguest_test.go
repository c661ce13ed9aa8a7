package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/device/ssh"
	"edgegauge.example/edgegauge/internal/store"
)

// sshGuestPackages make the emulated machine a small Linux with an SSH server
// that knows nothing of edgegauge.
var sshGuestPackages = []string{"busybox-static", "dropbear-bin", "libc6", "libcrypt1", "libgmp10", "libtomcrypt1",
	"libtommath1", "zlib1g"}

// sshGuestInit is its first process. Everything it has lies in memory, so it
// starts anew after each reboot, as a board with a read-only disk does.
const sshGuestInit = `#!/bin/busybox sh
/bin/busybox --install -s /bin; export PATH=/bin:/usr/bin:/usr/sbin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmpfs /tmp
mkdir -p /dev/pts /small /half /locked; mount -t devpts devpts /dev/pts
mount -t tmpfs -o size=1m tmpfs /small; mount -t tmpfs -o size=24m tmpfs /half; chmod 755 /locked
for m in $(cat /modules/list); do insmod /modules/$m; done
ip link set lo up; ip link set eth0 up; ip addr add %s/30 dev eth0
chmod 755 /home; chown -R 1000:1000 /home/pi; chmod -R go= /root /home/pi
dropbearconvert openssh dropbear /keys/host /keys/dropbear
exec dropbear -F -E -s -m -r /keys/dropbear
`

// An sshGuest is the emulated machine as a board: reached by SSH over a TAP
// interface, and powered by us.
type sshGuest struct {
	t           *testing.T
	dir, initrd string
	image       qemu.Image
	tap         string
	here, there string
	cmd         *exec.Cmd
}

func newSSHGuest(t *testing.T) *sshGuest {
	t.Helper()
	machine(t)
	b, _ := qemu.Find(machineInCI)
	u := qemu.Builder{Cache: os.Getenv("EDGEGAUGE_CACHE"), Tell: func(s string) { t.Log(s) }}
	im, err := qemu.OpenImage(b, u.Dir(b))
	if err != nil {
		t.Fatal(err)
	}
	net := os.Getpid() % 250
	g := &sshGuest{t: t, dir: t.TempDir(), image: im, tap: fmt.Sprintf("egt%d", net),
		here: fmt.Sprintf("10.105.%d.1", net), there: fmt.Sprintf("10.105.%d.2", net)}
	root := filepath.Join(g.dir, "root")
	if _, err := u.Unpack(t.Context(), b, root, sshGuestPackages...); err != nil {
		t.Logf("with the pinned versions: %v", err)
		u.Newest = true
		if _, err := u.Unpack(t.Context(), b, root, sshGuestPackages...); err != nil {
			t.Fatal(err)
		}
	}
	g.keys(root)
	g.pack(root)
	return g
}

// keys makes the board's key and the user's, and lets both know each other.
func (g *sshGuest) keys(root string) {
	home := filepath.Join(g.dir, "home")
	g.t.Setenv("HOME", home)
	g.t.Setenv("XDG_CACHE_HOME", "")
	g.t.Setenv("SSH_AUTH_SOCK", "")
	for _, d := range []string{filepath.Join(home, ".ssh"), filepath.Join(root, "keys"), filepath.Join(root, "root/.ssh"),
		filepath.Join(root, "home/pi/.ssh")} {
		g.must(os.MkdirAll(d, 0o700))
	}
	for _, key := range []string{filepath.Join(root, "keys/host"), filepath.Join(home, ".ssh/id_ed25519"),
		filepath.Join(home, ".ssh/stranger")} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
			g.t.Fatalf("%v: %s", err, out)
		}
	}
	mine := g.read(filepath.Join(home, ".ssh/id_ed25519.pub"))
	g.write(filepath.Join(root, "root/.ssh/authorized_keys"), mine)
	g.write(filepath.Join(root, "home/pi/.ssh/authorized_keys"), mine)
	g.write(filepath.Join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\npi:x:1000:1000::/home/pi:/bin/sh\n")
	g.write(filepath.Join(home, ".ssh/config"),
		fmt.Sprintf("Host board\n  HostName %s\n  User root\n  IdentityFile %s\n", g.there,
			filepath.Join(home, ".ssh/id_ed25519")))
	g.know(filepath.Join(root, "keys/host.pub"))
}

// know makes that key the board's in our eyes.
func (g *sshGuest) know(key string) {
	f := strings.Fields(g.read(key))
	g.write(filepath.Join(g.dir, "home/.ssh/known_hosts"), fmt.Sprintf("%s %s %s\n", g.there, f[0], f[1]))
}

// pack makes the initial file system of the board.
func (g *sshGuest) pack(root string) {
	g.write(filepath.Join(root, "init"), fmt.Sprintf(sshGuestInit, g.there))
	g.must(os.Chmod(filepath.Join(root, "init"), 0o755))
	for _, d := range []string{"proc", "sys", "dev", "tmp"} {
		g.must(os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	g.initrd = filepath.Join(g.dir, "initrd")
	pack := exec.Command("sh", "-c",
		`{ cat "$1"; find . -path ./usr/share -prune -o -path './usr/lib/*/gconv' -prune -o -print | cpio -o -H newc -R 0:0 --quiet | gzip -1; } >"$2"`, "-", filepath.Join(g.image.Dir, "base.cpio.gz"), g.initrd)
	pack.Dir = root
	if out, err := pack.CombinedOutput(); err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
}

// power boots the board and waits until its SSH server answers.
func (g *sshGuest) power() {
	b := g.image.Board
	g.cmd = exec.Command(b.Program, "-M", b.Machine, "-cpu", b.CPU, "-m", fmt.Sprint(b.MemoryMiB), "-display", "none",
		"-monitor", "none",
		"-serial", "file:"+filepath.Join(g.dir, "console"), "-kernel", filepath.Join(g.image.Dir, "kernel"),
		"-initrd", g.initrd,
		"-append", "console=ttyAMA0 quiet", "-netdev", "tap,id=n,script=no,downscript=no,ifname="+g.tap, "-device",
		"virtio-net-device,netdev=n")
	g.must(g.cmd.Start())
	g.t.Cleanup(g.cut)
	end := time.Now().Add(4 * time.Minute)
	l, err := netlink.LinkByName(g.tap)
	for ; err != nil && time.Now().Before(end); l, err = netlink.LinkByName(g.tap) {
		time.Sleep(50 * time.Millisecond)
	}
	g.must(err)
	a, err := netlink.ParseAddr(g.here + "/30")
	g.must(errors.Join(err, netlink.AddrReplace(l, a), netlink.LinkSetUp(l)))
	g.answers(end)
}

func (g *sshGuest) answers(end time.Time) {
	for time.Now().Before(end) {
		c, err := net.DialTimeout("tcp", g.there+":22", time.Second)
		if err == nil {
			c.SetReadDeadline(time.Now().Add(20 * time.Second))
			line, _ := bufio.NewReader(c).ReadString('\n')
			c.Close()
			if strings.HasPrefix(line, "SSH-2.0-dropbear") {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	g.t.Fatalf("the board does not answer; it said: %s", g.read(filepath.Join(g.dir, "console")))
}

// cut cuts the board's power.
func (g *sshGuest) cut() {
	if g.cmd != nil {
		g.cmd.Process.Kill()
		g.cmd.Wait()
		g.cmd = nil
	}
}

func (g *sshGuest) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *sshGuest) read(file string) string {
	b, err := os.ReadFile(file)
	g.must(err)
	return string(b)
}

func (g *sshGuest) write(file, text string) {
	g.must(errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)))
}

// board is the device that a study would name so.
func (g *sshGuest) board(name string) *ssh.Board {
	exe, err := os.Executable()
	g.must(err)
	b, err := ssh.New(name, exe, version())
	g.must(err)
	g.t.Cleanup(func() { b.Close() })
	return b
}

// in runs a command on the board by its own means.
func (g *sshGuest) in(command string) string {
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "ssh", "-n", "-o", "BatchMode=yes", "-F", filepath.Join(g.dir, "home/.ssh/config"),
		"-o", "UserKnownHostsFile="+filepath.Join(g.dir, "home/.ssh/known_hosts"), "board", command).CombinedOutput()
	return string(out)
}

const boardStudy = `
study: on-the-board
service: monitor
stack: reference/rest-json
factors:
  place:
    - {name: serves, client.device: local, server.device: "ssh://board"}
    - {name: asks, client.device: "ssh://board", server.device: local}
requests: 20
design: {replications: 1, seed: 1, warmup: 2}
timeouts: {ready: 90s, request: 60s, trial: 5m}
`

// A board that is a whole machine of its own, and its bad days: a trial from
// either side, a reboot and a power cut in mid-program, a disk too small, a key
// that is not the board's, a key that it does not know, a folder that is closed.
func TestSSHToAnotherMachine(t *testing.T) {
	needTUN(t)
	agent := boardProgram(t, "arm64")
	g := newSSHGuest(t)
	g.must(os.MkdirAll(filepath.Join(g.dir, "home/.cache/edgegauge"), 0o755))
	g.must(os.Symlink(agent, filepath.Join(g.dir, "home/.cache/edgegauge", filepath.Base(agent))))
	g.power()

	file, out := filepath.Join(g.dir, "study.yaml"), filepath.Join(g.dir, "out")
	g.write(file, boardStudy)
	edgegauge(t, "run", file, "--out", out)
	g.figures(out)
	if left := g.in("ls -A /tmp"); left != "" {
		t.Errorf("left on the board: %q", left)
	}
	t.Run("refused", g.refusals)
	b := g.board("ssh://board")
	for _, lose := range []struct {
		name string
		do   func()
	}{{"reboot", func() {
		g.in("(sleep 1; reboot -f) >/dev/null 2>&1 </dev/null &")
		time.Sleep(2 * time.Second)
		g.answers(time.Now().Add(4 * time.Minute))
	}}, {"power cut", func() { g.cut(); g.power() }}} {
		t.Run(lose.name, func(t *testing.T) { lost(t, b, lose.do) })
	}
	g.must(b.Close())
	if left := g.in("ls -A /tmp"); left != "" {
		t.Errorf("left on the board: %q", left)
	}
}

// boardProgram builds what goes to a board. Subtle: before HOME is another, in which Go has no cache.
func boardProgram(t *testing.T, arch string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "edgegauge-board-"+arch)
	build := exec.Command("go", "build", "-tags", "board", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X 'main.stamp="+version()+"'", "-o", file, "../edgegauge-board")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// figures must be there for both treatments, none of them a failure.
func (g *sshGuest) figures(dir string) {
	s, err := store.OpenReadOnly(dir)
	g.must(err)
	defer s.Close()
	n := 0
	for row, err := range s.Results() {
		g.must(err)
		if row.Response == "rtt" && row.N == 20 && row.Min > 0 {
			n++
		}
	}
	if n != 2 {
		g.t.Errorf("%d treatments have the RTT of 20 requests, want 2", n)
	}
}

func (g *sshGuest) refusals(t *testing.T) {
	known := filepath.Join(g.dir, "home/.ssh")
	for _, tt := range []struct {
		what, name string
		before     func()
		want       []string
	}{
		{"a disk too small for the agent", "ssh://board/small", nil,
			[]string{"copy edgegauge", "o space left", "name another folder"}},
		{"a closed folder", "ssh://pi@board/locked", nil,
			[]string{"create a folder to work in", "ermission denied", "name another folder"}},
		{"a key that it does not know", "ssh://board", func() { g.must(os.Rename(known+"/stranger", known+"/id_ed25519")) },
			[]string{"accepted none of our keys", "ssh-copy-id"}},
		{"a key that is not the board's", "ssh://board", func() { g.know(known + "/stranger.pub") },
			[]string{"not the known one", "ssh-keygen -R"}},
	} {
		saved := [2]string{g.read(known + "/id_ed25519"), g.read(known + "/known_hosts")}
		if tt.before != nil {
			tt.before()
		}
		b := g.board(tt.name)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		_, err := b.Facts(ctx)
		cancel()
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v\nwant %q", tt.what, err, want)
			}
		}
		b.Close()
		g.write(known+"/id_ed25519", saved[0])
		g.write(known+"/known_hosts", saved[1])
	}
	b := g.board("ssh://board/half")
	defer b.Close()
	r, err := b.Remote(t.Context())
	g.must(err)
	big := t.TempDir()
	g.must(os.WriteFile(filepath.Join(big, "big"), make([]byte, 32<<20), 0o644))
	if _, err := r.PutAll(t.Context(), big, []string{"big"}, "stack"); err == nil ||
		!strings.Contains(err.Error(), "o space left") {
		t.Errorf("a disk too small for a stack: got %v", err)
	}
}

// lost loses the board while a program runs there: its end is told, and the
// board is there again when it has booted.
func lost(t *testing.T, b *ssh.Board, lose func()) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p, err := b.Start(ctx, device.Command{Argv: []string{"sh", "-c", "echo begun; sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); line != "begun\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	lose()
	if e := p.Wait(); e.Code != -1 || !strings.Contains(e.Err, "connection was lost") ||
		!strings.Contains(e.Err, "ssh://board") {
		t.Errorf("got %+v", e)
	}
	if f, err := b.Facts(ctx); err != nil || f.Arch != "arm64" {
		t.Errorf("it did not come back: %+v, %v", f, err)
	}
}
