package advise

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// Failures set the failed requests of the new results against those of the old, or those that the client sent again
// since their connection broke: the service did not answer the first attempt.
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
	// Together says that they are of so many treatments, of which none may show what all do; 0: of one.
	Together int
	Again    bool // they were sent again

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
	return judgeProbes(old, new, false, confidence)
}

func judgeProbes(old, new Attempts, again bool, confidence float64) Failures {
	f := Failures{Old: stat.Pooled(old.Failed), New: stat.Pooled(new.Failed), Test: "Welch's t of the runs' shares",
		Again: again}
	above := welchAbove(1 - confidence)
	if len(old.Failed) >= leastRuns && len(new.Failed) >= leastRuns {
		f.Test, above = "permutation of runs", func(new, old []stat.Share) (float64, string) {
			return min(1, 2*stat.PermutedMore(new, old)), ""
		}
	}
	each := func(int) (a, b []Attempts) { return []Attempts{old}, []Attempts{new} }
	return judgeFailures([]Failures{f}, each, above, confidence)[0]
}

// JudgeSentAgain is JudgeFailures of the requests that were sent again; nil: there were none, or nobody knows.
func JudgeSentAgain(old, new Attempts, confidence float64) []Failures {
	f := judgeProbes(old.SentAgain(), new.SentAgain(), true, confidence)
	if f.Old.N == 0 || f.New.N == 0 || f.Old.Hits+f.New.Hits == 0 {
		return nil
	}
	return []Failures{f}
}

// FailuresOfTrials judges whether a larger share of the requests of a treatment failed than before, floors aside, where
// some failed. Requests of a trial may fail together, so trials are what counts, a share each (Welch's t, as
// stat.MeansBeyond has it), Holm over the treatments. Behind them stand all treatments together, where these tell more
// than chance. The same follows of the requests that were sent again, with an error of their own.
func FailuresOfTrials(old, new []Attempts, confidence float64) []Failures {
	again := func(all []Attempts) (out []Attempts) {
		for _, a := range all {
			out = append(out, a.SentAgain())
		}
		return out
	}
	return append(failuresOfTrials(old, new, false, confidence), failuresOfTrials(again(old), again(new), true,
		confidence)...)
}

func failuresOfTrials(old, new []Attempts, again bool, confidence float64) []Failures {
	var out []Failures
	var before, now, allBefore, allNow []Attempts
	for _, b := range new {
		i := slices.IndexFunc(old, b.Same)
		if i < 0 || b.Floor {
			continue
		}
		a := old[i]
		f := Failures{Treatment: b.Name, Levels: b.Levels, Old: stat.Pooled(a.Failed), New: stat.Pooled(b.Failed),
			trials: true, Test: "Welch's t of the trials' shares", Again: again}
		if f.Old.N == 0 || f.New.N == 0 {
			continue
		}
		allBefore, allNow = append(allBefore, a), append(allNow, b)
		if f.Old.Hits+f.New.Hits > 0 {
			out, before, now = append(out, f), append(before, a), append(now, b)
		}
	}
	n := len(out)
	if f, ok := failuresTogether(allBefore, allNow); ok {
		f.Again = again
		out = append(out, f)
	}
	each := func(i int) (old, new []Attempts) {
		if i == n {
			return allBefore, allNow
		}
		return before[i : i+1], now[i : i+1]
	}
	out = judgeFailures(out, each, welchAbove(1-confidence), confidence)
	return slices.DeleteFunc(out, func(f Failures) bool { return f.Together > 0 && f.Verdict == stat.Contradicted })
}

// An aboveTest is the p of the answer that new shares are above the old ones, and the test that it is of, with a place
// for the units; empty: the one that is used by default.
type aboveTest = func(new, old []stat.Share) (p float64, test string)

// welchAbove is the p of the answer that the mean of new shares is above that of the old ones at the level alpha: of
// Welch's t, or of the exact test which stat.MeansBeyond adds where none failed before. Where shares are of two kinds,
// as of a server that closes all connections in some trials, t errs too often. So a permutation must tell, too, where
// there are enough trials for it to decide.
func welchAbove(alpha float64) aboveTest {
	return func(new, old []stat.Share) (float64, string) {
		now, before := sharesOf(new), sharesOf(old)
		p, _, _ := stat.MeansBeyond(now, before, 1, false, [2]float64{})
		failing := stat.OverZero(now)
		if stat.OverZero(before) == 0 {
			if failing > 0 && p == stat.Oftener(failing, len(now), len(before), 1) {
				return p, "exact test of how many %s had failures"
			}
			return p, ""
		}
		if p < alpha && permutationDecides(len(now), len(before), alpha) {
			if by := min(1, 2*stat.PermutedMore(new, old)); by > p {
				return by, "permutation of %s"
			}
		}
		return p, ""
	}
}

// permutationDecides reports whether the least p of a permutation of so many units, two-sided, is below a tenth of the
// level, so that one of ten treatments may be told by it.
func permutationDecides(n, m int, alpha float64) bool {
	least := 2.0
	for i := 1; i <= n; i++ {
		least *= float64(i) / float64(m+i)
	}
	return least <= alpha/10
}

