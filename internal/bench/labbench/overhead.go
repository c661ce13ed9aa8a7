package labbench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
)

// overheadRows compare whole trials of the lab with the same two programs
// started and driven by nothing but pipes: no supervisor, no ledger, no records
// kept or read, no orderly end.
func overheadRows(ctx context.Context, b *Bench) ([]Row, error) {
	var rows []Row
	for _, load := range []struct {
		stack            string
		requests, warmup int
		limit            *bound
	}{
		{"rest-protobuf", 500, 200, &bound{atMost: true, value: 15}},
		{"coap-protobuf", 500, 200, &bound{atMost: true, value: 15}},
		{"rest-protobuf", 10000, 2000, &bound{atMost: true, value: 15}},
	} {
		r, err := b.overhead(ctx, load.stack, load.requests, load.warmup, load.limit)
		if err != nil {
			return rows, err
		}
		if len(rows) == 0 {
			r.How = "15 runs of 7 trials, alternating with 6 bare ones: wall clock from one trial's end to the next's, ledger " +
				"and syncs included, " +
				"minus that of the bare start and drive, on one CPU like the trial's programs; mean of the differences " +
				"of the runs' medians, with its t interval"
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *Bench) overhead(ctx context.Context, name string, requests, warmup int, limit *bound) (Row, error) {
	const rounds, trials = 15, 7
	study := fmt.Sprintf("study: overhead\nservice: monitor\nstack: %s\nrequests: %d\ndesign: {replications: %d, "+
		"warmup: %d}\n", name, requests, trials, warmup)
	var added, bases []float64 // of each round, since both scatter
	var cpus []int             // one, as the lab has both programs share one
	if all := kernel.AllowedCPUs(); len(all) > 0 {
		cpus = all[:1]
	}
	for range rounds {
		run, err := b.run(ctx, study)
		if err != nil {
			return Row{}, err
		}
		run.forget()
		var whole, bare []float64
		for i := 1; i < len(run.ended); i++ {
			whole = append(whole, run.ended[i].Sub(run.ended[i-1]).Seconds()*1e3)
		}
		for range trials - 1 {
			d, err := b.bare(ctx, name, cpus, requests, warmup)
			if err != nil {
				return Row{}, fmt.Errorf("the bare trial: %w", err)
			}
			bare = append(bare, d.Seconds()*1e3)
		}
		added, bases = append(added, stat.Middle(whole)-stat.Middle(bare)), append(bases, stat.Middle(bare))
	}
	s, err := stat.Mean(added, 0.95)
	if err != nil {
		return Row{}, err
	}
	return Row{
		Figure:   fmt.Sprintf("ms added to a trial of %d requests, %s (bare %.0f)", requests, name, stat.Middle(bases)),
		Wanted:   limit.String(),
		Measured: interval(s.Center, s.Lo, s.Hi),
		Verdict:  limit.verdict(s.Center, s.Lo, s.Hi),
	}, nil
}

// bare starts a server and a client on some CPUs, drives warm-up and run, neither recorded, and
// returns how long that took.
func (b *Bench) bare(ctx context.Context, name string, cpus []int, requests, warmup int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	session, end, err := b.Pair(ctx, Held{Stack: name, Encoding: "protobuf", CPUs: cpus})
	if err != nil {
		return 0, err
	}
	defer end()
	for _, n := range []int{warmup, requests} {
		if _, err := session.WarmUp(ctx, stack.Run{Requests: n, Concurrency: 1}); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// Held is a server and a client of a reference stack that are held ready for runs.
type Held struct {
	Stack, Encoding string
	Options         map[string]string
	CPUs            []int // on which both run; nil: on all
}

// Pair starts them with nothing but pipes, and returns what ends them.
func (b *Bench) Pair(ctx context.Context, h Held) (s *stack.Session, end func(), err error) {
	var ends []func()
	stop := func() {
		for _, f := range slices.Backward(ends) {
			f()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	s = new(stack.Session)
	for _, p := range []struct {
		verb string
		to   **stack.Conn
	}{{"serve", &s.Server}, {"call", &s.Client}} {
		conn, over, err := b.program(ctx, h.CPUs, h.Stack, p.verb)
		if err != nil {
			return nil, nil, err
		}
		*p.to, ends = conn, append(ends, over)
	}
	message, limits := stack.Message{Seed: 1, N: 16}, stack.Limits{Body: 1 << 20}
	served, err := s.StartServer(ctx, stack.Serve{Service: "monitor", Encoding: h.Encoding, Security: "none",
		Host: "127.0.0.1", Message: message, Limits: limits, Options: h.Options})
	if err != nil {
		return nil, nil, err
	}
	_, err = s.StartClient(ctx, stack.Call{URL: served.URL, Service: "monitor", Encoding: h.Encoding, Security: "none",
		Message: message, Connection: "keep-alive", Concurrency: 1, Timeout: int64(5 * time.Second), Limits: limits,
		Options: h.Options})
	return s, stop, err
}

func (b *Bench) program(ctx context.Context, cpus []int, name, verb string) (*stack.Conn, func(), error) {
	c, err := start(ctx, kernel.Placement{CPUs: cpus}, "", b.Exe, lab.StackVerb, "reference/"+name, verb)
	if err != nil {
		return nil, nil, err
	}
	return stack.NewConn(c.in, c.out), c.end, nil
}

// A child is a program with pipes to its stdin and from its stdout.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *os.File
	session *stack.Session // of one that serves
}

// start starts a program at a place, in a folder.
func start(ctx context.Context, where kernel.Placement, dir string, argv ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = out
	err = where.Start(cmd)
	out.Close()
	if err != nil {
		stdout.Close()
		return nil, err
	}
	return &child{cmd: cmd, in: stdin, out: stdout}, nil
}

// end ends it by closing its stdin, and waits for that.
func (c *child) end() {
	c.in.Close()
	_ = c.cmd.Wait()
	c.out.Close()
}

// cpu is the processor time that all its threads have used, those included that
// have ended: clock_getcpuclockid(3), whose arithmetic this is.
func (c *child) cpu() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^c.cmd.Process.Pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("the CPU time of %d: %w", c.cmd.Process.Pid, err)
	}
	return time.Duration(t.Nano()), nil
}
