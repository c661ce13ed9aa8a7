package paper

import (
	"cmp"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// sizeWithin is how far ours may lie from a published size that it confirms,
// where a claim does not say (within: 10%).
const sizeWithin = 0.25

// SizeBounds are the bounds within which a published size is confirmed. A ratio
// may differ by a quarter, and by no more than half its distance from 1 on the
// log scale, so that "5 % more" is not confirmed by "nothing more"; a
// difference or slope by a quarter. ok is false where the claim states no size,
// or one for each of its Pairs. What is claimed to lie within a bound of its own (an exponent,
// a share, levels that are alike) is judged by that alone; a ratio of deviations is shown and not judged, since ours
// need not be of the same quantity.
func (c Claim) SizeBounds() (lo, hi float64, ok bool) {
	share := sizeWithin
	if c.Within > 0 {
		share = float64(c.Within)
	}
	lo, hi, ok = c.Published()
	switch {
	case !ok || c.Equivalent != nil || slices.Contains([]string{"exponent", "share", "spread ratio"}, c.Kind()):
		return math.NaN(), math.NaN(), false
	case c.Kind() == "ratio":
		if !(lo > 0) {
			return math.NaN(), math.NaN(), false
		}
		lo, hi = around(lo, hi, share)
		return lo, hi, true
	}
	return lo - share*math.Abs(lo), hi + share*math.Abs(hi), true
}

// around widens a range of ratios by a share, and by no more than half its distance from 1.
func around(lo, hi, share float64) (float64, float64) {
	slack := func(published float64) float64 {
		return math.Exp(min(math.Log(1+share), math.Abs(math.Log(published))/2))
	}
	return lo / slack(lo), hi * slack(hi)
}

// boundsOf are the SizeBounds of one part.
func (j *Judged) boundsOf(p Part) (lo, hi float64, ok bool) {
	if len(p.Published) == 0 {
		return j.SizeBounds()
	}
	lo, hi = around(p.Published[0], p.Published[1], sizeWithin)
	return lo, hi, true
}

// joinSize makes SizeP of the parts: all of them within the bounds, or any outside.
func (j *Judged) joinSize() {
	if !slices.ContainsFunc(j.Parts, func(p Part) bool { _, _, ok := j.boundsOf(p); return ok }) {
		return
	}
	if j.apart != "" || j.designed != "" {
		j.Size = stat.Undecided
		return
	}
	holds, fails := 0.0, 1.0
	for _, p := range j.Parts {
		inside, outside := 1.0, 1.0
		if lo, hi, ok := j.boundsOf(p); ok && p.Why == "" && p.Ours.Kind == j.Kind() {
			if in, out, err := j.within(p.Ours, lo, hi); err == nil {
				inside, outside = in, out
			}
		}
		holds, fails = max(holds, inside), min(fails, outside)
	}
	fails = min(1, fails*float64(len(j.Parts)))
	j.SizeP, j.Size, j.model[1] = j.weigh(holds, fails)
}

// within are the p of f within bounds and of f outside them, whatever the requests that failed would have taken.
func (j *Judged) within(f Evidence, lo, hi float64) (inside, outside float64, err error) {
	above, below := j.outside(f, lo, hi)
	for _, x := range f.all() {
		in, bad := j.withinOne(x, lo, hi)
		inside, err = max(inside, in), cmp.Or(err, bad)
	}
	return inside, min(above, below), err
}

// withinOne is the p of f within bounds, by more than waiting for a CPU can explain: of a ratio it may have made wide
// times as much, or wide times as little; either side of a difference may be too long by that.
func (j *Judged) withinOne(f Evidence, lo, hi float64) (inside float64, err error) {
	if lo, hi = f.farther(lo, true), f.farther(hi, false); f.why != "" || lo >= hi {
		return 1, nil
	}
	if j.wide > 1 && f.Kind != "ratio" {
		return f.withinSpared(j.wide, lo, hi)
	}
	if wide := max(1, j.wide); lo*wide < hi/wide {
		inside, _, err = f.Between(lo*wide, hi/wide)
		return inside, err
	}
	return 1, nil
}

// outside are the p of f above bounds, and below them, whatever the requests that failed would have taken.
func (j *Judged) outside(f Evidence, lo, hi float64) (above, below float64) {
	for _, x := range f.all() {
		up, down := j.outsideOne(x, lo, hi)
		above, below = max(above, up), max(below, down)
	}
	return above, below
}

// outsideOne are the p of f above bounds, and below them, by more than waiting for a CPU can explain.
func (j *Judged) outsideOne(f Evidence, lo, hi float64) (above, below float64) {
	if f.why != "" {
		return 1, 1
	}
	least, most, from, to := f.Comparison, f.Comparison, lo, hi
	lo, hi = f.farther(lo, false), f.farther(hi, true)
	switch {
	case j.wide <= 1:
	case f.Kind == "ratio" || f.Kind == "share":
		lo, hi = lo/j.wide, hi*j.wide
	default:
		var ok bool
		if least, most, ok = f.spared(j.wide); !ok {
			return 1, 1
		}
	}
	above, _ = least.Beyond(hi)
	_, below = most.Beyond(lo)
	return max(above, f.chance(to, true)), max(below, f.chance(from, false))
}

// withinSpared is the p of a difference within bounds that waiting for a CPU does not explain.
func (f Evidence) withinSpared(wide, lo, hi float64) (inside float64, err error) {
	least, most, ok := f.spared(wide)
	if !ok {
		return 1, nil
	}
	low, _, err := least.Between(lo, hi)
	if err != nil {
		return 1, err
	}
	high, _, err := most.Between(lo, hi)
	if err != nil {
		return 1, err
	}
	return max(low, high), nil
}

// weigh is the p of the likelier answer, and that answer, unless something
// keeps the claim from being decided at all; and both if a model could decide.
func (j *Judged) weigh(holds, fails float64) (float64, stat.Verdict, provisional) {
	if len(j.Missing) > 0 {
		holds = 1
		if !j.whole {
			fails = 1
		}
	}
	p, v := likelier(holds, fails)
	model := provisional{p, v}
	if j.Modelled {
		p, v = likelier(1, 1)
	}
	return p, v, model
}

func likelier(holds, fails float64) (float64, stat.Verdict) {
	switch {
	case holds < fails:
		return holds, stat.Confirmed
	case fails < holds:
		return fails, stat.Contradicted
	}
	return min(holds, fails), stat.Undecided
}

// both is the verdict of a claim that states a direction and a size: what is
// said of the direction, and where that is confirmed, of the size.
func both(direction, size stat.Verdict) stat.Verdict {
	if direction == stat.Confirmed && size != "" {
		return size
	}
	return direction
}

// disagreement says where the strata of a ratio turn it round, so that no
// average over them decides; empty where they do not.
func disagreement(strata []advise.Stratum) string {
	if !advise.Disagree(strata) {
		return ""
	}
	return "no average applies, since it depends on other factors: ratio" + ratiosAt(strata)
}

// ratiosAt are the ratios of strata in words.
func ratiosAt(strata []advise.Stratum) string {
	text := ""
	for i, s := range strata {
		if i > 0 {
			text += ","
		}
		text += " " + Evidence{Kind: "ratio", Comparison: s.Comparison}.within() + " at " + s.Name()
	}
	return text
}

// perStratum compares two selections in each stratum that has both, Bonferroni
// over the strata.
func (t *tester) perStratum(a, b selection, how func([]float64) float64,
	compare func(a, b []float64, confidence float64) (stat.Comparison, error)) []advise.Stratum {
	all := a.scope.strata
	var out []advise.Stratum
	for _, x := range all {
		a.scope.strata = []map[string]string{x}
		xs, ys := pairs(a, b)
		as, bs := average(xs, how), average(ys, how)
		c, err := compare(as, bs, 1-(1-t.confidence)/float64(len(all)))
		if err == nil {
			c = c.Hiding(slices.Concat(xs...), slices.Concat(ys...), a.unseen(a.scope.strata), b.unseen(a.scope.strata))
			out = append(out, advise.Stratum{Levels: []string{inWords(varying(x, all))}, Comparison: c})
		}
	}
	return out
}
