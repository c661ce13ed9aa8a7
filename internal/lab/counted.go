package lab

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/guest"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// An inside is what came out of a machine that conducted the trial alone.
type inside struct {
	trial   *trialRunner
	on      Counter
	outcome guest.Outcome
	log     string // what the machine's kernel said
	records *bufio.Reader
}

// A Counter is a device whose CPU times count differently from its clock.
type Counter interface {
	device.Device
	device.Encloser
	// CPUScale is what a CPU time as the device's kernel accounts it must be
	// multiplied by to be in its clock's time.
	CPUScale() float64
	// Furnish turns a command of the lab's into one of the device, and lists the
	// files that it needs there.
	Furnish(p device.Program, c device.Command) (device.Command, []device.File, error)
}

// guestCredentials is where the keys of a treatment with security stand in the machine.
const guestCredentials = "/credentials"

// countedSteps are those of a trial that a machine conducts alone.
func (t *trialRunner) countedSteps() []step {
	in := &inside{trial: t}
	return []step{
		{"run it in the machine", in.enclose},
		{"read its records", in.readRecords},
		{"check the trial", t.check},
		{"keep the results", in.commit},
	}
}

// commit keeps the results, each marked: the time of no figure is a clock's.
func (in *inside) commit(ctx context.Context) error {
	results := in.trial.findings.results
	for i := range results {
		results[i].Method = store.Counted
	}
	return in.trial.commit(ctx)
}

// enclose has the machine conduct the trial.
func (in *inside) enclose(ctx context.Context) error {
	t := in.trial
	name := t.setup.Client.Device
	on, ok := t.lab.Devices[name].(Counter)
	if !ok {
		return fmt.Errorf("%w: device %s counts no instructions", errLab, name)
	}
	in.on = on
	message, err := messageOf(t.plan)
	if err != nil {
		return err
	}
	text, files, err := in.job(message)
	if err != nil {
		return err
	}
	t.programs.message, t.programs.client, t.programs.server = message, in.stub("call"), in.stub("serve")
	machineLog, told := logNames(t.attempt, "machine.log")
	in.log = machineLog
	out, err := on.Enclose(ctx, device.Job{Text: text, Files: files, Seed: t.seed(), Log: machineLog})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return in.ofMemory(fmt.Errorf("%w; see %s", err, told))
	}
	in.records = bufio.NewReaderSize(bytes.NewReader(out), 1<<16)
	head, err := in.records.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(head, &in.outcome)
	}
	if err != nil {
		return fmt.Errorf("the machine's output is not a result: %w", err)
	}
	return in.unpack()
}

// ofMemory adds to why the trial failed that the machine's kernel killed a process because no memory was left.
func (in *inside) ofMemory(err error) error {
	text, _ := kernel.ReadFile(in.log, mostMachineLog) // a machine that did not boot has none
	if who := device.KilledForMemory(text); who != "" {
		return fmt.Errorf("%w; the machine was out of memory, and its kernel killed %s", err, who)
	}
	return err
}

// mostMachineLog is how much of a machine's log is read.
const mostMachineLog = 16 << 20

// stub is a program of which only the log is here.
func (in *inside) stub(verb string) *program {
	p := &program{name: verb, stopped: true}
	p.logPath, p.log = logNames(in.trial.attempt, verb+".log")
	return p
}

