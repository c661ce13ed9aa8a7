// Package gsoap_test tests the C programs of this folder from outside: what the conformance kit does not know of WS-Security, and of ARM.
package gsoap_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"edgegauge/internal/stack"
)

// built makes the stack, or skips where its needs are not met.
func built(t *testing.T) stack.Description {
	t.Helper()
	d, err := stack.Read(".")
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

// start runs a program; it ends with the test.
func start(t *testing.T, argv ...string) *stack.Conn {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
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
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", argv, err)
		}
		r.Close()
	})
	return stack.NewConn(in, r)
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// credentials makes the lab's own, once for all tests.
func credentials(t *testing.T) map[string]string {
	t.Helper()
	c, err := stack.NewCredentials(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serve(t *testing.T, s stack.Serve) string {
	t.Helper()
	built(t)
	if s.Host == "" {
		s.Host = "127.0.0.1"
	}
	s.Limits.Body, s.Transport = 1e6, "http"
	ready, err := start(t, "build/gsoap", "serve").Serve(within(t), s)
	if err != nil {
		t.Fatal(err)
	}
	return ready.URL
}
