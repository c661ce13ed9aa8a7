package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/link"
	"edgegauge/internal/measure"
	"edgegauge/internal/service"
	"edgegauge/internal/stack"
	"edgegauge/internal/store"
	"edgegauge/internal/study"
)

// errLab marks an error that is the lab's, not the trial's: the run stops.
var errLab = errors.New("the lab cannot go on")

// A rig is one trial set up: its two programs and what was measured.
type rig struct {
	lab     *Lab
	t       study.Trial
	s       *study.Setup
	attempt *store.Attempt

	message        stack.Message
	dir            string // scratch of the two programs, removed afterwards
	server, client *program
	sensor         *program // simulated; nil: none
	sensorName     string   // as the server is told
	sensorSays     string   // what a simulated one is
	places         [2]place // client, server
	url            string

	line     *link.Line   // nil: the treatment has no link
	wire     *wire        // nil: no packets are captured, or not any more
	warmed   int          // requests of the warm-up
	warm     [2]time.Time // its begin and end
	zero     time.Time    // from which instruments count
	began    time.Time    // of the recorded run
	ended    time.Time
	supplies []*supply
	tally    [2]tally // client, server
	usage    [2][2]device.Usage
	cpu      [2]time.Duration // as the program itself accounts it; 0: it does not
	results  []store.Result
	quality  []store.Quality
	phases   stack.Phases
	inside   *inside // the records of a trial in counted instructions
}

const atClient, atServer = 0, 1

func newRig(l *Lab, t study.Trial, a *store.Attempt) *rig {
	return &rig{lab: l, t: t, s: t.Setup, attempt: a, zero: time.Now()}
}

// A step is a part of a trial.
type step struct {
	name string
	do   func(context.Context) error
}

// steps are a trial's. Read them aloud: they are the protocol of the experiment.
func (r *rig) steps() []step {
	if r.lab.Plan.Study.Time == study.Instructions {
		return []step{{"run it in the machine", r.enclose}, {"read its records", r.readRecords}, {"check the trial", r.check}, {"keep the results", r.commit}}
	}
	return []step{
		{"reach the devices", r.reachDevices},
		{"shape the link", r.shapeLink},
		{"plug in the sensor", r.plugSensor},
		{"start the stack", r.startStack},
		{"watch the supply", r.watchSupply},
		{"warm up", r.warmUp},
		{"idle", r.idle},
		{"measure", r.measure},
		{"read the supply", r.readSupply},
		{"stop the stack", r.stopStack},
		{"pull the sensor", r.pullSensor},
		{"read the packets", r.readWire},
		{"read the link", r.readLink},
		{"check the trial", r.check},
		{"keep the results", r.commit},
	}
}

// trial conducts one trial, step by step.
func (r *rig) trial(ctx context.Context, tell func(step string)) error {
	defer r.abandon()
	ctx, cancel := context.WithTimeoutCause(ctx, r.lab.Plan.Study.Timeouts.Trial,
		fmt.Errorf("the trial took longer than %v (timeouts.trial)", r.lab.Plan.Study.Timeouts.Trial))
	defer cancel()
	for _, step := range r.steps() {
		tell(step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("trial %d: %s: %w", r.t.ID, step.name, err)
		}
	}
	return nil
}

// startStack starts both programs at once, since a virtual machine takes its
// time, then the service, then the client.
func (r *rig) startStack(ctx context.Context) error {
	var err error
	if r.message, err = r.request(); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", "trial-"); err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	if r.server, err = r.start(ctx, measure.Server); err != nil {
		return err
	}
	if r.client, err = r.start(ctx, measure.Client); err != nil {
		return err
	}
	host, err := r.host(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := r.patience(ctx, r.lab.Plan.Study.Timeouts.Ready)
	defer cancel()
	served, err := r.server.conn.Serve(ctx, r.serve(host))
	if err != nil {
		return r.server.blame(ctx, `did not say "ready"`, err)
	}
	r.url = served.URL
	if err := r.listen(ctx); err != nil {
		return err
	}
	called, err := r.client.conn.Call(ctx, r.call())
	if err != nil {
		return r.client.blame(ctx, `did not say "ready"`, err)
	}
	r.phases = called.Phases
	return r.keepReady(served, called)
}

