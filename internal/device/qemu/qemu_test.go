package qemu

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge/internal/device"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == device.KeepVerb {
		os.Exit(device.Keep(os.Args[3:]))
	}
	os.Exit(m.Run())
}

// fakeQEMU puts a program in QEMU's place that answers --version and then does
// as the script says, in the machine's folder.
func fakeQEMU(t *testing.T, version, script string) {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\n[ \"$1\" = --version ] && { echo '" + version + "'; exit; }\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "qemu-system-arm"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

const sound = "QEMU emulator version 7.2.22 (Debian 1:7.2)"

// listen makes the monitor's socket and talks as QEMU's does, with the help of Python.
const listen = `exec python3 -c '
import socket,os,sys,time
s=socket.socket(socket.AF_UNIX); s.bind("monitor"); s.listen()
c,_=s.accept(); c.sendall(b"{\"QMP\": {}}\n"); c.recv(4096); c.sendall(b"{\"event\": \"RESUME\"}\n{\"return\": {}}\n")
%s
'`

// a board and an image of it that is whole, though nothing could boot it.
func fakeImage(t *testing.T) Image {
	t.Helper()
	b, _ := Find("cortex-a7")
	im := Image{Board: b, Dir: t.TempDir()}
	for _, f := range []string{kernelFile, baseFile} {
		if err := os.WriteFile(filepath.Join(im.Dir, f), []byte("content of "+f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.seal(kernelFile, baseFile); err != nil {
		t.Fatal(err)
	}
	return im
}

func enclose(t *testing.T, ctx context.Context) error {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewEnclosed(fakeImage(t), exe, exe)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Enclose(ctx, device.Job{Text: []byte("{}"), Seed: 1})
	return err
}

func TestBadDaysOfQEMU(t *testing.T) {
	python := func(then string) string { return strings.Replace(listen, "%s", then, 1) }
	for _, tt := range []struct {
		name, version, script string
		want                  []string
	}{
		{"too old", "QEMU emulator version 5.2.0", "", []string{"QEMU 5.2", "7.0 or newer"}},
		{"another program", "hello", "", []string{"no version of QEMU"}},
		{"does not start", sound, "echo 'qemu: unsupported machine' >&2; exit 1", []string{"cortex-a7", "QEMU ended with status 1", "unsupported machine"}},
		{"dies in mid-boot", sound, python("open(\"console.log\",\"w\").write(\"Booting Linux\\r\\n\"); os.kill(os.getpid(), 9)"), []string{"SIGKILL", "its last words: Booting Linux"}},
		{"no greeting", sound, strings.Replace(python("time.sleep(60)"), `{\"QMP\": {}}`, "hello", 1), []string{"not a greeting"}},
		{"its kernel gives up", sound, python("open(\"console.log\",\"w\").write(\"Kernel panic - not syncing\\n\"); time.sleep(60)"), []string{"Kernel panic - not syncing"}},
		{"its guest gives up", sound, python("open(\"console.log\",\"w\").write(\"\\nedgegauge! no module x\\n\"); time.sleep(60)"), []string{"no module x"}},
		{"broken output", sound, python("open(\"console.log\",\"w\").write(\"\\nedgegauge| AAAA\\nedgegauge. 00\\n\"); time.sleep(60)"), []string{"is broken"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fakeQEMU(t, tt.version, tt.script)
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			err := enclose(t, ctx)
			for _, w := range tt.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("got %v, want %q in it", err, w)
				}
			}
		})
	}
}

func TestHangingInBoot(t *testing.T) {
	fakeQEMU(t, sound, strings.Replace(listen, "%s", "open(\"console.log\",\"w\").write(\"Starting kernel\\n\"); open(\"pid\",\"w\").write(str(os.getpid())); time.sleep(600)", 1))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errTrialTooLong)
	defer cancel()
	err := enclose(t, ctx)
	if err == nil || !strings.Contains(err.Error(), "the trial took too long") || !strings.Contains(err.Error(), "Starting kernel") {
		t.Errorf("got %v, want why it was ended and what the guest said last", err)
	}
}

type text string

func (t text) Error() string { return string(t) }

const errTrialTooLong = text("the trial took too long")

func TestQEMUMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := enclose(t, t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install qemu-system-arm") {
		t.Errorf("got %v, want what to install", err)
	}
}

func TestBrokenImages(t *testing.T) {
	write := func(name, text string) func(*testing.T, Image) {
		return func(t *testing.T, im Image) {
			if err := os.WriteFile(filepath.Join(im.Dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		spoil func(*testing.T, Image)
		want  string
	}{
		{"whole", func(*testing.T, Image) {}, ""},
		{"truncated", write(kernelFile, "content"), "7 B long, 17 when it was built"},
		{"changed", write(kernelFile, "Content of kernel"), "is not what was built"},
		{"gone", func(t *testing.T, im Image) { os.Remove(filepath.Join(im.Dir, baseFile)) }, "no such file"},
		{"not built", func(t *testing.T, im Image) { os.Remove(filepath.Join(im.Dir, imageFile)) }, "is not built"},
		{"half written", write(imageFile, `{"format": 1, "fil`), "unexpected end"},
		{"newer", write(imageFile, `{"format": 99}`), "update edgegauge"},
		{"another recipe", write(imageFile, `{"format": 1, "recipe": "x"}`), "another edgegauge"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			im := fakeImage(t)
			tt.spoil(t, im)
			_, err := OpenImage(im.Board, im.Dir)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "devices build cortex-a7") && tt.name != "newer"):
				t.Errorf("got %v, want %q and what to do", err, tt.want)
			}
		})
	}
}

