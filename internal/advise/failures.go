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
	// Verdict is confirmed where the share rose beyond chance, and beyond what waiting for a CPU may have done, undecided
	// where the requests say so only if they fail independently of each other, or if no wait made them late, else
	// contradicted.
	Verdict stat.Verdict
	P       float64 // two-sided, of the test that Test names
	Test    string

	trials bool // they are of trials, not of runs of a probe
	starve bool // programs waited for a CPU
	untold bool // they did, and nobody knows how requests failed
	waits  bool // chance does not explain the rise, and waiting for a CPU may
	fell   bool // New is the smaller share, and the test is of that
}

// leastRuns of each side let a permutation test reach 5 %: 2 in 70.
const leastRuns = 4

// JudgeFailures judges whether a larger share of the requests of a probe failed than before, a share a run. Requests of
// one run may fail together, as in an outage, so runs are the units: a permutation test. Fewer than leastRuns have no
// permutation that decides, and are judged as trials are; one run shows no spread.
func JudgeFailures(old, new Attempts, confidence float64) Failures {
	f := Failures{Old: stat.Pooled(old.Failed), New: stat.Pooled(new.Failed), Test: "Welch's t of the runs' shares"}
	above := welchAbove
	if len(old.Failed) >= leastRuns && len(new.Failed) >= leastRuns {
		f.Test, above = "permutation of runs", func(new, old []stat.Share) float64 {
			return min(1, 2*stat.PermutedMore(new, old))
		}
	}
	return judgeFailures([]Failures{f}, []Attempts{old}, []Attempts{new}, above, confidence)[0]
}

// FailuresOfTrials judges whether a larger share of the requests of a treatment failed than before, floors aside, where
// some failed. Requests of a trial may fail together, so trials are what counts, a share each (Welch's t, as
// stat.MeansBeyond has it), Holm over the treatments.
func FailuresOfTrials(old, new []Attempts, confidence float64) []Failures {
	var out []Failures
	var before, now []Attempts
	for _, b := range new {
		i := slices.IndexFunc(old, b.Same)
		if i < 0 || b.Floor {
			continue
		}
		a := old[i]
		f := Failures{Treatment: b.Name, Levels: b.Levels, Old: stat.Pooled(a.Failed), New: stat.Pooled(b.Failed),
			trials: true, Test: "Welch's t of the trials' shares"}
		if f.Old.N == 0 || f.New.N == 0 || f.Old.Hits+f.New.Hits == 0 {
			continue
		}
		out, before, now = append(out, f), append(before, a), append(now, b)
	}
	return judgeFailures(out, before, now, welchAbove, confidence)
}

// welchAbove is the p of the answer that the mean of new shares is above that of the old ones.
func welchAbove(new, old []stat.Share) float64 {
	p, _, _ := stat.MeansBeyond(sharesOf(new), sharesOf(old), 1, false, [2]float64{})
	return p
}

// judgeFailures gives each its verdict, Holm over all. Units, of which above has the p of a rise, and all requests must
// tell of one. Where programs waited for a CPU, so must those that failed otherwise than for want of an answer in time,
// beside all that failed before; only all of the requests prove anything else.
func judgeFailures(all []Failures, old, new []Attempts, above func(new, old []stat.Share) float64,
	confidence float64) []Failures {
	p := [4][]float64{} // of units and requests, and the same of those that no wait explains
	for i := range all {
		f := &all[i]
		f.starve = Allowance(old[i].Waiting, new[i].Waiting) > 1
		f.untold = f.starve && new[i].Late == nil
		for k, of := range [2][]stat.Share{new[i].Failed, new[i].least(f.starve)} {
			units, requests := 1.0, 1.0
			if total := stat.Pooled(of); total.Of() > f.Old.Of() {
				units = above(of, old[i].Failed)
				requests = min(1, 2*stat.FisherMore(total.Hits, total.N, f.Old.Hits, f.Old.N))
			}
			p[2*k], p[2*k+1] = append(p[2*k], units), append(p[2*k+1], requests)
		}
	}
	for k := range p {
		p[k] = stat.Holm(p[k])
	}
	alpha := 1 - confidence
	for i := range all {
		f := &all[i]
		f.Verdict, f.P = stat.Contradicted, p[0][i]
		rose := f.New.Of() > f.Old.Of()
		if !rose {
			f.Test = ""
		}
		switch {
		case rose && f.New.Hits == f.New.N && (!f.trials || p[1][i] < alpha):
			f.Verdict = stat.Confirmed
		case !(p[1][i] < alpha):
		case p[2][i] < alpha && p[3][i] < alpha:
			f.Verdict, f.P = stat.Confirmed, p[2][i]
		default:
			f.Verdict, f.waits = stat.Undecided, f.P < alpha
		}
	}
	return all
}

// least are the shares of requests that failed without those that waiting for a CPU may have made late, where programs
// waited so long.
func (a Attempts) least(waited bool) []stat.Share {
	out := slices.Clone(a.Failed)
	for i := range out {
		switch {
		case !waited:
		case a.Late == nil:
			out[i].Hits = 0
		default:
			out[i].Hits = max(0, out[i].Hits-a.Late[i])
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

// Waits reports whether chance does not explain the rise, and waiting for a CPU may.
func (f Failures) Waits() bool { return f.waits }

// Open says why the failures are undecided, and what would decide.
func (f Failures) Open() string {
	switch {
	case f.waits && f.untold:
		return "waiting for a CPU may have made requests late, and nothing here says how they failed; measure again on a " +
			"quieter machine"
	case f.waits:
		return "waiting for a CPU may have made requests late; measure again on a quieter machine"
	}
	units, where := f.Units(), ""
	if f.starve {
		where = " on a quieter machine"
	}
	return fmt.Sprintf("%s differ so much, or are so few, that chance may explain it; more %[1]s%s would decide", units,
		where)
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
	means := "chance may explain it"
	switch {
	case f.Verdict == stat.Confirmed && f.starve:
		means = "neither chance nor waiting for a CPU explains it"
	case f.Verdict == stat.Confirmed:
		means = "chance does not explain it"
	case f.Verdict == stat.Undecided && f.waits:
		means = "chance does not explain it, but " + f.Open()
	case f.Verdict == stat.Undecided:
		means = "chance does not explain it if requests fail independently, but " + f.Open()
	}
	return fmt.Sprintf("%s: %s (p %.2g, %s)", text, means, f.P, f.Test)
}

func shareWords(s stat.Share) string {
	return fmt.Sprintf("%d of %d requests (%.3g %%)", s.Hits, s.N, 100*s.Of())
}
