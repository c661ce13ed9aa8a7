package device

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
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
	// Spares are supervisors that are kept for other programs; nil: each has one program.
	Spares *Spares
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
	s, pid, err := l.supervise(ctx, c, theirs)
	theirs.close()
	if err != nil {
		ours.close()
		return nil, err
	}
	p := &Process{Stdin: ours.stdin, Stdout: ours.stdout, PID: pid, supervisor: s, group: s.group,
		exit: make(chan Exit, 1), adopter: s.cmd.Process.Pid, adoptedBefore: s.before}
	spares := l.Spares
	if c.Namespace != nil {
		spares = nil // its supervisor is in there, too
	}
	go s.watch(p.exit, spares)
	return p, nil
}

// supervise gives c to a supervisor, which has its ends. One that was kept may have ended meanwhile: then
// it is another's turn.
func (l Local) supervise(ctx context.Context, c Command, theirs ends) (s *localSupervisor, pid int, err error) {
	for {
		spare := false
		if c.Namespace == nil {
			s = l.Spares.take()
			spare = s != nil
		}
		if !spare {
			if s, err = l.newSupervisor(c.Namespace); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", c.Argv[0], err)
			}
		}
		s.group = newTracker()
		was, _ := kernel.ReadProcess(s.cmd.Process.Pid) // gone: it says nothing either
		s.before = was.Waited
		o := order{Argv: c.Argv, Dir: c.Dir, Env: append(l.environ(), c.Env...), CPUs: c.CPUs, Group: string(s.group)}
		pid, err = s.begin(ctx, o, theirs)
		if err == nil {
			return s, pid, nil
		}
		s.force()
		s.reap()
		if !spare || !errors.Is(err, errSpeechless) {
			return nil, 0, err
		}
	}
}

// newSupervisor starts one, in a network namespace; nil: the lab's.
func (l Local) newSupervisor(namespace *os.File) (*localSupervisor, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	s := &localSupervisor{control: ours, said: bufio.NewReader(ours), ended: make(chan struct{})}
	s.cmd = exec.Command(l.Exe, SuperviseVerb)
	s.cmd.Env, s.cmd.ExtraFiles = l.environ(), []*os.File{theirs}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal reaches the lab only
	if err := (kernel.Placement{Network: namespace}).Start(s.cmd); err != nil {
		ours.Close()
		return nil, err
	}
	return s, nil
}

// environ is what programs inherit of the environment, with the folder for
// temporary files.
func (l Local) environ() []string {
	if l.Temp == "" {
		return kernel.Environment()
	}
	return append(kernel.Environment(), "TMPDIR="+l.Temp)
}

// ends are one side's ends of the pipes between the lab and a program, and the program's log.
type ends struct{ stdin, stdout, log *os.File }

// open makes both sides. What it made it leaves to the caller to close, also after
// an error.
func open(ours, theirs *ends, log string) (err error) {
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

// controlPair is a socket between a lab and a supervisor.
func controlPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil { // for deadlines
		return nil, nil, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control"), nil
}

// files are those there are, in the order of their numbers in the program.
func (p *ends) files() []*os.File {
	return slices.DeleteFunc([]*os.File{p.stdin, p.stdout, p.log}, func(f *os.File) bool { return f == nil })
}

func (p *ends) close() error {
	for _, f := range p.files() {
		f.Close()
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
