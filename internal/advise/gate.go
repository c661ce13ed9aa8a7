package advise

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// test makes the parts of a condition. What a user pays is the mean, so the
// ratio of the arithmetic means is judged beside that of typical trials
// (geometric means). Where a condition on a time names no figure, the p95 of
// requests and the number of spikes may meet it, too.
func (o *Outcome) test(old, new Series, confidence float64) {
	c := o.Contrast
	if c.zeros != nil {
		met, excluded := o.ps(c.zeros.beyond)
		o.Parts = append(o.Parts, Part{Name: o.Condition.Figure, Ratio: none(), Met: met, Excluded: excluded})
		return
	}
	if math.IsNaN(c.Ratio.Estimate) {
		return
	}
	o.part(typicalPart, c.Ratio)
	if o.Condition.Detect {
		o.doubtAnswered(old, new, confidence)
		o.detect(old, new, confidence)
		return
	}
	if o.Condition.Figure == "mean" && !math.IsNaN(c.MeanRatio.Estimate) {
		o.part("mean", c.MeanRatio)
	}
	o.doubtAnswered(old, new, confidence)
	if !o.Condition.Tails || new.Unit != "s" || o.Condition.Less {
		return
	}
	o.tails(old, new, confidence)
}

// doubtAnswered makes the parts that are of means of answered requests meet a condition no better than medians among
// all requests do, where fewer requests fail than failed before, or more: who answers what the other one gave up is not
// slower for it, and who gives up more is not quicker.
func (o *Outcome) doubtAnswered(old, new Series, confidence float64) {
	if o.Condition.Figure != "mean" || !failOtherwise(old, new) || old.Failed > new.Failed != !o.Condition.Less {
		return
	}
	met, c := 1.0, amongAll(old, new, confidence)
	if !math.IsNaN(c.Ratio.Estimate) {
		met, _ = o.ps(c.Ratio.Beyond)
	}
	for i := range o.Parts {
		o.Parts[i].Met = max(o.Parts[i].Met, met)
	}
}

// tails adds the p95 of requests, and the spikes. What the old results tell of all trials, and the new ones do
// not, is not excluded.
func (o *Outcome) tails(old, new Series, confidence float64) {
	_, before := old.values("p95")
	_, now := new.values("p95")
	if p95 := contrast(old, new, "p95", confidence); !math.IsNaN(p95.Ratio.Estimate) {
		o.part("p95", p95.Ratio)
		o.leave()
	} else if before == nil && now != nil {
		o.Parts = append(o.Parts, Part{Name: "p95", Ratio: none(), Met: 1, Excluded: 1, Tail: true,
			Unknown: unknown(now)})
	}
	o.spikes(old, new)
}

// unknown says why trials lack a figure.
func unknown(err error) string {
	switch failed := (ofFailed{}); {
	case errors.As(err, &failed) && failed.unseen:
		return "requests failed, and this copy lacks the exchanges that tell it among all of them"
	case errors.As(err, &failed):
		return "among all requests it is one that failed"
	case errors.As(err, &lacking{}):
		return "they had too few answers"
	}
	return err.Error()
}

// detect adds what keeps a difference from being excluded besides the typical
// trial, on whose test alone the study was sized: the mean, the p95 and spikes.
func (o *Outcome) detect(old, new Series, confidence float64) {
	only := func(from int) {
		for i := from; i < len(o.Parts); i++ {
			o.Parts[i].Met = 1
		}
	}
	from := len(o.Parts)
	if mean := o.Contrast.MeanRatio; o.Condition.Figure == "mean" && !math.IsNaN(mean.Estimate) {
		o.part("mean", mean)
		o.leave()
	}
	if o.Condition.Tails && new.Unit == "s" && !o.Condition.Less {
		o.tails(old, new, confidence)
	}
	only(from)
}

// part adds the test of a ratio against the condition's bound, which waiting for
// a CPU must not explain.
func (o *Outcome) part(name string, ratio stat.Comparison) {
	met, excluded := o.ps(ratio.Beyond)
	if o.exactlyAt(ratio) {
		met, excluded = 1, 0
		if o.Condition.At {
			met, excluded = 0, 1
		}
	}
	o.Parts = append(o.Parts, Part{Name: name, Ratio: ratio, Met: met, Excluded: excluded})
}

// ps are the p of a ratio meeting the condition, and excluding it: beyond says those of its being above a bound, and
// below.
func (o *Outcome) ps(beyond func(bound float64) (above, below float64)) (met, excluded float64) {
	wide := max(1, o.Contrast.Allowance)
	from := o.Condition.Bound // which the ratio is beyond if the condition is met
	if o.Condition.Detect {
		from = 1
	}
	met, _ = beyond(from * wide)
	_, excluded = beyond(o.Condition.Bound / wide)
	if o.Condition.Less {
		_, met = beyond(from / wide)
		excluded, _ = beyond(o.Condition.Bound * wide)
	}
	return met, excluded
}

