package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack/stacktest"
	"edgegauge.example/edgegauge/internal/store"
)

const javaStudy = `
study: java
service: monitor
time: instructions
stack: STACK
client: {device: MACHINE}
server: {device: MACHINE}
requests: REQUESTS
design: {replications: 1, seed: 1, warmup: REQUESTS}
timeouts: {ready: 7m, request: 2m, trial: 7m}
`

// A Java stack on both sides of an emulated machine, on the runtime of that
// machine's architecture.
func TestJavaInAMachine(t *testing.T) { javaIn(t, machineInCI, "jersey", 5) }

// The same in the machine with the least memory of those that have the runtime in it: it once had no room for it, when
// its own program had grown. The lightest stack, and one request.
func TestJavaInTheSmallestMachine(t *testing.T) { javaIn(t, "cortex-a7", "restlet", 1) }

func javaIn(t *testing.T, name, stack string, requests int) {
	t.Helper()
	stacktest.Built(t, "../../stacks/"+stack)
	b, u := machineNamed(t, name)
	if _, err := u.OpenJava(b); err != nil {
		if _, err := u.BuildJava(t.Context(), b); err != nil {
			t.Logf("with the pinned versions: %v", err)
			u.Newest = true
			if _, err := u.BuildJava(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "java.yaml")
	text := strings.NewReplacer("STACK", stack, "MACHINE", name, "REQUESTS", fmt.Sprint(requests)).Replace(javaStudy)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	said := edgegauge(t, "run", file, "--out", filepath.Join(dir, "out"))
	for _, want := range []string{"1 of 1 trial valid", "counted instructions"} {
		if !strings.Contains(strings.ReplaceAll(said, "\n", " "), want) {
			t.Errorf("%q is missing in the report:\n%s", want, said)
		}
	}
	s, err := store.OpenReadOnly(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := false
	for row, err := range s.Results() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Response == "rtt" {
			seen = true
			if row.N != int64(requests) || row.Min <= 0 {
				t.Errorf("got %d requests of at least %v s, want %d", row.N, row.Min, requests)
			}
		}
	}
	if !seen {
		t.Error("no round trip was measured")
	}
}
