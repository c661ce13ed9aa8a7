package advise

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// Failures set the failed requests of the new results against those of the old.
type Failures struct {
	Treatment string     // empty: of a probe, or of the only one
	Levels    []string   // of it; nil: of a probe
	Old, New  stat.Share // of all runs, or trials
	// Verdict is confirmed where the share rose beyond chance, undecided where it
	// did only if requests fail independently of each other, else contradicted.
	Verdict stat.Verdict
	P       float64 // two-sided, of the test that Test names
	Test    string

	trials bool // they are of trials, not of runs of a probe
	waited bool // programs waited for a CPU, which may have made requests late, and so fail
	fell   bool // New is the smaller share, and the test is of that
}

// leastRuns of each side let a permutation test reach 5 %: 2 in 70.
const leastRuns = 4

// JudgeFailures judges whether a larger share of requests failed than before, a
// share a run. Requests of one run may fail together, as in an outage, so runs are
// the units, and the requests must tell of a rise, too. Fewer than leastRuns have no permutation that decides, and are
// judged as trials are; one run shows no spread.
func JudgeFailures(old, new []stat.Share, confidence float64) Failures {
	f := Failures{Old: stat.Pooled(old), New: stat.Pooled(new), Verdict: stat.Contradicted, P: 1}
	if f.New.Of() <= f.Old.Of() {
		return f
	}
	alpha := 1 - confidence
	independent := min(1, 2*stat.FisherMore(f.New.Hits, f.New.N, f.Old.Hits, f.Old.N)) < alpha
	if len(old) >= leastRuns && len(new) >= leastRuns {
		f.P, f.Test = min(1, 2*stat.PermutedMore(new, old)), "permutation of runs"
	} else {
		f.P, _, _ = stat.MeansBeyond(sharesOf(new), sharesOf(old), 1, false, [2]float64{})
		f.Test = "Welch's t of the runs' shares"
	}
	switch {
	case f.New.Hits == f.New.N, independent && f.P < alpha:
		f.Verdict = stat.Confirmed
	case independent:
		f.Verdict = stat.Undecided
	}
	return f
}

// FailuresOfTrials judges whether a larger share of the requests of a treatment failed than before, floors aside, where
// some failed. Requests of a trial may fail together, so trials are what counts, a share each (Welch's t, as
// stat.MeansBeyond has it), Holm over the treatments; the requests must tell of a rise, too. Where programs waited for
// a CPU only all of the requests prove anything.
func FailuresOfTrials(old, new []Attempts, confidence float64) []Failures {
	var out []Failures
	var trials, requests []float64
	for _, b := range new {
		i := slices.IndexFunc(old, b.Same)
		if i < 0 || b.Floor {
			continue
		}
		a := old[i].Failed
		f := Failures{Treatment: b.Name, Levels: b.Levels, Old: stat.Pooled(a), New: stat.Pooled(b.Failed),
			Verdict: stat.Contradicted, P: 1, trials: true, waited: Allowance(old[i].Waiting, b.Waiting) > 1}
		if f.Old.N == 0 || f.New.N == 0 || f.Old.Hits+f.New.Hits == 0 {
			continue
		}
		r := 1.0
		if f.New.Of() > f.Old.Of() {
			f.Test = "Welch's t of the trials' shares"
			f.P, _, _ = stat.MeansBeyond(sharesOf(b.Failed), sharesOf(a), 1, false, [2]float64{})
			r = min(1, 2*stat.FisherMore(f.New.Hits, f.New.N, f.Old.Hits, f.Old.N))
		}
		out, trials, requests = append(out, f), append(trials, f.P), append(requests, r)
	}
	trials, requests = stat.Holm(trials), stat.Holm(requests)
	for i := range out {
		f := &out[i]
		f.P = trials[i]
		switch alpha := 1 - confidence; {
		case f.Test == "" || !(requests[i] < alpha):
		case f.New.Hits == f.New.N, f.P < alpha && !f.waited:
			f.Verdict = stat.Confirmed
		default:
			f.Verdict = stat.Undecided
		}
	}
	return out
}

func sharesOf(trials []stat.Share) []float64 {
	out := make([]float64, len(trials))
	for i, s := range trials {
		out[i] = s.Of()
	}
	return out
}

// Failing are those of the failures that decide: the first that rose beyond doubt, else the first that is undecided.
func (c Comparison) Failing() Failures {
	for _, v := range []stat.Verdict{stat.Confirmed, stat.Undecided} {
		if i := slices.IndexFunc(c.Failed, func(f Failures) bool { return f.Verdict == v }); i >= 0 {
			return c.Failed[i]
		}
	}
	return Failures{}
}

// Units are what the shares are of: runs or trials.
func (f Failures) Units() string {
	if f.trials {
		return "trials"
	}
	return "runs"
}

// Open says why the failures are undecided, and what would decide.
func (f Failures) Open() string {
	if f.waited {
		return "waiting for a CPU may have made requests late; measure again on a quieter machine"
	}
	units := f.Units()
	return fmt.Sprintf("%s differ so much, or are so few, that chance may explain it; more %[1]s would decide", units)
}

// String says what failed, before and now, and how sure that is a change.
func (f Failures) String() string {
	text := fmt.Sprintf("%s failed, %s before", shareWords(f.New), shareWords(f.Old))
	if f.Treatment != "" {
		text = f.Treatment + ": " + text
	}
	switch {
	case f.Test == "":
		return text
	case f.New.Hits == f.New.N:
		return text + ": no request is answered any more"
	case f.fell && f.Old.Hits == f.Old.N:
		return text + ": no request was answered then"
	}
	means := map[stat.Verdict]string{stat.Confirmed: "chance does not explain it",
		stat.Undecided:    "chance does not explain it if requests fail independently, but " + f.Open(),
		stat.Contradicted: "chance may explain it"}[f.Verdict]
	return fmt.Sprintf("%s: %s (p %.2g, %s)", text, means, f.P, f.Test)
}

func shareWords(s stat.Share) string {
	return fmt.Sprintf("%d of %d requests (%.3g %%)", s.Hits, s.N, 100*s.Of())
}
