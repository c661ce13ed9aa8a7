package drive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
)

// AnyCPU leaves a child where its parent may run.
const AnyCPU = -1

// Exec does a job in a child process, `argv… drive`, pinned to a CPU or not, and
// hands on each exchange after the run. When ctx ends the child stops early:
// what was measured until then is handed on, and ctx's error returned. A child that a
// signal has stopped, or that takes longer than its job can, is ended: an error says so.
func Exec(ctx context.Context, argv []string, j Job, cpu int, each func(measure.Exchange) error) (ChildReport, error) {
	waits, end := context.WithCancelCause(ctx)
	defer end(nil)
	cmd := exec.CommandContext(waits, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return ChildReport{}, fmt.Errorf("drive: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return ChildReport{}, fmt.Errorf("drive: %w", err)
	}
	at := kernel.Placement{}
	if cpu != AnyCPU {
		at.CPUs = []int{cpu}
	}
	if err := at.Start(cmd); err != nil {
		return ChildReport{}, fmt.Errorf("drive: %w", err)
	}
	go func() {
		seconds := time.NewTicker(time.Second)
		defer seconds.Stop()
		end(overdue(seconds.C, waits.Done(), j.most(), func() bool {
			p, err := kernel.ReadProcess(cmd.Process.Pid)
			return err == nil && p.Stopped()
		}))
	}()
	result, err := talk(stdin, stdout, j, each)
	stdin.Close() // the child ends now, if it has not
	if err != nil {
		_ = cmd.Process.Kill()
	}
	waited := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case waits.Err() != nil:
		return ChildReport{}, fmt.Errorf("drive: process %d: %w", cmd.Process.Pid, context.Cause(waits))
	case err != nil && said.Len() > 0:
		return ChildReport{}, fmt.Errorf("%w; it printed: %s", err, bytes.TrimSpace(said.Bytes()))
	case err != nil:
		return ChildReport{}, err
	}
	var exit *exec.ExitError
	if waited != nil && !errors.As(waited, &exit) { // how it ended is no matter: all its rows were read
		return ChildReport{}, fmt.Errorf("drive: %w", waited)
	}
	return result, nil
}

// mostStopped is for how many seconds on end a child may be found stopped.
const mostStopped = 5

// overdue waits until a child is not to be waited for any longer, and says why; nil: it is over. It counts the
// seconds in which this process runs itself, so that Ctrl-Z, which stops both, costs a child nothing.
func overdue(seconds <-chan time.Time, over <-chan struct{}, most time.Duration, stopped func() bool) error {
	still := 0
	for left := most; ; left -= time.Second {
		select {
		case <-seconds:
		case <-over:
			return nil
		}
		if still++; !stopped() {
			still = 0
		}
		switch {
		case still >= mostStopped:
			return errors.New("a signal (SIGSTOP) or a debugger has stopped it, so it was ended")
		case left <= 0:
			return fmt.Errorf("it did not end within %s, which is longer than its job can take, so it was ended",
				plural.Duration(most.Round(time.Second)))
		}
	}
}

// most is longer than the job can take: every request times out, and a second one for its connection.
func (j Job) most() time.Duration {
	const spare = 2 * time.Minute // to find an address, to begin, to print
	lanes, each := float64(max(1, j.Concurrency)), 2*cmp.Or(j.Timeout, defaultTimeout).Seconds()+j.Pause.Seconds()
	all := func(requests float64) float64 { return (requests/lanes + 1) * each }
	span, requests := 2*j.Duration.Seconds(), float64(j.Requests)
	switch {
	case j.Rate > 0 && j.Duration > 0 && (requests == 0 || requests > j.Rate*span):
		span += all(j.Rate * span) // those due by then are all sent
	case j.Rate > 0:
		span = requests/j.Rate + all(requests)
	case j.Duration == 0:
		span = all(requests)
	}
	seconds := spare.Seconds() + lanes*each + all(float64(j.WarmUp)) + span + each
	return time.Duration(min(seconds, math.MaxInt64/2e9) * 1e9)
}

func talk(stdin io.Writer, stdout io.Reader, j Job, each func(measure.Exchange) error) (ChildReport, error) {
	// Subtle: a child that dies at once breaks the pipe; what it left on stdout
	// says more than that.
	ordered := Order(stdin, j)
	result, err := Collect(stdout, each)
	if err != nil && ordered != nil {
		err = errors.Join(err, ordered)
	}
	return result, err
}
