package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
	"edgegauge.example/edgegauge/stacks/reference"
)

// quickly has JVMs compile at once and lightly, and collect with one thread, as they do in trials on one CPU. The kit
// asks for right answers, not for speed, and most of its time they start: it halves the CPU time of both sides.
const quickly = "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

// quicklySigning is quickly for a stack that signs by RSA. C1 takes 10 ms for one signature with RSA-2048, and the kit
// has thousands of them; C2, which knows how to multiply large numbers, takes 1.5 ms. So what calculates with those is
// compiled by C2, early. Nothing else is: the other thresholds are a hundred times what they are without options. Code
// that counts its calls is slower by a third if it keeps a profile as well, which arithmetic does not need.
const quicklySigning = "JAVA_TOOL_OPTIONS=-XX:+UseSerialGC -XX:-C1UpdateMethodData" +
	" -XX:Tier4InvocationThreshold=500000 -XX:Tier4MinInvocationThreshold=60000 -XX:Tier4CompileThreshold=1500000" +
	" -XX:Tier4BackEdgeThreshold=4000000 -XX:CompileCommand=quiet" +
	" -XX:CompileCommand=option,java/math/*.*,double,CompileThresholdScaling,0.01 -XX:+IgnoreUnrecognizedVMOptions"

// quicklyFor is what has the stack's JVMs compile quickly.
func quicklyFor(d stack.Description) string {
	for _, o := range d.Serves {
		if slices.ContainsFunc(o.Security, func(s string) bool { return strings.HasPrefix(s, "wss-rsa") }) {
			return quicklySigning
		}
	}
	return quickly
}

// newKit is the conformance kit on this machine, for these stacks. dir is its scratch; spares, which may be nil, keep
// the supervisors of programs that have ended: to start one takes as long as to start most programs.
func newKit(exe, dir string, spares *device.Spares, stacks ...stack.Description) (conform.Kit, error) {
	securities := []string{}
	for _, d := range stacks {
		for _, o := range d.Serves {
			securities = append(securities, o.Security...)
		}
	}
	credentials, err := stack.NewCredentials(dir, securities)
	return conform.Kit{
		Credentials: credentials, Directory: dir, Peer: referencePeer, Parallel: min(2, runtime.NumCPU()),
		Start: func(ctx context.Context, d stack.Description, verb string) (conform.Running, error) {
			return startProgram(ctx, device.Local{Exe: exe, Spares: spares}, dir, d, verb)
		},
		StartPeer: startPeer,
	}, err
}

// referencePeer finds the stack inside this binary that can do the wish.
func referencePeer(w stack.Wish) (stack.Description, bool) {
	for _, d := range reference.Stacks() {
		if _, err := d.Resolve(w); err == nil && !d.Floor && d.Name != reference.Prefix+"phantom" {
			return d, true
		}
	}
	return stack.Description{}, false
}

type runningProgram struct {
	process *device.Process
	conn    *stack.Conn
	log     string // the file with its standard error

	mu   sync.Mutex
	most time.Duration // that its threads have waited for a CPU
}

// startProgram starts a side of a stack, whose log is in dir.
func startProgram(ctx context.Context, on device.Local, dir string, d stack.Description,
	verb string) (conform.Running, error) {
	f, err := os.CreateTemp(dir, "log-*")
	if err != nil {
		return nil, err
	}
	f.Close()
	c := device.Command{Argv: []string{on.Exe, lab.StackVerb, d.Name, verb}, Log: f.Name()}
	if d.Dir != "" {
		prog := d.Serve
		if verb == "call" {
			prog = d.Call
		}
		argv, err := prog.Argv(0)
		if err != nil {
			return nil, err
		}
		c = device.Command{Argv: argv, Dir: d.Dir, Env: slices.Concat(prog.Env, []string{quicklyFor(d)}), Log: f.Name()}
	}
	p, err := on.Start(ctx, c)
	if err != nil {
		os.Remove(f.Name())
		return nil, fmt.Errorf("%s %s: %w", d.Name, verb, err)
	}
	return &runningProgram{process: p, conn: stack.NewConn(p.Stdin, p.Stdout), log: f.Name()}, nil
}

