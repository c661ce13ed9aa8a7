package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// AnyCPU leaves a child where its parent may run.
const AnyCPU = -1

// Exec does a job in a child process, `argv… drive`, pinned to a CPU or not, and
// hands on each exchange after the run. When ctx ends the child stops early:
// what was measured until then is handed on, and ctx's error returned.
func Exec(ctx context.Context, argv []string, j Job, cpu int, each func(measure.Exchange) error) (ChildReport, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
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
	result, err := talk(stdin, stdout, j, each)
	stdin.Close() // the child ends now, if it has not
	if err != nil {
		_ = cmd.Process.Kill()
	}
	waited := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
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
