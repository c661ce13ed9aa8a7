package report

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/store"
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
		text, err := kernel.ReadFile(filepath.Join(s.TrialDir(t.ID, t.Attempt), "ready.json"), 1<<20)
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
			out = append(out, name+" ran on "+strings.Join(once(r.Runtimes[name]), "; "))
		}
	}
	return out
}

// once says of both sides together what is the same on both.
func once(lines []string) []string {
	if len(lines) != 2 {
		return lines
	}
	client, ok := strings.CutPrefix(lines[0], "client: ")
	server, both := strings.CutPrefix(lines[1], "server: ")
	if !ok || !both || client != server {
		return lines
	}
	return []string{"client and server: " + client}
}
