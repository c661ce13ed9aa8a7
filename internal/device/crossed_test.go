package device

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where a stack has no script that builds for another processor, none is named.
func TestAMissingCrossedProgramSaysHowItIsMade(t *testing.T) {
	dir := t.TempDir()
	_, err := Crossed("mine", dir, "./stack", "arm64")
	want := filepath.Join(dir, "arm64/stack") + ": no such file or directory; build the same source with a compiler for " +
		"arm64, linked statically, as this file"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without build.sh: got %v, want %s", err, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "build.sh"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Crossed("mine", dir, "./stack", "arm64")
	if want := "for example: stacks/mine/build.sh arm64"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with build.sh: got %v, want %s", err, want)
	}
}
