package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A trialRunner conducts one attempt of a trial: it takes the steps of the protocol. What
// is observed belongs to the attachments, and to the owners that stand below them.
type trialRunner struct {
	task
	attempt *store.Attempt

	attachments attachments
	attached    []attachment // begun, in order: closed in the opposite one
	programs    *programs
	joint       *joint

	conversation conversation
	surroundings surroundings
	devices      devices
	records      records
	usage        usage
	connections  connections
	findings     findings
}

// attachments are those of a trial, each with its place in the steps.
type attachments struct {
	devices, link, sensor, programs, joint, capture, meters attachment

	idle  func(context.Context) error             // between warm-up and run: the meters measure the idle power
	still func(context.Context) error             // behind the run, before its records are fetched: and that behind it
	model func(context.Context) (findings, error) // when packets are read: energy without a meter is modelled
}

// newTrialRunner sets up one attempt. Nothing is started.
func newTrialRunner(l *Lab, p study.Trial, a *store.Attempt) *trialRunner {
	t := &trialRunner{task: newTask(l, p), attempt: a, surroundings: newSurroundings(l),
		devices: devices{asked: &p.Setup.Population}}
	t.records = records{task: t.task, attempt: a, devices: &t.devices, findings: &t.findings}
	places := &placement{task: t.task}
	link := &linked{task: t.task, places: places}
	sensor := &sensed{task: t.task, attempt: a, places: places}
	t.programs = &programs{task: t.task, attempt: a, places: places, link: link, sensor: sensor}
	t.connections = connections{task: t.task, programs: t.programs}
	t.joint = &joint{task: t.task, attempt: a, programs: t.programs}
	packets := &capture{task: t.task, attempt: a, places: places, link: link, programs: t.programs,
		conversation: &t.conversation, records: &t.records}
	meters := &meters{task: t.task, attempt: a, conversation: &t.conversation, usage: &t.usage, records: &t.records,
		packets: packets, zero: time.Now()}
	t.attachments = attachments{
		devices: places, link: link, sensor: sensor, programs: t.programs, joint: t.joint,
		capture: packets, meters: meters, idle: meters.idle, still: meters.still, model: meters.model,
	}
	return t
}

// A step is a part of a trial.
type step struct {
	name string
	do   func(context.Context) error
}

// flows says that the step follows the one before without waiting for trials at the same
// time: a pause between warm-up and run changes which packets TCP acknowledges alone.
func (s step) flows() bool { return s.name == idleStep || s.name == measureStep }

const reachStep, idleStep, measureStep = "reach the devices", "idle", "measure"

// steps are a trial's. Read them aloud: they are the protocol of the experiment.
//
// Their order matters. The capture needs the port that the server says, and must
// see the client's first packet. The idle power is that of two programs which are
// ready and warm, before the run and behind it: so the meters are read before the
// programs end. Packets are read when both are gone, and so their connections are
// closed. A process takes a while to go: the files of records are finished meanwhile.
func (t *trialRunner) steps() []step {
	if t.lab.Plan.Study.Time == study.Instructions {
		return t.countedSteps()
	}
	with := t.attachments
	return []step{
		{reachStep, t.attach(with.devices)},
		{"shape the link", t.attach(with.link)},
		{"plug in the sensor", t.attach(with.sensor)},
		{"start the programs", t.attach(with.programs)},
		{"reach the other benches", t.attach(with.joint)},
		{"start the server", t.startServer},
		{"capture packets", t.attach(with.capture)},
		{"start the client", t.startClient},
		{"start the meters", t.attach(with.meters)},
		{"warm up", t.warmUp},
		{idleStep, with.idle},
		{measureStep, t.measure},
		{"read the meters", t.read(with.meters)},
		{"stop the other benches", t.read(with.joint)},
		{"stop the programs", t.read(with.programs)},
		{"keep the records", func(context.Context) error { return t.records.finish() }},
		{"see the programs gone", t.find(t.programs.ended)},
		{"unplug the sensor", t.read(with.sensor)},
		{"read the packets", t.read(with.capture)},
		{"read the link", t.read(with.link)},
		{"model the energy", t.find(with.model)},
		{"check the trial", t.check},
		{"keep the results", t.commit},
	}
}

