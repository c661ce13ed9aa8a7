package capacity

import (
	"errors"
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/printable"
)

// lost is the error of a lab that gave trials up; nil: it gave up none. What a search asks next depends on all trials
// so far, so it does not go on without one. dir is where the results are; empty: nothing is kept.
func lost(o lab.Outcome, dir string, retries int) error {
	if len(o.Missing) == 0 {
		return nil
	}
	var b strings.Builder
	if dir == "" {
		b.WriteString("the measurement before the first trial failed (its logs are not kept):")
	} else {
		fmt.Fprintf(&b, "%s could not be measured, and the search needs %s (logs are below %s):",
			plural.Count(len(o.Missing), "trial"), plural.Verb(len(o.Missing), "it", "them"), dir)
	}
	for _, t := range o.Missing {
		fmt.Fprintf(&b, "\n  %s (%s)", t.Reason, plural.Count(t.Attempts, "attempt"))
	}
	if dir == "" {
		b.WriteString("\n  fix the cause and run the same command again")
	} else {
		fmt.Fprintf(&b, "\n  retries is %d: a trial is given up after %s; fix the cause and run the same command "+
			"again with --set retries=%d --out %s: the search resumes", retries,
			plural.Count(retries+1, "invalid attempt"), min(2*retries+1, 100), printable.QuotedPath(dir))
	}
	return errors.New(b.String())
}