// judgeFailures gives each its verdict, as sharedHolm shares the error. Units, of which above has the p of a rise in
// one treatment, and all requests must tell of one. Where programs waited for a CPU, so must those that failed
// otherwise than for want of an answer in time, beside all that failed before; only all of the requests prove anything
// else.
func judgeFailures(all []Failures, of func(i int) (old, new []Attempts), above aboveTest,
	confidence float64) []Failures {
	p := [4][]float64{}    // of units and requests, and the same of those that no wait explains
	tests := [2][]string{} // of units, likewise
	together := len(all)
	for i := range all {
		f := &all[i]
		old, new := of(i)
		if f.Together > 0 {
			together = i
		}
		for k := range new {
			if Allowance(old[k].Waiting, new[k].Waiting) > 1 {
				f.starve, f.untold = true, f.untold || new[k].Late == nil
			}
		}
		for k := range 2 {
			units, requests, by := f.rise(old, new, k == 1, above, 1-confidence)
			p[2*k], p[2*k+1], tests[k] = append(p[2*k], units), append(p[2*k+1], requests), append(tests[k], by)
		}
	}
	for k := range p {
		p[k] = sharedHolm(p[k][:together], p[k][together:])
	}
	alpha := 1 - confidence
	for i := range all {
		f := &all[i]
		f.Verdict, f.P = stat.Contradicted, p[0][i]
		rose, test := f.New.Of() > f.Old.Of(), tests[0][i]
		switch {
		case rose && f.Silent() && (!f.trials || p[1][i] < alpha):
			f.Verdict = stat.Confirmed
		case !(p[1][i] < alpha):
		case p[2][i] < alpha && p[3][i] < alpha:
			f.Verdict, f.P, test = stat.Confirmed, p[2][i], tests[1][i]
		default:
			f.Verdict, f.waits = stat.Undecided, f.P < alpha
		}
		switch {
		case !rose:
			f.Test = ""
		case test != "":
			f.Test = fmt.Sprintf(test, f.Units())
		}
	}
	return all
}

// rise is the p of a rise by units, and by requests; certain: without those that waiting for a CPU may have made late.
// Of several treatments units are not asked where requests do not tell at the level alpha, since nothing is said then.
func (f Failures) rise(old, new []Attempts, certain bool, above aboveTest, alpha float64) (units, requests float64,
	test string) {
	var before, now [][]stat.Share
	var totals sides
	for k := range new {
		of := new[k].least(certain && Allowance(old[k].Waiting, new[k].Waiting) > 1)
		before, now = append(before, old[k].Failed), append(now, of)
		totals.add(stat.Pooled(of), stat.Pooled(old[k].Failed))
	}
	switch {
	case stat.Pooled(totals.new).Of() <= f.Old.Of():
		return 1, 1, ""
	case f.Together == 0:
		units, test = above(now[0], before[0])
		return units, totals.p(), test
	}
	if requests = totals.p(); requests >= alpha {
		return 1, requests, ""
	}
	return permutedWithin(now, before), requests, ""
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

// Word is the change by itself: worse, undecided where chance or a wait may explain a rise, good where there is none.
func (f Failures) Word() string {
	switch {
	case f.Verdict == stat.Confirmed:
		return worseWord
	case !f.Rose():
		return goodWord
	}
	return undecidedWord
}

// Rose reports whether a larger share failed than before, by chance or not.
func (f Failures) Rose() bool { return f.Test != "" }

// Silent reports whether no request is answered any more.
func (f Failures) Silent() bool { return !f.Again && f.New.Hits == f.New.N }

// Kind names what rose: failed as a caller calls requests that failed, or those that were sent again.
func (f Failures) Kind(failed string) string {
	if f.Again {
		return "requests sent again"
	}
	return failed
}

// Did says what the requests did, as in "2 of 3 requests failed".
func (f Failures) Did() string {
	if f.Again {
		return "were sent again"
	}
	return "failed"
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
	text := fmt.Sprintf("%s %s, %s before", shareWords(f.New), f.Did(), shareWords(f.Old))
	if f.Treatment != "" {
		text = f.Treatment + ": " + text
	}
	switch {
	case !f.Rose():
		return text
	case f.Silent() && f.Verdict == stat.Confirmed:
		return text + ": no request is answered any more"
	case f.fell && !f.Again && f.Old.Hits == f.Old.N && f.Verdict == stat.Confirmed:
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
		do := "fail"
		if f.Again {
			do = "are sent again"
		}
		means = "chance does not explain it if requests " + do + " independently, but " + f.Open()
	}
	return fmt.Sprintf("%s: %s (p %.2g, %s)", text, means, f.P, f.Test)
}

func shareWords(s stat.Share) string {
	return fmt.Sprintf("%d of %d requests (%.3g %%)", s.Hits, s.N, 100*s.Of())
}