// leave makes the last part one that may meet the condition and need not
// exclude it: it excludes it where its estimate is on the good side. A tail is
// known too roughly to be excluded beyond doubt by as many trials as a mean.
func (o *Outcome) leave() {
	p := &o.Parts[len(o.Parts)-1]
	p.Tail, p.Excluded = true, 1
	if (p.Ratio.Estimate < o.Condition.Bound) != o.Condition.Less {
		p.Excluded = 0
	}
}

// Spikes are the trials that take much longer than their fellows.
type Spikes struct {
	Old, New int
	Trials   [2]int  // how many trials there are, old and new
	Worst    float64 // of the new ones, in the response's unit
	P        float64 // Fisher's exact test, of the new results having more; NaN: there are none
}

// spikeFrom is how many times its median a trial takes that is a spike; its
// modified z is beyond stat.OutlierLimit besides.
const spikeFrom = 1.5

// spikesBeside counts the spikes of s, of which xs are the values. Where other was measured
// in the same blocks, a slow block is no spike of either: a spike takes so many times as
// long as its fellow in the block, too, beside what the two differ by in a typical block. What takes no longer than
// least is none.
func (s Series) spikesBeside(xs []float64, other Series, least float64) (n int, worst float64) {
	far, err := stat.Outliers(xs)
	m, err2 := stat.Median(xs, 0.95)
	if err != nil || err2 != nil {
		return 0, 0
	}
	expected := s.besideFellows(other)
	for _, i := range far {
		if limit := max(least, spikeFrom*max(m.Center, expected[s.Trials[i].Block])); xs[i] > limit {
			n, worst = n+1, max(worst, xs[i])
		}
	}
	return n, worst
}

// besideFellows is, by block, how long a trial of s would take if it differed from its
// fellow as in the median block; empty where they share no blocks.
func (s Series) besideFellows(other Series) map[int]float64 {
	expected := map[int]float64{}
	if !s.Interleaved || !other.Interleaved {
		return expected
	}
	for _, t := range other.Trials {
		expected[t.Block] = t.Mean
	}
	var ratios []float64
	for _, t := range s.Trials {
		if fellow := expected[t.Block]; fellow > 0 {
			ratios = append(ratios, t.Mean/fellow)
		}
	}
	if len(ratios) == 0 {
		return map[int]float64{}
	}
	usual := stat.Middle(ratios)
	for block := range expected {
		expected[block] *= usual
	}
	return expected
}

// spikes are a finding of their own: they meet the condition where the new
// results have significantly more of them, and keep it from being excluded
// where they have more. A trial that takes no longer than the condition allows of a typical old one is no spike of the
// new results.
func (o *Outcome) spikes(old, new Series) {
	a, errA := old.values("mean")
	b, errB := new.values("mean")
	if errA != nil || errB != nil {
		return
	}
	s := Spikes{Trials: [2]int{len(a), len(b)}, P: math.NaN()}
	s.Old, _ = old.spikesBeside(a, new, 0)
	allowed, err := stat.Median(a, 0.95)
	if err != nil {
		return
	}
	s.New, s.Worst = new.spikesBeside(b, old, o.Condition.Bound*allowed.Center)
	if s.New > 0 {
		s.P = stat.FisherMore(s.New, len(b), s.Old, len(a))
		p := Part{Name: spikesPart, Ratio: none(), Met: min(1, 2*s.P), Tail: true} // two-sided, as the others
		if o.Contrast.Allowance > 1 {
			p.Met = 1 // a busy machine makes spikes
		}
		if s.New*len(a) > s.Old*len(b) {
			p.Excluded = 1
		}
		o.Parts = append(o.Parts, p)
	}
	o.Spikes = s
}

// joined are the p of the condition being met, and of its being excluded.
func (o Outcome) joined(alpha float64) (met, excluded float64) {
	if len(o.Parts) == 0 {
		return 1, 1
	}
	met = 1
	for _, p := range o.Parts {
		met, excluded = min(met, p.Met), max(excluded, p.Excluded)
	}
	switch {
	case o.Condition.Detect && excluded < alpha:
		return 1, excluded // a change that is sure and too small to matter
	case o.Condition.Detect:
		return met, excluded // one part alone may meet it
	}
	return min(1, met*float64(len(o.Parts))), excluded
}

func (o Outcome) p(alpha float64) float64 {
	met, excluded := o.joined(alpha)
	if len(o.Parts) == 0 {
		return math.NaN()
	}
	return min(met, excluded)
}

