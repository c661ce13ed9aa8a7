package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whoever is asked whether programs of others may run may answer with Ctrl-C.
func TestCtrlCIsAnAnswer(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	if err := os.MkdirAll(filepath.Join(o.dir, "stacks/theirs"), 0o755); err != nil {
		t.Fatal(err)
	}
	o.write(t, "stacks/theirs/stack.yaml", "title: theirs\nversion: \"1\"\nlanguage: sh\nserve: {command: [touch, ran]}\n"+
		"call: {command: [touch, ran]}\nserves:\n  - {services: [monitor], encodings: [json], security: [none], "+
		"transports: [http], sides: [server, client], connections: [keep-alive]}\n")
	o.write(t, "s.yaml", "study: s\nservice: monitor\nstack: theirs\n")
	for _, args := range [][]string{{"run", "s.yaml"}, {"stacks", "check", "theirs"}} {
		p, line := terminal(t)
		c := exec.CommandContext(t.Context(), o.exe, args...)
		c.Dir, c.Stdin, c.Stderr = o.dir, line, line
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		said := ""
		heard := func(want string) bool {
			b := make([]byte, 4096)
			for end := time.Now().Add(time.Minute); !strings.Contains(said, want) && time.Now().Before(end); {
				p.Master.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				n, _ := p.Master.Read(b)
				said += string(b[:n])
			}
			return strings.Contains(said, want)
		}
		if !heard("Run them? [y/N]") {
			t.Errorf("%v: asks nothing: %q", args, said)
		}
		_ = c.Process.Signal(syscall.SIGINT) // it may have ended
		_ = c.Wait()                         // the exit code says it
		if code := c.ProcessState.ExitCode(); code != exitUnmeasured || !heard("stopped") ||
			strings.Contains(said, "immediately") {
			t.Errorf("%v: exit code %d, %q", args, code, said)
		}
	}
}
