package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/store"
)

// A lab whose processes are stopped in the midst of a trial (Ctrl-Z, and on again) blames no server for it: the trial
// is invalid, though its records look like those of a server that did not answer. So it is where its client alone is
// stopped, if requests were due meanwhile.
func TestNoServerIsBlamedForAStall(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for a capacity and runs studies")
	}
	capacity := []string{"-q", "capacity", "s.yaml", "--slo", "response_time p99 < 500ms", "--length", "3s", "--budget",
		"10", "--out", "out"}
	run := []string{"-q", "run", "s.yaml", "--out", "out"}
	const stood, late = "this lab did not run for 1.", "took up requests late"
	for _, tt := range []struct {
		what string
		args []string
		lab  bool // is stopped as well
		is   time.Duration
		want []string // one of them
	}{
		{"a search", capacity, true, 1500 * time.Millisecond, []string{stood, late}},
		{"a run", run, true, 1500 * time.Millisecond, []string{stood, late}},
		{"a run in a closed loop", append(run, "--set", "rate=0"), true, 1500 * time.Millisecond, []string{stood}},
		{"a run's client", run, false, 500 * time.Millisecond, []string{late}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			first := stallOf(t, tt.args, tt.lab, tt.is)
			if first.State == store.Valid || !slices.ContainsFunc(tt.want, func(s string) bool {
				return strings.Contains(first.Reason, s)
			}) {
				t.Errorf("the trial is %s: %q", first.State, first.Reason)
			}
		})
	}
}

// stallOf runs a command that asks a service, has its processes stopped during the first trial, and returns that.
func stallOf(t *testing.T, args []string, withLab bool, d time.Duration) store.TrialState {
	t.Helper()
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer s.Close()
	o := newOwn(t)
	closed := slices.Contains(args, "rate=0")
	arrival := "arrival: constant\n"
	if closed {
		arrival = ""
	}
	o.write(t, "s.yaml", fmt.Sprintf("study: still\nserver: {url: %q}\nrequest: {path: /}\nrate: 100\n%s"+
		"concurrency: 1\nduration: 3s\ndesign: {warmup: 0, replications: 2}\n", s.URL, arrival))
	c := exec.Command(o.exe, args...)
	c.Dir = o.dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Signal(syscall.SIGINT)
	trials := func() []store.TrialState {
		k, err := store.OpenReadOnly(filepath.Join(o.dir, "out"))
		if err != nil { // not there yet
			return nil
		}
		defer k.Close()
		all, _ := k.Trials()
		return all
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not within a minute: %+v", what, trials())
			}
		}
	}
	until("a trial", func() bool {
		all := trials()
		return len(all) > 0 && all[0].State == store.Running
	})
	before := served.Load()
	until("requests", func() bool { return served.Load() >= before+50 }) // half a second of them at a rate
	all := kernel.Descendants(c.Process.Pid)
	if withLab {
		all = append(all, c.Process.Pid)
	}
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		for _, pid := range all {
			if err := syscall.Kill(pid, signal); err != nil && signal == syscall.SIGSTOP {
				t.Fatal(err)
			}
		}
		if signal == syscall.SIGSTOP {
			time.Sleep(d)
		}
	}
	until("an end of the trial", func() bool {
		first := trials()[0]
		return first.State == store.Valid || first.Refused > 0
	})
	return trials()[0]
}
