package advise

import (
	"cmp"
	"fmt"

	"edgegauge.example/edgegauge/internal/stat"
)

// The words of a rise by itself, in every format.
const (
	worseWord     = "worse"
	undecidedWord = "undecided"
	goodWord      = "good"
)

// A few trials of each treatment never tell, though all of them together do. So the treatments are tested together,
// too, each a stratum: they may differ in how much of them fails. That test has half of the error, the treatments by
// themselves share the other.

// sharedHolm are the p of answers about treatments by themselves, and behind them of those about all of them together,
// Holm over each; with none of the latter, the former have all of the error.
func sharedHolm(each, together []float64) []float64 {
	out := append(stat.Holm(each), stat.Holm(together)...)
	if len(together) == 0 {
		return out
	}
	for i, p := range out {
		out[i] = min(1, 2*p) // NaN stays
	}
	return out
}

// at is the loss that sharedHolm has at i.
func at(each, together []Loss, i int) *Loss {
	if i < len(each) {
		return &each[i]
	}
	return &together[i-len(each)]
}

// lossPs are a p of each of the losses.
func lossPs(all []Loss, p func(Loss) float64) []float64 {
	out := make([]float64, len(all))
	for i, l := range all {
		out[i] = p(l)
	}
	return out
}

// alone is the p of a loss before anything else is asked; NaN: it is not tested.
func (l Loss) alone() float64 { return l.p }

// test names the test of a loss.
func (l Loss) test() string {
	if l.Together > 0 {
		return "exact Cochran-Mantel-Haenszel test"
	}
	return "Fisher's exact test"
}

// sides are what treatments have of one kind, new and old, each a stratum.
type sides struct{ new, old []stat.Share }

func (s *sides) add(new, old stat.Share) { s.new, s.old = append(s.new, new), append(s.old, old) }

// p is that of a rise in all strata together, two-sided.
func (s sides) p() float64 { return min(1, 2*stat.StratifiedMore(s.new, s.old)) }

// telling are the strata that have hits.
func (s sides) telling() (n int) {
	for i := range s.new {
		if s.new[i].Hits+s.old[i].Hits > 0 {
			n++
		}
	}
	return n
}

// strata are those of losses of one kind.
type strata struct {
	trials, inTime sides // trials that were lost, and without those that waiting for a CPU may have cost
	tried          sides // attempts that failed
}

// A pool is losses of one kind.
type pool struct {
	Loss
	saved bool // some trials of which attempts failed are valid: lost ones do not say it all
}

// pools are those of all kinds.
type pools struct{ lost, retried, recovered pool }

// add takes in the trials of a treatment that were lost.
func (p *pool) add(l Loss) {
	p.Together++
	p.Recovered, p.waited = l.Recovered, p.waited || l.waited
	for i := range 2 {
		p.Old[i], p.New[i] = p.Old[i]+l.Old[i], p.New[i]+l.New[i]
	}
	lost := stat.Share{Hits: l.New[1] - l.New[0], N: l.New[1]}
	p.strata.trials.add(lost, stat.Share{Hits: l.Old[1] - l.Old[0], N: l.Old[1]})
	p.strata.inTime = p.strata.trials
}

// addTried takes in the attempts at the trials of a treatment that were run.
func (p *pool) addTried(old, new Attempts) {
	if old.run() == 0 || new.run() == 0 {
		return
	}
	p.Retried, p.saved = true, p.saved || old.Faults.Saved+new.Faults.Saved > 0
	p.Together++
	a, b := old.atOnce(), new.atOnce()
	for i := range 2 {
		p.Old[i], p.New[i] = p.Old[i]+a[i], p.New[i]+b[i]
	}
	was, is := old.tried(), new.tried()
	p.Tried = [2]stat.Share{stat.Pooled([]stat.Share{p.Tried[0], was}), stat.Pooled([]stat.Share{p.Tried[1], is})}
	p.Why = cmp.Or(p.Why, new.Faults.First)
	p.strata.tried.add(is, was)
	before := stat.Share{Hits: old.Faults.Trials, N: a[1]}
	all := stat.Share{Hits: new.Faults.Trials, N: b[1]}
	p.strata.trials.add(all, before)
	if Allowance(old.Waiting, new.Waiting) > 1 {
		all.Hits = new.Faults.InTime
	}
	p.strata.inTime.add(all, before)
}

// together are the losses that are of several treatments: where one alone tells anything, it is tested already.
func (all pools) together() []Loss {
	var out []Loss
	for _, p := range []pool{all.lost, all.retried, all.recovered} {
		if p.strata.trials.telling() < 2 || p.Retried && !p.saved || !p.Retried && !p.Recovered && p.New[0] == 0 {
			continue // of the last no treatment has trials left, which is said of each
		}
		p.Treatment = fmt.Sprintf("%d treatments together", p.Together)
		p.p = p.strata.inTime.p()
		if p.Retried {
			p.waited = p.p > p.strata.trials.p()
		}
		out = append(out, p.Loss)
	}
	return out
}

// failuresTogether are the failures of several treatments; false: fewer than two tell anything.
func failuresTogether(old, new []Attempts) (f Failures, ok bool) {
	var all sides
	for i := range new {
		all.add(stat.Pooled(new[i].Failed), stat.Pooled(old[i].Failed))
	}
	f = Failures{Treatment: fmt.Sprintf("%d treatments together", len(new)), Together: len(new), trials: true,
		Old: stat.Pooled(all.old), New: stat.Pooled(all.new), Test: "permutation of trials within treatments"}
	return f, all.telling() > 1
}

// permutedWithin is the p of a rise of the shares of trials, two-sided.
func permutedWithin(new, old [][]stat.Share) float64 { return min(1, 2*stat.PermutedWithin(new, old)) }
