package report

import (
	"fmt"
	"slices"

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
	for _, s := range f.withOwnStacks(i) {
		x := s.Results.Published.Claims[i]
		text := "with the paper's own stacks (" + s.Kept() + "): " + string(x.Verdict) + "; " + oursText(x)
		if size := sizeText(x); size != "" {
			text += fmt.Sprintf("; direction %s, %s", x.Direction, size)
		}
		out = append(out, text)
	}
	return out
}

// withOwnStacks are the settings that decide a claim for which other stacks stood in the first results.
func (f finding) withOwnStacks(claim int) []finding {
	if !f.Results.Published.Claims[claim].Needs.Stacks {
		return nil
	}
	return slices.DeleteFunc(f.Settings(), func(s finding) bool {
		x := s.Results.Published.Claims[claim]
		return x.Needs.Stacks || x.Verdict == stat.Undecided
	})
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