// job is the trial as the machine reads it, and the files it needs there.
func (in *inside) job(message stack.Message) ([]byte, []device.File, error) {
	t := in.trial
	serverKeys, files, err := inGuest(t.credentials(atServer), nil)
	if err != nil {
		return nil, nil, labFault(err)
	}
	clientKeys, files, err := inGuest(t.credentials(atClient), files)
	if err != nil {
		return nil, nil, labFault(err)
	}
	t.conversation.asked = t.recordedRun(stack.WarmUp{})
	j := guest.Job{
		Seed: t.seed(), Serve: t.serve(Loopback(t.setup.IP), message, serverKeys, "", t.setup.Sensor),
		Call: t.call("", message, clientKeys),
		Run:  t.conversation.asked, Ready: t.lab.Plan.Study.Timeouts.Ready, Limit: t.lab.Plan.Study.Timeouts.Trial,
		Keeps: connectionsAsked(t.setup) > 0,
	}
	if run, wanted := t.warmUpRun(); wanted {
		j.WarmUp = &run
	}
	for side, end := range []struct{ stack, verb string }{{t.setup.Client.Stack, "call"},
		{t.setup.Server.Stack, "serve"}} {
		d, ok := t.lab.Stacks[end.stack]
		if !ok {
			return nil, nil, fmt.Errorf("%w: no stack %q", errLab, end.stack)
		}
		c, err := t.command(d, end.verb, place{})
		if err != nil {
			return nil, nil, err
		}
		c, more, err := in.on.Furnish(device.Program{Name: d.Name, Dir: d.Dir, Products: d.Build.Product}, c)
		if err != nil {
			return nil, nil, labFault(err)
		}
		j.Argv[side], j.Dir[side], j.Env[side] = c.Argv, c.Dir, c.Env
		files = append(files, more...)
	}
	text, err := json.Marshal(j)
	return text, files, err
}

// inGuest turns paths of key files into those in the machine, and adds the files
// to those that are listed.
func inGuest(credentials map[string]string, files []device.File) (map[string]string, []device.File, error) {
	for name, value := range maps.Clone(credentials) {
		if !filepath.IsAbs(value) {
			continue
		}
		b, err := os.ReadFile(value)
		if err != nil {
			return nil, nil, err
		}
		there := path.Join(guestCredentials, filepath.Base(value))
		credentials[name] = there
		if !slices.ContainsFunc(files, func(f device.File) bool { return f.Name == there }) {
			files = append(files, device.File{Name: there, Mode: 0o600, Data: b})
		}
	}
	return credentials, files, nil
}

// unpack takes what the machine said of the trial as a whole.
func (in *inside) unpack() error {
	t, o := in.trial, &in.outcome
	for side, p := range t.programs.both() {
		if o.Logs[side] != "" {
			if err := os.WriteFile(p.logPath, []byte(o.Logs[side]), 0o644); err != nil {
				return labFault(err)
			}
		}
	}
	if o.Failed != "" {
		return in.ofMemory(fmt.Errorf("%s; see %s", o.Failed, t.programs.server.log))
	}
	t.programs.served = o.Served
	c := &t.conversation
	c.warmUp, c.phases, t.usage.of, t.connections.most = o.WarmUp, o.Phases, o.Usage, o.Connections
	c.warmUp.Span = stack.Span{} // not on the lab's clock
	for side := range t.usage.of {
		for when := range t.usage.of[side] {
			u := &t.usage.of[side][when]
			u.CPU = time.Duration(float64(u.CPU) * in.on.CPUScale())
			u.Waiting = time.Duration(float64(u.Waiting) * in.on.CPUScale())
		}
	}
	if err := t.programs.keepReady(o.Called); err != nil {
		return err
	}
	return t.keepWarmUp()
}

// readRecords takes both sides' records from what the machine wrote. The machine's
// own clock bounds them.
func (in *inside) readRecords(ctx context.Context) error {
	t := in.trial
	c := stack.NewConn(io.Discard, withoutDeadline{in.records})
	for side := range sides {
		k := t.records.recorder(side, t.conversation.asked)
		k.sums.check.elapsed = func() time.Duration { return in.outcome.Elapsed }
		err := in.side(ctx, c, k)
		if err = cmp.Or(err, k.finish()); err != nil {
			return fmt.Errorf("the %s's records: %w", sides[side], err)
		}
		t.records.ends[side].CPU = time.Duration(float64(t.records.ends[side].CPU) * in.on.CPUScale())
	}
	return nil
}

// side reads one side's records.
func (in *inside) side(ctx context.Context, c *stack.Conn, k *recorder) error {
	var failed error
	end, err := c.Report(ctx, false, func(x measure.Exchange) {
		if failed == nil {
			failed = k.Record(x)
		}
	})
	if failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	return k.End(end)
}

// withoutDeadline is a reader that never makes one wait.
type withoutDeadline struct{ io.Reader }

func (withoutDeadline) SetReadDeadline(time.Time) error { return nil }
