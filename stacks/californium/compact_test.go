package californium

import (
	"os/exec"
	"testing"
	"time"

	"context"

	"edgegauge/internal/stack/stacktest"
)

// EXIficient and Fast Infoset make the golden files of the compact forms again,
// byte for byte, and read all of them as the golden XML they were made of.
func TestCompactGolden(t *testing.T) {
	d := stacktest.Built(t, ".")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", "-cp", "build/app.jar:build/lib/*", "edgegauge.compact.Golden", "check", "../contract/golden", "../contract/compact")
	cmd.Dir = d.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
