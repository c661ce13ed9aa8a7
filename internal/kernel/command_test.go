package kernel

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ends fails if f does not return.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: it is still waited for", what)
	}
}

// A command that has ended well is not waited for because of what it has left behind, which holds its output.
func TestCommandLeavesItsOutputOpen(t *testing.T) {
	t.Parallel()
	ends(t, "a child holds the output", func() {
		out, err := CombinedOutput(exec.CommandContext(t.Context(), "sh", "-c",
			"setsid sleep 1000 & echo $!; echo version 17"))
		id, rest, _ := strings.Cut(string(out), "\n")
		pid, bad := strconv.Atoi(id)
		if err != nil || bad != nil || rest != "version 17\n" {
			t.Errorf("got %q, %v", out, err)
			return
		}
		if p, err := ReadProcess(pid); err != nil || p.Ended() {
			t.Errorf("what it left behind was ended though nobody asked: %v", err)
		}
		unix.Kill(pid, unix.SIGKILL)
	})
}

// called calls a command off when it has said something.
type called struct {
	said bytes.Buffer
	off  func()
}

func (c *called) Write(b []byte) (int, error) {
	defer c.off()
	return c.said.Write(b)
}

// What starts a program whenever one ends leaves none when it is killed: not one that it starts while they are.
func TestCommandThatStartsAnotherIsCalledOff(t *testing.T) {
	mine := "1000." + strconv.Itoa(os.Getpid()) // s, by which it is found
	var loops sync.WaitGroup
	for range 10 {
		loops.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			heard := called{off: cancel}
			cmd := exec.CommandContext(ctx, "sh", "-c", "trap '' TERM; echo begun; while :; do sleep "+mine+"; done")
			cmd.Stdout = &heard
			if err := Run(cmd); err == nil {
				t.Error("it ended well")
			}
		})
	}
	ends(t, "loops", loops.Wait)
	left, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		if said, _ := os.ReadFile(file); string(said) == "sleep\x00"+mine+"\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if p, err := ReadProcess(pid); err == nil && !p.Ended() {
				t.Errorf("process %d is left", pid)
				unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// A command that is called off ends with all that it started: first those that obey, then the others.
func TestCommandIsCalledOff(t *testing.T) {
	for name, script := range map[string]string{
		"obeys":   "sleep 1000 & echo $!; wait",
		"ignores": "trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1000; done",
		"stopped": "sleep 1000 & kill -STOP $!; echo $!; kill -STOP $$",
		"left":    "(trap '' TERM; exec sleep 1000) & echo $!; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			heard := called{off: cancel}
			ends(t, name, func() {
				cmd := exec.CommandContext(ctx, "sh", "-c", script)
				cmd.Stdout = &heard
				if err := Run(cmd); err == nil {
					t.Error("it ended well")
				}
			})
			pid, err := strconv.Atoi(strings.TrimSpace(heard.said.String()))
			if err != nil {
				t.Fatalf("it printed %q", heard.said.String())
			}
			defer unix.Kill(pid, unix.SIGKILL)
			for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if p, err := ReadProcess(pid); err != nil || p.Ended() {
					return
				}
				if time.Now().After(end) {
					t.Fatal("what it started is left")
				}
			}
		})
	}
}
