package report

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge/internal/store"
)

// runtimes gathers what a stack's programs said they ran on: the JVM with its
// flags and collectors, which are part of a treatment, as texts by stack and
// side. Directories of older labs do not say.
func (r *Report) runtimes(s *store.Store) {
	r.Runtimes = map[string][]string{}
	for _, t := range r.Trials {
		if t.State != store.Valid {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.TrialDir(t.ID, t.Attempts), "ready.json"))
		if err != nil {
			continue
		}
		var ready struct {
			Stacks         struct{ Server, Client string }
			Server, Client struct{ Runtime string }
		}
		if json.Unmarshal(text, &ready) != nil {
			continue
		}
		r.runsOn(ready.Stacks.Server, "server", ready.Server.Runtime)
		r.runsOn(ready.Stacks.Client, "client", ready.Client.Runtime)
	}
	for _, lines := range r.Runtimes {
		slices.Sort(lines)
	}
}

func (r *Report) runsOn(stack, side, runtime string) {
	line := side + ": " + runtime
	if stack != "" && runtime != "" && !slices.Contains(r.Runtimes[stack], line) {
		r.Runtimes[stack] = append(r.Runtimes[stack], line)
	}
}

// machines are the runtimes that a reader of a terminal must know: those of
// programs that are not this binary.
func (r *Report) machines() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.Runtimes)) {
		if f, ok := r.Facts.Stacks[name]; ok && f.Language == "Java" {
			out = append(out, name+" ran on "+strings.Join(r.Runtimes[name], "; "))
		}
	}
	return out
}
