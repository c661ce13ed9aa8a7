package device

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge/internal/measure"
)

// Local is this machine. Exe is the edgegauge binary, which is also the keeper.
type Local struct{ Exe string }

// Start runs c below a keeper of its own.
func (l Local) Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer inR.Close()
	defer outW.Close()

	cmd := exec.Command(l.Exe, append([]string{KeepVerb, "--"}, c.Argv...)...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = inR, outW, []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal reaches the lab only
	if c.Log != "" {
		log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		cmd.Stderr = log
	}
	if err := startOn(cmd, c.CPU, c.Namespace); err != nil {
		ours.Close()
		return nil, fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	h := &handle{control: ours, cmd: cmd}
	in := bufio.NewReader(ours)
	p := &Process{Stdin: inW, Stdout: outR, keeper: h, exit: make(chan Exit, 1)}
	if err := p.begin(in); err != nil {
		inW.Close()
		outR.Close()
		ours.Close()
		cmd.Wait()
		return nil, err
	}
	go h.watch(in, p.exit)
	return p, nil
}

// begin reads the keeper's first word: the process id, or why there is none.
func (p *Process) begin(in *bufio.Reader) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%w: its keeper said nothing", errNotStarted)
	}
	var first struct {
		PID int    `json:"pid"`
		Err string `json:"err"`
	}
	if err := json.Unmarshal(line, &first); err != nil {
		return fmt.Errorf("%w: its keeper said %q", errNotStarted, line)
	}
	if first.Err != "" {
		return fmt.Errorf("%w: %s", errNotStarted, first.Err)
	}
	p.PID = first.PID
	return nil
}

// startOn starts cmd pinned to a CPU and in a network namespace: the child
// inherits both from the thread that starts it.
func startOn(cmd *exec.Cmd, cpu *int, namespace *os.File) (err error) {
	if cpu == nil && namespace == nil {
		return cmd.Start()
	}
	onThread(func() {
		if cpu != nil {
			var set unix.CPUSet
			set.Set(*cpu)
			if err = unix.SchedSetaffinity(0, &set); err != nil {
				err = fmt.Errorf("pin to CPU %d: %w; this machine has CPUs 0 to %d", *cpu, err, runtime.NumCPU()-1)
				return
			}
		}
		if namespace != nil {
			if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				err = fmt.Errorf("enter the network namespace: %w; run as root", err)
				return
			}
		}
		err = cmd.Start()
	})
	return err
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
	ended := context.AfterFunc(ctx, func() { p.keeper.kill() })
	p.Stdin.Close()
	e = p.Wait()
	return e, !ended()
}

// Kill ends the process and everything it started, now.
func (p *Process) Kill() Exit {
	p.keeper.kill()
	p.Stdin.Close()
	return p.Wait()
}

// Observe is for instruments that run on the device; this machine's are run by
// the lab itself.
func (Local) Observe(ctx context.Context, instrument string, emit func(measure.Sample)) error {
	return fmt.Errorf("instrument %s: this device has none of that name", instrument)
}
