package stat

import (
	"math"
	"slices"
)

// ticks stand for the spread of values that have none, since their clock or meter has steps.
type ticks struct {
	a, b float64 // the sides' means
	step float64 // the largest that the clock can have: all values are multiples of it
	sure float64 // values are off by a step at most; how many of both sides there are
	p    float64 // of the values all lying so by chance, two-sided

	hidden [2]float64 // by how much each side may be off besides: see Hiding
}

// OfTicks is the comparison of a with b, which are measured and not counted. Where no value of a side, or no pair,
// differs from its fellows, they show the steps of their clock and no spread: a truth between two steps may give one
// side the one and the other side the next, so equal values are no certainty. What is more than two steps away is
// decided by the values; what is less by how many there are: the share of the ways to deal them to the sides that part
// them so. b is nil where a is held against a bound that is known.
//
// Where there is a spread, it is not that of the steps: truths of 10.1 and 10.9 steps whose trials vary by less show 10
// in nearly all. Means are off by a step of each side at most, so that they lie beyond a bound, or within bounds, by
// more than that. The order of two sides that one clock shows is right, and not doubted.
func (c Comparison) OfTicks(a, b []float64) Comparison { return c.OfClock(a, b, 0) }

// OfClock is OfTicks where other figures of the same clock show that its step is at most so large; 0: nothing does.
// Few values that are alike have a large common step by chance: 200 and 300 µs one of 100 µs, of a clock that shows ns.
func (c Comparison) OfClock(a, b []float64, most float64) Comparison {
	if !(c.Confidence > 0) || len(a) == 0 {
		return c
	}
	step := StepOf(slices.Concat(a, b))
	if most > 0 {
		step = min(step, most)
	}
	if c.se > 0 {
		c.off, c.offEven = c.offBy(step, a, b), len(b) == 0
		return c
	}
	n, m := len(a), len(b)
	t := &ticks{a: meanOf(a), step: step, sure: 1, p: math.Pow(2, float64(1-n))}
	if t.b = t.a - c.Estimate; m > 0 {
		t.b, t.sure = meanOf(b), 2
		if !c.paired {
			t.p = 2 / waysToDeal(n+m, n)
		}
	}
	t.p = min(1, t.p)
	c.ticks = t
	return c.perTick(1)
}

// offBy is by how much the steps of their clock may have shifted the center of a and b.
func (c Comparison) offBy(step float64, a, b []float64) (off float64) {
	for _, side := range [][]float64{a, b} {
		switch {
		case len(side) == 0:
		case c.log:
			off += math.Log1p(step / slices.Min(side))
		default:
			off += step
		}
	}
	return off
}

// past is a distance of the center from a bound, both on the scale of the test, less what the steps of a clock may have
// added to it; 0: they may explain all of it.
func (c Comparison) past(gap, bound float64) float64 {
	if bound == 0 && !c.offEven {
		return gap
	}
	return math.Copysign(max(0, math.Abs(gap)-c.off), gap)
}

// Gap is how far the comparison lies from a bound, on the scale of the test, whatever the steps of a clock hide;
// 0: they leave open on which side.
func (c Comparison) Gap(bound float64) float64 {
	if c.log {
		bound = math.Log(bound)
	}
	return c.past(c.center-bound, bound)
}

// perTick gives the comparison its p, as one of so many pairs, and an interval that reaches to where both sides are
// equal, where that is not excluded.
func (c Comparison) perTick(pairs float64) Comparison {
	c.P = min(1, pairs*c.ticks.against(c.Even(), c.log))
	c.Lo, c.Hi = c.Estimate, c.Estimate
	if c.P >= 1-c.Confidence {
		const rounding = 1e-9
		c.Lo, c.Hi = min(c.Lo, c.Even()), max(c.Hi, c.Even())
		c.Lo, c.Hi = c.Lo-rounding*math.Abs(c.Lo), c.Hi+rounding*math.Abs(c.Hi)
	}
	return c.hide()
}

// against is the p of the answer that the difference or ratio is on the side of a bound where the values are.
func (t *ticks) against(bound float64, log bool) float64 {
	gap, margin, hidden := t.a-t.b-bound, t.sure*t.step, t.hidden[0]+t.hidden[1]
	if log {
		gap, margin, hidden = t.a-bound*t.b, (1+bound)*t.step, t.hidden[0]+bound*t.hidden[1]
	}
	const rounding = 1e-9
	switch {
	case math.Abs(gap) <= max(hidden, 1e-12*max(math.Abs(t.a), math.Abs(t.b))):
		return 1
	case math.Abs(gap) > hidden+margin*(1+rounding):
		return 0
	}
	return t.p
}

// Ticks says whether the values show the steps of a clock and no spread, and how many a side decide at a level by being
// alike.
func (c Comparison) Ticks(alpha float64) (decide int, ok bool) {
	if c.ticks == nil {
		return 0, false
	}
	for decide = 2; ; decide++ {
		p := math.Pow(2, float64(1-decide))
		if c.ticks.sure == 2 && !c.paired {
			p = 2 / waysToDeal(2*decide, decide)
		}
		if p < alpha || decide == MostBlocks {
			return decide, true
		}
	}
}

// waysToDeal is n over k.
func waysToDeal(n, k int) float64 { return math.Exp(logChoose(n, k)) }

// StepOf is the greatest number of which all values are multiples, by Euclid's algorithm: the largest step that a
// clock can have that shows them. What is less than a billionth of the largest value is rounding, so that values
// without steps have one of about that. 0: all are 0.
func StepOf(xs []float64) float64 {
	largest := 0.0
	for _, x := range xs {
		largest = max(largest, math.Abs(x))
	}
	step, rest, seen := 0.0, 1e-9*largest, 0.0
	for _, x := range xs {
		seen = max(seen, math.Abs(x))
		for x = math.Abs(x); x > rest; {
			step, x = x, math.Mod(step, x)
			if step-x <= rest { // rounding
				x = 0
			}
		}
		if step > 0 { // the remainders' rounding would grow from value to value
			step = seen / math.Round(seen/step)
		}
	}
	return step
}
