package device

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// A program of one thread that works for every line it reads: for twice as many
// lines it takes twice as many instructions, and as many the second time.
const counted = `#include <stdio.h>
int main(void) { char line[100]; volatile unsigned x = 1; setvbuf(stdout, 0, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin)) { for (int i = 0; i < 100000; i++) x = x * 3 + 1; puts("done"); } return 0; }`

func TestCountedInstructions(t *testing.T) {
	for name, compiler := range map[string]string{"instructions-armv5": "arm-linux-gnueabi-gcc",
		"instructions-armv6": "arm-linux-gnueabi-gcc", "instructions-arm64": "aarch64-linux-gnu-gcc"} {
		t.Run(name, func(t *testing.T) { countOn(t, name, compiler) })
	}
}

func countOn(t *testing.T, name, compiler string) {
	d, dir := compiled(t, name, compiler, counted)
	if err := d.Usable(t.Context()); err != nil {
		t.Error(err)
	}
	one, again, two := countLines(t, d, dir, 10), countLines(t, d, dir, 10), countLines(t, d, dir, 20)
	if apart := float64(one-again) / float64(one); apart > 0.005 || apart < -0.005 {
		t.Errorf("got %d and %d instructions for the same, want within 0.5 %%", one, again)
	}
	if ratio := float64(two) / float64(one); ratio < 1.99 || ratio > 2.01 {
		t.Errorf("got %d for twice the work of %d, want 2 times", two, one)
	}
	if perLine := one / 10; perLine < 300_000 || perLine > 3_000_000 {
		t.Errorf("got %d instructions for a loop of 100000 rounds", perLine)
	}
}

// compiled is a core and a folder with a program for it.
func compiled(t *testing.T, name, compiler, program string) (d Counting, dir string) {
	t.Helper()
	core, _ := FindCore(name)
	for _, need := range []string{core.QEMU, compiler, "cc"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is missing; run: apt-get install qemu-user gcc-arm-linux-gnueabi gcc-aarch64-linux-gnu gcc", need)
		}
	}
	dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "build", core.Target), 0o755); err != nil {
		t.Fatal(err)
	}
	cc := exec.Command(compiler, "-O1", "-static", "-x", "c", "-", "-o",
		filepath.Join(dir, "build", core.Target, "program"))
	cc.Stdin = strings.NewReader(program)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	counters := t.TempDir()
	if err := BuildCounters(t.Context(), counters); err != nil {
		t.Fatal(err)
	}
	return Counting{Local: local(t), Core: core, Counters: counters}, dir
}

// countLines is how many instructions so many lines take.
func countLines(t *testing.T, d Counting, dir string, lines int) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := d.Start(ctx, Command{Argv: []string{"build/program"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ask := func(n int) int64 {
		for range n {
			io.WriteString(p.Stdin, "go\n")
			if _, err := io.ReadFull(p.Stdout, make([]byte, len("done\n"))); err != nil {
				t.Fatal(err)
			}
		}
		u, err := p.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return u.Instructions
	}
	before := ask(1)
	return ask(lines) - before
}

func TestCountingNeeds(t *testing.T) {
	core, _ := FindCore("instructions-armv5")
	d := Counting{Local: local(t), Core: core, Counters: "/no/such/folder"}
	t.Setenv("PATH", t.TempDir())
	if _, err := d.Start(t.Context(), Command{Argv: []string{"build/x"}}); err == nil ||
		!strings.Contains(err.Error(), "apt-get install qemu-user") {
		t.Errorf("got %v, want what to install", err)
	}
	if err := d.Usable(t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install qemu-user") {
		t.Errorf("got %v, want what to install", err)
	}
}

// fakeUser puts a program in qemu-arm's place that prints a version and takes plugins of one version of the interface,
// which it tells by the name of the file.
func fakeUser(t *testing.T, version, takes string) Counting {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\n[ \"$1\" = --version ] && { echo '" + version + "'; exit; }\n" +
		"case $4 in *-" + takes + ".so,out=*) printf 12345678 >${4#*,out=};; *) echo 'plugin refused' >&2; exit 1;; esac\n"
	kerneltest.WriteProgram(t, filepath.Join(dir, "qemu-arm"), text)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	core, _ := FindCore("instructions-armv5")
	d := Counting{Local: local(t), Core: core, Counters: t.TempDir()}
	for _, v := range []int{1, 2} {
		if err := os.WriteFile(counterFile(d.Counters, v), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Each QEMU gets the counter that it takes, and one that takes none is refused before a run.
func TestCounterOfEachQEMU(t *testing.T) {
	for _, tt := range []struct{ version, takes, want string }{
		{"qemu-arm version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)", "1", ""},
		{"qemu-arm version 6.2.0 (Debian 1:6.2+dfsg-2ubuntu6.6)", "1", ""},
		{"qemu-arm version 8.2.2", "1", ""},
		{"qemu-arm version 9.0.0", "2", ""},
		{"qemu-arm version 10.0.2 (Debian 1:10.0.2+ds-2)", "2", ""},
		{"qemu-arm version 10.0.2", "3", "does not count instructions: exit status 1: plugin refused"},
		{"qemu-arm version 5.2.0", "1", "is QEMU 5.2; edgegauge needs 6.2 or newer"},
		{"hello", "1", "not a version of QEMU"},
	} {
		d := fakeUser(t, tt.version, tt.takes)
		if err := d.Usable(t.Context()); (err == nil) != (tt.want == "") ||
			err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.version, err, tt.want)
		}
	}
	d := fakeUser(t, "qemu-arm version 10.0.2", "2")
	d.Counters = t.TempDir()
	if err := os.WriteFile(filepath.Join(d.Counters, "libcount.so"), nil, 0o644); err != nil { // an earlier edgegauge's
		t.Fatal(err)
	}
	if err := d.Usable(t.Context()); err == nil || !strings.Contains(err.Error(), "devices build instructions-armv5") {
		t.Errorf("an old counter: got %v", err)
	}
}

// What a forked process does counts as what its parent does.
const forking = `#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
int main(void) { char line[100]; volatile unsigned x = 1; setvbuf(stdout, 0, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin)) { if (fork() == 0) { for (int i = 0; i < 3000000; i++) x = x * 3 + 1; _exit(0); }
    for (int i = 0; i < 3000000; i++) x = x * 3 + 1; wait(0); puts("done"); } return 0; }`

func TestForkedProcessesAreCounted(t *testing.T) {
	d, dir := compiled(t, "instructions-armv5", "arm-linux-gnueabi-gcc", forking)
	one, two := countLines(t, d, dir, 5), countLines(t, d, dir, 10)
	if ratio := float64(two) / float64(one); ratio < 1.98 || ratio > 2.02 {
		t.Errorf("got %d for twice the work of %d, want 2 times", two, one)
	}
}
