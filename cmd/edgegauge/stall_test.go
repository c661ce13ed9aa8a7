package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/store"
)

// A search whose processes are stopped in the midst of a trial (Ctrl-Z, and on again) blames nobody for it: the
// trial is invalid, though its records look like those of a server that did not answer.
func TestCapacityBlamesNoServerForItsOwnStall(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for a capacity")
	}
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer s.Close()
	o := newOwn(t)
	o.write(t, "s.yaml", fmt.Sprintf("study: still\nserver: {url: %q}\nrequest: {path: /}\nrate: 100\narrival: constant\n"+
		"concurrency: 1\nduration: 3s\ndesign: {warmup: 0}\n", s.URL))
	c := exec.Command(o.exe, "-q", "capacity", "s.yaml", "--slo", "response_time p99 < 500ms", "--length", "3s",
		"--budget", "10", "--out", "out")
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
	until("requests", func() bool { return served.Load() >= before+50 }) // half a second of them
	all := append(kernel.Descendants(c.Process.Pid), c.Process.Pid)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		for _, pid := range all {
			if err := syscall.Kill(pid, signal); err != nil && signal == syscall.SIGSTOP {
				t.Fatal(err)
			}
		}
		if signal == syscall.SIGSTOP {
			time.Sleep(1500 * time.Millisecond)
		}
	}
	until("an end of the trial", func() bool {
		first := trials()[0]
		return first.State == store.Valid || first.Refused > 0
	})
	first := trials()[0]
	if first.State == store.Valid || !strings.Contains(first.Reason, "this lab did not run for 1.") &&
		!strings.Contains(first.Reason, "took up requests late") {
		t.Errorf("the trial is %s: %q", first.State, first.Reason)
	}
}
