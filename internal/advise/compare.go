package advise

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Change is what became of a figure.
type Change string

// The words for a change. Equal is proven (two one-sided tests within the
// margin); Same is equal to the last digit in every trial.
const (
	Higher  Change = "higher"
	Lower   Change = "lower"
	Equal   Change = "equal"
	Same    Change = "the same"
	Unknown Change = "undecided"
)

// A Contrast sets one figure of the new results against that of the old.
type Contrast struct {
	Treatment string
	Levels    []string // of it, as the new results have them
	Side      measure.Side
	Response  string
	Unit      string
	Figure    string  // as Term.Figure
	Old, New  float64 // means over trials
	Trials    [2]int  // old, new
	Ratio     stat.Comparison
	PHolm     float64 // over all contrasts of the comparison; NaN where there is no test
	Change    Change
	Doubt     string // why there is no test
	// MeanRatio is the ratio of the arithmetic means, which a user pays; Ratio is
	// that of the geometric ones, of typical trials. Estimate is NaN where there
	// is none.
	MeanRatio stat.Comparison
	// Allowance is the factor by which waiting for a CPU may have changed the
	// ratio; within it nothing is decided. 1: not at all.
	Allowance float64
	Warnings  []string

	// Answered says that the answered requests alone would have the figure changed, or equal, and that medians among all
	// of them do not say so, where another share failed than before.
	Answered bool

	exact bool      // equal values are the truth itself, see measure.Response.Exact
	zeros *zeros    // the values, where some are 0, so that there is no Ratio; nil: none is
	all   *Contrast // of medians among all requests, where another share failed than before; nil: the same did
	fewer bool      // where there is all: fewer requests fail than before
}

// A Part is one of the tests a condition rests on.
type Part struct {
	Name     string // typical trial, mean, p95, spikes
	Ratio    stat.Comparison
	Met      float64 // p of the condition being met by it
	Excluded float64 // p of the contrary
	// Tail says that it need not exclude the condition beyond doubt: it does where its estimate
	// is on the good side. It is known too roughly for more.
	Tail    bool
	Unknown string // why it has no ratio, where the old results have the figure; empty: it has one
}

// The names of parts that are treated apart.
const (
	typicalPart = "typical trial"
	spikesPart  = "spikes"
)

// An Outcome is a condition's verdict for one treatment and side.
type Outcome struct {
	Condition Condition
	Contrast  Contrast
	Verdict   stat.Verdict // confirmed: the condition is met beyond doubt
	Parts     []Part
	Spikes    Spikes
	Doubt     Doubt // where it is undecided

	idle float64 // its p by itself if no program had waited for a CPU, where some did; else NaN
}

// A Comparison is what became of everything that both results have.
type Comparison struct {
	Contrasts        []Contrast
	Outcomes         []Outcome
	OnlyOld, OnlyNew []string   // treatments
	Gone             []string   // figures, of treatments both have, that the new results lack
	Lost             []Loss     // trials that the new results lack: a change for the worse, unless chance may explain it
	Failed           []Failures // requests, of each treatment; more that failed are a change for the worse
	Margin           float64    // share within which figures count as equal
}

// LostBeyondChance are the losses that are a change for the worse.
func (c Comparison) LostBeyondChance() []Loss {
	return slices.DeleteFunc(slices.Clone(c.Lost), func(l Loss) bool { return l.Verdict() != stat.Confirmed })
}

// Verdict is that of all conditions: confirmed if any is met beyond doubt, or if
// trials were lost or more requests fail; contradicted if all are excluded, else
// undecided. Empty without conditions, losses and failures that rose.
func (c Comparison) Verdict() stat.Verdict {
	v := stat.Verdict("")
	switch {
	case len(c.LostBeyondChance()) > 0:
		return stat.Confirmed
	case c.LossesOpen():
		v = stat.Undecided
	}
	switch f := c.Failing(); f.Verdict {
	case stat.Confirmed:
		return f.Verdict
	case stat.Undecided:
		v = f.Verdict
	}
	for _, o := range c.Outcomes {
		switch {
		case o.Verdict == stat.Confirmed:
			return stat.Confirmed
		case o.Verdict == stat.Undecided || v == stat.Undecided:
			v = stat.Undecided
		default:
			v = stat.Contradicted
		}
	}
	return v
}

// ErrNothingInCommon says that two results have no treatment or no response in common.
var ErrNothingInCommon = errors.New("nothing in common")

// An apart is ErrNothingInCommon in words that say what is not.
type apart string

func (a apart) Error() string   { return string(a) }
func (apart) Is(err error) bool { return err == ErrNothingInCommon }