// conductAll conducts trials that run at the same time, and leaves nothing behind. None
// begins a step before all have ended the one before, but those that flow: so no program
// starts or ends while another trial measures. One that fails is cleaned up when the others
// have ended the step. It returns why each failed; nil: it did not.
func conductAll(ctx context.Context, all []*trialRunner, tell func(t study.Trial, step string)) []error {
	failures := make([]error, len(all))
	if len(all) == 0 {
		return failures
	}
	begun := false // what timeouts.trial limits
	var telling sync.Mutex
	told := func(t study.Trial, step string) {
		telling.Lock()
		defer telling.Unlock()
		tell(t, step)
	}
	steps := make([][]step, len(all)) // as many for each, since the study says which
	for i, t := range all {
		defer t.abandon()
		steps[i] = t.steps()
	}
	for n := 0; n < len(steps[0]); {
		next := n + 1
		for next < len(steps[0]) && steps[0][next].flows() {
			next++
		}
		if !begun && steps[0][n].name != reachStep {
			limited, cancel := all[0].lab.limited(ctx)
			defer cancel()
			ctx, begun = limited, true
		}
		var running sync.WaitGroup
		for i, t := range all {
			if failures[i] != nil {
				continue
			}
			running.Go(func() { failures[i] = t.take(ctx, steps[i][n:next], told) })
		}
		running.Wait()
		for i, t := range all {
			if failures[i] != nil {
				running.Go(t.abandon)
			}
		}
		running.Wait()
		n = next
	}
	return failures
}

// take takes steps of the trial, one after the other.
func (t *trialRunner) take(ctx context.Context, steps []step, tell func(t study.Trial, step string)) error {
	for _, s := range steps {
		tell(t.plan, s.name)
		err := context.Cause(ctx)
		if err == nil {
			err = s.do(ctx)
		}
		if why := t.surroundings.slept(); err != nil && why != "" {
			err = fmt.Errorf("%s: %w", why, err)
		}
		if err != nil {
			return fmt.Errorf("trial %d: %s: %w", t.plan.ID, s.name, err)
		}
	}
	return nil
}

// attach begins an attachment.
func (t *trialRunner) attach(a attachment) func(context.Context) error {
	return func(ctx context.Context) error {
		t.attached = append(t.attached, a)
		return a.before(ctx)
	}
}

// read takes an attachment's findings.
func (t *trialRunner) read(a attachment) func(context.Context) error {
	return t.find(func(ctx context.Context) (findings, error) { return a.after(ctx) })
}

// find takes what something finds, also where it fails: it may explain that.
func (t *trialRunner) find(in func(context.Context) (findings, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		f, err := in(ctx)
		t.findings.add(f)
		return err
	}
}

// abandon closes what was attached, the last first.
func (t *trialRunner) abandon() {
	for _, a := range slices.Backward(t.attached) {
		a.close() // Subtle: also where before failed halfway, since attach lists a first
	}
	t.attached = nil
	_ = t.records.finish() // of what has failed already
	t.records.release()
	t.attempt.Settle()
}

func (t *trialRunner) startServer(ctx context.Context) error {
	if existing(t.setup) {
		return nil
	}
	request, err := t.programs.serve(ctx)
	if err != nil {
		return err
	}
	t.programs.served, err = t.programs.session.StartServer(ctx, request)
	return t.programs.explain(err)
}

func (t *trialRunner) startClient(ctx context.Context) error {
	request, err := t.programs.call()
	if err != nil {
		return labFault(err)
	}
	called, err := t.programs.session.StartClient(ctx, request)
	if err != nil {
		return t.programs.explain(err)
	}
	t.conversation.phases = t.programs.session.Phases
	if err := t.joint.start(ctx); err != nil {
		return err
	}
	return t.programs.keepReady(called)
}

func (t *trialRunner) warmUp(ctx context.Context) error {
	defer t.connections.countWarm()
	run, wanted := t.warmUpRun()
	if !wanted {
		return nil
	}
	t.connections.countEarly()
	var err error
	if t.setup.Joint() {
		t.conversation.warmUp, err = t.joint.warmUp(ctx, run)
	} else {
		t.conversation.warmUp, err = t.programs.session.WarmUp(ctx, run)
	}
	t.conversation.phases = t.programs.session.Phases
	if err != nil {
		return t.programs.explain(err)
	}
	return t.keepWarmUp()
}