// cpio is the independent reader of what the kernel unpacks.
func TestArchive(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio is missing; run: apt-get install cpio")
	}
	source := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(source, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []File{{Name: "b/c/file", Mode: 0o755, Data: []byte("hello")}, {Name: "a", Mode: os.ModeSymlink | 0o777, Data: []byte("b/c/file")}, {Name: "b/d", Mode: 0o644, Source: source}}
	var one, two bytes.Buffer
	if err := writeArchive(&one, files); err != nil {
		t.Fatal(err)
	}
	files[0], files[2] = files[2], files[0]
	if err := writeArchive(&two, files); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Errorf("the order of files changes the archive: %v", err)
	}
	dir := t.TempDir()
	cmd := exec.Command("cpio", "-i", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &one
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{"a": "hello", "b/d": "12345"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	if fi, err := os.Stat(filepath.Join(dir, "b/c/file")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("mode: got %v, %v", fi, err)
	}
}

func TestSetCell(t *testing.T) {
	if _, err := exec.LookPath("dtc"); err != nil {
		t.Skip("dtc is missing; run: apt-get install device-tree-compiler")
	}
	tree := func(text string) []byte {
		cmd := exec.Command("dtc", "-I", "dts", "-O", "dtb")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const text = `/dts-v1/; / { model = "x"; clock-frequency = <1>; other@1 { clock-frequency = <2>; }; xtal24mhz@24M { long = <1 2>; clock-frequency = <24000000>; }; };`
	got := tree(text)
	if err := setCell(got, "/xtal24mhz@24M", "clock-frequency", 33_600_000); err != nil {
		t.Fatal(err)
	}
	if want := tree(strings.Replace(text, "24000000", "33600000", 1)); !bytes.Equal(got, want) {
		t.Error("another tree than dtc makes")
	}
	for _, at := range [][2]string{{"/xtal24mhz@24M", "none"}, {"/none", "clock-frequency"}, {"/xtal24mhz@24M", "long"}} {
		if err := setCell(got, at[0], at[1], 1); err == nil {
			t.Errorf("%v: no error", at)
		}
	}
}

// QEMU fills the seed itself; here dtc reads what was added.
func TestAddSeed(t *testing.T) {
	if _, err := exec.LookPath("dtc"); err != nil {
		t.Skip("dtc is missing; run: apt-get install device-tree-compiler")
	}
	dtc := func(in []byte, from, to string) []byte {
		cmd := exec.Command("dtc", "-I", from, "-O", to)
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, text := range []string{
		`/dts-v1/; / { model = "x"; chosen { bootargs = "y"; }; a@1 { b = <2>; }; };`,
		`/dts-v1/; / { model = "x"; a@1 { b = <2>; }; };`,
	} {
		tree, err := addSeed(dtc([]byte(text), "dts", "dtb"))
		if err != nil {
			t.Fatal(err)
		}
		got := string(dtc(tree, "dtb", "dts"))
		if want := "chosen {\n\t\trng-seed = <0x00 0x00"; !strings.Contains(got, want) || !strings.Contains(got, "b = <0x02>") {
			t.Errorf("got %s, want %q and all else", got, want)
		}
	}
}

func FuzzSetCell(f *testing.F) {
	b := make([]byte, 64)
	binary.BigEndian.PutUint32(b, 0xd00dfeed)
	binary.BigEndian.PutUint32(b[8:], 40)
	f.Add(b, "/a", "b")
	f.Fuzz(func(t *testing.T, tree []byte, path, property string) {
		setCell(tree, path, property, 1)
		addSeed(tree)
	})
}

func TestDelivery(t *testing.T) {
	out := bytes.Repeat([]byte("a line of what was measured\n"), 10_000)
	var b bytes.Buffer
	b.WriteString("[    0.000000] Booting Linux\r\n")
	if err := Deliver(&b, out); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "console.log")
	if err := os.WriteFile(file, bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\r\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := transcript(ctx, &console{file: file})
	if err != nil || !bytes.Equal(got, out) {
		t.Errorf("%d B came through, want %d: %v", len(got), len(out), err)
	}
}

func TestModuleDependencies(t *testing.T) {
	dir := t.TempDir()
	module := func(name, depends string) {
		if err := os.WriteFile(filepath.Join(dir, name+".ko"), []byte("\x7fELF\x00license=GPL\x00depends="+depends+"\x00name="+name+"\x00"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	module("net-core", "")
	module("virtio_net", "net_failover,inside")
	module("net_failover", "net_core")
	if err := os.WriteFile(filepath.Join(dir, "modules.builtin"), []byte("kernel/lib/inside.ko\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := modules(dir, []string{"virtio_net", "net_failover"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(files[len(files)-1].Data), "net_core.ko\nnet_failover.ko\nvirtio_net.ko\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := modules(dir, []string{"none"}); err == nil {
		t.Error("a module that is not there was not missed")
	}
}

// Every option of our kernels that is set must exist in the source: allSet finds
// those that vanished, and this finds what it would do.
func TestVanishedOption(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".config")
	if err := os.WriteFile(file, []byte("CONFIG_A=y\n# CONFIG_B is not set\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := allSet(file, []string{"CONFIG_A=y", "CONFIG_C=n"}); err != nil {
		t.Error(err)
	}
	if err := allSet(file, []string{"CONFIG_A=y", "CONFIG_B=y"}); err == nil || !strings.Contains(err.Error(), "CONFIG_B") {
		t.Errorf("got %v, want CONFIG_B missed", err)
	}
	for _, name := range []string{"versatile-v6"} {
		if o, err := kernelOptions(name); err != nil || len(o) < 50 {
			t.Errorf("%s: %d options, %v", name, len(o), err)
		}
	}
}
