package advise

import (
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// zeros are the values of a contrast of which some are 0, as shares of requests that failed: they have no logarithm, so
// their means are judged. The least are those without what waiting for a CPU may have caused: where programs waited
// a value lies anywhere between.
type zeros struct {
	old, new, leastOld, leastNew []float64
	paired                       bool
	late                         bool       // the least are less
	unseen                       [2]float64 // of new and old: see Series.Unseen
}

// lateZeros are the zeros of shares of requests that failed, some of them for want of an answer in time; nil: none did
// so.
func lateZeros(old, new Series, figure string) *zeros {
	late := func(t TrialSummary) bool { return t.Late > 0 }
	if !slices.ContainsFunc(old.Trials, late) && !slices.ContainsFunc(new.Trials, late) {
		return nil
	}
	values := func(old, new Series) (a, b []float64) {
		if old.Interleaved && new.Interleaved {
			a, b, _ = blocks(old, new, figure) // which its caller could, too
			return a, b
		}
		a, _ = old.values(figure)
		b, _ = new.values(figure)
		return a, b
	}
	z := &zeros{late: true}
	z.old, z.new = values(old, new)
	z.leastOld, z.leastNew = values(old.withoutLate(), new.withoutLate())
	return z
}

// Waits reports whether waiting for a CPU may have changed what is compared.
func (c Contrast) Waits() bool { return c.Allowance > 1 || c.zeros != nil && c.zeros.late }

// idle is the contrast as if no program had waited for a CPU.
func (c Contrast) idle() Contrast {
	c.Allowance = 1
	if c.zeros != nil && c.zeros.late {
		c.zeros = &zeros{old: c.zeros.old, new: c.zeros.new, leastOld: c.zeros.old, leastNew: c.zeros.new,
			paired: c.zeros.paired, unseen: c.zeros.unseen}
	}
	return c
}

// beyond are the p of the answers that the new mean is above bound times the old one, and below, wherever both lie.
func (z zeros) beyond(bound float64) (above, below float64) {
	above, _, errAbove := stat.MeansBeyond(z.leastNew, z.old, bound, z.paired, z.unseen)
	_, below, errBelow := stat.MeansBeyond(z.new, z.leastOld, bound, z.paired, z.unseen)
	if errAbove != nil || errBelow != nil {
		return 1, 1
	}
	return above, below
}

// ever are 0 instead of 1 if beyond would become small of any number of trials like these.
func (z zeros) ever(bound float64) (above, below float64) {
	above, below = 1, 1
	if mean(z.leastNew) > bound*mean(z.old) {
		above = 0
	}
	if mean(z.new) < bound*mean(z.leastOld) {
		below = 0
	}
	return above, below
}

// apart is the p of the answer that the means differ by more than a factor.
func (z zeros) apart(factor float64) float64 {
	above, _ := z.beyond(factor)
	_, below := z.beyond(1 / factor)
	return min(above, below)
}

// neededOfZeros is how many trials a side would decide the outcome if they are as these; own is the level of one part.
func (o *Outcome) neededOfZeros(own float64) int {
	k, wide := o.Condition, max(1, o.Contrast.Allowance)
	from := k.Bound // as ps has it
	if k.Detect {
		from = 1
	}
	met, excluded := from*wide, k.Bound/wide
	if k.Less {
		met, excluded = from/wide, k.Bound*wide
	}
	if n := o.Contrast.zeros.needed(met, !k.Less, own); n > 0 {
		return n
	}
	return o.Contrast.zeros.needed(excluded, k.Less, own)
}

// needed is how many trials a side show with leastPower that the new mean is above bound times the old one, or below,
// as far as it is in these; 0: it is not, or no practical number does. Where all of a side are 0 two tests must agree,
// mostly of the same trials.
func (z zeros) needed(bound float64, above bool, own float64) int {
	old, new := z.old, z.leastNew
	if !above {
		old, new = z.leastOld, z.new
	}
	scaled := make([]float64, len(old))
	for i, x := range old {
		scaled[i] = bound * x
	}
	test := stat.DifferenceWelch
	if z.paired {
		test = stat.DifferencePaired
	}
	c, err := test(new, scaled, 0.95)
	if err != nil || c.Estimate > 0 != above || c.Estimate == 0 {
		return 0
	}
	never, some, times := old, new, bound
	if !above {
		never, some, times = new, old, 1/bound
	}
	both, n := stat.OverZero(never) == 0, 2
	if c.SD() > 0 { // else the values themselves decide
		gap := c.Hiding(z.new, scaled, z.unseen[0], bound*z.unseen[1]).Gap(0)
		if n, err = stat.Blocks(c.SD(), c.DF, gap, own, leastPower); err != nil {
			return 0
		}
	}
	for share := float64(stat.OverZero(some)) / float64(len(some)); both && n <= mostTrials; n += 1 + n/20 {
		if stat.Oftener(mostlyAtLeast(n, share), n, n, times) < own {
			break
		}
	}
	if n > mostTrials {
		return 0
	}
	return n
}
