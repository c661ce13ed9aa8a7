package advise

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// Faults are the attempts at trials of a treatment that do not count for what its programs did: they crashed, did not
// start, or answered wrongly. Another attempt may have been valid: the trials that count do not tell of it.
type Faults struct {
	Attempts int    // such attempts
	Trials   int    // that had one, of those that were run
	InTime   int    // of these, trials that had one for which no wait for a CPU can be the cause
	Saved    int    // of these, trials that are valid all the same
	First    string // why the first of them does not count
}

// run is how many trials were run.
func (a Attempts) run() int { return a.Wanted - a.Unrun }

// atOnce are the trials of which no attempt failed for what the programs did, of those that were run.
func (a Attempts) atOnce() [2]int { return [2]int{a.run() - a.Faults.Trials, a.run()} }

// tried says how many attempts failed so, of those that failed so or are valid.
func (a Attempts) tried() stat.Share {
	return stat.Share{Hits: a.Faults.Attempts, N: a.Faults.Attempts + a.Valid}
}

// retried is the loss of attempts; false: lost trials say all of it. Attempts at one trial may fail together, and a
// trial is tried until one is valid. So trials are what counts, and a rise of which only the attempts tell is
// undecided. Where neither tells it is no answer, as that a few more requests failed is none.
func retried(old, new Attempts) (l Loss, ok bool) {
	if old.Faults.Saved+new.Faults.Saved == 0 || old.run() == 0 || new.run() == 0 {
		return Loss{}, false
	}
	l = Loss{Treatment: old.Name, Levels: old.Levels, Old: old.atOnce(), New: new.atOnce(), Retried: true,
		Tried: [2]stat.Share{old.tried(), new.tried()}, Why: new.Faults.First}
	l.p = fisherMore(new.Faults.Trials, l.New[1], old.Faults.Trials, l.Old[1])
	if Allowance(old.Waiting, new.Waiting) > 1 { // only what waiting does not cause proves anything
		p := fisherMore(new.Faults.InTime, l.New[1], old.Faults.Trials, l.Old[1])
		l.p, l.waited = p, p > l.p
	}
	return l, true
}

// byAttempts is the p of their rise if attempts failed independently of each other; NaN: the loss is none of attempts.
func (l Loss) byAttempts() float64 {
	switch {
	case !l.Retried:
		return math.NaN()
	case l.Together > 0:
		return l.strata.tried.p()
	}
	return fisherMore(l.Tried[1].Hits, l.Tried[1].N, l.Tried[0].Hits, l.Tried[0].N)
}

// slight marks the losses of attempts that are no answer.
func slight(all, together []Loss, alpha float64) {
	for i, p := range sharedHolm(lossPs(all, Loss.byAttempts), lossPs(together, Loss.byAttempts)) {
		l := at(all, together, i)
		l.slight = l.Retried && l.Chance && !(p < alpha)
	}
}

// fisherMore is the p of a share that rose, two-sided, by Fisher's exact test.
func fisherMore(a, n, b, m int) float64 { return min(1, 2*stat.FisherMore(a, n, b, m)) }

// retriedText says of which trials attempts failed.
func (l Loss) retriedText() string {
	return fmt.Sprintf("%s: %s failed for what the programs did, in %d of %s (before: %d of %d, in %d of %d trials); the "+
		"first: %s: %s (p %.2g, %s of the trials)", l.Treatment, ofAttempts(l.Tried[1]),
		l.New[1]-l.New[0], plural.Count(l.New[1], "trial"), l.Tried[0].Hits, l.Tried[0].N, l.Old[1]-l.Old[0], l.Old[1], l.Why,
		l.means(), l.P, l.test())
}

func ofAttempts(s stat.Share) string {
	return fmt.Sprintf("%d of %s", s.Hits, plural.Count(s.N, "attempt"))
}

// LossesOpen reports whether chance may explain some loss, or not.
func (c Comparison) LossesOpen() bool {
	return slices.ContainsFunc(c.Lost, func(l Loss) bool { return l.Verdict() == stat.Undecided })
}
