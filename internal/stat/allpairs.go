package stat

import (
	"fmt"
	"math"
	"slices"
)

// AllPairs compares every pair of several treatments at once, so that whoever
// picks the best of them from the data, and then compares it with the others,
// is wrong about any of them in at most 1-confidence of all studies.
//
// The values of two treatments are paired by block. The statistic is the paired
// t, its limit that of the studentized range (Tukey 1953; for unequal variances
// Games & Howell 1976): with k treatments and n common blocks, q(k, n-1)/√2. A
// standard deviation below the lower quartile of all pairs' is replaced by that
// quartile: without it, the pair that looks quietest by chance decides (SAM,
// Tusher et al. 2001, adds such a constant for the same reason). A few noisy
// treatments do not move the quartile. Of three blocks it is the median, and of two the upper quartile: where trials
// fall into two kinds, all of a treatment may be of one kind by chance, and of many pairs a quarter are such.
//
// Three treatments have three pairs, of which no quartile can be replaced: each has
// its own deviation, where the studentized range has one for all, and the largest
// of three t passes that limit in 6 % of studies of five blocks. There the limit
// is Bonferroni's, which holds however the three depend on each other. No limit of
// more treatments is below that (q of four is, with three or four blocks): else a
// treatment that is far worse would tell others apart by being there.
//
// Where the differences of a pair follow each other from block to block, as where one
// treatment drifts by itself, that pair is judged as RatioOfBlocks does, from 16 blocks on.
type AllPairs struct {
	Log        bool // compared by ratio, since every value is positive; else by difference
	Measured   bool // values without any spread are those of a clock or a meter: see Comparison.OfTicks
	Confidence float64
	Step       float64 // the largest that their clock can have, by all its figures; 0: what is compared tells it

	values [][]float64
	hidden []float64           // of each treatment: see Hide
	usual  [4]float64          // quartiles of the variances of the pairs' differences, the lower at 1
	limits map[float64]float64 // critical, by degrees of freedom: pairs of as many blocks share one
}

