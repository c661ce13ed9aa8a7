package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/testbed"
)

// share has benches measure an experiment, and writes the report's files. board is that of benches elsewhere; nil: they
// are of this machine.
func (a *app) share(ctx context.Context, e *testbed.Experiment, s sharing, board *wire.Board) (
	lab.Outcome, *report.Report, error) {
	fails := func(err error) (lab.Outcome, *report.Report, error) {
		return lab.Outcome{}, nil, exit{exitUnmeasured, err}
	}
	var here *localFleet
	var err error
	if board == nil {
		if here, err = a.startLocal(ctx, s, e.Dir); err != nil {
			return fails(err)
		}
		defer here.stop()
		if board, err = wire.OpenBoard(here.who); err != nil {
			return fails(err)
		}
	}
	c, err := e.Coordinator()
	if err != nil {
		return fails(errors.Join(err, board.Close()))
	}
	held, err := a.claim(ctx, board, e, s.lease)
	if err != nil {
		return fails(errors.Join(err, board.Close()))
	}
	if here != nil {
		var lost context.CancelCauseFunc
		held, lost = context.WithCancelCause(held)
		defer lost(nil)
		go here.watch(held, lost)
	}
	c.Board, c.Benches, c.Lease = board, s.names(), s.lease
	begin, tell := sync.OnceValue(e.Begin), a.tellFleet(e)
	c.Tell = func(x fleet.Event) {
		if x.Block > 0 {
			_ = begin() // told at the end
		}
		tell(x)
	}
	if n, err := newNotice(); err == nil { // without it pages show less
		defer n.Close()
		c.Show = n.show
	}
	how := a.resumes(e)
	resumption.Store(&how)
	out, err := c.Conduct(held)
	if ctx.Err() != nil {
		err = lab.ErrStopped
	} else if held.Err() != nil {
		err = context.Cause(held)
	}
	if err == nil {
		err = begin()
	}
	if closed := board.Close(); err == nil {
		err = closed
	}
	if here != nil {
		here.done = err == nil
	}
	if n := s.local(); n > 1 && err == nil {
		how := "took turns"
		if c.Drivers > 1 {
			how = "shared its CPUs with the servers"
		}
		fmt.Fprintf(a.notes(), "the %d benches are one machine, and %s: the results say nothing about other machines\n", n,
			how)
	}
	if out.Refused+out.Damaged+out.TooLate+out.Interrupted > 0 {
		fmt.Fprintf(a.notes(), "orders: %d interrupted; results: %d too late, %d refused, %d damaged\n",
			out.Interrupted, out.TooLate, out.Refused, out.Damaged)
	}
	outcome, err2 := e.Outcome()
	if err == nil {
		err = err2
	}
	return a.finish(e, outcome, err)
}

// claim makes this the coordinator of all benches of a hub, until the context that it
// returns ends.
func (a *app) claim(ctx context.Context, board *wire.Board, e *testbed.Experiment, lease time.Duration) (
	context.Context, error) {
	place, err := e.Lab.Store.Place()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	h := fleet.Hold{ID: fleet.NewID(), Place: place, Words: fmt.Sprintf("%s, from %s", e.Dir, host)}
	tell := func(line string) { fmt.Fprintln(a.notes(), printable.Line(line)) }
	go board.Attend(ctx, hubPatience(lease), tell)
	return board.Conduct(ctx, h, lease, tell)
}

// hubPatience is for how long a hub may be silent before that is told: as long as benches are between two beats.
func hubPatience(lease time.Duration) time.Duration { return lease / 4 }

