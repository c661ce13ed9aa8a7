package instrument

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// An execMeter is a program that prints readings, in the line protocol of
// doc/energy.md. It runs from open to close; what it prints between two
// observations is let go.
type execMeter struct {
	argv   []string
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.Closer
	stderr tail
	form   form
	done   chan struct{} // closed when the program's output has ended

	mu    sync.Mutex
	lines uint64      // of all its output, the header left out
	watch *execRecord // of the observation that runs
	ended error       // why the output ended
	q     MeterStats
	facts energy.Facts
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-1000):]
	return len(p), nil
}

func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.b), []byte("\n"))
	return string(lines[len(lines)-1])
}

// openExec starts the program: exec:["prog","arg"] or exec:prog. There is no shell.
func openExec(ctx context.Context, arg string, o Options) (Meter, error) {
	argv := []string{arg}
	if strings.HasPrefix(arg, "[") {
		argv = nil
		if err := json.Unmarshal([]byte(arg), &argv); err != nil {
			return nil, fmt.Errorf("the program and its arguments are not a JSON list: %w", err)
		}
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New(`no program; write exec:["program","argument"]`)
	}
	m := &execMeter{argv: argv, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	m.cmd.Stderr = &m.stderr
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	m.cmd.WaitDelay = time.Second
	stdin, err := m.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	m.stdin = stdin
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.stdout = stdout
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	return m, m.waitForHeader(ctx, stdout)
}

func (m *execMeter) waitForHeader(ctx context.Context, stdout io.Reader) error {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 4096), 1<<20)
	header := make(chan error, 1)
	go m.run(lines, header)
	var err error
	select {
	case err = <-header:
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(10 * time.Second):
		err = fmt.Errorf("%s printed nothing for 10 s; it must print its description first", m.argv[0])
	}
	if err == nil && m.facts.Interval == 0 {
		err = m.learnInterval(ctx)
	}
	if err != nil {
		m.Close()
	}
	return err
}

