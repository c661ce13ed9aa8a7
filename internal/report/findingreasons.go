package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
)

// reasons are those of a claim, with what the other results of the paper say of its verdict: repetitions that do not
// share it, and runs with the paper's own stacks that decide it.
func (f finding) reasons(c paper.Judged) []string {
	out := reasons(c)
	i := slices.IndexFunc(f.Results.Published.Claims, func(x paper.Judged) bool { return x.ID == c.ID })
	for _, again := range f.unshared(i) {
		out = append(out, fmt.Sprintf("measured again: %s (%s)", again.Published.Claims[i].Verdict,
			again.Started.UTC().Format("2006-01-02 15:04")))
	}
	if !c.Needs.Stacks {
		return out
	}
	for _, s := range f.Settings() {
		x := s.Results.Published.Claims[i]
		if x.Needs.Stacks || x.Verdict == stat.Undecided {
			continue
		}
		out = append(out, strings.Join([]string{"with the paper's own stacks (" + s.Kept() + "): " + string(x.Verdict),
			figuresText(x)}, ", "))
	}
	return out
}

// unshared are the repetitions whose verdict on a claim is another one.
func (f finding) unshared(claim int) []*Report {
	var out []*Report
	for _, again := range f.Repetitions() {
		if again.Results.Published.Claims[claim].Verdict != f.Results.Published.Claims[claim].Verdict {
			out = append(out, again.Results)
		}
	}
	return out
}
