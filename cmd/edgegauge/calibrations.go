package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise/calibration"
	"edgegauge.example/edgegauge/internal/device/ssh"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// calibrationFolder is where calibrations are kept and looked for, beside the
// folders of EDGEGAUGE_CALIBRATIONS.
const calibrationFolder = "calibrations"

// calibrations reads all there are; what is wrong with one is said, and it is left out.
func calibrations(w io.Writer) []calibration.File {
	var out []calibration.File
	for _, dir := range append([]string{calibrationFolder}, filepath.SplitList(os.Getenv("EDGEGAUGE_CALIBRATIONS"))...) {
		for _, name := range kernel.Matching(dir, "*.yaml") {
			f, err := readCalibration(name)
			if err != nil {
				fmt.Fprintln(w, err)
				continue
			}
			out = append(out, f)
		}
	}
	return out
}

// mostCalibration is how large a file of a calibration may be, in B.
const mostCalibration = 16 << 20

func readCalibration(name string) (calibration.File, error) {
	text, err := kernel.ReadFile(name, mostCalibration)
	if err != nil {
		return calibration.File{}, err
	}
	f, err := calibration.Read(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return f, err
}

// emulationCalibrating is what calibrate was asked for a machine.
type emulationCalibrating struct {
	against, study, out string
	from                []string
	stacks, sizes       []string
	sets                []string
	replications        int
	asJSON              bool
}

// calibrateEmulation compares a machine with a board, by a run made now or by
// results that are there, and keeps how they compare.
func (a *app) calibrateEmulation(ctx context.Context, w, progress io.Writer, machine string,
	c emulationCalibrating) error {
	if c.against == "" {
		return exit{exitUsage, fmt.Errorf("name the board to compare %s with, e.g. --against ssh://pi@board", machine)}
	}
	if c.against != "local" && !strings.HasPrefix(c.against, ssh.Scheme) {
		return exit{exitUsage, fmt.Errorf("--against %s is not a board; write ssh://USER@HOST, or local for this machine",
			c.against)}
	}
	if c.out == "" {
		c.out = filepath.Join(calibrationFolder, plainName(machine+"-"+strings.TrimPrefix(c.against, ssh.Scheme))+".yaml")
	}
	if err := replaceable(c.out); err != nil { // before an hour of measuring
		return exit{exitUsage, err}
	}
	if len(c.from) == 0 {
		shown := w
		if c.asJSON {
			shown = io.Discard
		}
		dir, err := a.compareWithBoard(ctx, shown, machine, c)
		if err != nil {
			return err
		}
		c.from = []string{dir}
	}
	f, left, err := fitted(machine, c)
	for _, l := range left {
		fmt.Fprintln(progress, "left out:", l)
	}
	if err != nil {
		return err
	}
	f, out, err := keepCalibration(ctx, f, c.out)
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return writeJSON(w, calibratedOf(f, out))
	}
	writeCalibrated(w, f, out)
	return nil
}

// fitted is the calibration that results support.
func fitted(machine string, c emulationCalibrating) (calibration.File, []string, error) {
	f := calibration.File{Format: calibration.Format, Version: 1, Made: time.Now().UTC().Truncate(time.Second),
		Device: machine, Reached: c.against}
	var all []calibration.Measured
	reports, err := readEach(c.from, soundReport)
	if err != nil {
		return f, nil, err
	}
	for i, dir := range c.from {
		r := reports[i]
		if d, ok := r.Facts.Devices[machine]; ok {
			if facts := r.MachineFacts(machine); len(f.Facts.Emulation) == 0 {
				f.Facts = facts
			}
			if len(d.Emulation) == 0 {
				return f, nil, exit{exitUsage, fmt.Errorf("%s: %s is not an emulated machine in these results", dir, machine)}
			}
		}
		if d, ok := r.Facts.Devices[c.against]; ok {
			f.Board = strings.TrimSpace(d.Model + ", " + d.Kernel)
		}
		all = append(all, r.Measured()...)
	}
	var left []string
	if f.Entries, left, err = calibration.Fit(all, machine, c.against); err != nil {
		return f, left, exit{exitUnmeasured, fmt.Errorf("%s: %w", strings.Join(c.from, ", "), err)}
	}
	return f, left, nil
}

// replaceable says why no calibration can be written there. What is there must be one, which is kept.
func replaceable(out string) error {
	if dir := filepath.Dir(out); exists(dir) {
		if err := creatable("--out", out); err != nil {
			return err
		}
	} else if err := checkOut(dir); err != nil {
		return err
	}
	if _, err := readCalibration(out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w; move it away, or name another file with --out", err)
	}
	return nil
}

