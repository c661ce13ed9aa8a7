package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
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

// A lab says again and again that it runs, whatever else it has to say.
func TestALabBeats(t *testing.T) {
	n, err := newNotice()
	ok(t, err)
	defer n.Close()
	read := func() (x web.LabNotice) {
		b, err := kernel.ReadNotice(os.Getpid(), web.NoticeName)
		ok(t, err)
		ok(t, json.Unmarshal(b, &x))
		return x
	}
	first := read().Beat
	if first == 0 {
		t.Fatal("no beat")
	}
	n.tell(lab.Progress{Step: "measure"})
	for end := time.Now().Add(time.Minute); read().Beat == first; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no second beat within a minute")
		}
	}
	if x := read(); x.Step != "measure" {
		t.Errorf("the beat forgot the step: %+v", x)
	}
}
