package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/testbed"
)

func devicesCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "devices",
		Short: "list, watch and calibrate meters and device profiles",
		Example: "  edgegauge devices\n  edgegauge devices meter avr:/dev/ttyUSB0\n  edgegauge devices calibrate " +
			"hwmon:ina219 --profile my-board",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bed, err := a.bed()
			if err != nil {
				return err
			}
			return listMeters(cmd.OutOrStdout(), bed.ProfileFolders(), asJSON)
		},
	}
	jsonFlag(c, &asJSON)
	c.AddCommand(devicesListCmd(a), devicesBuildCmd(a), devicesCheckCmd(a), devicesShellCmd(), meterCmd(a),
		calibrateCmd(a))
	return c
}

// A meterRow is a kind of meter, and a powerRow a profile of modelled power.
type (
	meterRow struct {
		Name    string `json:"name"`
		Example string `json:"example"`
		Says    string `json:"says"`
	}
	powerRow struct {
		Name   string  `json:"name"`
		Idle   float64 `json:"idle_W"`
		Busy   float64 `json:"busy_per_core_W"`
		Fitted string  `json:"fitted_to"`
	}
)

// listMeters lists the meters, and the profiles of modelled power in the folders.
func listMeters(w io.Writer, folders []fs.FS, asJSON bool) error {
	meters, profiles := []meterRow{}, []powerRow{}
	for _, s := range instrument.All() {
		meters = append(meters, meterRow{s.Name, s.Example, s.Says})
	}
	all, err := instrument.PowerModels(folders...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		profiles = append(profiles, powerRow{name, all[name].IdleW, all[name].BusyWPerCore, all[name].Fit.From})
	}
	if asJSON {
		return errors.Join(err, writeJSON(w, struct {
			Format   int        `json:"format"`
			Meters   []meterRow `json:"meters"`
			Profiles []powerRow `json:"profiles"`
		}{jsonFormat, meters, profiles}))
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "METER\tEXAMPLE\tDESCRIPTION")
	for _, m := range meters {
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.Name, m.Example, m.Says)
	}
	fmt.Fprintln(t, "\nPROFILE\tMODELLED POWER\tFITTED TO")
	for _, p := range profiles {
		fmt.Fprintf(t, "%s\t%.3g W idle, %.3g W per busy core\t%s\n", p.Name, p.Idle, p.Busy, p.Fitted)
	}
	return errors.Join(err, t.Flush())
}

func meterCmd(a *app) *cobra.Command {
	var length, every time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use:   "meter METER",
		Short: "watch a meter live: volts, amperes, watts, and its health",
		Long: `Meter prints one line per second: mean volts, amperes and watts, and the meter's own health report. It ends
after --for, on an interrupt, or on an error: the meter is silent, gone, or in use by another program.`,
		Example: "  edgegauge devices meter avr:/dev/ttyUSB0\n  edgegauge devices meter " +
			"'ppk2:/dev/ttyACM0?mode=ampere&mV=3300' --for 10s --json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if length < 0 || every < 0 {
				return exit{exitUsage, errors.New("--for and --every are not negative")}
			}
			if err := instrument.Known(args[0]); err != nil {
				return err
			}
			bed, err := a.bed()
			if err != nil {
				return err
			}
			if name, ok := strings.CutPrefix(args[0], "model:"); ok || args[0] == "model" {
				if _, err := instrument.ReadPowerModel(name, bed.ProfileFolders()...); err != nil {
					return exit{exitUsage, err}
				}
			}
			m, err := instrument.Open(ctx, args[0], instrument.Options{Profiles: bed.ProfileFolders()})
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			defer instrument.Close(m)
			if length > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, length)
				defer cancel()
			}
			if err := watchMeter(ctx, cmd.OutOrStdout(), m, every, asJSON); err != nil {
				return exit{exitUnmeasured, err}
			}
			return nil
		},
	}
	c.Flags().DurationVar(&length, "for", 0, "how long to watch (0: until interrupted)")
	c.Flags().DurationVar(&every, "every", time.Second, "time per line")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return c
}

