package californium

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// java runs a class of the stack's jar, by a heap as small as the stack's.
func java(t *testing.T, args ...string) string {
	d := stacktest.Built(t, ".")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", append([]string{"-Xmx128m", "-cp", "build/app.jar:build/lib/*"}, args...)...)
	cmd.Dir, cmd.Env = d.Dir, append(os.Environ(), stacktest.Quickly)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// EXIficient and Fast Infoset make the golden files of the compact forms again,
// byte for byte, and read all of them as the golden XML they were made of.
func TestCompactGolden(t *testing.T) {
	java(t, "edgegauge.compact.Golden", "check", "../contract/golden", "../contract/compact")
}

// Golden files with bits turned over and ends cut are taken or refused, and
// nothing else happens: no other exception, no endless loop, no full heap.
func TestCompactMutations(t *testing.T) {
	if out := java(t, "edgegauge.compact.Mutations", "../contract/compact", "30000",
		"1"); !strings.Contains(out, " refused") {
		t.Errorf("got %q", out)
	}
}
