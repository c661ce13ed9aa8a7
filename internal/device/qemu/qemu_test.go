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

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == device.SuperviseVerb {
		os.Exit(device.Supervise(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// fakeQEMU puts a program in QEMU's place that answers --version and then does
// as the script says, in the machine's folder.
func fakeQEMU(t *testing.T, version, script string) {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\n[ \"$1\" = --version ] && { echo '" + version + "'; exit; }\n" + script + "\n"
	kerneltest.WriteProgram(t, filepath.Join(dir, "qemu-system-arm"), text)
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
	d, err := NewEnclosed(t.Context(), fakeImage(t), exe, exe)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Enclose(ctx, device.Job{Text: []byte("{}"), Seed: 1})
	return err
}

func TestBadDaysOfQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("needs python3, which plays QEMU")
	}
	python := func(then string) string { return strings.Replace(listen, "%s", then, 1) }
	for _, tt := range []struct {
		name, version, script string
		want                  []string
	}{
		{"too old", "QEMU emulator version 5.2.0", "", []string{"QEMU 5.2", "7.1 or newer"}},
		{"without dtb-randomness", "QEMU emulator version 7.0.0", "", []string{"QEMU 7.0", "7.1 or newer"}},
		{"another program", "hello", "", []string{"not a version of QEMU"}},
		{"does not start", sound, "echo 'qemu: unsupported machine' >&2; exit 1",
			[]string{"cortex-a7", "QEMU exited with status 1", "unsupported machine"}},
		{"dies in mid-boot", sound,
			python("open(\"console.log\",\"w\").write(\"Booting Linux\\r\\n\"); os.kill(os.getpid(), 9)"),
			[]string{"SIGKILL", "its last output: Booting Linux"}},
		{"no greeting", sound, strings.Replace(python("time.sleep(60)"), `{\"QMP\": {}}`, "hello", 1),
			[]string{"not a greeting"}},
		{"its kernel gives up", sound,
			python("open(\"console.log\",\"w\").write(\"Kernel panic - not syncing\\n\"); time.sleep(60)"),
			[]string{"Kernel panic - not syncing"}},
		{"its kernel has no room for its files", sound,
			python("open(\"console.log\",\"w\").write(\"Initramfs unpacking failed: write error\\n\"); time.sleep(60)"),
			[]string{"has no room for what it was given", "write error"}},
		{"its guest gives up", sound,
			python("open(\"console.log\",\"w\").write(\"\\nedgegauge! no module x\\n\"); time.sleep(60)"),
			[]string{"no module x"}},
		{"broken output", sound,
			python("open(\"console.log\",\"w\").write(\"\\nedgegauge| AAAA\\nedgegauge. 00\\n\"); time.sleep(60)"),
			[]string{"output is damaged"}},
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
	if testing.Short() {
		t.Skip("needs python3, which plays QEMU")
	}
	fakeQEMU(t, sound, strings.Replace(listen, "%s",
		"open(\"console.log\",\"w\").write(\"Starting kernel\\n\"); open(\"pid\",\"w\").write(str(os.getpid())); "+
			"time.sleep(600)", 1))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errTrialTooLong)
	defer cancel()
	err := enclose(t, ctx)
	if err == nil || !strings.Contains(err.Error(), "the trial took too long") ||
		!strings.Contains(err.Error(), "Starting kernel") {
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
		{"changed", write(kernelFile, "Content of kernel"), "has changed since it was built"},
		{"gone", func(t *testing.T, im Image) { os.Remove(filepath.Join(im.Dir, baseFile)) }, "no such file"},
		{"not built", func(t *testing.T, im Image) { os.Remove(filepath.Join(im.Dir, imageFile)) }, "is not built"},
		{"half written", write(imageFile, `{"format": 1, "fil`), "unexpected end"},
		{"newer", write(imageFile, `{"format": 99}`), "update edgegauge"},
		{"another recipe", write(imageFile, `{"format": 1, "recipe": "x"}`), "a different edgegauge"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			im := fakeImage(t)
			tt.spoil(t, im)
			_, err := OpenImage(im.Board, im.Dir)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "devices build cortex-a7") && tt.name != "newer"):
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
	files := []File{{Name: "b/c/file", Mode: 0o755, Data: []byte("hello")},
		{Name: "a", Mode: os.ModeSymlink | 0o777, Data: []byte("b/c/file")}, {Name: "b/d", Mode: 0o644, Source: source}}
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
		if want := "chosen {\n\t\trng-seed = <0x00 0x00"; !strings.Contains(got, want) ||
			!strings.Contains(got, "b = <0x02>") {
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
		if err := os.WriteFile(filepath.Join(dir, name+".ko"),
			[]byte("\x7fELF\x00license=GPL\x00depends="+depends+"\x00name="+name+"\x00"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	module("net-core", "")
	module("virtio_net", "net_failover,inside")
	module("net_failover", "net_core")
	if err := os.WriteFile(filepath.Join(dir, "modules.builtin"), []byte("kernel/lib/inside.ko\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := modules(dir, []string{"virtio_net", "net_failover"}, "list")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(files[len(files)-1].Data), "net_core.ko\nnet_failover.ko\nvirtio_net.ko\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := modules(dir, []string{"none"}, "list"); err == nil {
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
	if err := allSet(file, []string{"CONFIG_A=y", "CONFIG_B=y"}); err == nil ||
		!strings.Contains(err.Error(), "CONFIG_B") {
		t.Errorf("got %v, want CONFIG_B missed", err)
	}
	for _, name := range []string{"versatile-v5", "versatile-v6"} {
		if o, err := kernelOptions(name); err != nil || len(o) < 50 {
			t.Errorf("%s: %d options, %v", name, len(o), err)
		}
	}
}

// The guest's own reader unpacks what the kernel would.
func TestReadArchive(t *testing.T) {
	var b bytes.Buffer
	files := []File{{Name: "b/c/file", Mode: 0o755, Data: []byte("hello")},
		{Name: "a", Mode: os.ModeSymlink | 0o777, Data: []byte("b/c/file")},
		{Name: "b/d", Mode: 0o600, Data: bytes.Repeat([]byte("x"), 70_001)}}
	if err := writeArchive(&b, files); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	dir := t.TempDir()
	if err := readArchive(bytes.NewReader(append(bytes.Clone(whole), "what lies behind"...)), dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "hello", "b/c/file": "hello", "b/d": string(files[2].Data)} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s: got %d B, %v, want %d", name, len(got), err, len(want))
		}
	}
	if fi, err := os.Stat(filepath.Join(dir, "b/c/file")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("mode: got %v, %v", fi, err)
	}
	for _, n := range []int{0, 50, 115, 600, len(whole) - 200} {
		if err := readArchive(bytes.NewReader(whole[:n]), t.TempDir()); err == nil {
			t.Errorf("cut after %d B of %d: no error", n, len(whole))
		}
	}
	var out bytes.Buffer
	if err := writeArchive(&out, []File{{Name: "../x", Mode: 0o644}}); err != nil {
		t.Fatal(err)
	}
	if err := readArchive(&out, t.TempDir()); err == nil || !strings.Contains(err.Error(), "points outside") {
		t.Errorf("got %v, want a refusal of ../x", err)
	}
}

func FuzzReadArchive(f *testing.F) {
	var b bytes.Buffer
	writeArchive(&b, []File{{Name: "a/b", Mode: 0o644, Data: []byte("hello")},
		{Name: "c", Mode: os.ModeSymlink | 0o777, Data: []byte("a")}})
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		os.Mkdir(dir, 0o755)
		readArchive(bytes.NewReader(text), dir)
		if all, _ := os.ReadDir(outer); len(all) != 1 {
			t.Errorf("it wrote %v beside its folder", all)
		}
	})
}

// The same files, owned by others and written later, make the same bytes; another
// byte in one makes others.
func TestSquashIsReproducible(t *testing.T) {
	if err := needSquash(); err != nil {
		t.Skip(err)
	}
	out := t.TempDir()
	made := func(name string, content string, at time.Time, order ...string) Digest {
		dir := t.TempDir()
		for _, f := range order {
			if err := os.WriteFile(filepath.Join(dir, f), []byte(f+content), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(dir, f), at, at); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(out, name)
		if err := squash(t.Context(), dir, file); err != nil {
			t.Fatal(err)
		}
		d, err := digest(file)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	text := strings.Repeat("some text ", 50_000)
	one, two := made("one", text, time.Unix(1e9, 0), "a", "b"), made("two", text, time.Unix(2e9, 0), "b", "a")
	if one != two {
		t.Errorf("got %v and %v of the same files", one, two)
	}
	if three := made("three", text+"!", time.Unix(1e9, 0), "a", "b"); three == one {
		t.Error("another file makes the same bytes")
	}
}

// What lies in flash: a squashfs first, the job at its place, 64 MiB in all; and
// neither more than fits.
func TestFlash(t *testing.T) {
	file := filepath.Join(t.TempDir(), flashFile)
	if err := writeFlash(file, []byte("hsqs and so on"),
		[]File{{Name: "job", Mode: 0o644, Data: []byte("do")}}); err != nil {
		t.Fatal(err)
	}
	if !holdsSquash(file) {
		t.Error("it is not seen to hold a squashfs")
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if fi, _ := f.Stat(); fi.Size() != flashSize {
		t.Errorf("got %d B, want %d", fi.Size(), flashSize)
	}
	f.Seek(jobAt, 0)
	dir := t.TempDir()
	if err := readArchive(f, dir); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "job")); string(b) != "do" {
		t.Errorf("got %q", b)
	}
	if err := writeFlash(file, make([]byte, jobAt+1), []File{}); err == nil ||
		!strings.Contains(err.Error(), "do not fit") {
		t.Errorf("got %v for a root that is too large", err)
	}
	if err := writeFlash(file, nil, []File{{Name: "big", Mode: 0o644, Data: make([]byte, flashSize-jobAt)}}); err == nil ||
		!strings.Contains(err.Error(), "exceed its flash") {
		t.Errorf("got %v for a job that is too large", err)
	}
}

// Java on a board: not built, whole, truncated, where there is no room for it; and
// what a Java program of a stack becomes in the guest.
func TestJavaOfABoard(t *testing.T) {
	u := Builder{Cache: t.TempDir()}
	b, _ := Find("raspberry-pi-1")
	if _, err := u.OpenJava(b); err == nil ||
		!strings.Contains(err.Error(), "is not built; run: edgegauge devices build raspberry-pi-1 --java") {
		t.Errorf("got %v, want how to build it", err)
	}
	file := filepath.Join(u.JavaDir(b), javaFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("hsqs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := seal(u.JavaDir(b), &Made{}, javaRecipe(), javaFile); err != nil {
		t.Fatal(err)
	}
	java, err := u.OpenJava(b)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range []string{"build/app.jar", "build/lib/one.jar"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755)
		os.WriteFile(filepath.Join(dir, f), []byte(f), 0o644)
	}
	p := device.Program{Name: "jersey", Dir: dir, Products: []string{"build/app.jar", "build/lib"}}
	command := device.Command{Argv: []string{"java", "-cp", "build/app.jar:build/lib/*", "Main"}}
	c, files, err := Image{Board: b, Java: &java}.Furnish(p, command)
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := "/stacks/jersey/build/app.jar /stacks/jersey/build/lib/one.jar " + javaMark; err != nil ||
		c.Dir != "/stacks/jersey" || strings.Join(names, " ") != want {
		t.Errorf("got %v in %s, %v, want %s", names, c.Dir, err, want)
	}
	if _, _, err := (Image{Board: b}).Furnish(p, command); err == nil ||
		!strings.Contains(err.Error(), "there is no java for stack jersey") {
		t.Errorf("got %v without a runtime", err)
	}
	if err := os.WriteFile(file, []byte("hs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := u.OpenJava(b); err == nil || !strings.Contains(err.Error(), "truncated or changed") {
		t.Errorf("got %v, want it to be truncated", err)
	}
}
