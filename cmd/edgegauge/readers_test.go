package main

import (
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
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