// tellFleet prints what happens, a line each.
func (a *app) tellFleet(e *testbed.Experiment) func(fleet.Event) {
	left := map[int]bool{}            // whether a block was still to be measured when this began
	trials, _ := e.Lab.Store.Trials() // what is wrong with them the coordinator says
	for _, t := range trials {
		left[t.Block] = left[t.Block] || t.State != store.Valid && t.State != store.Lacking &&
			t.Refused <= e.Lab.Plan.Study.Retries
	}
	done := 0
	for _, l := range left {
		if !l {
			done++
		}
	}
	return func(x fleet.Event) {
		if x.Block > 0 {
			left[x.Block] = true // one that precision has added, too
		}
		line := fmt.Sprintf("bench %s: %s", x.Bench, x.What)
		switch {
		case x.Bench == "":
			line = x.What
		case x.Block > 0:
			line = fmt.Sprintf("bench %s: block %d: %s", x.Bench, x.Block, x.What)
		}
		if x.Done {
			done++
			line += fmt.Sprintf("; %d of %d blocks measured", done, len(left))
		}
		fmt.Fprintln(a.notes(), printable.Line(line))
	}
}

// A localFleet is a hub and workers on this machine, which end with this process.
type localFleet struct {
	who  wire.Credentials // the coordinator's
	temp *testbed.Scratch
	work string // where the workers keep results
	hub  *child
	all  []*child
	done bool // the study is: nothing that a worker still has is wanted
}

// A child is a process that ends with its standard input.
type child struct {
	cmd    *exec.Cmd
	end    func() error
	ended  chan struct{} // closed when it has
	within time.Duration // it may take to end
}

// How long a child may take to end: a worker waits for the programs of its trial; of what a hub has, nothing is
// wanted any more.
const (
	workerEnd = time.Minute
	hubEnd    = 5 * time.Second
)

// stop ends a child, also one that was stopped (SIGSTOP).
func (c *child) stop() {
	c.end()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGCONT) // it may have ended
	select {
	case <-c.ended:
	case <-time.After(c.within):
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it has gone meanwhile
		<-c.ended
	}
}

func start(cmd *exec.Cmd, within time.Duration) (*child, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for this process, which ends them in order
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd, in.Close, make(chan struct{}), within}
	go func() {
		_ = cmd.Wait() // cmd.ProcessState says how it ended
		close(c.ended)
	}()
	return c, nil
}

// watch ends a study that would wait for ever: no hub, or no bench, is left.
func (f *localFleet) watch(ctx context.Context, lost context.CancelCauseFunc) {
	all := make(chan struct{})
	go func() {
		for _, c := range f.all {
			select {
			case <-c.ended:
			case <-ctx.Done():
				return
			}
		}
		close(all)
	}()
	select {
	case <-f.hub.ended:
		lost(fmt.Errorf("the hub of this machine has ended (%v); run the same command again", f.hub.cmd.ProcessState))
	case <-all:
		lost(fmt.Errorf("the benches of this machine have ended (%v); run the same command again",
			f.all[0].cmd.ProcessState))
	case <-ctx.Done():
	}
}

// workersDir is the folder of the workers of this machine in that of results which come in. No bench has that name:
// its folder there would be emptied before each of its deliveries.
const workersDir = "here+"