func (r *runningProgram) Conn() *stack.Conn { return r.conn }

// mostLog is how much of a log is looked at for its last line.
const mostLog = 1 << 20

func (r *runningProgram) Said() string {
	text, err := kernel.ReadFile(r.log, mostLog)
	if err != nil {
		return ""
	}
	return printable.Line(saidLast(string(text)))
}

func (r *runningProgram) Stop(grace time.Duration) ([]byte, error) { return r.stop(grace, longestExit) }

// stop does not count as grace what the program waits for a CPU; most bounds it all the same: many threads wait for
// longer than there is time.
func (r *runningProgram) stop(grace, most time.Duration) ([]byte, error) {
	defer os.Remove(r.log)
	began, before := time.Now(), r.waited()
	ctx, late := context.WithTimeout(context.Background(), most)
	defer late()
	context.AfterFunc(ctx, func() { r.process.Stdout.SetReadDeadline(time.Now()) })
	go r.watch(ctx, func() bool { return time.Since(began)-(r.waited()-before) > grace }, late)
	r.process.Stdin.Close()
	rest, _ := io.ReadAll(io.LimitReader(r.process.Stdout, 1<<16))
	e, killed := r.process.Stop(ctx, most)
	switch {
	case killed:
		return rest, fmt.Errorf("killed %v after the end of its stdin; for %v of that time it was ready to run and "+
			"had no CPU", time.Since(began).Round(time.Millisecond), (r.waited() - before).Round(time.Millisecond))
	case e.Orphans > 0:
		return rest, fmt.Errorf("it left %s, which had to be killed", e.LeftBehind())
	}
	return rest, nil
}

// longestExit bounds how long a program is waited for on a machine that is too busy to run it.
const longestExit = time.Minute

// watch asks every 100 ms, until ctx ends, and calls then once it is late.
func (r *runningProgram) watch(ctx context.Context, late func() bool, then func()) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if late() {
				then()
				return
			}
		}
	}
}

// waited is how long the program's threads were ready to run and had no CPU: that is not its own time. It never falls,
// though a thread's time is gone with it.
func (r *runningProgram) waited() time.Duration {
	u, _ := r.process.Usage() // gone by now: it waits for nothing
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = max(r.most, u.Waiting)
	return r.most
}

// Sockets are those of the supervisor's descendants: a program may leave a daemon behind.
func (r *runningProgram) Sockets() ([]kernel.Socket, error) {
	program, err := kernel.ReadProcess(r.process.PID)
	if err != nil {
		return nil, err
	}
	return kernel.Sockets(kernel.Descendants(program.Parent))
}

// A peer is a program of a stack in this binary that runs in this process: it is
// not under test, and starting a process for each of its thousands of uses costs more than they do.
type peer struct {
	conn          *stack.Conn
	stdin, stdout *os.File // our ends
}

func startPeer(d stack.Description, verb string, tap conform.Tap) (conform.Running, error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), stdin.Close())
	}
	p := &peer{stack.NewConn(stdin, stdout), stdin, stdout}
	go func() {
		reference.Tapped([]string{d.Name, verb}, in, out, io.Discard, reference.Tap(tap))
		in.Close()
		out.Close()
	}()
	return p, nil
}

func (p *peer) Conn() *stack.Conn { return p.conn }

func (p *peer) Stop(grace time.Duration) ([]byte, error) {
	p.stdin.Close()
	defer p.stdout.Close()
	p.stdout.SetReadDeadline(time.Now().Add(grace))
	return io.ReadAll(io.LimitReader(p.stdout, 1<<16))
}

func (*peer) Said() string { return "" }

// Sockets of a peer are this process's own and not looked at.
func (*peer) Sockets() ([]kernel.Socket, error) { return nil, nil }
