package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// A binary that is no edgegauge may serve until it is ended, whatever it is told.
func TestABinaryThatNamesNoVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho listening\nsleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := insideOf(t.Context(), file, stack.Description{Name: "reference/rest-json"})
		asked <- err
	}()
	select {
	case err := <-asked:
		if err == nil || !strings.Contains(err.Error(), file+" is not edgegauge") {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}