// keepReady writes what both programs said of themselves beside their logs.
func (r *rig) keepReady(served, called stack.Ready) error {
	b, err := json.MarshalIndent(map[string]any{"server": served, "client": called,
		"stacks": map[string]string{"server": r.server.stack, "client": r.client.stack}, "message": r.message, "sensor": r.sensorName, "sensor_is": r.sensorSays}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.attempt.Dir(), "ready.json"), b, 0o644); err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	return nil
}

// monitorLetters is the length of monitor's message where a study gives no n.
const monitorLetters = 16

// request says which message this trial sends.
func (r *rig) request() (stack.Message, error) {
	m := stack.Message{Seed: r.t.MessageSeed, N: r.s.N}
	w, err := width(r.s.Options)
	if err != nil {
		return m, err
	}
	m.Letters, m.Max = w.Letters, w.Max
	if r.s.Service == string(service.Monitor) && m.N == 0 {
		m.N = monitorLetters
	}
	if r.s.Size > 0 {
		m.N, err = service.SizeToN(service.Name(r.s.Service), m.Seed, int(r.s.Size), w)
	}
	return m, err
}

func (r *rig) serve(host string) stack.Serve {
	return stack.Serve{
		Service: r.s.Service, Encoding: r.s.Encoding, Security: r.s.Security, Transport: r.s.Transport, Host: host,
		Limits: stack.Limits{Body: r.lab.Plan.Study.Body}, Credentials: r.secrets(atServer), Sensor: r.sensorName,
		Directory: r.scratch(atServer), Message: r.message, Options: r.s.Options,
	}
}

func (r *rig) call() stack.Call {
	return stack.Call{
		URL: r.url, Service: r.s.Service, Encoding: r.s.Encoding, Security: r.s.Security, Transport: r.s.Transport,
		Message: r.message, Connection: r.s.Connection, Concurrency: r.s.Concurrency,
		Timeout: int64(r.lab.Plan.Study.Timeouts.Request), Limits: stack.Limits{Body: r.lab.Plan.Study.Body},
		Credentials: r.secrets(atClient), Options: r.s.Options,
	}
}

func (r *rig) credentials() map[string]string {
	if r.s.Security == "none" || r.s.Security == "" {
		return nil
	}
	return maps.Clone(r.lab.Credentials)
}

// run is the load of the treatment; the warm-up is the same load, unrecorded.
func (r *rig) run() stack.Run {
	s := stack.Run{Concurrency: r.s.Concurrency, Rate: r.s.Rate}
	if r.s.Rate > 0 {
		s.Arrival, s.Seed = r.s.Arrival, r.t.MessageSeed
	}
	return s
}

func (r *rig) warmUp(ctx context.Context) error {
	w := r.lab.Plan.Study.Design.WarmUp
	if w == (study.Span{}) {
		return nil
	}
	run := r.run()
	run.Requests, run.Duration = w.Requests, int64(w.Time)
	r.warm[0] = time.Now()
	end, err := r.client.conn.Run(ctx, run, nil)
	r.warm[1] = time.Now()
	if err != nil {
		return r.client.blame(ctx, "did not end its warm-up", err)
	}
	r.warmed = end.Count
	r.phases = r.phases.Or(end.Phases)
	if _, err := r.server.conn.Report(ctx, true, nil); err != nil {
		return r.server.blame(ctx, "did not report on the warm-up", err)
	}
	return nil
}

// measure drives the recorded run and fetches both sides' records, the
// client's first: only one side's are in memory at a time.
func (r *rig) measure(ctx context.Context) error {
	if err := r.readUsage(0); err != nil {
		return err
	}
	run := r.run()
	run.Record, run.Requests, run.Duration = true, r.s.Requests, int64(r.s.Duration)
	r.began = time.Now()
	after := func() error {
		r.ended = time.Now()
		return r.readUsage(1)
	}
	err := r.collect(ctx, measure.Client, after, func(emit func(measure.Exchange)) (stack.End, error) {
		return r.client.conn.Run(ctx, run, emit)
	})
	if err != nil {
		return r.client.blame(ctx, "did not end its run", err)
	}
	err = r.collect(ctx, measure.Server, nil, func(emit func(measure.Exchange)) (stack.End, error) {
		return r.server.conn.Report(ctx, false, emit)
	})
	if err != nil {
		return r.server.blame(ctx, "did not report on the run", err)
	}
	return nil
}

