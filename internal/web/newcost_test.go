package web

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
)

// What a study costs is foreseen: trials that run at the same time take the time of one, and an earlier run says how
// long a trial took and what it left on the disk.
func TestCostIsForeseen(t *testing.T) {
	dir := t.TempDir()
	s := served(t, Options{Folders: []string{dir}, Bed: bench(t)})
	const text = "study: cost\nservice: monitor\nfactors: {stack: [rest-json, coap-cbor], path: [{name: wire, link: none}, {name: radio, link: lte-m}]}\nduration: 10s\n" +
		"design: {replications: 3, cooldown: 1s, warmup: 2s}\n"
	says := func(text string) string {
		t.Helper()
		a := s.ask(context.Background(), text, false)
		if !a.Ready {
			t.Fatalf("%+v", a.Faults)
		}
		return strings.Join(a.Time, "; ")
	}
	if got := says(text); !strings.Contains(got, "at least 2m36s") { // 12 trials of 13 s
		t.Errorf("alone: %s", got)
	}
	spread := strings.Replace(text, "cooldown", "spread: 6h, cooldown", 1)
	if got := says(spread); !strings.Contains(got, "at least 6h ") {
		t.Errorf("blocks spread over 6 h: %s", got)
	}
	together := strings.Replace(text, "link: lte-m", "link: lte-m, at_once: 2", 1)
	if got := says(together); !strings.Contains(got, "at least 1m57s") { // 6 alone, 3 times 2 together: 9 of 13 s
		t.Errorf("two at once: %s", got)
	}
	if got := says(text); strings.Contains(got, "disk") {
		t.Errorf("with no earlier run: %s", got)
	}
	kept, plan, err := fabricated.Create(filepath.Join(dir, "cost/001"),
		[]byte("study: cost\nservice: monitor\nstack: rest-json\n"))
	ok(t, err)
	defer kept.Close()
	ok(t, fabricated.Trial(kept, plan.Trials[0], 5000, nil))
	if got := says(text); !strings.Contains(got, "of disk") || !strings.Contains(got, "cost/001") {
		t.Errorf("after a run: %s", got)
	}
}
