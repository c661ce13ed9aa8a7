package lab

import (
	"cmp"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// A task is what is to be done in one trial: what the study says of it, and what the lab has for it. It does not change
// while the trial runs, so all that follows from it holds at any step.
type task struct {
	lab   *Lab
	plan  study.Trial
	setup *study.Setup
}

func newTask(l *Lab, p study.Trial) task { return task{lab: l, plan: p, setup: p.Setup} }

// existing reports whether the server of a treatment is a service that was there before the trial: nothing is started,
// asked or known of it.
func existing(s *study.Setup) bool { return s.URL != "" }

// side is a side's end of the treatment: its device and stack, the verb of its
// program, and the CPUs it may be pinned to.
func (t *task) side(side int) (end study.Side, verb string, pin []int) {
	pins := CPUsOf(t.setup, t.lab.Plan.Study.Pin, t.lab.CPUs)
	if side == atClient {
		return t.setup.Client, "call", pins.Client
	}
	end = t.setup.Server
	if IsLinked(t.setup) && t.lab.Devices[Second(end.Device)] != nil && t.setup.Client.Device == end.Device {
		end.Device = Second(end.Device)
	}
	return end, "serve", pins.Server
}

// cpus are those of this machine on which the programs may run.
func (t *task) cpus() []int {
	p := CPUsOf(t.setup, t.lab.Plan.Study.Pin, t.lab.CPUs)
	if len(p.Client) == 0 || len(p.Server) == 0 {
		return kernel.AllowedCPUs()
	}
	all := slices.Concat(p.Client, p.Server)
	slices.Sort(all)
	return slices.Compact(all)
}

// clientCPUs is how many CPUs of this machine the client may run on; 0: it runs on another device.
func (t *task) clientCPUs() int {
	if t.setup.Client.Device != "local" {
		return 0
	}
	_, _, pin := t.side(atClient)
	return cmp.Or(len(pin), len(kernel.AllowedCPUs()), 1)
}

// link is the link of the trial's treatment; false if it has none.
func (t *task) link() (link.Link, bool) {
	if l, ok := t.lab.Links[t.setup.Link.Text]; ok {
		return l, true
	}
	return LinkOf(t.setup, t.lab.Links)
}

// credentials are those that a side needs for the treatment's security, as they
// are on the lab's machine.
func (t *task) credentials(side int) map[string]string {
	return stack.CredentialsFor(t.setup.Security, sides[side], t.lab.Credentials)
}

// addressFor is the address at which other benches reach this one's server.
func (t *task) addressFor(ip string) (string, error) {
	at, err := ReachedAt(t.lab.Address, ip)
	return at, labFault(err)
}

// command is what runs a stack's program at its place.
func (t *task) command(d stack.Description, verb string, on place) (device.Command, error) {
	exe, dir := t.lab.Exe, d.Dir
	if on.away != nil {
		exe, dir = on.stage.agent.Exe(), on.stage.stacks[d.Name]
	}
	if d.Dir == "" {
		return device.Command{Argv: []string{exe, StackVerb, d.Name, verb}}, nil
	}
	prog := d.Serve
	if verb == "call" {
		prog = d.Call
	}
	argv, err := prog.Argv(t.setup.Heap)
	return device.Command{Argv: argv, Dir: dir, Env: prog.Env}, err
}

// serve is the first line to the server, whose credentials and folder are told
// as it finds them.
func (t *task) serve(host string, message stack.Message, credentials map[string]string,
	directory, sensor string) stack.Serve {
	s := t.setup
	return stack.Serve{
		Service: s.Service, Encoding: s.Encoding, Security: s.Security, Transport: s.Transport, Host: host,
		Limits: stack.Limits{Body: t.lab.Plan.Study.Body}, Credentials: credentials, Sensor: sensor,
		Directory: directory, Message: message, Options: s.Options, Connections: connectionsOfDevices(s),
	}
}

// call is the first line to the client of a server at a URL.
func (t *task) call(url string, message stack.Message, credentials map[string]string) stack.Call {
	s := t.setup
	return stack.Call{
		URL: url, Service: s.Service, Encoding: s.Encoding, Security: s.Security, Transport: s.Transport,
		Message: message, Connection: s.Connection, Concurrency: s.Concurrency,
		Timeout: int64(t.lab.Plan.Study.Timeouts.Request), Limits: stack.Limits{Body: t.lab.Plan.Study.Body},
		Credentials: credentials, Options: s.Options,
	}
}

// CallOf is what the client of a trial is told, but for the server's address and its keys. The error says what is wrong
// with the message that the study asks for.
func (l *Lab) CallOf(p study.Trial) (stack.Call, error) {
	t := newTask(l, p)
	message, err := messageOf(p)
	if err != nil {
		return stack.Call{}, err
	}
	call := t.call("", message, nil)
	return call, t.tellPopulation(&call)
}

// load is that of the treatment; the warm-up is the same load, unrecorded.
func (t *task) load() stack.Run {
	s := stack.Run{Concurrency: t.setup.Concurrency, Rate: t.setup.Rate}
	if t.setup.Rate > 0 {
		s.Arrival, s.Seed = t.setup.Arrival, t.plan.MessageSeed
	}
	return s
}

// warmUpRun is the run before the recorded one; false if the study wants none.
func (t *task) warmUpRun() (stack.Run, bool) {
	w := t.lab.Plan.Study.Design.WarmUp
	run := t.load()
	run.Requests, run.Duration = w.Requests, int64(w.Time)
	return run, w != study.Span{}
}

// recordedRun is the run that counts, after a warm-up.
func (t *task) recordedRun(warmUp stack.WarmUp) stack.Run {
	run := t.load()
	run.Record, run.Requests, run.Duration = true, t.setup.Requests, int64(t.setup.Duration)
	if least := t.setup.MinDuration; least > 0 {
		run.Requests, run.Duration = 0, int64(longEnough(run.Requests, least, warmUp))
	}
	return run
}

// overdue is how long a client may take to end a run after its duration: what was sent at its end has its own
// time-out, once more for a connection made anew, and a busy machine takes its time.
func (t *task) overdue() time.Duration {
	return 2*t.lab.Plan.Study.Timeouts.Request + 30*time.Second
}

// mostLate is how late the trial's client may take up requests; 0: that is not judged. A client on
// another device is measured, too, and may be slow if the study does not say otherwise.
func (t *task) mostLate() time.Duration {
	switch {
	case t.setup.Rate == 0:
		return 0
	case t.lab.MostLate == 0 && t.setup.Population.Lateness == 0 && t.setup.Client.Device != "local":
		return 0
	}
	return cmp.Or(t.lab.MostLate, t.setup.Population.Lateness, DefaultLateness)
}

// seed is that of a machine that conducts the trial alone, and the trial's own: identical boots would be one sample,
// however many. The constant is 2⁶⁴ divided by the golden ratio, so that the seeds of successive
// replications differ in many bits.
func (t *task) seed() uint64 {
	s := t.plan.MessageSeed ^ uint64(t.plan.Replication)*0x9e3779b97f4a7c15
	return s ^ s>>32
}
