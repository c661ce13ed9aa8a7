package labbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/store"
)

// A labRun is one `edgegauge run` as seen from outside.
type labRun struct {
	dir     string
	ended   []time.Time // of each trial, as the progress told
	peakRSS int64       // B, of the lab's own process
}

var trialLine = lazy.Regexp(`^\d+/\d+`)

// run conducts a study in a lab of its own.
func (b *Bench) run(ctx context.Context, study string, sets ...string) (labRun, error) {
	root, err := os.MkdirTemp(b.Dir, "lab-")
	if err != nil {
		return labRun{}, err
	}
	r := labRun{dir: filepath.Join(root, "results")}
	file := filepath.Join(root, "study.yaml")
	if err := os.WriteFile(file, []byte(study), 0o600); err != nil {
		return r, err
	}
	args := []string{"run", file, "--out", r.dir}
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	for _, s := range b.Stacks {
		args = append(args, "--stacks", s)
	}
	cmd := exec.CommandContext(ctx, b.Exe, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its stacks first
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	peak := WatchPeak(cmd.Process.Pid)
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if trialLine().MatchString(lines.Text()) {
			r.ended = append(r.ended, time.Now())
			continue
		}
		said = append(said, lines.Text())
	}
	r.peakRSS = peak()
	err = cmd.Wait()
	if err != nil {
		return r, fmt.Errorf("edgegauge run: %w: %s", err, strings.Join(said, "; "))
	}
	return r, nil
}

// WatchPeak reads a process's VmHWM (proc(5)) until the returned function is called, which gives the last in B: it
// only ever grows, so the last reading is the peak. Note: a rusage counts children too, and of a program that this one
// started what this one had in memory then.
func WatchPeak(pid int) func() int64 {
	var peak int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if v := kernel.StatusBytes(pid, "VmHWM"); v > 0 {
				peak = v
			}
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-stopped
		return peak
	}
}

// rows reads the trial table of a run.
func (r labRun) rows() ([]store.Row, error) {
	s, err := store.OpenReadOnly(r.dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []store.Row
	for row, err := range s.Results() {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	if len(all) == 0 {
		return nil, errors.Join(errNoFigures, errors.New(r.dir))
	}
	return all, nil
}

// forget removes what a run left.
func (r labRun) forget() { os.RemoveAll(filepath.Dir(r.dir)) }
