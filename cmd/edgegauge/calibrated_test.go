package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const calibratingStudy = `
study: calibrating
service: sort
stack: rest-json
size: 2kB
factors:
  device:
    - {name: the board, client.device: local}
    - {name: the machine, client.device: cortex-a53/icount}
requests: 10
design: {replications: 5, seed: 1, warmup: 2}
responses: [serialization, deserialization, rtt, message_size, wire_bytes]
timeouts: {ready: 60s, request: 30s, trial: 5m}
`

// A machine is compared with a board, for which this machine stands in, and a
// later run on it says what the board would do; one of another size says why not.
func TestCalibratedMachine(t *testing.T) {
	needTUN(t)
	machine(t)
	dir := t.TempDir()
	ownTemp(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), exe, args...)
		cmd.Dir, cmd.Args[0] = dir, "edgegauge"
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("edgegauge %s: %v\n%s", strings.Join(args, " "), err, said.String())
		}
		return strings.Join(strings.Fields(said.String()), " ")
	}
	file := filepath.Join(dir, "calibrating.yaml")
	if err := os.WriteFile(file, []byte(calibratingStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	said := run("devices", "calibrate", "cortex-a53/icount", "--against", "local", "--study", file)
	for _, want := range []string{"No prediction of a board for", "make one with: edgegauge devices calibrate",
		"calibrations/cortex-a53-icount-local.yaml, version 1:", "rest-json client serialization, B 2000:"} {
		if !strings.Contains(said, want) {
			t.Errorf("calibrate does not say %q:\n%s", want, said)
		}
	}
	later := []string{"run", file, "--out", "later", "--set", "design.replications=3", "--set", "design.seed=2"}
	said = run(later...)
	for _, want := range []string{"PREDICTED, not measured", "(calibration cortex-a53-icount-local, version 1,",
		"the machine client serialization"} {
		if !strings.Contains(said, want) {
			t.Errorf("the later run does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "the board client serialization") {
		t.Errorf("what was measured on the board is predicted too:\n%s", said)
	}
	later[3] = "larger"
	if said := run(append(later, "--set", "size=20kB")...); !strings.Contains(said,
		"cannot be used: it covers 2000 to 2000 B, not 20000") || strings.Contains(said, "PREDICTED") {
		t.Errorf("a larger message: %s", said)
	}
	said = run("devices", "calibrate", "cortex-a53/icount", "--against", "local", "--from",
		"results/calibrate-cortex-a53-icount/001")
	if !strings.Contains(said, "version 2") || !exists(filepath.Join(dir, "calibrations/cortex-a53-icount-local.1.yaml")) {
		t.Errorf("made again: %s", said)
	}
}