// keepCalibration writes the file, and returns what it has and where it is. An older one of that name is kept
// beside it.
func keepCalibration(ctx context.Context, f calibration.File, out string) (calibration.File, string, error) {
	f.Name = strings.TrimSuffix(filepath.Base(out), ".yaml")
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return f, out, exit{exitUnmeasured, err}
	}
	turn, err := turnIn(ctx, filepath.Dir(out)) // or two would be the same version, and one would replace the other
	if err != nil {
		return f, out, exit{exitUnmeasured, err}
	}
	defer turn.Close()
	old, err := readCalibration(out)
	switch {
	case err == nil:
		f.Version = old.Version + 1
		if err := copyFile(out, strings.TrimSuffix(out, ".yaml")+fmt.Sprintf(".%d.yaml", old.Version)); err != nil {
			return f, out, exit{exitUnmeasured, err}
		}
	case !errors.Is(err, os.ErrNotExist):
		return f, out, exit{exitUnmeasured, fmt.Errorf("%w; move it away, or name another file with --out", err)}
	}
	text, err := f.Write()
	if err == nil {
		err = putFile(out, func(w io.Writer) error { _, err := w.Write(text); return err })
	}
	if err != nil {
		return f, out, exit{exitUnmeasured, err}
	}
	return f, out, nil
}

// copyFile keeps a file under another name, too. Renamed, it would be missing until the new one has its name, and for
// good where that cannot be written.
func copyFile(from, to string) error {
	text, err := kernel.ReadFile(from, mostCalibration)
	if err != nil {
		return err
	}
	return putFile(to, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// writeCalibrated says how a machine compares with a board.
func writeCalibrated(w io.Writer, f calibration.File, out string) {
	fmt.Fprintf(w, "%s, version %d: %s compared with %s\n", out, f.Version, f.Device, f.Board)
	for _, e := range f.Entries {
		for _, p := range e.Points {
			fmt.Fprintf(w, "  %s %s %s, %s %d: %.3g times the board's (%.3g to %.3g)\n", e.Where["stack"], e.Side, e.Response,
				e.Where["size in"], p.Size,
				p.Overhead, p.Lo, p.Hi)
		}
	}
}

// A calibratedJSON is what devices calibrate --json prints of an emulated machine.
type calibratedJSON struct {
	Format     int                    `json:"format"`
	File       string                 `json:"file"`
	Version    int                    `json:"version"`
	Device     string                 `json:"device"`
	Board      string                 `json:"board"`
	Reached    string                 `json:"reached"`
	Confidence float64                `json:"confidence"` // of every interval, 0 to 1
	Points     []calibrationPointJSON `json:"points"`
}

type calibrationPointJSON struct {
	Side     measure.Side `json:"side"`
	Response string       `json:"response"`
	Stack    string       `json:"stack"`
	Size     int64        `json:"size"`
	SizeIn   string       `json:"size_in"` // what size counts
	Overhead float64      `json:"overhead"`
	CI       [2]float64   `json:"overhead_ci"`
}

func calibratedOf(f calibration.File, out string) calibratedJSON {
	x := calibratedJSON{jsonFormat, out, f.Version, f.Device, f.Board, f.Reached, calibration.Confidence,
		[]calibrationPointJSON{}}
	for _, e := range f.Entries {
		for _, p := range e.Points {
			x.Points = append(x.Points, calibrationPointJSON{e.Side, e.Response, e.Where["stack"], p.Size, e.Where["size in"],
				p.Overhead, [2]float64{p.Lo, p.Hi}})
		}
	}
	return x
}

func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, s)
}

// compareWithBoard conducts the study of both and returns its results.
func (a *app) compareWithBoard(ctx context.Context, w io.Writer, machine string,
	c emulationCalibrating) (string, error) {
	name := plainName("calibrate-" + machine)
	base := filepath.Join("results", name)
	dir := filepath.Join(base, fmt.Sprintf("%03d", testbed.LastNumber(base)+1))
	if err := mayMake(dir); err != nil {
		return "", exit{exitUnmeasured, fmt.Errorf("%s: %w; run where you may write", dir, err)}
	}
	a.resume = resumeCalibrating(machine, c, dir)
	e, err := a.openCalibration(ctx, name, dir, machine, c)
	if err != nil {
		return "", err
	}
	defer closeExperiment(e)
	return dir, a.runOpen(ctx, w, e, running{}, reached{}, nil)
}

