package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	made "edgegauge.example/edgegauge/internal/lab/fabricated"
)

// A study that was resumed with fewer replications has no trials that failed: those that nobody asks for any more are
// not counted, and said; those of them that are valid count.
func TestFewerReplications(t *testing.T) {
	for _, tt := range []struct {
		first, blocks, then int
		edited              bool // the file; else --set
		says                string
		dropped             int
	}{
		{first: 5, blocks: 2, then: 5, says: "4 of 10 trials valid"},
		{first: 5, blocks: 2, then: 3, says: "4 of 6 trials valid", dropped: 4},
		{first: 5, blocks: 2, then: 2, says: "4 of 4 trials valid", dropped: 6},
		{first: 5, blocks: 2, then: 2, edited: true, says: "4 of 4 trials valid", dropped: 6},
		{first: 5, blocks: 3, then: 2, says: "6 of 6 trials valid", dropped: 4},
		{first: 5, blocks: 5, then: 2, says: "10 of 10 trials valid"},
	} {
		text := func(replications int) []byte {
			return fmt.Appendf(nil, "study: s\nservice: echo\nn: 5\nfactors: {stack: [a, b]}\nrequests: 20\n"+
				"design: {replications: %d, seed: 1}\nresponses: [rtt]\n", replications)
		}
		dir := filepath.Join(t.TempDir(), "r")
		s, plan, err := made.Create(dir, text(tt.first))
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range plan.Trials {
			if trial.Block > tt.blocks {
				continue
			}
			if err := made.Trial(s, trial, 20, nil); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		file, sets := text(tt.first), []string{fmt.Sprintf("design.replications=%d", tt.then)}
		if tt.edited {
			file, sets = text(tt.then), nil
		}
		if s, _, err = made.Resume(dir, file, sets...); err != nil {
			t.Fatal(err)
		}
		r, err := Read(s)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(b.String()), " ")
		note := fmt.Sprintf("%d trials that an earlier run planned were not measured: the last one asks for fewer "+
			"replications, %d", tt.dropped, tt.then)
		whole := strings.Contains(tt.says, strings.Fields(tt.says)[2]+" trials") &&
			strings.Fields(tt.says)[0] == strings.Fields(tt.says)[2]
		if !strings.Contains(got, tt.says) || strings.Contains(got, note) != (tt.dropped > 0) ||
			strings.Contains(got, "trials are valid") == whole {
			t.Errorf("%+v: %s", tt, b.String())
		}
		if whole {
			valid, wanted := r.unfinished()
			if wanted != 0 {
				t.Errorf("%+v: unfinished, %d of %d", tt, valid, wanted)
			}
		}
	}
}
