package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/web"
)

// A search for a capacity tells pages what it does, as a run does.
func TestASearchTellsItsSteps(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("searches for a capacity")
	}
	o := newOwn(t)
	o.write(t, "s.yaml", "study: s\nservice: monitor\nstack: phantom\noptions: {processing: 20ms}\n")
	c := exec.CommandContext(t.Context(), o.exe, "-q", "capacity", "s.yaml", "--slo", "failed < 1%", "--out", "out")
	c.Dir = o.dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Signal(syscall.SIGINT)
	said := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(said, `"step"`); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no step within a minute: %q", said)
		}
		if b, err := kernel.ReadNotice(c.Process.Pid, web.NoticeName); err == nil {
			said = string(b)
		}
	}
}
