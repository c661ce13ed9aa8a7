// Package gsoap_test tests the C programs of this folder from outside: what the conformance kit does not know of
// WS-Security, and of ARM.
package gsoap_test

import (
	"context"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// credentials makes the lab's own, once for all tests.
func credentials(t *testing.T) map[string]string {
	t.Helper()
	c, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serve(t *testing.T, s stack.Serve) string {
	t.Helper()
	stacktest.Built(t, ".")
	if s.Host == "" {
		s.Host = "127.0.0.1"
	}
	s.Limits.Body, s.Transport = 1e6, "http"
	ready, err := stacktest.Start(t, "", "build/gsoap", "serve").Serve(within(t), s)
	if err != nil {
		t.Fatal(err)
	}
	return ready.URL
}
