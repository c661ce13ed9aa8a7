package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

// programs are the trial's two processes, which its session speaks with.
type programs struct {
	task
	attempt *store.Attempt
	places  *placement
	link    *linked
	sensor  *sensed

	server, client *program
	session        *stack.Session // with both, once they run
	message        stack.Message  // that the client sends
	served         stack.Ready    // what the server said of itself
	dir            string         // scratch folder of both on this machine
	ioDir          string         // the server's, below the study's io_dir; empty: dir
	ioLock         *os.File
	logs           *logWatch
}

// A program is one side's process and the protocol with it.
type program struct {
	name    string // for errors
	stack   string
	log     string // as people are told: below the results directory
	logPath string
	process process
	conn    *stack.Conn
	stopped bool
}

// StackVerb is the hidden verb of the binary that runs a stack inside it.
const StackVerb = stack.ProgramVerb

// ioPrefix begins the name of a trial's folder below io_dir. One of a lab that was killed is removed before the next
// trial that has one there.
const ioPrefix = "edgegauge-trial-"

// grace is how long a program may take to end by itself.
const grace = 5 * time.Second

// before starts both programs at once, since a virtual machine takes its time.
func (p *programs) before(ctx context.Context) error {
	t := &p.task
	var err error
	if p.message, err = messageOf(t.plan); err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp(t.lab.Scratch, "trial-"); err != nil {
		return labFault(err)
	}
	if t.setup.IODir != "" {
		kernel.SweepFolders(t.setup.IODir, ioPrefix)
		if p.ioDir, p.ioLock, err = kernel.NewFolder(t.setup.IODir, ioPrefix); err != nil {
			return labFault(fmt.Errorf("io_dir: %w", err))
		}
	}
	p.logs = watchLogs(p.attempt)
	var server, client error
	var starting sync.WaitGroup
	if !existing(t.setup) {
		starting.Go(func() { p.server, server = p.start(ctx, atServer) })
	}
	starting.Go(func() { p.client, client = p.start(ctx, atClient) })
	starting.Wait()
	if err := cmp.Or(server, client); err != nil {
		return err
	}
	p.session = p.newSession()
	return nil
}

// both are the two programs; nil: a side that has none.
func (p *programs) both() [2]*program { return [2]*program{atClient: p.client, atServer: p.server} }

// start starts the program of one side. What cannot be started on the lab's
// machine would not be in the next trial either.
func (p *programs) start(ctx context.Context, side int) (*program, error) {
	t := &p.task
	end, verb, pin := t.side(side)
	d, ok := t.lab.Stacks[end.Stack]
	if !ok {
		return nil, fmt.Errorf("%w: no stack %q", errLab, end.Stack)
	}
	on := p.places.at[side]
	c, err := t.command(d, verb, on)
	if err != nil {
		return nil, err
	}
	c.CPUs, c.Env = pin, slices.Concat(c.Env, p.link.environment())
	if on.network == nil { // a link leads to a machine's interface, not to its programs
		c.Namespace = p.link.namespace(side)
	}
	one := &program{name: "stacks/" + d.Name + " " + verb, stack: d.Name}
	one.logPath, one.log = logNames(p.attempt, verb+".log")
	c.Log = one.logPath
	one.process, one.conn, err = t.lab.start(ctx, on.device, c)
	switch {
	case err == nil:
		return one, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", one.name, context.Cause(ctx))
	case on.away == nil:
		return nil, fmt.Errorf("%w: %s: %w", errLab, one.name, err)
	}
	return nil, fmt.Errorf("%s: %w", one.name, err)
}

// start starts a command, in a test another way.
func (l *Lab) start(ctx context.Context, on device.Device, c device.Command) (process, *stack.Conn, error) {
	if l.launch != nil {
		return l.launch(ctx, on, c)
	}
	return start(ctx, on, c)
}

func (p *programs) newSession() *stack.Session {
	s := &stack.Session{Client: p.client.conn, ReadyWithin: p.lab.Plan.Study.Timeouts.Ready, EndWithin: grace,
		Late: p.overdue(), Sampled: populated(p.setup)}
	if p.server != nil {
		s.Server = p.server.conn
	}
	if populated(p.setup) {
		p.client.conn.Devices = p.lab.showDevices
	}
	return s
}

// serve is the server's first line.
func (p *programs) serve(ctx context.Context) (stack.Serve, error) {
	host, err := p.link.host(ctx)
	if err != nil {
		return stack.Serve{}, err
	}
	secrets := p.places.secrets(atServer)
	return p.task.serve(host, p.message, secrets, p.scratch(), p.sensor.name), nil
}

// failed is the log that explains a failed trial best: the server's, unless only
// the client wrote one.
func (p *programs) failed() string {
	for _, one := range []*program{p.server, p.client} {
		if one == nil {
			continue
		}
		if fi, err := os.Stat(one.logPath); err == nil && fi.Size() > 0 {
			return one.log
		}
	}
	return ""
}

// url is the server's.
func (p *programs) url() string {
	if existing(p.setup) {
		return p.setup.URL
	}
	return p.served.URL
}