// NewAllPairs takes one row a treatment and one column a block; NaN where a
// treatment has no value in a block.
func NewAllPairs(values [][]float64, confidence float64) (*AllPairs, error) {
	if len(values) < 2 {
		return nil, fmt.Errorf("%w: %d treatments are too few to compare; give at least 2", ErrTooFew, len(values))
	}
	if !(confidence > 0 && confidence < 1) {
		return nil, fmt.Errorf("confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)
	}
	p := &AllPairs{Log: true, Confidence: confidence, values: values}
	for i, row := range values {
		if len(row) != len(values[0]) {
			return nil, fmt.Errorf("treatment %d has %d blocks, but the first has %d; give one value per block, NaN for a "+
				"missing one", i+1,
				len(row), len(values[0]))
		}
		for _, x := range row {
			if math.IsInf(x, 0) {
				return nil, fmt.Errorf("%w: treatment %d has a value of %v; repeat that trial", ErrNotFinite, i+1, x)
			}
			p.Log = p.Log && !(x <= 0)
		}
	}
	p.usual = p.usualVariance()
	return p, nil
}

// Hide says by how much the values of each treatment may all be off, whatever they show: see Comparison.Hiding. What
// may be nothing has no ratio.
func (p *AllPairs) Hide(off []float64) {
	p.hidden = off
	for i, row := range p.values {
		known := slices.DeleteFunc(slices.Clone(row), math.IsNaN)
		if len(known) > 0 && off[i] > 0 && off[i] >= meanOf(known) && p.Log {
			p.Log = false
			p.usual = p.usualVariance()
		}
	}
}

func (p *AllPairs) usualVariance() (quartiles [4]float64) {
	var all []float64
	for i := range p.values {
		for j := range i {
			if d, _ := p.differences(i, j); len(d) > 1 {
				all = append(all, varianceOf(d))
			}
		}
	}
	slices.Sort(all)
	for i := range quartiles {
		if len(all) > 0 {
			quartiles[i] = all[(len(all)-1)*i/4]
		}
	}
	return quartiles
}

// variance is that by which a pair of these differences is judged.
func (p *AllPairs) variance(d []float64) float64 {
	quartile := 1
	switch len(d) {
	case 2:
		quartile = 3
	case 3:
		quartile = 2
	}
	return max(varianceOf(d), p.usual[quartile])
}

// differences are those of the blocks both have, on the scale of the test, and
// the largest absolute value on that scale.
func (p *AllPairs) differences(i, j int) (d []float64, size float64) {
	for b, x := range p.values[i] {
		y := p.values[j][b]
		if math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		if p.Log {
			x, y = math.Log(x), math.Log(y)
		}
		d, size = append(d, x-y), max(size, math.Abs(x), math.Abs(y))
	}
	if p.Log {
		size = max(size, 1)
	}
	if lo, hi := least(d); hi-lo <= roundingOf(size) { // rounding of logarithms, or of values near 1, is no spread
		for k := range d {
			d[k] = d[0]
		}
	}
	return d, size
}

func least(d []float64) (lo, hi float64) {
	if len(d) == 0 {
		return 0, 0
	}
	return extremes(d)
}

func varianceOf(d []float64) float64 {
	if allEqual(d) {
		return 0
	}
	_, v := moments(d)
	return v
}

// Compare sets treatment i against j: the ratio i/j, or the difference i-j
// where Log is false. P and the interval hold for all pairs at once. Where no
// pair has any spread, the interval has width zero and P is NaN, unless values are Measured.
func (p *AllPairs) Compare(i, j int) (Comparison, error) {
	c, err := p.Interval(i, j)
	if err == nil && c.se > 0 {
		c.P = p.upper(math.Abs(c.past(c.center, 0))/c.se, c.DF)
	}
	return c, err
}

// upper is the P of a pair's |t|, over all pairs.
func (p *AllPairs) upper(t, df float64) float64 {
	three := min(1, 3*tTwoSided(t, df))
	if len(p.values) == 3 {
		return three
	}
	all := rangeUpper(math.Sqrt2*t, len(p.values), df)
	if len(p.values) > 3 {
		all = max(all, three)
	}
	return all
}

// critical is the |t| whose upper is 1-Confidence.
func (p *AllPairs) critical(df float64) float64 {
	if x, ok := p.limits[df]; ok {
		return x
	}
	if p.limits == nil {
		p.limits = map[float64]float64{}
	}
	p.limits[df] = p.limit(df)
	return p.limits[df]
}

// limit computes critical.
func (p *AllPairs) limit(df float64) float64 {
	three := tCritical(1-(1-p.Confidence)/3, df)
	if len(p.values) == 3 {
		return three
	}
	all := rangeCritical(p.Confidence, len(p.values), df) / math.Sqrt2
	if len(p.values) > 3 {
		all = max(all, three)
	}
	return all
}

// Interval is Compare without its p, which takes a double integral.
func (p *AllPairs) Interval(i, j int) (Comparison, error) {
	d, _ := p.differences(i, j)
	if len(d) < 2 {
		return Comparison{}, fmt.Errorf("%w: %d common blocks; run at least 2, preferably 10", ErrTooFew, len(d))
	}
	n := len(d)
	center := meanOf(d)
	c := Comparison{N: [2]int{n, n}, Confidence: p.Confidence, P: math.NaN(), DF: math.NaN(), log: p.Log, center: center,
		sd: math.Sqrt(p.variance(d)), se: math.Sqrt(p.variance(d) / float64(n)),
		Method: fmt.Sprintf("paired by block, simultaneous over all pairs of %d treatments (%s)", len(p.values),
			map[bool]string{true: "Bonferroni", false: "studentized range"}[len(p.values) == 3])}
	half := 0.0
	if c.se > 0 {
		c.DF = float64(n - 1)
		c = c.inOrderFrom(fewestOfRuns, d)
		c.P = math.NaN()
		half = p.critical(c.DF) * c.se
	}
	c.Estimate, c.Lo, c.Hi = c.unlog(center), c.unlog(center-half), c.unlog(center+half)
	ticks := p.Measured && c.se == 0
	if !ticks && p.hidden == nil {
		return c, nil
	}
	var xs, ys []float64
	for b, x := range p.values[i] {
		if y := p.values[j][b]; !math.IsNaN(x) && !math.IsNaN(y) {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	if ticks {
		c.paired = true
		c = c.OfClock(xs, ys, p.Step)
	}
	if p.hidden != nil {
		c = c.Hiding(xs, ys, p.hidden[i], p.hidden[j])
	}
	if k := float64(len(p.values)); ticks {
		return c.perTick(k * (k - 1) / 2), nil
	}
	c.P = math.NaN()
	return c, nil
}
