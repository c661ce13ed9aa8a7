package main

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that only reads ends at the first Ctrl-C, also where it waits for what does not come: there is nothing to
// end in order, and nothing to resume.
func TestReadersEndAtTheFirstSignal(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	c := exec.CommandContext(t.Context(), o.exe, "analyze", "-", "--response", "y", "--by", "a")
	c.Dir = o.dir
	var said strings.Builder
	c.Stderr = &said
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		_, err = io.WriteString(in, "a,y\n"+strings.Repeat("p,1\n", 100_000)) // more than a pipe holds: it reads
	}
	if err == nil {
		err = c.Process.Signal(syscall.SIGINT)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code says it
	if code := c.ProcessState.ExitCode(); code != exitUnmeasured || said.String() != "stopped\n" {
		t.Errorf("exit code %d, %q", code, said.String())
	}
}

// A crate that is being written is left, and nothing of it stays.
func TestPublishStops(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "s.yaml", one+"requests: 5\ndesign: {replications: 1}\n")
	if out, code := o.run(t, "run", "s.yaml", "--quiet", "--out", "old"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&app{}).publish(ctx, []string{filepath.Join(o.dir, "old")}, publishing{out: filepath.Join(o.dir, "x.zip")},
		time.Now())
	if err == nil || err.Error() != "stopped" || exitCode(err) != exitUnmeasured {
		t.Errorf("got %v, exit code %d", err, exitCode(err))
	}
	if left, _ := filepath.Glob(filepath.Join(o.dir, "*.zip*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// What is stopped says so, and not how this program's parts tell each other.
func TestStoppedCalibration(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("calibrates for seconds")
	}
	o := newOwn(t)
	o.write(t, "meter.sh", steadyMeter)
	c := exec.CommandContext(t.Context(), o.exe, "devices", "calibrate", `exec:["sh","meter.sh"]`, "--profile", "mine")
	c.Dir = o.dir
	out, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); said = lines.Text() {
		if strings.HasPrefix(lines.Text(), "round 1 of ") {
			_ = c.Process.Signal(syscall.SIGINT) // it may have ended
		}
	}
	_ = c.Wait() // the exit code says it
	if code := c.ProcessState.ExitCode(); code != exitUnmeasured || said != "stopped" {
		t.Errorf("exit code %d, %q", code, said)
	}
}
