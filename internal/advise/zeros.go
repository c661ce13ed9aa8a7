package advise

import "edgegauge.example/edgegauge/internal/stat"

// zeros are the values of a contrast of which some are 0, as shares of requests that failed: they have no logarithm, so
// their means are judged.
type zeros struct {
	old, new []float64
	paired   bool
	unseen   [2]float64 // of new and old: see Series.Unseen
}

// beyond are the p of the answers that the new mean is above bound times the old one, and below.
func (z zeros) beyond(bound float64) (above, below float64) {
	above, below, err := stat.MeansBeyond(z.new, z.old, bound, z.paired, z.unseen)
	if err != nil {
		return 1, 1
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
	scaled := make([]float64, len(z.old))
	for i, x := range z.old {
		scaled[i] = bound * x
	}
	test := stat.DifferenceWelch
	if z.paired {
		test = stat.DifferencePaired
	}
	c, err := test(z.new, scaled, 0.95)
	if err != nil || c.Estimate > 0 != above || c.Estimate == 0 {
		return 0
	}
	never, some, times := z.old, z.new, bound
	if !above {
		never, some, times = z.new, z.old, 1/bound
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
