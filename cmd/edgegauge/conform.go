package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/lab"
	"edgegauge/internal/stack"
	"edgegauge/stacks/reference"
)

// quickly has JVMs compile at once and lightly. The kit asks for right answers, not for
// speed, and most of its time they start: it halves the CPU time of a server and its client.
const quickly = "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1"

// newKit is the conformance kit on this machine. dir is its scratch.
func newKit(exe, dir string) (stack.Kit, error) {
	credentials, err := stack.NewCredentials(dir)
	return stack.Kit{
		Credentials: credentials, Directory: dir, Peer: referencePeer, Parallel: min(2, runtime.NumCPU()),
		Start: func(ctx context.Context, d stack.Description, verb string) (stack.Running, error) {
			return startProgram(ctx, device.Local{Exe: exe}, d, verb)
		},
	}, err
}

// referencePeer finds the stack inside this binary that can do the wish.
func referencePeer(w stack.Wish) (stack.Description, bool) {
	for _, d := range reference.Stacks() {
		if _, err := d.Resolve(w); err == nil && !lab.IsFloor(d.Name) && d.Name != reference.Prefix+"phantom" {
			return d, true
		}
	}
	return stack.Description{}, false
}

type runningProgram struct {
	process *device.Process
	conn    *stack.Conn
}

func startProgram(ctx context.Context, on device.Local, d stack.Description, verb string) (stack.Running, error) {
	c := device.Command{Argv: []string{on.Exe, lab.StackVerb, d.Name, verb}, Log: os.DevNull}
	if d.Dir != "" {
		prog := d.Serve
		if verb == "call" {
			prog = d.Call
		}
		argv, err := prog.Argv(0)
		if err != nil {
			return nil, err
		}
		c = device.Command{Argv: argv, Dir: d.Dir, Env: slices.Concat(prog.Env, []string{quickly}), Log: os.DevNull}
	}
	p, err := on.Start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", d.Name, verb, err)
	}
	return &runningProgram{p, stack.NewConn(p.Stdin, p.Stdout)}, nil
}

func (r *runningProgram) Conn() *stack.Conn { return r.conn }

func (r *runningProgram) Stop(grace time.Duration) ([]byte, bool) {
	r.process.Stdin.Close()
	r.process.Stdout.SetReadDeadline(time.Now().Add(grace))
	rest, _ := io.ReadAll(io.LimitReader(r.process.Stdout, 1<<16))
	e, killed := r.process.Stop(context.Background(), grace)
	return rest, !killed && e.Orphans == 0
}