// openCalibration opens the experiment of both. Faults of the default study are told of the flags that gave its lines.
func (a *app) openCalibration(ctx context.Context, name, dir, machine string, c emulationCalibrating) (
	*testbed.Experiment, error) {
	file, text, told := name+".yaml", calibrationStudy(name, machine, c), func(err error) error { return err }
	if c.study == "" {
		told = func(err error) error { return ofFlags(err, file, text, c.against) }
	} else {
		var err error
		if file, text, err = a.studyFile(c.study); err != nil {
			return nil, exit{exitUsage, err}
		}
	}
	_, plan, err := a.readText(ctx, file, text, nil, c.sets, (*testbed.Testbed).ReadAvailable)
	if err != nil {
		return nil, told(err)
	}
	if err := c.enough(plan, machine); err != nil { // before an hour of measuring
		return nil, exit{exitUsage, err}
	}
	advisePlan(a.made, plan)
	e, err := a.openPlan(ctx, plan, text, opening{out: dir, given: c.sets})
	return e, told(err)
}

// enough refuses a plan of which no calibration can be made.
func (c emulationCalibrating) enough(p study.Plan, machine string) error {
	if n := p.Study.Design.Replications; n < stat.LeastCalibration {
		if c.study == "" && len(c.sets) == 0 {
			return fmt.Errorf("--replications %d: a calibration takes %d or more", n, stat.LeastCalibration)
		}
		return fmt.Errorf("the study has %d replications, and a calibration takes %d or more", n, stat.LeastCalibration)
	}
	for _, device := range []string{machine, c.against} {
		if !slices.ContainsFunc(p.Trials, func(t study.Trial) bool {
			return t.Setup.Client.Device == device || t.Setup.Server.Device == device
		}) {
			return fmt.Errorf("the study measures nothing on %s; a calibration takes the same treatments on %s and %s",
				device, machine, c.against)
		}
	}
	return nil
}

// resumeCalibrating says how the run of a calibration that was stopped is resumed: the same command begins another.
func resumeCalibrating(machine string, c emulationCalibrating, dir string) string {
	again := "edgegauge run " + report.QuotedPath(filepath.Join(dir, "study.yaml")) + report.Sets(c.sets)
	return fmt.Sprintf("to resume: %s --out %s && edgegauge devices calibrate %s --against %s --from %[2]s --out %[5]s",
		again, report.QuotedPath(dir), machine, report.Quoted(c.against), report.QuotedPath(c.out))
}

// calibrationStudy asks both devices the same, as client and as server. A board that is this machine is both at once.
func calibrationStudy(name, machine string, c emulationCalibrating) []byte {
	quoted := func(all []string) string {
		var out []string
		for _, x := range all {
			out = append(out, fmt.Sprintf("%q", x))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	text := fmt.Sprintf(`study: %s
question: How does the emulated machine compare with the board?
service: sort
factors:
  place:
`, name)
	place := func(name, client, server string) {
		text += fmt.Sprintf("    - {name: %s, client.device: %q, server.device: %q}\n", name, client, server)
	}
	const here = "local"
	if c.against == here {
		place("the board", here, here)
	} else {
		place("the board calls", c.against, here)
		place("the board serves", here, c.against)
	}
	place("the machine calls", machine, here)
	place("the machine serves", here, machine)
	fixed := ""
	for _, f := range []struct {
		key    string
		levels []string
	}{{"stack", c.stacks}, {"size", c.sizes}} {
		if len(f.levels) == 1 {
			fixed += fmt.Sprintf("%s: %q\n", f.key, f.levels[0])
		} else {
			text += fmt.Sprintf("  %s: %s\n", f.key, quoted(f.levels))
		}
	}
	return []byte(text + fixed +
		fmt.Sprintf("requests: 50\ndesign: {replications: %d, seed: 1, warmup: 10}\ntimeouts: {ready: 60s, request: 60s, "+
			"trial: 10m}\n", c.replications))
}

// ofFlags tells faults of the default study, which no user has written, of the flags that gave its lines.
func ofFlags(err error, file string, text []byte, against string) error {
	var found study.Errors
	if !errors.As(err, &found) {
		return err
	}
	lines := strings.Split(string(text), "\n")
	var out []study.Error
	for _, x := range found {
		told := *x
		if told.Pos.File == file {
			line := strings.TrimSpace(lines[max(0, told.Pos.Line-1)])
			told.Pos = study.Pos{File: flagOf(line, against)}
			advice, _, _ := strings.Cut(told.Advice, "exclude: [{") // of a study that somebody can change
			told.Advice = strings.TrimSuffix(advice, ", or ")
		}
		out = append(out, told)
	}
	return obstacles(study.Collect(out))
}

// flagOf is what a line of the default study was made from.
func flagOf(line, against string) string {
	for key, flag := range map[string]string{"stack: ": "--stacks", "size: ": "--sizes", "design: ": "--replications",
		"- {name: the board": "--against " + against} {
		if strings.HasPrefix(line, key) {
			return flag
		}
	}
	return "devices calibrate"
}
