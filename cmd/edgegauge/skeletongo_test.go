package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Decimals are rounded by their digits, also by the skeleton that reads them as floating point.
func TestGoSkeletonRoundsByDigits(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := filepath.Join(t.TempDir(), "mine")
	if _, err := writeSkeleton(dir, "mine", "go"); err != nil {
		t.Fatal(err)
	}
	const test = `package main

import "testing"

func TestRounds(t *testing.T) {
	for text, want := range map[string]hundredths{"1.005": 101, "-1.005": -101, "2.675": 268, "0.994": 99, "1e2": 10000,
		"8.1e-3": 1, "1e-400": 0, "-0.05": -5, "1e13": 1e15} {
		var got hundredths
		if !read(text, &got) || got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	if read("1e14", new(hundredths)) || read("1e400", new(hundredths)) {
		t.Error("what is out of range is read")
	}
}
`
	if err := os.WriteFile(filepath.Join(dir, "main_test.go"), []byte(test), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "test", "-vet=off", ".")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
