package testbed

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// Untrusted is the error of a plan that would run programs which did not come with
// the installation and which the user did not name.
type Untrusted struct{ Runs study.Errors }

// Error lists the programs, all of them: they are to be reviewed.
func (u *Untrusted) Error() string {
	var runs strings.Builder
	for _, x := range u.Runs {
		runs.WriteString(x.Error() + "\n")
	}
	return runs.String() + "these did not come with edgegauge; review them, then run with --trust"
}

// Unwrap is the list.
func (u *Untrusted) Unwrap() error { return u.Runs }

// Foreign lists the programs that a plan would run and that neither came with the
// installation nor were named by the user: those of its sensors and meters, unless
// the study is the installation's, and stacks found where the user works; and the
// passwords of this machine that its meters would send.
//
// The user named what the overrides in given name, which are those of this very command line. All
// others are a stranger's as much as the study: they were kept with results, or came with an order.
func (b *Testbed) Foreign(p study.Plan, given ...string) study.Errors {
	x := b.assemble(p, b.Exe, b.Temp)
	installed := b.installed(p.Study.File)
	for t := range x.treatments() {
		for _, end := range []struct{ key, stack string }{
			{"client.stack", t.Setup.Client.Stack}, {"server.stack", t.Setup.Server.Stack},
		} {
			d, ok := b.FindStack(end.stack)
			if !ok || b.Trusts(d) {
				continue
			}
			if _, own := p.Place(t, end.key); !own {
				end.key = "stack"
			}
			x.foreign(t, given, false, fmt.Sprintf("stack %s in %s runs %s", d.Name, d.Dir, programs(d)), end.key)
		}
		for _, s := range []struct{ key, spec string }{
			{"sensor", t.Setup.Sensor}, {"client.meter", t.Setup.Client.Meter}, {"server.meter", t.Setup.Server.Meter},
		} {
			if does, ok := needsTrust(p.Study.Secret(s.spec)); ok { // the meter is opened with the secret, too
				x.foreign(t, given, installed, s.key+" "+does, s.key)
			}
		}
		for _, secret := range x.secrets(t.Setup) {
			x.foreign(t, given, installed, fmt.Sprintf("request sends %s to %s", secret, t.Setup.URL), "request",
				"server.url")
		}
	}
	return study.Collect(x.faults)
}

// foreign notes what a treatment does by some settings, unless the user gave all of them. Trusted says that
// those which the study itself gives are no stranger's.
func (x *assembly) foreign(t study.Trial, given []string, trusted bool, what string, keys ...string) {
	placed := false
	for _, key := range keys {
		at, ok := x.plan.Place(t, key)
		if !ok {
			continue
		}
		placed = true
		o, n := x.plan.Study.OverrideAt(at)
		if n == 0 && trusted || n > 0 && slices.ContainsFunc(given, func(set string) bool {
			own, ok := study.ReadOverride(set)
			return ok && own == o
		}) {
			continue
		}
		f := x.plan.Fault(t, what, "", key)
		if n > 0 { // the user knows no --set of that number
			f.Pos = study.Pos{File: fmt.Sprintf("override %d", n)}
		}
		x.faults = append(x.faults, f)
		return
	}
	if !placed {
		x.fault(t, what, "", keys...)
	}
}

// runsProgram finds the program that a sensor or a meter is read by.
func runsProgram(spec string) (command string, ok bool) {
	spec = strings.TrimPrefix(spec, onDevice)
	for _, kind := range []string{"program:", "exec:"} {
		if command, ok := strings.CutPrefix(spec, kind); ok {
			return command, true
		}
	}
	return "", false
}

// needsTrust says what a sensor or a meter does that a stranger's study may not do
// unasked: it runs a program, or sends a password that this machine keeps. The spec is
// the one that is opened (study.Study.Secret): a redacted one may hide that.
func needsTrust(spec string) (does string, ok bool) {
	if command, runs := runsProgram(spec); runs {
		return "runs " + printable.Redact(command), true
	}
	if place, plug, ok := instrument.PasswordOf(strings.TrimPrefix(spec, onDevice)); ok {
		return fmt.Sprintf("sends the %s to %s", place, plug), true
	}
	return "", false
}

// programs are the commands of a stack.
func programs(d stack.Description) string {
	seen := map[string]bool{}
	for _, c := range [][]string{d.Build.Command, d.Serve.Command, d.Call.Command} {
		if len(c) > 0 {
			seen[strings.Join(c, " ")] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

// Trusts says whether a stack is inside this program, came with it, or lies in a
// folder that the user named.
func (b *Testbed) Trusts(d stack.Description) bool {
	if d.Dir == "" {
		return true
	}
	if i := slices.IndexFunc(b.Options.Versions, func(v Version) bool { return v.Name == d.Name }); i >= 0 {
		return b.Options.Versions[i].Trusted
	}
	return slices.ContainsFunc(b.Options.Stacks, func(f Folder) bool { return f.Trusted && f.holds(d) })
}

// installed says whether a study came with the installation.
func (b *Testbed) installed(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return false
	}
	for _, dir := range installed(b.Exe, "studies") {
		if dir, err := filepath.EvalSymlinks(dir); err == nil && filepath.Dir(real) == dir {
			return true
		}
	}
	return false
}

// missing are a stack's needs that are not met. What a folder that is not trusted
// says is not run to find that out: its programs are looked for, their versions are not.
//
// Many stacks need the same programs, and some take a second to say their version: one that was found is not
// asked again.
func (b *Testbed) missing(ctx context.Context, d stack.Description) []stack.Need {
	trusted := b.Trusts(d)
	needs := slices.DeleteFunc(slices.Clone(d.NeedsNow()), func(n stack.Need) bool {
		_, found := b.found.Load(versionOf(n))
		return found && trusted
	})
	if !trusted {
		for i := range needs {
			needs[i].Args = nil
		}
	}
	missing := d.Unmet(ctx, needs)
	for _, n := range needs {
		version := versionOf(n)
		lacks := slices.ContainsFunc(missing, func(m stack.Need) bool { return versionOf(m) == version })
		if version != "" && !lacks && ctx.Err() == nil {
			b.found.Store(version, true)
		}
	}
	return missing
}

// versionOf names the program and version that a need asks for, whatever stack has it; "" if it asks for something
// else, or for a program of the stack's own folder.
func versionOf(n stack.Need) string {
	if n.Program == "" || len(n.Args) == 0 || strings.Contains(n.Program, "/") {
		return ""
	}
	return fmt.Sprintf("%q %q %q", n.Program, n.Args, n.Version)
}