// call is the client's first line.
func (p *programs) call() (stack.Call, error) {
	t := &p.task
	if !existing(t.setup) {
		call := t.call(p.url(), p.message, p.places.secrets(atClient))
		return call, t.tellPopulation(&call)
	}
	call := t.call(p.url(), p.message, nil)
	job, ok := t.lab.Requests[t.setup]
	if !ok {
		return call, fmt.Errorf("nothing to ask %s", t.setup.URL)
	}
	var err error
	if call.Request, err = json.Marshal(job); err != nil {
		return call, err
	}
	return call, t.tellPopulation(&call)
}

// keepReady writes what both programs said of themselves beside their logs.
func (p *programs) keepReady(called stack.Ready) error {
	s := p.setup
	told := map[string]any{
		"server": p.served, "client": called,
		"stacks":  map[string]string{"server": s.Server.Stack, "client": s.Client.Stack},
		"message": p.message, "sensor": p.sensor.name, "sensor_is": p.sensor.says,
	}
	b, err := json.MarshalIndent(told, "", "  ")
	if err == nil {
		err = p.attempt.Keep("ready.json", b)
	}
	return labFault(err)
}

// scratch is the folder of the server's program.
func (p *programs) scratch() string {
	if at := p.places.at[atServer]; at.away != nil {
		return at.scratch
	}
	if p.ioDir != "" {
		return p.ioDir
	}
	return p.dir
}

// explain makes an error of the session one that names program and log.
func (p *programs) explain(err error) error {
	var side *stack.SideError
	if !errors.As(err, &side) {
		return err
	}
	return p.both()[sideIndex(side.Side)].explain(side.DidNot, side.Err)
}

// after ends both programs, whose connections may be closed a moment later: ended waits for that. Nothing is measured
// any more, so the disk works meanwhile.
func (p *programs) after(ctx context.Context) (findings, error) {
	p.attempt.Flush()
	return findings{}, p.explain(p.session.End(ctx))
}

// ended waits for the ends of both processes and says what they left behind.
func (p *programs) ended(ctx context.Context) (findings, error) {
	for _, one := range p.both() {
		if one == nil {
			continue
		}
		e, killed := one.stop(ctx, grace)
		switch {
		case killed && ctx.Err() != nil:
			return findings{}, fmt.Errorf("%s did not exit: %w; see %s", one.name, context.Cause(ctx), one.log)
		case killed:
			return findings{}, fmt.Errorf("%s did not exit within %v of the end of its input; see %s", one.name, grace, one.log)
		case e.Orphans > 0:
			return findings{}, fmt.Errorf("%s left %s; see %s", one.name, e.LeftBehind(), one.log)
		}
	}
	return p.logs.stop()
}

// close ends what still runs and removes the scratch folder.
func (p *programs) close() {
	for _, one := range p.both() {
		one.kill()
	}
	if p.logs != nil {
		p.logs.stop()
	}
	for _, dir := range []string{p.dir, p.ioDir} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
	if p.ioLock != nil {
		p.ioLock.Close()
	}
}

// explain says what a program did not do, in its own words where it had any, and
// where its log is. A nil err: there is no more to say than that.
func (p *program) explain(didNot string, err error) error {
	var said reason
	var own *stack.ProgramError
	switch {
	case err == nil:
		return reason{fmt.Errorf("%s %s; see %s", p.name, didNot, p.log)}
	case errors.Is(err, errLab) || errors.As(err, &said):
		return err
	case errors.As(err, &own):
		return reason{fmt.Errorf("%s: %w; see %s", p.name, err, p.log)}
	case errors.Is(err, stack.ErrSilent) || errors.Is(err, errGone):
		select { // its output ends a moment before its exit is known
		case e := <-p.process.Exited():
			err = fmt.Errorf("it ended with %s", e.Reason())
		case <-time.After(200 * time.Millisecond):
		}
	default:
		if pids := p.process.Stopped(); len(pids) > 0 {
			err = fmt.Errorf("%w; a signal (SIGSTOP) or a debugger has stopped its process %d", err, pids[0])
		}
		if far := p.connecting(); far != "" && didNot == stack.NotReady {
			err = fmt.Errorf("%w; %s", err, far)
		}
	}
	return reason{fmt.Errorf("%s %s: %w; see %s", p.name, didNot, err, p.log)}
}

// connecting is how far a client said last that its connections are; empty: it said nothing of them, or something
// else since. No other line of a log is repeated: it may hold a secret.
func (p *program) connecting() string {
	f, err := os.Open(p.logPath)
	if err != nil {
		return ""
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	const most = 2 << 10 // B
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, end-most), most))
	if err != nil {
		return ""
	}
	last := strings.TrimRight(string(text), "\n")
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if !strings.HasPrefix(last, drive.Connecting) {
		return ""
	}
	return last
}

// stop gives the program grace to end by itself, while ctx lasts.
func (p *program) stop(ctx context.Context, grace time.Duration) (device.Exit, bool) {
	p.stopped = true
	return p.process.Stop(ctx, grace)
}

// kill ends a program that nobody has stopped.
func (p *program) kill() {
	if p != nil && !p.stopped {
		p.process.Kill()
		p.stopped = true
	}
}