func watchMeter(ctx context.Context, w io.Writer, m instrument.Meter, every time.Duration, asJSON bool) error {
	d := m.Describe()
	how := "measured"
	if d.Modelled {
		how = "MODELLED, not measured"
	}
	if !asJSON {
		fmt.Fprintf(w, "%s: %s; one reading every %v; reading it takes %.2g %% of one of the device's cores\n", d.Name, how,
			d.Interval, 100*d.Overhead)
	}
	seen := false
	err := instrument.Live(ctx, m, every, func(l instrument.Look) {
		seen = true
		if asJSON {
			writeLook(w, how, l)
			return
		}
		fmt.Fprintf(w, "%s V  %s A  %s W   %s\n", figure(l.Volts), figure(l.Amps), figure(l.Watts), health(l))
	})
	if err == nil && !seen {
		err = fmt.Errorf("no complete reading; watch for longer than %v", max(every, 4*d.Interval))
	}
	return err
}

func figure(x float64) string {
	if math.IsNaN(x) {
		return "     –"
	}
	return fmt.Sprintf("%6.4g", x)
}

// health is one line of what the meter says of itself.
func health(l instrument.Look) string {
	q := l.Quality
	parts := []string{plural.Count(q.Readings, "reading")}
	if q.Clock.Method != "" {
		parts = append(parts, fmt.Sprintf("clock synchronized by %s ±%v", q.Clock.Method,
			(q.Clock.Residual+q.Clock.Bias).Round(time.Microsecond)))
	}
	for _, d := range q.Doubts() {
		parts = append(parts, d.Error())
	}
	for _, err := range []error{q.Err(), l.Err} {
		if err != nil {
			parts = append(parts, "INVALID: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return strings.Join(parts, "; ")
}

func writeLook(w io.Writer, how string, l instrument.Look) {
	o := map[string]any{"method": how}
	for name, x := range map[string]float64{"V": l.Volts, "A": l.Amps, "W": l.Watts} {
		if !math.IsNaN(x) {
			o[name] = x
		}
	}
	for _, i := range l.Quality.Items() {
		o[i.Key] = i.Value
	}
	if l.Err != nil {
		o["error"] = l.Err.Error()
	}
	b, _ := json.Marshal(o)
	fmt.Fprintf(w, "%s\n", b)
}

// calibrating is what calibrate was asked.
type calibrating struct {
	instrument.Calibrating
	instrument.Reference
	profile, out, label string
	asJSON              bool
}

func calibrateCmd(a *app) *cobra.Command {
	var c calibrating
	var e emulationCalibrating
	cmd := &cobra.Command{
		Use:   "calibrate METER|MACHINE",
		Short: "calibrate this machine's power profile, the energy meter, or an emulated machine against a board",
		Long: `For an emulated machine, calibrate runs the same study on it and on a board (--against), 10 replications in
random order, and records how they compare, per stack, in calibrations/MACHINE-BOARD.yaml. Later reports on that
machine predict what the board would do, with an interval, or say why they cannot. --from uses existing results instead
of a new run. Results are kept in results/calibrate-MACHINE.

With --profile, calibrate loads from none to all of this machine's cores, in random order, while METER reads its power,
and prints the profile that fits best, with the error of the fit. Save it as devices/NAME.yaml in the folder in which
you work, or in a folder of EDGEGAUGE_DEVICES: the meter model:NAME computes modelled power from it. Run calibrate on
the device that the meter measures, with nothing else running.

With --unloaded, --volts or --amps, calibrate adjusts the energy meter (avr:) to a better instrument and stores the
result in the meter. First run it with --unloaded and nothing connected; then with a steady load, and --volts and
--amps as the reference shows them.`,
		Example: "  edgegauge devices calibrate avr:/dev/ttyUSB0 --profile 'my board' --out my-board.yaml\n" +
			"  edgegauge devices calibrate avr:/dev/ttyUSB0 --unloaded\n  edgegauge devices calibrate avr:/dev/ttyUSB0 " +
			"--volts 5.021 --amps 0.3504\n" +
			"  edgegauge devices calibrate raspberry-pi-1 --against ssh://pi@board\n  edgegauge devices calibrate " +
			"raspberry-pi-1 --against ssh://pi@board --from results/real-versus-emulated/001",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			machine := testbed.IsMachine(args[0])
			if err := straysOf(cmd.Flags().Changed, args[0], machine); err != nil {
				return exit{exitUsage, err}
			}
			e.out, e.asJSON = c.out, c.asJSON
			if machine {
				return a.calibrateEmulation(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], e)
			}
			return c.run(cmd.Context(), cmd.OutOrStdout(), a.notes(), args[0])
		},
	}
	jsonFlag(cmd, &c.asJSON)
	f := cmd.Flags()
	f.StringVar(&c.profile, "profile", "", "fit a power profile; title of the device")
	f.StringVar(&c.out, "out", "",
		"output file (default for a profile: standard output; for a machine: calibrations/MACHINE-BOARD.yaml)")
	f.StringVar(&e.against, "against", "", "board to compare an emulated machine with: ssh://USER@HOST, or local "+
		"where this machine is the board")
	f.StringSliceVar(&e.from, "from", nil, "existing results of both, instead of a new run")
	f.StringVar(&e.study, "study", "", "study of both to run instead of the default one")
	f.StringSliceVar(&e.stacks, "stacks", []string{"reference/rest-json", "reference/rest-xml", "reference/soap",
		"reference/coap-cbor"}, "stacks to compare")
	f.StringSliceVar(&e.sizes, "sizes", []string{"1kB", "10kB", "100kB"}, "message sizes to compare")
	f.IntVar(&e.replications, "replications", 10, "trials per stack, size and device")
	f.StringArrayVar(&e.sets, "set", nil, "override a setting of the study (repeatable)")
	f.DurationVar(&c.Length, "stage", 3*time.Second, "duration of a stage")
	f.IntVar(&c.Rounds, "rounds", 3, "rounds of stages")
	f.IntVar(&c.Cores, "cores", 0, "cores to load (default all)")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of the random order of stages")
	f.BoolVar(&c.Unloaded, "unloaded", false, "set the zero of the energy meter, with nothing connected")
	f.Float64Var(&c.Volts, "volts", 0, "volts that a better instrument shows")
	f.Float64Var(&c.Amps, "amps", 0, "amperes that a better instrument shows")
	f.StringVar(&c.label, "label", "", "name to store in the meter, up to 12 bytes")
	goWith(cmd, []string{"profile"}, "stage", "rounds", "cores", "seed")
	goWith(cmd, []string{"unloaded", "volts", "amps"}, "label")
	return cmd
}

// straysOf refuses flags of calibrate that are for the other kind of thing.
func straysOf(given func(flag string) bool, name string, machine bool) error {
	of, is := "emulated machines", "a meter"
	strays := []string{"against", "from", "study", "stacks", "sizes", "replications", "set"}
	if machine {
		of, is = "meters", "an emulated machine"
		strays = []string{"profile", "unloaded", "volts", "amps", "label", "stage", "rounds", "cores", "seed"}
	}
	for _, flag := range strays {
		if given(flag) {
			return fmt.Errorf("--%s is for %s, and %s is %s; leave it out", flag, of, name, is)
		}
	}
	for _, flag := range []string{"study", "stacks", "sizes", "replications", "set"} {
		switch {
		case given("from") && given(flag):
			return fmt.Errorf("--%s is of a new run, and --from takes results that exist; leave one of them out", flag)
		case given("study") && (flag == "stacks" || flag == "sizes" || flag == "replications") && given(flag):
			return fmt.Errorf("--%s is for the default study, but --study names another; leave one of them out", flag)
		}
	}
	return nil
}

func (c calibrating) run(ctx context.Context, w, progress io.Writer, spec string) error {
	adjust := c.Unloaded || c.Volts != 0 || c.Amps != 0
	if adjust == (c.profile != "") {
		return exit{exitUsage,
			errors.New("write either --profile TITLE, to fit a power profile of this machine, or --unloaded, --volts, " +
				"--amps, to adjust the energy meter")}
	}
	if c.Cores < 0 || c.Rounds < 0 || c.Length < 0 {
		return exit{exitUsage, errors.New("--cores, --rounds and --stage are not negative")}
	}
	if adjust && c.out != "" {
		return exit{exitUsage, fmt.Errorf("--out %s: a meter keeps its adjustment itself; leave --out out", c.out)}
	}
	if c.out != "" { // before minutes of measuring
		if err := creatable("--out", c.out); err != nil {
			return err
		}
	}
	m, err := instrument.Open(ctx, spec, instrument.Options{})
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	defer instrument.Close(m)
	if adjust {
		err = c.adjust(ctx, w, m)
	} else {
		err = c.fit(ctx, w, progress, m)
	}
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	return nil
}

func (c calibrating) adjust(ctx context.Context, w io.Writer, m instrument.Meter) error {
	avr, ok := m.(*instrument.EnergyMeter)
	if !ok {
		return fmt.Errorf("%s stores no calibration; only the energy meter (avr:) does", m.Describe().Name)
	}
	k, err := avr.Adjust(ctx, c.Reference, 3*time.Second, c.label)
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(w, struct {
			Format       int     `json:"format"`
			VoltsPerStep float64 `json:"per_step_V"`
			AmpsPerStep  float64 `json:"per_step_A"`
			VoltsOffset  float64 `json:"offset_V"`
			AmpsOffset   float64 `json:"offset_A"`
		}{jsonFormat, k.VoltsPerStep, k.AmpsPerStep, k.VoltsOffset, k.AmpsOffset})
	}
	fmt.Fprintf(w, "stored in the meter: %.6g V per step, %.6g A per step, offsets %.3g V, %.3g A\n", k.VoltsPerStep,
		k.AmpsPerStep, k.VoltsOffset, k.AmpsOffset)
	return nil
}

