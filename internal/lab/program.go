package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/measure"
	"edgegauge/internal/stack"
)

// A program is one side's process and the protocol with it.
type program struct {
	name    string // for errors
	stack   string
	log     string // as people are told: below the results directory
	logPath string
	process *device.Process
	conn    *stack.Conn
	stopped bool
}

// StackVerb is the hidden verb of the binary that runs a stack inside it:
// stack NAME serve|call.
const StackVerb = "stack"

// start starts the program of one side.
func (r *rig) start(ctx context.Context, side measure.Side) (*program, error) {
	end, verb, pin := r.side(side)
	d, ok := r.lab.Stacks[end.Stack]
	if !ok {
		return nil, fmt.Errorf("no stack %q", end.Stack)
	}
	on := r.places[atClient]
	if side == measure.Server {
		on = r.places[atServer]
	}
	c, err := r.command(d, verb, on)
	if err != nil {
		return nil, err
	}
	if len(pin) > 0 {
		c.CPU = &pin[0]
	}
	if on.network == nil { // a link leads to a machine's wire, not to its programs
		c.Namespace = r.namespace(side)
	}
	p := &program{name: "stacks/" + d.Name + " " + verb, stack: d.Name, logPath: filepath.Join(r.attempt.Dir(), verb+".log")}
	p.log = filepath.Join("trials", filepath.Base(r.attempt.Dir()), verb+".log")
	c.Log = p.logPath
	if p.process, err = on.device.Start(ctx, c); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	p.conn = stack.NewConn(p.process.Stdin, p.process.Stdout)
	return p, nil
}

func (r *rig) command(d stack.Description, verb string, on place) (device.Command, error) {
	exe, dir := r.lab.Exe, d.Dir
	if on.away != nil {
		exe, dir = on.stage.remote.Exe(), on.stage.stacks[d.Name]
	}
	if d.Dir == "" {
		return device.Command{Argv: []string{exe, StackVerb, d.Name, verb}}, nil
	}
	prog := d.Serve
	if verb == "call" {
		prog = d.Call
	}
	argv, err := prog.Argv(r.s.Heap)
	return device.Command{Argv: argv, Dir: dir, Env: prog.Env}, err
}

// A reason is an error that needs no more words.
type reason struct{ error }

func (r reason) Unwrap() error { return r.error }

// errGone means that a program's process is not there any more.
var errGone = errors.New("it is gone")

// blame says what p did not do, in its own words where it had any, and where
// its log is.
func (p *program) blame(ctx context.Context, didNot string, err error) error {
	var said reason
	var own *stack.ProgramError
	switch {
	case errors.Is(err, errLab) || errors.As(err, &said):
		return err
	case errors.As(err, &own):
		return reason{fmt.Errorf("%s: %w; see %s", p.name, err, p.log)}
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		err = context.Cause(ctx)
	case errors.Is(err, stack.ErrSilent) || errors.Is(err, errGone):
		select {
		case e := <-p.process.Exited():
			p.stopped = true
			err = fmt.Errorf("it ended with %s", exitText(e))
		case <-time.After(200 * time.Millisecond):
		}
	}
	return reason{fmt.Errorf("%s %s: %w; see %s", p.name, didNot, err, p.log)}
}

func exitText(e device.Exit) string {
	switch {
	case e.Err != "":
		return e.Err
	case e.Signal != "":
		return e.Signal
	}
	return fmt.Sprintf("status %d", e.Code)
}

// stop gives the program grace to end by itself, while ctx lasts.
func (p *program) stop(ctx context.Context, grace time.Duration) (device.Exit, bool) {
	p.stopped = true
	return p.process.Stop(ctx, grace)
}

// IsFloor says whether a stack is a bare exchange: no protocol, nothing to conform to.
func IsFloor(stack string) bool { return strings.Contains(stack, "floor-") }
