package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/stack/stacktest"
	"edgegauge.example/edgegauge/internal/store"
)

const countingStudy = `
study: counting
service: monitor
stack: libcoap
client: {device: local}
server: {device: instructions-arm64}
requests: 100
design: {replications: 4, seed: 1, warmup: 20}
responses: [instructions]
timeouts: {ready: 60s, request: 60s, trial: 4m}
`

// A native program of one thread takes as many instructions a request in every
// trial, within half a per cent, and a number that its work makes likely.
func TestInstructionsOfANativeStack(t *testing.T) {
	stacktest.Built(t, "../../stacks/libcoap")
	for _, need := range []string{"qemu-aarch64", "aarch64-linux-gnu-gcc"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is missing; run: apt-get install qemu-user gcc-aarch64-linux-gnu", need)
		}
	}
	build := exec.Command("./build.sh", "arm64")
	build.Dir = "../../stacks/libcoap"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cache, err := filepath.Abs("../../.cache/edgegauge")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("EDGEGAUGE_CACHE", cache)
	dir := t.TempDir()
	file := filepath.Join(dir, "study.yaml")
	if err := os.WriteFile(file, []byte(countingStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	edgegauge(t, "devices", "build", "instructions-arm64")
	edgegauge(t, "run", file, "--out", filepath.Join(dir, "out"))
	s, err := store.OpenReadOnly(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var each []float64
	for row, err := range s.Results() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Response == "instructions" {
			each = append(each, row.Mean)
		}
	}
	if len(each) != 4 {
		t.Fatalf("got %v, want the instructions of four trials", each)
	}
	for _, x := range each {
		if apart := x/each[0] - 1; apart > 0.005 || apart < -0.005 || x < 5_000 || x > 100_000 {
			t.Errorf("got %v instructions a request, want the same within 0.5 %% and some ten thousands", each)
			break
		}
	}
}
