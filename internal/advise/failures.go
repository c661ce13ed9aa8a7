package advise

import (
	"fmt"

	"edgegauge.example/edgegauge/internal/stat"
)

// Failures set the failed requests of the new results against those of the old.
type Failures struct {
	Old, New stat.Share // of all runs
	// Verdict is confirmed where the share rose beyond chance, undecided where it
	// did only if requests fail independently of each other, else contradicted.
	Verdict stat.Verdict
	P       float64 // two-sided, of the test that Test names
	Test    string
}

// leastRuns of each side let a permutation test reach 5 %: 2 in 70.
const leastRuns = 4

// JudgeFailures judges whether a larger share of requests failed than before, a
// share a run. Requests of one run may fail together, as in an outage, so runs are
// the units. Fewer than leastRuns show no such dependence: then each new run must
// have a larger share than each old one, and the requests decide.
func JudgeFailures(old, new []stat.Share, confidence float64) Failures {
	f := Failures{Old: stat.Pooled(old), New: stat.Pooled(new), Verdict: stat.Contradicted, P: 1}
	if f.New.Of() <= f.Old.Of() {
		return f
	}
	alpha := 1 - confidence
	f.P, f.Test = min(1, 2*stat.FisherMore(f.New.Hits, f.New.N, f.Old.Hits, f.Old.N)), "Fisher's exact test over requests"
	apart := separate(old, new)
	independent := f.P < alpha
	if len(old) >= leastRuns && len(new) >= leastRuns {
		f.P, f.Test = min(1, 2*stat.PermutedMore(new, old)), "permutation of runs"
		apart = f.P < alpha
	}
	switch {
	case f.New.Hits == f.New.N, independent && apart:
		f.Verdict = stat.Confirmed
	case independent:
		f.Verdict = stat.Undecided
	}
	return f
}

// separate reports whether every new run has a larger share than every old one.
func separate(old, new []stat.Share) bool {
	for _, a := range old {
		for _, b := range new {
			if b.Of() <= a.Of() {
				return false
			}
		}
	}
	return true
}

// String says what failed, before and now, and how sure that is a change.
func (f Failures) String() string {
	text := fmt.Sprintf("%s failed, %s before", shareWords(f.New), shareWords(f.Old))
	switch {
	case f.Test == "":
		return text
	case f.New.Hits == f.New.N:
		return text + ": no request is answered any more"
	}
	means := map[stat.Verdict]string{stat.Confirmed: "chance does not explain it",
		stat.Undecided: "chance does not explain it if requests fail independently, but runs differ more than " +
			"that allows; more runs would decide",
		stat.Contradicted: "chance may explain it"}[f.Verdict]
	return fmt.Sprintf("%s: %s (p %.2g, %s)", text, means, f.P, f.Test)
}

func shareWords(s stat.Share) string {
	return fmt.Sprintf("%d of %d requests (%.3g %%)", s.Hits, s.N, 100*s.Of())
}
