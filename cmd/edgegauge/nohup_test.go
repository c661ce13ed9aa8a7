package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// nohup has a program ignore that its terminal is closed, as nohup(1) does.
func nohup(t *testing.T, o own, program string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, program}, args...)...)
	c.Dir = o.dir
	return c
}

// What was started with nohup outlives its terminal: a run measures on, a hub serves on.
func TestNohup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("measures for seconds")
	}
	o := newOwn(t)
	o.write(t, "s.yaml", "study: s\nservice: monitor\nstack: phantom\noptions: {processing: 20ms}\nrequests: 50\n"+
		"design: {replications: 2}\n")
	run := nohup(t, o, o.exe, "run", "s.yaml", "--quiet", "--out", "out")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !exists(filepath.Join(o.dir, "out/ledger.sqlite")); {
		if time.Now().After(end) {
			t.Fatal("no results within a minute")
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = run.Process.Signal(syscall.SIGHUP) // it may have ended
	if err := run.Wait(); err != nil {
		t.Errorf("the run: %v", err)
	}

	hub := filepath.Join(o.dir, "edgegauge-hub") // by this name the test binary is that
	if err := os.Symlink(o.exe, hub); err != nil {
		t.Fatal(err)
	}
	if out, code := o.run(t, "benches", "add", "one", "--nats", "nats://127.0.0.1:4222"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	serve := nohup(t, o, hub, "-store", "hub", "-keys", "fleet/keys.json")
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n') // where it listens: it has begun
	}
	if err == nil {
		err = serve.Process.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("the hub has ended: %v", err)
	case <-time.After(500 * time.Millisecond):
		_ = serve.Process.Signal(syscall.SIGTERM)
		<-ended
	}
}
