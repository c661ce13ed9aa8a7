package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/measure"
	"edgegauge/internal/stack"
	"edgegauge/internal/store"
)

// An inside is what came out of a machine that conducted the trial alone.
type inside struct {
	outcome
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

// enclose has the machine conduct the trial.
func (r *rig) enclose(ctx context.Context) error {
	name := r.s.Client.Device
	on, ok := r.lab.Devices[name].(Counter)
	if !ok {
		return fmt.Errorf("%w: device %s counts no instructions", errLab, name)
	}
	var err error
	if r.message, err = r.request(); err != nil {
		return err
	}
	text, files, err := r.job(on)
	if err != nil {
		return err
	}
	r.client, r.server = r.stub("call"), r.stub("serve")
	out, err := on.Enclose(ctx, device.Job{Text: text, Files: files, Seed: r.seed(), Log: filepath.Join(r.attempt.Dir(), "machine.log")})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w; see %s", err, filepath.Join("trials", filepath.Base(r.attempt.Dir()), "machine.log"))
	}
	r.inside = &inside{records: bufio.NewReaderSize(bytes.NewReader(out), 1<<16)}
	head, err := r.inside.records.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(head, &r.inside.outcome)
	}
	if err != nil {
		return fmt.Errorf("what the machine wrote is no outcome: %w", err)
	}
	return r.unpack(on)
}

// seed is the trial's own: identical boots would be one sample, however many.
func (r *rig) seed() uint64 {
	s := r.t.MessageSeed ^ uint64(r.t.Replication)*0x9e3779b97f4a7c15
	return s ^ s>>32
}

func (r *rig) stub(verb string) *program {
	p := &program{name: verb, stopped: true, logPath: filepath.Join(r.attempt.Dir(), verb+".log")}
	p.log = filepath.Join("trials", filepath.Base(r.attempt.Dir()), verb+".log")
	return p
}

// job is the trial as the machine reads it, and the files it needs there.
func (r *rig) job(on Counter) ([]byte, []device.File, error) {
	j := job{Seed: r.seed(), Serve: r.serve(loopback(r.s.IP)), Call: r.call(), Run: r.run()}
	var files []device.File
	for side, end := range []struct{ stack, verb string }{{r.s.Client.Stack, "call"}, {r.s.Server.Stack, "serve"}} {
		d, ok := r.lab.Stacks[end.stack]
		if !ok {
			return nil, nil, fmt.Errorf("no stack %q", end.stack)
		}
		c, err := r.command(d, end.verb, place{})
		if err != nil {
			return nil, nil, err
		}
		c, more, err := on.Furnish(device.Program{Name: d.Name, Dir: d.Dir, Products: d.Build.Product}, c)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errLab, err)
		}
		j.Argv[side], j.Dir[side], j.Env[side] = c.Argv, c.Dir, c.Env
		files = append(files, more...)
	}
	if w := r.lab.Plan.Study.Design.WarmUp; w.Requests > 0 || w.Time > 0 {
		run := r.run()
		run.Requests, run.Duration = w.Requests, int64(w.Time)
		j.WarmUp = &run
	}
	j.Run.Record, j.Run.Requests, j.Run.Duration = true, r.s.Requests, int64(r.s.Duration)
	keys, err := inGuest(j.Serve.Credentials)
	if err != nil {
		return nil, nil, err
	}
	j.Call.Credentials = j.Serve.Credentials
	text, err := json.Marshal(j)
	return text, append(files, keys...), err
}

// inGuest turns paths of key files into those in the machine, and lists the files.
func inGuest(credentials map[string]string) ([]device.File, error) {
	var files []device.File
	for name, value := range maps.Clone(credentials) {
		if !filepath.IsAbs(value) {
			continue
		}
		b, err := os.ReadFile(value)
		if err != nil {
			return nil, err
		}
		credentials[name] = path.Join(guestCredentials, filepath.Base(value))
		files = append(files, device.File{Name: credentials[name], Mode: 0o600, Data: b})
	}
	return files, nil
}

// unpack takes what the machine said of the trial as a whole.
func (r *rig) unpack(on Counter) error {
	o := &r.inside.outcome
	for side, p := range []*program{r.client, r.server} {
		if o.Logs[side] != "" {
			if err := os.WriteFile(p.logPath, []byte(o.Logs[side]), 0o644); err != nil {
				return fmt.Errorf("%w: %w", errLab, err)
			}
		}
	}
	if o.Failed != "" {
		return fmt.Errorf("%s; see %s", o.Failed, r.server.log)
	}
	r.url, r.warmed, r.phases, r.usage = o.Served.URL, o.Warmed, o.Phases, o.Usage
	for side := range r.usage {
		for when := range r.usage[side] {
			u := &r.usage[side][when]
			u.CPU = time.Duration(float64(u.CPU) * on.CPUScale())
			u.Waiting = time.Duration(float64(u.Waiting) * on.CPUScale())
		}
	}
	return r.keepReady(o.Served, o.Called)
}

// readRecords takes both sides' records from what the machine wrote.
func (r *rig) readRecords(ctx context.Context) error {
	scale := r.lab.Devices[r.s.Client.Device].(Counter).CPUScale()
	c := stack.NewConn(io.Discard, withoutDeadline{r.inside.records})
	for side, which := range []measure.Side{measure.Client, measure.Server} {
		err := r.collect(ctx, which, nil, func(emit func(measure.Exchange)) (stack.End, error) {
			return c.Report(ctx, false, emit)
		})
		if err != nil {
			return fmt.Errorf("the %s's records: %w", which, err)
		}
		r.cpu[side] = time.Duration(float64(r.cpu[side]) * scale)
	}
	return nil
}

// withoutDeadline is a reader that never makes one wait.
type withoutDeadline struct{ io.Reader }

func (withoutDeadline) SetReadDeadline(time.Time) error { return nil }

// counted marks every figure: its time is no clock's.
func (r *rig) counted() {
	if r.inside == nil {
		return
	}
	for i := range r.results {
		r.results[i].Method = store.Counted
	}
}
