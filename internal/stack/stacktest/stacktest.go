// Package stacktest lets tests talk to the programs of foreign stacks from
// outside, beyond what the conformance kit asks.
package stacktest

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// Built makes the stack in a folder, or skips the test where what it needs is
// missing; in CI nothing is.
func Built(t *testing.T, dir string) stack.Description {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a stack in another language")
	}
	d, err := stack.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if missing := d.Missing(t.Context()); len(missing) > 0 {
		t.Skip(missing[0])
	}
	if _, err := d.Make(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	return d
}

// Start starts a program in a folder, "" for the test's own; it ends with the
// test, and must end well.
func Start(t *testing.T, dir string, argv ...string) *stack.Conn {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		in.Close()
		kill := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", argv, err)
		}
		r.Close()
	})
	return stack.NewConn(in, r)
}
