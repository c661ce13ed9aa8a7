package main

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/stack"
)

// A binary that is no edgegauge may serve until it is ended, whatever it is told.
func TestABinaryThatNamesNoVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	t.Parallel()
	file := kerneltest.Script(t, "echo listening\nsleep 1000")
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