// startLocal starts a hub with keys of its own, and workers.
func (a *app) startLocal(ctx context.Context, s sharing, dir string) (_ *localFleet, err error) {
	f := &localFleet{work: filepath.Join(dir, "incoming", workersDir)}
	if f.temp, err = newScratch(a.notes()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	keys := admit.Keys{Benches: map[string]string{}}
	seeds := map[string]string{}
	for _, name := range s.names() {
		if keys.Benches[name], seeds[name], err = admit.NewKey(); err != nil {
			return nil, err
		}
	}
	if keys.Coordinator, f.who.Seed, err = admit.NewKey(); err != nil {
		return nil, err
	}
	if err = writeSecret(filepath.Join(f.temp.Dir, keysFile), keys); err != nil {
		return nil, err
	}
	program, err := hubProgram()
	if err != nil {
		return nil, err
	}
	if err = f.startHub(ctx, program, hubWithin); err != nil {
		return nil, err
	}
	if old := filepath.Join(dir, "incoming", "here"); exists(filepath.Join(old, "here-1")) { // of an earlier version
		_ = os.Rename(old, f.work) // else their blocks are measured again
	}
	if err = os.MkdirAll(f.work, 0o755); err != nil {
		return nil, err
	}
	for _, name := range s.names() {
		file := filepath.Join(f.temp.Dir, name+".json")
		if err = (wire.Credentials{URL: f.who.URL, Bench: name, Seed: seeds[name]}).Write(file); err != nil {
			return nil, err
		}
		args := []string{"worker", "--creds", file, "--dir", filepath.Join(f.work, name), "--lease", s.lease.String(),
			"--turn", filepath.Join(f.temp.Dir, "turn"), "--child", "--quiet", "--trust"} // its user was asked (OpenShared)
		for _, stacks := range a.stackFolders {
			args = append(args, "--stacks", stacks)
		}
		var c *child
		cmd := exec.Command("/proc/self/exe", args...)
		cmd.Args[0] = os.Args[0]
		if c, err = start(cmd, workerEnd); err != nil {
			return nil, err
		}
		f.all = append(f.all, c)
	}
	return f, nil
}

// hubProgram is the message server's: beside this program, or where programs are.
func hubProgram() (string, error) {
	const name = "edgegauge-hub"
	if exe, err := os.Executable(); err == nil && exists(filepath.Join(filepath.Dir(exe), name)) {
		return filepath.Join(filepath.Dir(exe), name), nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is missing: put it into the folder of edgegauge (make build builds both)", name)
	}
	return path, nil
}

// hubWithin is how long a hub of this machine may take to say where it listens. It gives up by itself before.
const hubWithin = 45 * time.Second

// startHub starts a hub, which may take most to say where it listens.
func (f *localFleet) startHub(ctx context.Context, program string, most time.Duration) error {
	cmd := exec.Command(program, "-child", "-store", filepath.Join(f.temp.Dir, "hub"), "-keys",
		filepath.Join(f.temp.Dir, keysFile))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if f.hub, err = start(cmd, hubEnd); err != nil {
		return err
	}
	var said struct{ URL string }
	read := make(chan error, 1)
	go func() { read <- json.NewDecoder(io.LimitReader(out, 1<<10)).Decode(&said) }()
	select {
	case err = <-read:
		if errors.Is(err, io.EOF) {
			err = errors.New("it ended without a word of where it listens")
		}
	case <-ctx.Done():
		return lab.ErrStopped
	case <-time.After(most):
		err = fmt.Errorf("it did not say within %v where it listens", most)
	}
	if err != nil {
		return fmt.Errorf("%s did not start: %w; run the same command again", program, err)
	}
	f.who.URL = said.URL
	return nil
}

// stop ends workers and hub.
func (f *localFleet) stop() {
	var ending sync.WaitGroup
	for _, c := range f.all {
		ending.Go(c.stop)
	}
	ending.Wait()
	if f.hub != nil {
		f.hub.stop()
	}
	incoming := filepath.Dir(f.work)
	out := filepath.Dir(incoming)
	gone := errors.Is(store.Missing(out), store.ErrForeign) // the results were taken away, and workers began a folder anew
	if f.done || gone {
		os.RemoveAll(f.work)
		os.Remove(incoming) // unless results are in it
	}
	if gone {
		os.Remove(out) // unless something is in it
	}
	f.temp.Close()
}

// writeSecret writes JSON that only its owner may read: readers see the old or the new.
func writeSecret(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return kernel.ReplaceSecret(file, append(text, '\n'))
}

// knownBench refuses a name that is none of the known.
func knownBench(name string, known []string) error {
	text := fmt.Sprintf("no bench %q", name)
	if near := meant.Nearest(name, known); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	} else {
		text += "; edgegauge benches list shows them"
	}
	return exit{exitUsage, errors.New(text)}
}
