package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/link"
)

// A link of one kind is tried once, both for what may be left out and for what prevents the run; one that could not be
// made is tried again, since it may be possible by then.
func TestALinkIsTriedOnce(t *testing.T) {
	if err := link.Able(); err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	b := bed(t)
	b.Exe = filepath.Join(b.Temp, "exe")
	asked := filepath.Join(b.Temp, "asked")
	children := func(program string, want int) {
		t.Helper()
		script := fmt.Sprintf("#!/bin/sh\necho $1 >>%s\nexec %s \"$@\"\n", asked, program)
		if err := os.WriteFile(b.Exe, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		os.Remove(asked)
		p, _, err := b.ReadAvailable(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+
			"factors: {link: [{delay: 1ms}, {delay: 2ms}]}\nunavailable: skip\n"), nil)
		if err == nil {
			b.Obstacles(t.Context(), p)
		}
		said, _ := os.ReadFile(asked)
		if n := strings.Count(string(said), link.Verb); n != want {
			t.Errorf("%s: %d links were tried, want %d: %v", program, n, want, err)
		}
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	children("false", 2)
	children(own, 1)
	children(own, 0)
}
