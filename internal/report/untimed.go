package report

import (
	"fmt"

	"edgegauge.example/edgegauge/internal/measure"
)

// untimed says why a client may have no figure of a response that its study names: what it does in the run decides, so
// that nobody can tell before.
var untimed = map[string]string{
	"connection": "no request waited for a connection, as where all were open before the run, or the client does not " +
		"measure it",
	"first_invoke": "the client told of none: where several requests are under way at once none is the first, floors " +
		"have none, and one that failed has no time",
}

// doubtUntimed says of whom a response that the study names has no figure, and why.
func (r *Report) doubtUntimed() {
	for _, w := range r.Study.Responses {
		why, ok := untimed[w.Text]
		if !ok {
			continue
		}
		var names []string
		for i, t := range r.Treatments {
			_, has := r.Cell(i, measure.Client, w.Text)
			if s := t.setup; !has && t.Valid > 0 && s != nil && s.Population.Devices == 0 &&
				!s.LeavesOut(string(measure.Client), w.Text) {
				names = append(names, t.Name())
			}
		}
		if len(names) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("no %s of %s: %s", w.Text, list(names, mostNames), why))
		}
	}
}