// learnInterval takes the mean interval of the first readings, where the program
// does not say its rate.
func (m *execMeter) learnInterval(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r := newExecRecord(time.Now())
	m.mu.Lock()
	m.watch = r
	m.mu.Unlock()
	for ended := false; ; {
		m.mu.Lock()
		n, interval, thrown := len(r.lines), r.interval(), r.q.Thrown
		if n >= 6 && interval > 0 {
			m.watch, m.facts.Interval = nil, interval
		}
		err := m.ended
		m.mu.Unlock()
		switch {
		case n >= 6 && interval > 0:
			return nil
		case ended && err != nil:
			return err
		case ctx.Err() != nil:
			err := fmt.Errorf("%s does not declare its rate, and printed %d readings in 10 s; make it declare \"rate\"",
				m.argv[0], n)
			if n == 0 && thrown != "" {
				err = fmt.Errorf("%s printed no reading in 10 s that can be used; the first line: %s", m.argv[0], thrown)
			}
			return err
		}
		select {
		case <-m.done:
			ended = true
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// run reads the program's output until it ends.
func (m *execMeter) run(lines *bufio.Scanner, header chan<- error) {
	defer close(m.done)
	var err error
	if !lines.Scan() {
		header <- m.reap(lines.Err())
		return
	}
	m.form, err = parseHeader(lines.Text())
	m.facts = m.form.facts()
	header <- err
	for err == nil && lines.Scan() {
		arrived := time.Now()
		m.mu.Lock()
		m.lines++
		if m.watch != nil {
			m.watch.take(m.form, lines.Bytes(), arrived)
		}
		m.mu.Unlock()
	}
	err = m.reap(lines.Err())
	m.mu.Lock()
	m.ended = err
	m.mu.Unlock()
}

// reap waits for a program whose output has ended, but not long, and says why it ended.
func (m *execMeter) reap(err error) error {
	late := time.AfterFunc(time.Second, func() { m.kill(unix.SIGKILL) })
	m.cmd.Wait() // and for the end of its stderr
	late.Stop()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", m.argv[0], err)
	case m.stderr.lastLine() != "":
		return fmt.Errorf("%s exited: %s", m.argv[0], m.stderr.lastLine())
	}
	return fmt.Errorf("%s closed its output", m.argv[0])
}

// Close ends the program: its stdin first, then, if it has not gone after 2 s, by force. What
// has left its group, or may not be killed, is not waited for.
func (m *execMeter) Close() error {
	m.stdin.Close()
	for _, step := range []struct {
		wait time.Duration
		end  func()
	}{
		{2 * time.Second, func() { m.kill(unix.SIGTERM) }},
		{time.Second, func() { m.kill(unix.SIGKILL) }},
		{time.Second, func() { m.stdout.Close() }},
		{2 * time.Second, func() {}},
	} {
		select {
		case <-m.done:
			return nil
		case <-time.After(step.wait):
			step.end()
		}
	}
	return fmt.Errorf("%s does not end, though it was killed; end it yourself (process %d)", m.argv[0], m.cmd.Process.Pid)
}

// kill signals the program and its children, which are a group of their own.
func (m *execMeter) kill(s syscall.Signal) { unix.Kill(-m.cmd.Process.Pid, s) }

func (m *execMeter) Describe() measure.Description {
	return measure.Description{Name: "exec", Quantities: threeQuantities, Resolution: m.facts.Resolution,
		Interval: m.facts.Interval}
}

func (m *execMeter) Facts() energy.Facts { return m.facts }
func (m *execMeter) Stats() MeterStats   { return m.q }

func (m *execMeter) Observe(ctx context.Context, emit func(measure.Sample)) error {
	r := newExecRecord(start(ctx))
	m.mu.Lock()
	m.watch = r
	m.mu.Unlock()
	silent := m.wait(ctx)
	m.mu.Lock()
	m.watch = nil
	ended := cmp.Or(m.ended, silent)
	m.mu.Unlock()
	at, err := r.times(m.form.clock)
	m.q = r.q
	m.q.Apart = r.twice.apart(m.facts.Resolution)
	if err == nil {
		r.emit(m.form, m.facts.Interval, at, emit)
	}
	if ctx.Err() == nil && ended != nil { // the program ended or hangs, not the observation
		err = errors.Join(ended, err)
	}
	if err != nil {
		return fmt.Errorf("instrument exec: %w", err)
	}
	return nil
}

// wait waits until ctx or the program's output ends, or until the program has fallen silent. It counts looks,
// not time: where this process did not run, nobody knows whether the program was silent.
func (m *execMeter) wait(ctx context.Context) error {
	const often, first = 50 * time.Millisecond, 10 * time.Second // a program that begins may be as slow as its header
	limit := max(time.Second, 4*m.facts.Interval)
	tick := time.NewTicker(often)
	defer tick.Stop()
	var before uint64
	for quiet := time.Duration(0); ; quiet += often {
		m.mu.Lock()
		lines := m.lines
		m.mu.Unlock()
		if lines != before {
			before, quiet = lines, 0
		}
		if quiet >= limit && (lines > 0 || quiet >= first) {
			return fmt.Errorf("%s printed nothing for %v", m.argv[0], quiet)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.done:
			return nil
		case <-tick.C:
		}
	}
}

// An execRecord is what a program printed in one observation.
type execRecord struct {
	zero    time.Time
	monoton time.Duration // CLOCK_MONOTONIC at zero
	q       MeterStats
	lines   []execLine
	same    repeats
	twice   twice
	dropped bool // the last reading
}

type execLine struct {
	reading
	t       time.Duration // of the clock named
	arrived time.Duration
	marker  float64 // NaN: none
	gap     bool    // readings before it were dropped
}

func newExecRecord(zero time.Time) *execRecord {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return &execRecord{zero: zero, monoton: time.Duration(ts.Nano()) - time.Since(zero)}
}

// take keeps a line or counts it as what it is.
func (r *execRecord) take(f form, b []byte, arrived time.Time) {
	l, err := f.parse(b)
	switch {
	case err != nil:
		r.q.Garbage++
		r.q.throw(b, understood(err))
		return
	case !l.fill().sane():
		r.q.Impossible++
		r.q.throw(b, fmt.Sprintf("a supply has %g V, %g A and %g W at most; V, A and W are without prefixes", supplyVolts,
			supplyAmps, supplyWatts))
		r.dropped = true
		return
	case f.clock != clockNone && len(r.lines) > 0 && l.t < r.lines[len(r.lines)-1].t:
		r.q.Steps++
		return
	}
	r.twice.see(l.reading)
	l.reading = l.fill()
	if f.kind == energy.Cumulative && len(r.lines) > 0 && l.joules < r.lines[len(r.lines)-1].joules {
		r.q.Backwards++
	}
	l.arrived, l.gap, r.dropped = arrived.Sub(r.zero), r.dropped, false
	r.q.Readings++
	if x := l.watts; !math.IsNaN(x) {
		r.same.see(x)
	} else {
		r.same.see(l.joules)
	}
	r.q.Repeats = r.same.longest
	r.lines = append(r.lines, l)
}

// times puts the lines on the host's clock.
func (r *execRecord) times(c clock) ([]time.Duration, error) {
	at := make([]time.Duration, len(r.lines))
	device := make([]time.Duration, len(r.lines))
	for i, l := range r.lines {
		at[i], device[i] = l.arrived, l.t
		if c == clockHost {
			at[i] = l.t - r.monoton
		}
	}
	if c != clockDevice || len(r.lines) == 0 {
		return at, nil
	}
	fit, err := FitArrival(device, at, 10*time.Millisecond)
	r.q.Clock = fit
	for i := range at {
		at[i], _ = fit.DeviceToHost(device[i])
	}
	return at, err
}

// interval is the mean time between readings.
func (r *execRecord) interval() time.Duration {
	if len(r.lines) < 2 {
		return 0
	}
	first, last := r.lines[0], r.lines[len(r.lines)-1]
	if last.t > first.t {
		return (last.t - first.t) / time.Duration(len(r.lines)-1)
	}
	return (last.arrived - first.arrived) / time.Duration(len(r.lines)-1)
}

// latest is how late a line arrives on a busy host.
const latest = 40 * time.Millisecond

// emit gives the readings, and a gap where an instantaneous one was dropped or did not come.
func (r *execRecord) emit(f form, interval time.Duration, at []time.Duration, emit func(measure.Sample)) {
	apart := interval + interval*3/4
	if f.clock == clockNone {
		apart = max(apart, interval+latest)
	}
	level := math.NaN()
	for i, l := range r.lines {
		if f.kind == energy.Instant && i > 0 && (l.gap || at[i]-at[i-1] > apart) {
			emit(sample(energy.Gap, at[i-1]+(at[i]-at[i-1])/2, 1))
		}
		if f.kind == energy.Cumulative {
			emit(sample(energy.Counter, at[i], l.joules))
		} else {
			emit(sample(energy.Power, at[i], l.watts))
		}
		if !math.IsNaN(l.volts) {
			emit(sample(energy.Voltage, at[i], l.volts))
		}
		if !math.IsNaN(l.amps) {
			emit(sample(energy.Current, at[i], l.amps))
		}
		if !math.IsNaN(l.marker) && l.marker != level {
			if !math.IsNaN(level) {
				emit(sample(energy.Marker, at[i], l.marker))
			}
			level = l.marker
		}
	}
}
