package labbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// A labRun is one `edgegauge run` as seen from outside.
type labRun struct {
	dir     string
	ended   []time.Time // of each trial, as the progress told
	peakRSS int64       // B, of the lab's own process
}

var trialLine = regexp.MustCompile(`^\d+/\d+`)

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
	var peak atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go watchPeak(cmd.Process.Pid, &peak, stop, stopped)
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if trialLine.MatchString(lines.Text()) {
			r.ended = append(r.ended, time.Now())
			continue
		}
		said = append(said, lines.Text())
	}
	close(stop)
	<-stopped
	err = cmd.Wait()
	r.peakRSS = peak.Load()
	if err != nil {
		return r, fmt.Errorf("edgegauge run: %w: %s", err, strings.Join(said, "; "))
	}
	return r, nil
}

// watchPeak reads a process's VmHWM (proc(5)) until told to stop: it only ever
// grows, so the last reading is the peak. A rusage would count children too.
func watchPeak(pid int, peak *atomic.Int64, stop, stopped chan struct{}) {
	defer close(stopped)
	for {
		if v := peakOf(pid); v > 0 {
			peak.Store(v)
		}
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func peakOf(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(f[0], 10, 64)
	return kib << 10
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