func (c calibrating) fit(ctx context.Context, w, progress io.Writer, m instrument.Meter) error {
	c.Tell = func(s string) { fmt.Fprintln(progress, s) }
	p, _, err := instrument.Calibrate(ctx, m, c.Calibrating)
	if err != nil {
		return err
	}
	p.Title = c.profile
	b, err := yaml.Marshal(map[string]any{"power": p})
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "fit: typical error %.2g %%, worst %.2g %%; not modelled: %s\n", 100*p.Fit.Typical,
		100*p.Fit.Worst, p.Fit.Lacks)
	if c.out != "" {
		if err := putFile(c.out, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	if c.asJSON {
		return writeJSON(w, struct {
			Format       int     `json:"format"`
			Title        string  `json:"title"`
			File         string  `json:"file,omitempty"` // where the profile was written
			Idle         float64 `json:"idle_W"`
			Busy         float64 `json:"busy_per_core_W"`
			Cores        int     `json:"cores"`
			Points       int     `json:"points"`
			TypicalError float64 `json:"typical_error"` // relative, root mean square
			WorstError   float64 `json:"worst_error"`
			Lacks        string  `json:"lacks"` // what the fit could not see
		}{jsonFormat, p.Title, c.out, p.IdleW, p.BusyWPerCore, p.Cores, p.Fit.Points, p.Fit.Typical, p.Fit.Worst,
			p.Fit.Lacks})
	}
	if c.out == "" {
		_, err = w.Write(b)
	}
	return err
}