// measure drives the recorded run and fetches both sides' records.
func (t *trialRunner) measure(ctx context.Context) error {
	if err := t.readUsage(beforeRun); err != nil {
		return err
	}
	ends := runEnd{cost: func() error { return t.readUsage(behindRun) }, still: t.attachments.still,
		count: t.connections.countLast}
	defer t.connections.counting.Wait()
	session := t.programs.session
	session.RunEnded = func() error { return ends.of(ctx) }
	c := &t.conversation
	c.asked = t.recordedRun(c.warmUp)
	client, server := t.records.recorder(atClient, c.asked), t.records.recorder(atServer, c.asked)
	stalls := watchForStalls()
	defer func() { t.surroundings.stall = stalls.stop() }()
	var err error
	if t.setup.Joint() {
		if c.run, err = t.joint.measure(ctx, c.asked, client, server, ends); err == nil {
			t.joint.addUsage(&t.usage)
			err = t.joint.keep()
		}
	} else {
		c.run, err = session.Measure(ctx, c.asked, client, server)
	}
	c.phases = session.Phases
	return t.programs.explain(err)
}

// A runEnd is what comes between the end of a run and its records. Not behind them: to print the records costs the
// programs CPU time as well, and energy, so they wait.
type runEnd struct {
	cost  func() error                // takes what the run cost
	still func(context.Context) error // waits for the meters
	count func()                      // has connections counted, and does not wait
}

func (e runEnd) of(ctx context.Context) error {
	if err := e.cost(); err != nil {
		return err
	}
	return e.behind(ctx)
}

// behind is what does not cost the programs anything.
func (e runEnd) behind(ctx context.Context) error {
	err := e.still(ctx)
	e.count()
	return err
}

// readUsage takes one of the readings of what both programs use.
func (t *trialRunner) readUsage(when int) error {
	var cpus []int
	if t.setup.Local() {
		cpus = t.cpus()
	}
	return t.usage.read(when, t.programs.both(), cpus)
}

// check sums the trial up, and passes it through the gates. What a gate says is the reason why the trial is invalid.
func (t *trialRunner) check(context.Context) error {
	e := t.evidence()
	e.summarize()
	if why := t.surroundings.slept(); why != "" {
		return errors.New("no figure of it holds")
	}
	if why := e.fault(); why != "" {
		if log := t.programs.failed(); log != "" {
			why += "; see " + log
		}
		return errors.New(why)
	}
	return nil
}

func (t *trialRunner) commit(context.Context) error {
	t.timeless()
	wanted := t.lab.Plan.Study.Responses
	t.findings.results = slices.DeleteFunc(t.findings.results, func(x store.Result) bool {
		return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(w study.Word) bool { return w.Text == x.Response }) ||
			t.setup.LeavesOut(string(x.Side), x.Response)
	})
	return labFault(t.attempt.Commit(t.findings.results, t.findings.quality))
}

// timeless keeps no times of a trial one of whose sides ran where instructions
// are counted: they would be the counter's.
func (t *trialRunner) timeless() {
	if !t.usage.instructions() {
		return
	}
	t.findings.results = slices.DeleteFunc(t.findings.results, func(x store.Result) bool {
		return !slices.Contains([]string{"instructions", "message_size", "response_size"}, x.Response)
	})
}

// logNames are a log's path, and how people are told of it: below the results directory.
func logNames(a *store.Attempt, name string) (path, told string) {
	dir := a.Dir()
	return filepath.Join(dir, name), filepath.Join("trials", filepath.Base(dir), name)
}

// A process is a running program, as device.Process is one.
type process interface {
	Usage() (device.Usage, error)
	Connections(server netip.AddrPort) ([]kernel.Connection, error)
	TCPCounters() (kernel.TCPCounters, error)
	Stopped() []int
	Exited() <-chan device.Exit
	Stop(ctx context.Context, grace time.Duration) (device.Exit, bool)
	Kill() device.Exit
}

// launch starts a command on a device. It is a variable of the Lab, for tests.
type launch func(ctx context.Context, on device.Device, c device.Command) (process, *stack.Conn, error)

func start(ctx context.Context, on device.Device, c device.Command) (process, *stack.Conn, error) {
	p, err := on.Start(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return p, stack.NewConn(p.Stdin, p.Stdout), nil
}

// errGone means that a program's process is not there any more.
var errGone = errors.New("it is gone")