// Attempts are how many trials of a treatment were planned, and are valid.
type Attempts struct {
	Factors, Levels []string
	Name            string
	Floor           bool
	Wanted, Valid   int
	Unrun           int          // of those planned, trials that were never run, as where a run was interrupted
	Failed          []stat.Share // of the requests of each valid trial
	Late            []int        // of those that failed, the ones that had no answer in time; nil: nobody knows
	Repeated        []stat.Share // as Failed, those that the client sent again; nil: nobody knows
	Recovered       [2]int       // trials whose devices recovered, of those with an outage
	Waiting         float64      // as Series.Waiting, of the side that waited longer
	Faults          Faults
}

// With is the requests that failed of both, and the longer wait.
func (a Attempts) With(b Attempts) Attempts {
	known := (a.Late != nil || len(a.Failed) == 0) && b.Late != nil
	a.Failed, a.Waiting = slices.Concat(a.Failed, b.Failed), max(a.Waiting, b.Waiting)
	if a.Late = slices.Concat(a.Late, b.Late); !known {
		a.Late = nil
	}
	return a
}

// SentAgain has the requests that the client sent again in place of those that failed. None was late: a connection that
// is closed or reset is the server's own, as with those that failed.
func (a Attempts) SentAgain() Attempts {
	a.Failed, a.Late = a.Repeated, make([]int, len(a.Repeated))
	return a
}

// Waited reports whether programs waited for a CPU so long that requests, or whole attempts, may have been late.
func (a Attempts) Waited() bool { return Allowance(a.Waiting, 0) > 1 }

// Same reports whether two are of one treatment: equal levels of every factor both name, and no other factors.
func (a Attempts) Same(b Attempts) bool {
	return same(Series{Factors: a.Factors, Levels: a.Levels}, Series{Factors: b.Factors, Levels: b.Levels})
}

// A Loss is a treatment of which the new results have fewer valid trials, of
// those that were run, than the old ones had.
type Loss struct {
	Treatment string
	Levels    []string // of it, as the old results have them
	Old, New  [2]int   // valid, run; New is 0 of 0 where the treatment is missing, or none of its trials was run
	Unrun     int      // trials of the new results, none of which was run; 0: some were, or the treatment is missing
	Recovered bool     // they are valid, and their devices did not recover; Old, New: recovered, with an outage
	// P is that of Fisher's exact test, two-sided, Holm over the treatments. Chance says that it may explain the loss;
	// waiting for a CPU may have kept devices from recovering, too.
	P              float64
	Chance, waited bool

	// Retried: another attempt was valid, or may have been; Old, New: trials of which no attempt failed for what the
	// programs did, run. Tried are the attempts that did, old and new, Why the reason of the first.
	Retried bool
	Tried   [2]stat.Share
	Why     string
	slight  bool // chance may explain it, even if attempts fail independently of each other
	p       float64

	Together int // so many treatments, of which none may show what all do: Old, New and Tried are their sums; 0: of one
	strata   strata
}

// Kind names what was lost.
func (l Loss) Kind() string {
	if l.Retried {
		return "failed attempts"
	}
	return "lost trials"
}

func (l Loss) String() string {
	if l.Retried {
		return l.retriedText()
	}
	if l.Recovered {
		return fmt.Sprintf("%s: devices recovered in %d of %d trials (before: in %d of %d): %s (p %.2g, %s)",
			l.Treatment, l.New[0], l.New[1], l.Old[0], l.Old[1], l.means(), l.P, l.test())
	}
	if l.Unrun > 0 {
		return fmt.Sprintf("%s: none of its %s was run (before: %s): %s", l.Treatment, plural.Count(l.Unrun, "trial"),
			plural.Count(l.Old[0], "valid trial"), l.Open())
	}
	if l.New[1] == 0 {
		return fmt.Sprintf("%s is missing (before: %s)", l.Treatment, plural.Count(l.Old[0], "valid trial"))
	}
	text := fmt.Sprintf("%s: %d of %d trials are valid (before: %d of %d)", l.Treatment, l.New[0], l.New[1], l.Old[0],
		l.Old[1])
	if l.New[0] == 0 {
		return text
	}
	return fmt.Sprintf("%s: %s (p %.2g, %s)", text, l.means(), l.P, l.test())
}

func (l Loss) means() string {
	if !l.Chance {
		return "chance does not explain it"
	}
	return l.Open()
}

// Open says why a loss is no answer.
func (l Loss) Open() string {
	if l.Unrun > 0 {
		return "finish the run"
	}
	if l.waited {
		return "waiting for a CPU may explain it; measure again on a quieter machine"
	}
	return "chance may explain it; more trials would decide"
}

// Word is the loss by itself: worse, or undecided where chance or a wait may explain it.
func (l Loss) Word() string {
	if l.Verdict() == stat.Confirmed {
		return worseWord
	}
	return undecidedWord
}

