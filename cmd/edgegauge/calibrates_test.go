package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/testbed"
)

// What calibrate runs without --study is a study that run takes, for every machine and kind of board: all that is
// lacking is a machine that is built, and what an emulated one needs of this machine.
func TestTheDefaultCalibrationCanRun(t *testing.T) {
	f := calibrateCmd(&app{}).Flags()
	stacks, err := f.GetStringSlice("stacks")
	ok(t, err)
	sizes, err := f.GetStringSlice("sizes")
	ok(t, err)
	n, err := f.GetInt("replications")
	ok(t, err)
	var machines []string
	for _, b := range qemu.Boards() {
		machines = append(machines, b.Name, b.Name+qemu.PacedSuffix)
	}
	a := &app{quiet: true}
	for _, machine := range machines {
		for _, board := range []string{"ssh://pi@board", "local"} {
			c := emulationCalibrating{against: board, stacks: stacks, sizes: sizes, replications: n}
			name := plainName("calibrate-" + machine)
			file := filepath.Join(t.TempDir(), name+".yaml")
			ok(t, os.WriteFile(file, calibrationStudy(name, machine, c), 0o644))
			got, _ := a.check(t.Context(), file, nil, sharing{})
			for _, x := range got.Faults {
				if !x.Here {
					t.Errorf("%s against %s: %+v", machine, board, x)
				}
			}
			_, plan, _, err := a.read(context.Background(), file, nil, nil)
			if err == nil {
				err = c.enough(plan, machine)
			}
			if err != nil {
				t.Errorf("%s against %s: %v", machine, board, err)
			}
		}
	}
}

// calibrations that documents and help name. What follows them is a comment, or the end of code in a sentence.
var documentedCalibration = regexp.MustCompile("edgegauge devices calibrate ([^`\n#]+)")

// Every command of calibrate that is documented is one that it takes: of a machine, all but the machine is there. A
// meter may be connected where this test runs, so of these only the words are read.
func TestDocumentedCalibrations(t *testing.T) {
	o := newOwn(t)
	t.Setenv("EDGEGAUGE_CACHE", t.TempDir()) // no machine is built
	t.Setenv("PATH", o.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	texts := []string{calibrateCmd(&app{}).Example, devicesCmd(&app{}).Example}
	for _, name := range append(kernel.Matching("../../doc", "*.md"), "../../README.md") {
		text, err := os.ReadFile(name)
		ok(t, err)
		texts = append(texts, string(text))
	}
	machines, meters := 0, 0
	for _, text := range texts {
		for _, m := range documentedCalibration.FindAllStringSubmatch(text, -1) {
			line := strings.TrimSpace(m[1])
			words := strings.Fields(line)
			if !testbed.IsMachine(words[0]) {
				meters++
				c := calibrateCmd(&app{})
				err := c.ParseFlags(words)
				if err == nil {
					err = straysOf(c.Flags().Changed, words[0], false)
				}
				if err != nil {
					t.Errorf("%s: %v", line, err)
				}
				continue
			}
			machines++
			c := exec.CommandContext(t.Context(), "sh", "-c", "edgegauge devices calibrate "+line)
			c.Dir = o.dir
			said, _ := c.CombinedOutput() // its code says it
			code, want := exitUnmeasured, "devices calibrate: device "+words[0]
			if strings.Contains(line, "--from") {
				code, want = exitUsage, "no such directory"
			}
			if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(string(said), want) {
				t.Errorf("%s: exit code %d, want %d with %q: %s", line, got, code, want, said)
			}
		}
	}
	if machines < 4 || meters < 5 {
		t.Errorf("found %d calibrations of machines and %d of meters", machines, meters)
	}
	if exists(filepath.Join(o.dir, "results")) {
		t.Error("a calibration that could not begin has made a folder of results")
	}
}
