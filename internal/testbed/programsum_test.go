package testbed

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// A program's checksum is computed once, again when the file is another or was changed, and always where nothing can be
// kept.
func TestAProgramIsSummedOnce(t *testing.T) {
	dir := t.TempDir()
	program, cache := filepath.Join(dir, "program"), filepath.Join(dir, "cache", "edgegauge")
	write := func(text string) {
		t.Helper()
		time.Sleep(20 * time.Millisecond) // older kernels count a file's times by their ticks
		if err := os.WriteFile(program, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(cache string) string {
		t.Helper()
		got, err := programSum(program, cache)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	right := func(cache string) {
		t.Helper()
		want, err := stack.FileSum(program)
		if got := sum(cache); err != nil || got != want {
			t.Fatalf("got %s, want %s, %v", got, want, err)
		}
	}
	write("one")
	right("")
	right(cache)
	file := filepath.Join(cache, sumsFile)
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != 1 {
		t.Fatalf("kept %q, %v", text, err)
	}

	// What is kept is taken: a wrong one shows it.
	was := sum(cache)
	wrong := strings.Repeat("0", 64)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), was, wrong)), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := sum(cache); got != wrong {
		t.Errorf("computed again: %s", got)
	}
	// Not of a file that was written anew at the same time by its own account, nor of another.
	before, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := os.Chtimes(program, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	right(cache)
	if err := errors.Join(os.Rename(program, program+"2"), os.WriteFile(program, []byte("six"), 0o644)); err != nil {
		t.Fatal(err)
	}
	right(cache)
	// Nor where what is kept is nonsense, or cannot be there.
	if err := os.WriteFile(file, []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	right(cache)
	right(filepath.Join(program, "in a file"))
	// It does not grow for ever.
	for range 30 {
		write("again")
		right(cache)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "\n") > 20 {
		t.Errorf("kept %d lines, %v", strings.Count(string(text), "\n"), err)
	}
	if left, _ := os.ReadDir(cache); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}
