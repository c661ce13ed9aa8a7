package advise

import (
	"math"

	"edgegauge.example/edgegauge/internal/stat"
)

// A Why is what keeps a condition from being decided.
type Why string

// The reasons why a condition is undecided.
const (
	// Untested: there is no ratio to test; the contrast's Doubt says why.
	Untested Why = "untested"
	// Waited: waiting for a CPU may explain what was found, however many such trials there are.
	Waited Why = "waited"
	// Tails: all that must exclude the condition does, but what Open names is on the bad side.
	Tails Why = "tails"
	// Widened: the intervals by themselves decide it, and not with what waiting for a CPU may explain beside them.
	Widened Why = "widened"
	// Together: by itself it is decided, but not among all that is judged at once.
	Together Why = "together"
	// Straddles: the intervals of the parts that Open names contain the bound.
	Straddles Why = "straddles"
	// Hidden: the steps of a clock or a meter, or what a meter does not see, leave it open, however many such trials
	// there are. Of a repetition only.
	Hidden Why = "hidden"
	// Unlike: the replicates of a side rise, fall or are of two kinds; the contrast's Doubt says how.
	Unlike Why = "unlike"
)

// A Doubt says what keeps a condition undecided.
type Doubt struct {
	Why  Why
	Open []Part // those that do not exclude the condition
	// P is that of the condition by itself, Holm that among all that is judged at once, of which there are Among.
	P, Holm float64
	Among   int
	// Needed is how many trials a side would decide it, with leastPower, if the figures stay as they are;
	// 0: that cannot be said, or no practical number would.
	Needed int
}

// doubt is why the outcome is undecided. holm is its p among all, own the level of one part.
func (o *Outcome) doubt(holm, alpha, own float64) Doubt {
	d := Doubt{Why: Straddles, P: 1, Holm: holm}
	if len(o.Parts) == 0 {
		d.Why = Untested
		return d
	}
	tails, excluded := true, 0.0
	for _, p := range o.Parts {
		d.P, excluded = min(d.P, p.Met), max(excluded, p.Excluded)
		if !(p.Excluded < alpha) {
			d.Open = append(d.Open, p)
			tails = tails && p.Tail
		}
	}
	d.P = min(d.P, excluded)
	switch {
	case o.neverDecides():
		d.Why = Waited
		return d
	case d.P < alpha:
		d.Why, d.Open = Together, o.Parts
	case tails:
		d.Why = Tails
	case o.idle < alpha:
		d.Why, d.P = Widened, o.idle
		return d
	}
	d.Needed = o.needed(d.Open, alpha, own)
	return d
}

// neverDecides reports whether no number of trials would decide the outcome while
// programs wait for a CPU so long: what was found lies within what that may explain.
func (o *Outcome) neverDecides() bool {
	if !o.Contrast.Waits() {
		return false
	}
	excluded := true
	for i, p := range o.Parts {
		met, out := 1.0, p.Excluded
		if p.Name != spikesPart {
			ever := stat.Comparison{Estimate: p.Ratio.Estimate, Confidence: 1}.Beyond
			if o.Contrast.zeros != nil {
				ever = o.Contrast.zeros.ever
			}
			met, out = o.ps(ever)
		}
		if met == 0 && (i == 0 || !o.Condition.Detect) {
			return false
		}
		excluded = excluded && (out == 0 || p.Tail && p.Excluded == 0)
	}
	return !excluded
}

// needed is how many trials a side would decide the outcome: the least of the parts that
// would meet the condition, else the most of those that would exclude it.
func (o *Outcome) needed(open []Part, alpha, own float64) int {
	if o.Contrast.zeros != nil {
		return o.neededOfZeros(own)
	}
	if o.Contrast.Ratio.Follows() {
		return 0 // further blocks would follow these, nobody knows how far
	}
	if o.Condition.Detect {
		if len(open) == 0 || open[0].Name != typicalPart {
			return 0 // tails never meet it
		}
		n, err := stat.Blocks(o.Contrast.Ratio.SD(), o.Contrast.Ratio.DF, math.Log(o.Condition.Bound),
			own*float64(len(o.Parts)), leastPower)
		if err != nil {
			return 0
		}
		return n
	}
	least, most, all := 0, 0, true
	for _, p := range open {
		n := o.neededBy(p, own)
		all = all && n > 0
		most = max(most, n)
		if n > 0 && o.bad(p) && (least == 0 || n < least) {
			least = n
		}
	}
	switch {
	case least > 0:
		return least
	case all:
		return most
	}
	return 0
}

// bad reports whether a part's estimate is beyond the bound.
func (o *Outcome) bad(p Part) bool {
	return p.Name == spikesPart || (p.Ratio.Estimate < o.Condition.Bound) == o.Condition.Less
}

// edge is what the ratio of a part must lie beyond, above or below, to decide it: the bound, with what waiting for a
// CPU may explain.
func (o *Outcome) edge(p Part) (bound float64, above bool) {
	wide := max(1, o.Contrast.Allowance)
	if o.bad(p) != o.Condition.Less {
		return o.Condition.Bound * wide, true
	}
	return o.Condition.Bound / wide, false
}

// neededBy is how many trials a side would decide one part.
func (o *Outcome) neededBy(p Part, own float64) int {
	if p.Name != spikesPart {
		if n, ok := p.Ratio.Ticks(own); ok {
			return n
		}
		edge, above := o.edge(p)
		if p.Ratio.Estimate > edge != above {
			return 0
		}
		return needed(p.Ratio.SD(), p.Ratio.DF, p.Ratio.Gap(edge), own)
	}
	s := o.Spikes
	per := max(s.Trials[0], s.Trials[1])
	for k := 2; k*per <= mostTrials; k++ {
		n := k * s.Trials[1]
		hits := mostlyAtLeast(n, float64(s.New)/float64(s.Trials[1]))
		if 2*stat.FisherMore(hits, n, k*s.Old, k*s.Trials[0]) < own {
			return k * per
		}
	}
	return 0
}

// mostlyAtLeast is how many of n have a property of such a share, or more, with leastPower.
func mostlyAtLeast(n int, share float64) int {
	hits := int(math.Ceil(float64(n) * share))
	for hits > 0 && stat.AtLeast(hits, n, share) < leastPower {
		hits--
	}
	return hits
}

// Open reports whether any of the conditions is undecided for a reason that more trials, or
// quieter ones, would remove.
func (c Comparison) Open() bool {
	if c.Failing().Verdict == stat.Undecided || c.LossesOpen() {
		return true
	}
	for _, o := range c.Outcomes {
		switch {
		case o.Verdict != stat.Undecided || o.Doubt.Why == Untested:
		case o.Doubt.Why != Tails || o.Doubt.Needed > 0:
			return true
		}
	}
	return false
}