// Compare sets new results against old ones, treatment by treatment, Welch on
// logarithms: the trials of two runs are no pairs, and those of one may follow
// each other. Those of interleaved series are pairs. Holm over all contrasts,
// and again over all conditions.
func Compare(old, new []Series, conditions []Condition, confidence, margin float64) (Comparison, error) {
	out, err := compareBy(func(Series, Series) string { return "mean" }, old, new, confidence, margin)
	if err == nil {
		out.Outcomes, err = judgeConditions(old, new, conditions, confidence)
		out.changesOfOutcomes(confidence, margin)
	}
	return out, err
}

// changesOfOutcomes gives the figures of conditions their word of change: that of the contrasts, where they are among
// these. Others, such as a p95, are judged by themselves, Holm over them.
func (c *Comparison) changesOfOutcomes(confidence, margin float64) {
	var others []Contrast
	for pass := range 2 {
		for i := range c.Outcomes {
			x := &c.Outcomes[i].Contrast
			like := func(y Contrast) bool {
				return slices.Equal(x.Levels, y.Levels) && x.Treatment == y.Treatment && x.Side == y.Side &&
					x.Response == y.Response && x.Figure == y.Figure
			}
			j, k := slices.IndexFunc(c.Contrasts, like), slices.IndexFunc(others, like)
			switch {
			case j >= 0:
				x.Change, x.PHolm = c.Contrasts[j].Change, c.Contrasts[j].PHolm
			case pass == 0 && k < 0:
				others = append(others, *x)
			case pass == 1:
				x.Change, x.PHolm = others[k].Change, others[k].PHolm
			}
		}
		if pass == 0 {
			judgeChanges(others, confidence, margin)
		}
	}
}

// compareBy is Compare without conditions, of the figure that two series are held against each other by.
func compareBy(figure func(a, b Series) string, old, new []Series, confidence, margin float64) (Comparison, error) {
	out := Comparison{Margin: margin}
	for _, b := range new {
		if a, ok := Find(old, b); ok {
			c := contrast(a, b, figure(a, b), confidence)
			if c.Figure == "mean" && failOtherwise(a, b) {
				all := amongAll(a, b, confidence)
				c.all, c.fewer = &all, a.Failed > b.Failed
			}
			out.Contrasts = append(out.Contrasts, c)
		}
	}
	out.OnlyOld, out.OnlyNew = missing(old, new), missing(new, old)
	for _, a := range old {
		if lacks(new, a) {
			out.Gone = append(out.Gone, strings.TrimSpace(fmt.Sprintf("%s %s, %s", a.Name(), a.Response, a.Side)))
		}
	}
	if len(out.Contrasts) == 0 {
		return out, apart("no treatments in common; compare two runs of the same study")
	}
	judgeChanges(out.Contrasts, confidence, margin)
	return out, nil
}

// Find is the series of the same treatment, side and response; false: there is none.
func Find(all []Series, like Series) (Series, bool) {
	i := slices.IndexFunc(all, func(s Series) bool {
		return same(s, like) && s.Side == like.Side &&
			s.Response == like.Response
	})
	if i < 0 {
		return Series{}, false
	}
	return all[i], true
}

// same reports whether two series are of one treatment: equal levels of every
// factor both name, and no other factors.
func same(a, b Series) bool {
	if len(a.Factors) != len(b.Factors) {
		return false
	}
	for i, f := range a.Factors {
		if j := slices.Index(b.Factors, f); j < 0 || b.Levels[j] != a.Levels[i] {
			return false
		}
	}
	return true
}

func missing(from, in []Series) []string {
	var out []string
	for _, a := range from {
		if !slices.ContainsFunc(in, func(b Series) bool { return same(a, b) }) && !slices.Contains(out, a.Name()) {
			out = append(out, a.Name())
		}
	}
	return out
}

