package labbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stat"
)

// agentRows start an agent on this machine and look at it while it watches a
// program that sleeps.
func agentRows(ctx context.Context, b *Bench) ([]Row, error) {
	cmd := exec.Command(b.Exe, device.AgentVerb, filepath.Join(b.Dir, device.AgentPrefix+"bench"))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer cmd.Wait()
	defer in.Close()
	r, err := device.Connect(ctx, "agent", pipes{out, in}, "", 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p, err := r.Start(ctx, device.Command{Argv: []string{"sleep", "60"}})
	if err != nil {
		return nil, err
	}
	p.Kill()
	if p, err = r.Start(ctx, device.Command{Argv: []string{"sleep", "60"}}); err != nil { // as in a later trial
		return nil, err
	}
	defer p.Kill()
	if _, err := p.Usage(); err != nil {
		return nil, err
	}
	time.Sleep(500 * time.Millisecond)
	rss, err := resident(cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	var calls []float64
	for range 200 {
		began := time.Now()
		if _, err := p.Usage(); err != nil {
			return nil, err
		}
		calls = append(calls, time.Since(began).Seconds()*1e6)
	}
	limit := bound{atMost: true, value: 5}
	return []Row{
		{Figure: "MB resident at rest, while a program runs", Wanted: limit.String(), Measured: interval(rss, 0, 0),
			Verdict: limit.verdict(rss, 0, 0),
			How:     "VmRSS of the agent's process half a second after the last of a trial's calls"},
		{Figure: "µs of a call that reads a program's usage, median", Measured: interval(stat.Middle(calls), 0, 0),
			How: "200 calls over pipes"},
	}, nil
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

// resident is a process's VmRSS in MB.
func resident(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(b, []byte("VmRSS:"))
	f := bytes.Fields(rest)
	if !ok || len(f) == 0 {
		return 0, errors.New("/proc/PID/status has no VmRSS")
	}
	kib, err := strconv.ParseFloat(string(f[0]), 64)
	return kib * 1024 / 1e6, err
}
