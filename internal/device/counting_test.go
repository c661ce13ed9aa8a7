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
	core, _ := FindCore(name)
	for _, need := range []string{core.Program, compiler, "cc"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is missing; run: apt-get install qemu-user gcc-arm-linux-gnueabi gcc-aarch64-linux-gnu gcc", need)
		}
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "build", core.Target), 0o755); err != nil {
		t.Fatal(err)
	}
	cc := exec.Command(compiler, "-O1", "-static", "-x", "c", "-", "-o",
		filepath.Join(dir, "build", core.Target, "program"))
	cc.Stdin = strings.NewReader(counted)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	plugin := filepath.Join(dir, "counter.so")
	if err := BuildCounter(t.Context(), plugin); err != nil {
		t.Fatal(err)
	}
	d := Counting{Local: local(t), Core: core, Plugin: plugin}
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
	d := Counting{Local: local(t), Core: core, Plugin: "/no/such/plugin"}
	t.Setenv("PATH", t.TempDir())
	if _, err := d.Start(t.Context(), Command{Argv: []string{"build/x"}}); err == nil ||
		!strings.Contains(err.Error(), "apt-get install qemu-user") {
		t.Errorf("got %v, want what to install", err)
	}
}
