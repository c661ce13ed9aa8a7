package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/bench/labbench"
)

func TestBenchTable(t *testing.T) {
	var out strings.Builder
	printRows(&out, labbench.Part{Name: "drive", Says: "the driver"}, []labbench.Row{
		{Figure: "RTT p50, tcp 100 B, two CPUs, each its own server", Wanted: "≤ 1.1", Measured: "1.01 (0.998 to 1.02)",
			Verdict: "not met, unsure",
			How:     strings.Repeat("word ", 60)},
		{Figure: "short", Measured: "1"},
	})
	for _, line := range strings.Split(out.String(), "\n") {
		if n := utf8.RuneCountInString(line); n >= 100 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	if !strings.Contains(out.String(), "  | word word") ||
		!strings.Contains(out.String(), "≤ 1.1  1.01 (0.998 to 1.02)  not met, unsure") {
		t.Errorf("got:\n%s", out.String())
	}
}