// contrast compares one figure. What cannot be tested says why.
func contrast(old, new Series, figure string, confidence float64) Contrast {
	c := Contrast{Treatment: new.Name(), Levels: new.Levels, Side: new.Side, Response: new.Response, Unit: new.Unit,
		Figure: figure, PHolm: math.NaN(), Change: Unknown,
		Trials: [2]int{len(old.Trials), len(new.Trials)}, Old: math.NaN(), New: math.NaN(), Ratio: none(), MeanRatio: none(),
		Allowance: Allowance(old.Waiting, new.Waiting), exact: old.exact() && new.exact()}
	waited := c.Allowance > 1
	if new.Response == "failed_share" { // a wait makes no more of what failed at once, however long it is
		c.Allowance = 1
	}
	a, err := old.values(figure)
	if err != nil {
		c.Doubt = "old: " + err.Error()
		return c
	}
	b, err := new.values(figure)
	if err != nil {
		c.Doubt = "new: " + err.Error()
		return c
	}
	ratio, paired := stat.RatioOfRuns, old.Interleaved && new.Interleaved
	if paired {
		if a, b, err = blocks(old, new, figure); err != nil {
			c.Doubt = err.Error()
			return c
		}
		ratio = stat.RatioOfBlocks
	}
	c.Old, c.New = mean(a), mean(b)
	if old.Modelled != new.Modelled {
		c.Doubt = "one is measured, the other modelled; they cannot be compared"
		return c
	}
	ticks := (old.Ticks || new.Ticks) && c.Old > 0 && c.New > 0
	if c.Doubt = notSeen(old, new, c.Old, c.New); c.Doubt != "" {
		return c
	}
	if !ticks && old.Unseen+new.Unseen == 0 && len(a) > 1 && len(b) > 1 &&
		(constant(a) && constant(b) && c.Old == c.New || paired && slices.Equal(a, b)) {
		c.Change = Same
	}
	if z := lateZeros(old, new, figure); waited && z != nil && c.Change != Same {
		z.paired, c.zeros = paired, z
		c.Warnings = append(c.Warnings, fmt.Sprintf("programs waited for a CPU (%.2g s of each second before, %.2g now), "+
			"which may have made requests late: those that failed for want of an answer in time prove nothing", old.Waiting,
			new.Waiting))
		return c
	}
	if c.Ratio, err = ratio(b, a, confidence); err != nil {
		c.Ratio = none()
		switch {
		case c.Change == Same:
		case errors.Is(err, stat.ErrSign) && slices.Min(a) >= 0 && slices.Min(b) >= 0:
			c.zeros = &zeros{old: a, new: b, leastOld: a, leastNew: b, paired: paired,
				unseen: [2]float64{new.Unseen, old.Unseen}}
			c.Warnings = append(c.Warnings, "it is 0 in some trials, so means are compared, and no logarithms")
		default:
			c.Doubt = stat.NameSides(err, "new", "old").Error()
		}
		return c
	}
	for i, w := range c.Ratio.Warnings {
		c.Ratio.Warnings[i] = stat.NameSides(w, "new", "old")
	}
	if paired {
		c.MeanRatio, err = stat.RatioOfPairedMeans(b, a, confidence)
	} else {
		c.MeanRatio, err = stat.RatioOfMoments(momentsOf(b), momentsOf(a), confidence)
	}
	if err != nil {
		c.MeanRatio = none()
	}
	c.MeanRatio = c.MeanRatio.AsWide(c.Ratio)
	if ticks {
		c.Ratio, c.MeanRatio = c.Ratio.OfTicks(b, a), c.MeanRatio.OfTicks(b, a)
	}
	c.Ratio = c.Ratio.Hiding(b, a, new.Unseen, old.Unseen)
	c.MeanRatio = c.MeanRatio.Hiding(b, a, new.Unseen, old.Unseen)
	if n, ok := c.Ratio.Ticks(1 - confidence); ok {
		c.MeanRatio = c.Ratio
		c.Warnings = append(c.Warnings, fmt.Sprintf("no trial differs from its fellows, as where a clock ticks: trials are "+
			"counted, and what is within two steps is decided by %d a side at the least", n))
	}
	for _, w := range c.Ratio.Warnings {
		if !errors.Is(w, stat.ErrNoSpread) {
			c.Warnings = append(c.Warnings, w.Error())
		}
	}
	if c.Allowance > 1 {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("programs waited for a CPU (%.2g s of each second before, %.2g now), which alone may cause a ratio "+
				"of up to %.3g; ratios within that are not decided", old.Waiting, new.Waiting, c.Allowance))
	}
	return c
}

func none() stat.Comparison {
	return stat.Comparison{Estimate: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}
}

func momentsOf(xs []float64) stat.Moments {
	return stat.Moments{N: len(xs), Mean: mean(xs), SD: stat.SD(xs)}
}

// differs is the p of the answer that the ratio is not 1, and not within what
// waiting for a CPU may have done.
func (c Contrast) differs() float64 {
	switch e := c.Ratio.Estimate; {
	case c.zeros != nil:
		return c.zeros.apart(max(1, c.Allowance))
	case !(c.Allowance > 1):
		return c.Ratio.P
	case e > c.Allowance:
		return c.Ratio.Against(c.Allowance)
	case e < 1/c.Allowance:
		return c.Ratio.Against(1 / c.Allowance)
	}
	return 1
}