// Verdict of a loss is confirmed, a change for the worse, unless chance may explain it. It is contradicted where
// attempts failed as by chance, and others were valid.
func (l Loss) Verdict() stat.Verdict {
	if l.slight {
		return stat.Contradicted
	}
	if l.Chance || l.Unrun > 0 {
		return stat.Undecided
	}
	return stat.Confirmed
}

// Losses lists the treatments, floors aside, that lost trials: a larger share of those that were run is
// invalid, or the treatment is missing, or in a smaller share devices recovered. A trial may be lost by
// chance, as often as it was tried, and devices may recover by chance; that none is left is an answer. What a run that
// was interrupted left out is no loss: where it is all trials of a treatment, nothing is known of that. Behind them
// stand those of all treatments together that tell more than each does.
func Losses(old, new []Attempts, confidence float64) []Loss {
	var out []Loss
	var all pools
	for _, a := range old {
		if a.Floor || a.Valid == 0 {
			continue
		}
		l := Loss{Treatment: a.Name, Levels: a.Levels, Old: [2]int{a.Valid, a.run()}}
		i := slices.IndexFunc(new, a.Same)
		if i >= 0 {
			if l.New = [2]int{new[i].Valid, new[i].run()}; l.New[1] == 0 {
				l.Unrun = new[i].Unrun
			}
		}
		l.p = math.NaN()                                      // not tested
		whole := l.Old[0] == l.Old[1] && l.New[0] == l.New[1] // of which all are valid: nothing to test
		if l.New[1] > 0 {
			all.lost.add(l)
			if l.New[0] > 0 {
				l.p = fisherMore(l.New[1]-l.New[0], l.New[1], l.Old[1]-l.Old[0], l.Old[1])
			}
		}
		if i < 0 || l.Unrun > 0 || !whole {
			out = append(out, l)
		}
		if i < 0 {
			continue
		}
		if l, ok := retried(a, new[i]); ok {
			out = append(out, l)
		}
		all.retried.addTried(a, new[i])
		if new[i].Recovered[1] == 0 || a.Recovered[1] == 0 {
			continue
		}
		l = Loss{Treatment: a.Name, Levels: a.Levels, Old: a.Recovered, New: new[i].Recovered, Recovered: true,
			waited: Allowance(a.Waiting, new[i].Waiting) > 1}
		l.p = fisherMore(l.New[1]-l.New[0], l.New[1], l.Old[1]-l.Old[0], l.Old[1])
		all.recovered.add(l)
		out = append(out, l)
	}
	together := all.together()
	for i, p := range sharedHolm(lossPs(out, Loss.alone), lossPs(together, Loss.alone)) {
		l := at(out, together, i)
		if l.P = p; !math.IsNaN(p) {
			l.Chance = !(p < 1-confidence) || l.Recovered && l.waited
		}
	}
	slight(out, together, 1-confidence)
	together = slices.DeleteFunc(together, func(l Loss) bool { return l.slight || l.Chance && !l.Retried })
	return slices.DeleteFunc(append(out, together...), func(l Loss) bool { return l.New[1] > 0 && !fewer(l.New, l.Old) })
}

// fewer reports whether a is a smaller share than b, each so many of so many.
func fewer(a, b [2]int) bool { return a[0]*b[1] < b[0]*a[1] }

// LostWords say in a few words what kinds of losses there are.
func LostWords(all []Loss) string {
	var words []string
	for _, kind := range []struct {
		of    Loss
		words string
	}{{Loss{}, "valid trials are missing"}, {Loss{Recovered: true}, "devices recover in fewer trials"},
		{Loss{Retried: true}, "more attempts fail"}} {
		if slices.ContainsFunc(all, func(l Loss) bool {
			return l.Recovered == kind.of.Recovered && l.Retried == kind.of.Retried
		}) {
			words = append(words, kind.words)
		}
	}
	return strings.Join(words, ", and ")
}

// lacks reports whether results have the treatment of a series, and not the figure.
func lacks(all []Series, like Series) bool {
	_, has := Find(all, like)
	return !has && slices.ContainsFunc(all, func(s Series) bool { return same(s, like) })
}

// gone are conditions on figures that the old results have and the new ones lack, of treatments
// that both have: nothing is excluded there.
func gone(old, new []Series, conditions []Condition) []Outcome {
	var out []Outcome
	for _, k := range conditions {
		for _, a := range old {
			if !lacks(new, a) || !k.Matches(a) || a.Floor {
				continue
			}
			empty := a
			empty.Trials = nil
			c := contrast(a, empty, k.Figure, 0.95)
			c.Doubt = "the new results lack this figure; measure it there, too, or drop the condition"
			out = append(out, Outcome{Condition: k, Contrast: c, Verdict: stat.Undecided, Doubt: Doubt{Why: Untested}})
		}
	}
	return out
}
