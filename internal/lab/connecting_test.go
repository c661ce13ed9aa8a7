package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// A client that is not ready in time says how far its connections are. Nothing else of its log is repeated.
func TestWhoeverConnectsSaysHowFarItIs(t *testing.T) {
	const far = "connecting: 39 of 64 connections to 127.0.0.1:8080 were open after 9s"
	for log, says := range map[string]string{
		"": "", "a token: s3cret\n": "", far + "\nit goes on: s3cret\n": "",
		far + "\n": far, "a token: s3cret\n" + far: far, strings.Repeat("x", 10_000) + "\n" + far + "\n": far,
	} {
		path := filepath.Join(t.TempDir(), "call.log")
		if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &program{name: "stacks/x call", logPath: path, log: "trials/0001/call.log",
			process: &fakeProcess{stack: &fakeStack{}}}
		for didNot, says := range map[string]string{stack.NotReady: says, "did not end its run": ""} {
			want := "stacks/x call " + didNot + ": context deadline exceeded"
			if says != "" {
				want += "; " + says
			}
			if got := p.explain(didNot, context.DeadlineExceeded).Error(); got != want+"; see trials/0001/call.log" {
				t.Errorf("%.40q: got %s", log, got)
			}
		}
	}
}