// judgeChanges gives each contrast its word, Holm over all of them: once over
// the tests of a difference, once over the proofs of equality.
func judgeChanges(cs []Contrast, confidence, margin float64) {
	differ, equal := make([]float64, len(cs)), make([]float64, len(cs))
	for i, c := range cs {
		differ[i], equal[i] = c.differs(), c.equals(margin)
	}
	answered := changes(cs, stat.Holm(differ), stat.Holm(equal), 1-confidence)
	for i, c := range cs {
		if c.all == nil {
			continue
		}
		equal[i] = max(equal[i], orOne(c.all.equals(margin)))
		if p := c.all.differsLike(c); c.hides() && p > 0 && !(differ[i] >= p) {
			differ[i] = p
		}
	}
	differ = stat.Holm(differ)
	for i, word := range changes(cs, differ, stat.Holm(equal), 1-confidence) {
		c := &cs[i]
		c.PHolm, c.Change, c.Answered = differ[i], word, word == Unknown && answered[i] != Unknown
		if c.Answered {
			c.Warnings = append(c.Warnings, "the answered requests alone would decide it, and medians among all requests do "+
				"not say so; another share failed than before")
		}
	}
}

// changes are the words of contrasts, by the p of each difference and of each equality.
func changes(cs []Contrast, differ, equal []float64, alpha float64) []Change {
	out := make([]Change, len(cs))
	for i, c := range cs {
		switch out[i] = c.Change; {
		case c.Change == Same:
		case equal[i] < alpha:
			out[i] = Equal
		case differ[i] < alpha,
			c.noSpread() && !(differ[i] >= alpha) && c.Ratio.Estimate != 1 && !(c.Allowance > 1):
			out[i] = Higher
			if c.lower() {
				out[i] = Lower
			}
		}
	}
	return out
}

// lower says on which side of the old figure the new one lies.
func (c Contrast) lower() bool { return c.Ratio.Estimate < 1 || c.zeros != nil && c.New < c.Old }

// equals is the p of the answer that the ratio lies within the margin of 1; NaN: waiting for a CPU hides it, or there
// is none.
func (c Contrast) equals(margin float64) float64 {
	e, err := c.Ratio.Equivalent(1/(1+margin), 1+margin)
	if err != nil || math.IsNaN(c.Ratio.Lo) || c.Allowance > 1 {
		return math.NaN()
	}
	return e.P
}

// noSpread: no trial of either side differs from its fellows, so that there is
// a ratio and no test.
func (c Contrast) noSpread() bool {
	return math.IsNaN(c.Ratio.P) && c.Ratio.Lo == c.Ratio.Hi && c.Trials[0] > 1 && c.Trials[1] > 1
}

// judgeConditions gives every condition its verdict for every treatment, Holm
// over all of them. Each rests on parts: it is met if any part is (p: the least
// times their number), and excluded if all are (p: the largest).
func judgeConditions(old, new []Series, conditions []Condition, confidence float64) ([]Outcome, error) {
	var out []Outcome
	var ps []float64
	alpha := 1 - confidence
	for _, k := range conditions {
		n := len(out)
		for _, b := range new {
			a, ok := Find(old, b)
			if !ok || !k.Matches(b) || b.Floor {
				continue
			}
			o := Outcome{Condition: k, Contrast: contrast(a, b, k.Figure, confidence), Verdict: stat.Undecided,
				idle: math.NaN()}
			o.test(a, b, confidence)
			if o.Contrast.Waits() {
				quiet := Outcome{Condition: k, Contrast: o.Contrast.idle()}
				quiet.test(a, b, confidence)
				o.idle = quiet.p(alpha)
			}
			out, ps = append(out, o), append(ps, o.p(alpha))
		}
		if k.singleValued(old) && k.singleValued(new) {
			return nil, apart(fmt.Sprintf("%q: a trial has one value of %s, and so no p95; name %s", k.Text, k.Response,
				k.ofMeans()))
		}
		if len(out) == n {
			return nil, apart(fmt.Sprintf("%q: %s is not in both results; drop the condition, or add the response to the "+
				"study", k.Text, k.Response))
		}
	}
	among := len(slices.DeleteFunc(slices.Clone(ps), math.IsNaN))
	for i, p := range stat.Holm(ps) {
		o := &out[i]
		met, excluded := o.joined(alpha)
		switch {
		case len(o.Parts) == 0 && o.Contrast.Change == Same:
			o.Verdict = sameAgainst(o.Condition)
		case !(p < alpha):
			o.Doubt = o.doubt(p, alpha, alpha/float64(len(out)*max(1, len(o.Parts))))
			o.Doubt.Among = among
		case met < excluded:
			o.Verdict = stat.Confirmed
		default:
			o.Verdict = stat.Contradicted
		}
	}
	return append(out, gone(old, new, conditions)...), nil
}

// sameAgainst judges a condition on a figure that did not change at all, and has
// no logarithm: 0 before and 0 after.
func sameAgainst(k Condition) stat.Verdict {
	if k.Less == (1 < k.Bound) && k.Bound != 1 || k.At && k.Bound == 1 {
		return stat.Confirmed
	}
	return stat.Contradicted
}
