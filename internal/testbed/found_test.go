package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// Stacks that need the same program ask it for its version once; one that is missing is looked for again, and an
// untrusted stack's is not asked at all.
func TestAProgramIsAskedOnce(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	asked := filepath.Join(bin, "asked")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	write := func(file, text string) {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		kerneltest.WriteProgram(t, file, text)
	}
	program := func(version string) {
		write(filepath.Join(bin, "runtime"), "#!/bin/sh\necho x >>"+asked+"\necho version "+version+"\n")
	}
	for _, name := range []string{"one", "two"} {
		write(filepath.Join(dir, name, "stack.yaml"), `title: a stack
version: "1"
language: none
needs: [{program: runtime, args: [-version], version: "17", install: get it}]
serve: {command: [runtime, serve]}
serves: [{services: [monitor], encodings: [xml], security: [none], transports: [http], sides: [server], connections: [keep-alive]}]
`)
	}
	b := bed(t, dir)
	count := func() int {
		text, _ := os.ReadFile(asked)
		return strings.Count(string(text), "x")
	}
	state := func(b *Testbed, name string) string {
		d, _ := b.FindStack(name)
		return b.StackState(t.Context(), d)
	}
	program("16")
	for range 2 {
		if got := state(b, "one"); !strings.Contains(got, "runtime 17 is missing") {
			t.Errorf("version 16: got %q", got)
		}
	}
	if count() != 2 {
		t.Errorf("what is missing was looked for %d times, want 2", count())
	}
	program("17")
	for range 2 {
		if one, two := state(b, "one"), state(b, "two"); one+two != "" {
			t.Errorf("version 17: got %q and %q", one, two)
		}
	}
	if count() != 3 {
		t.Errorf("what is there was asked %d times, want 1", count()-2)
	}
	b = bed(t, dir)
	b.Options.Stacks[0].Trusted = false
	if got := state(b, "one"); got != "" || count() != 3 {
		t.Errorf("not trusted: got %q, asked %d times, want 0", got, count()-3)
	}
}