// readUsage reads both programs' usage before (0) or after (1) the recorded run.
func (r *rig) readUsage(when int) error {
	var err error
	for side, p := range []*program{r.client, r.server} {
		if r.usage[side][when], err = p.process.Usage(); err != nil {
			return p.blame(context.Background(), "ended in mid-trial", fmt.Errorf("%w: %w", errGone, err))
		}
	}
	return nil
}

// collect streams one side's records into the store and the tally.
func (r *rig) collect(ctx context.Context, side measure.Side, first func() error, fetch func(func(measure.Exchange)) (stack.End, error)) error {
	w, err := r.attempt.Exchanges(side)
	if err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	i := atClient
	if side == measure.Server {
		i = atServer
	}
	t := &r.tally[i]
	t.blind = r.s.Options["hooks"] == "off"
	t.reserve(side, r.s.Requests, &r.lab.spare)
	const batchSize = 4096
	batch := make([]measure.Exchange, 0, batchSize)
	var kept, early error
	flush := func() {
		if kept == nil {
			kept = w.Append(batch)
		}
		batch = batch[:0]
	}
	end, err := fetch(func(x measure.Exchange) {
		if first != nil && t.n == 0 {
			early = first()
		}
		t.add(x)
		if batch = append(batch, x); len(batch) == batchSize {
			flush()
		}
	})
	flush()
	if closed := w.Close(); kept == nil {
		kept = closed
	}
	switch {
	case err != nil:
		return err
	case kept != nil:
		return fmt.Errorf("%w: %w", errLab, kept)
	case early != nil:
		return early
	case first != nil && t.n == 0:
		return first()
	}
	r.cpu[i] = end.CPU
	r.phases = r.phases.Or(end.Phases)
	r.results = append(r.results, t.results(side)...)
	t.release(&r.lab.spare)
	return nil
}

// stopStack ends both programs and notes what they left behind.
func (r *rig) stopStack(ctx context.Context) error {
	const grace = 5 * time.Second
	for _, p := range []*program{r.client, r.server} {
		e, killed := p.stop(ctx, grace)
		switch {
		case killed && ctx.Err() != nil:
			return fmt.Errorf("%s did not end: %w; see %s", p.name, context.Cause(ctx), p.log)
		case killed:
			return fmt.Errorf("%s did not end within %v of the end of its input; see %s", p.name, grace, p.log)
		case e.Orphans > 0:
			return fmt.Errorf("%s left %d processes behind; see %s", p.name, e.Orphans, p.log)
		}
	}
	return nil
}

// abandon ends whatever still runs and removes the scratch folder.
func (r *rig) abandon() {
	for _, p := range []*program{r.client, r.server, r.sensor} {
		if p != nil && !p.stopped {
			p.process.Kill()
			p.stopped = true
		}
	}
	r.silence()
	if r.wire != nil {
		r.wire.deaf()
	}
	for i := range r.tally {
		r.tally[i].release(&r.lab.spare)
	}
	if r.line != nil {
		r.line.Close()
	}
	r.leave()
	if r.dir != "" {
		os.RemoveAll(r.dir)
	}
}

func (r *rig) commit(context.Context) error {
	r.counted()
	r.timeless()
	wanted := r.lab.Plan.Study.Responses
	if len(wanted) > 0 {
		r.results = slices.DeleteFunc(r.results, func(x store.Result) bool {
			return !slices.ContainsFunc(wanted, func(w study.Word) bool { return w.Text == x.Response })
		})
	}
	if err := r.attempt.Commit(r.results, r.quality); err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	return nil
}

// log is the log that explains a failed trial best: the server's, unless only
// the client wrote one.
func (r *rig) log() string {
	for _, p := range []*program{r.server, r.client} {
		if p == nil {
			continue
		}
		if fi, err := os.Stat(p.logPath); err == nil && fi.Size() > 0 {
			return p.log
		}
	}
	return ""
}

func (r *rig) patience(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("within %v", d))
}

// MessageOptions are the options that every stack has, since the lab reads them.
func MessageOptions() []string { return []string{"letters", "max"} }

// width reads the two message parameters of studies that repeat published sizes.
func width(options map[string]string) (service.Width, error) {
	var w service.Width
	for name, to := range map[string]any{"letters": &w.Letters, "max": &w.Max} {
		text, ok := options[name]
		if !ok {
			continue
		}
		if _, err := fmt.Sscan(strings.TrimSpace(text), to); err != nil {
			return w, fmt.Errorf("options.%s %q is not a whole number", name, text)
		}
	}
	return w, nil
}
