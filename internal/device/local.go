package device

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// Local is this machine.
type Local struct {
	Exe  string // the edgegauge binary, which is also the supervisor
	Temp string // folder for the programs' temporary files (TMPDIR); empty: this process's
}

// Start runs c below a supervisor of its own. It returns when the program runs, or
// why it does not; at the latest with ctx.
func (l Local) Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var ours, theirs ends
	defer theirs.close() // Subtle: once more is harmless; held any longer, a supervisor's death would not end our reads
	if err := open(&ours, &theirs, c.Log); err != nil {
		return nil, errors.Join(err, ours.close())
	}
	s := &localSupervisor{control: ours.control, group: newTracker(), ended: make(chan struct{})}
	s.cmd = l.supervise(c, theirs, s.group)
	err := (kernel.Placement{Network: c.Namespace}).Start(s.cmd)
	theirs.close()
	if err != nil {
		ours.close()
		s.group.remove()
		return nil, fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	in := bufio.NewReader(ours.control)
	pid, err := s.begin(ctx, in)
	if err != nil {
		s.force()
		s.reap()
		ours.close()
		return nil, err
	}
	p := &Process{Stdin: ours.stdin, Stdout: ours.stdout, PID: pid, supervisor: s, exit: make(chan Exit, 1)}
	go s.watch(in, p.exit)
	return p, nil
}

// supervise is the command of the supervisor of c.
func (l Local) supervise(c Command, theirs ends, group tracker) *exec.Cmd {
	args := append([]string{SuperviseVerb, cpuList(c.CPUs), string(group), "--"}, c.Argv...)
	cmd := exec.Command(l.Exe, args...)
	cmd.Dir, cmd.Env = c.Dir, append(l.environ(), c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = theirs.stdin, theirs.stdout, []*os.File{theirs.control}
	if theirs.log != nil {
		cmd.Stderr = theirs.log
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal reaches the lab only
	return cmd
}

// environ is what programs inherit of the environment, with the folder for
// temporary files.
func (l Local) environ() []string {
	if l.Temp == "" {
		return environment()
	}
	return append(environment(), "TMPDIR="+l.Temp)
}

// ends are one side's ends of what lies between the lab and a program.
type ends struct{ control, stdin, stdout, log *os.File }

// open makes both sides. What it made it leaves to the caller to close, also after
// an error.
func open(ours, theirs *ends, log string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil { // for deadlines
		return errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
	}
	ours.control, theirs.control = os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	if theirs.stdin, ours.stdin, err = os.Pipe(); err != nil {
		return err
	}
	if ours.stdout, theirs.stdout, err = os.Pipe(); err != nil {
		return err
	}
	if log != "" {
		theirs.log, err = os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	}
	return err
}

func (p *ends) close() error {
	for _, f := range []*os.File{p.control, p.stdin, p.stdout, p.log} {
		if f != nil {
			f.Close()
		}
	}
	return nil
}

// Wait waits for the end of the process and all it started.
func (p *Process) Wait() Exit {
	e := <-p.exit
	p.Stdout.(interface{ Close() error }).Close()
	return e
}

// Exited is closed, or yields once, when the process has ended.
func (p *Process) Exited() <-chan Exit { return p.exit }

// Stop closes the process's stdin and gives it grace to end, or as long as ctx
// lasts, then kills it and everything it started. Killed says that it had to.
func (p *Process) Stop(ctx context.Context, grace time.Duration) (e Exit, killed bool) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	ended := context.AfterFunc(ctx, func() { p.supervisor.kill() })
	p.Stdin.Close()
	e = p.Wait()
	return e, !ended()
}

// Kill ends the process and everything it started, now.
func (p *Process) Kill() Exit {
	p.supervisor.kill()
	p.Stdin.Close()
	return p.Wait()
}

// Observe is for instruments that run on the device; this machine's are run by
// the lab itself.
func (Local) Observe(ctx context.Context, instrument string, emit func(measure.Sample)) error {
	return fmt.Errorf("instrument %s: unknown on this device", instrument)
}
