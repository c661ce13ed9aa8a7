package stat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/plural"
)

// A CapacityTrial is one trial at one rate, as a search for a server's capacity sees it.
type CapacityTrial struct {
	Rate float64 // requests/s that were offered
	// Margin is the bound over the figure, of the condition that is nearest to being
	// broken: 1 just met, 2 half of what is allowed, below 1 broken. It may be infinite.
	Margin float64
}

// Met reports whether the trial kept to the bound.
func (t CapacityTrial) Met() bool { return t.Margin >= 1 }

// mostSaid bounds what one trial can say: beyond a margin of 1.25, or below its inverse, it
// says no more than that the bound is met, or broken. With a wider bound, the bend of the
// logarithm moves the rate; with a narrower one, more trials are needed.
var mostSaid = math.Log(1.25)

// said is the logarithm of the margin, bounded. Above and below are alike, so that its
// mean is 0 where half of the trials meet the bound, whatever shape the figure has in the
// rate: 1/(saturation − rate) while a queue saturates, a ramp where a backlog grows as long
// as the trial lasts, a step at a cliff.
func (t CapacityTrial) said() float64 {
	return min(max(math.Log(t.Margin), -mostSaid), mostSaid)
}

// A Capacity is the rate at which a bound is just met: half of the trials meet it.
type Capacity struct {
	Rate, Lo, Hi, Confidence float64 // requests/s; Lo and Hi are NaN where there is no interval
	Slope                    float64 // of the line, for each request/s; negative
	Noise                    float64 // standard deviation of a trial within its block, in rate, over the rate
	Blocks, Trials           int     // that the line goes through
	// Bent is the p-value of the line against a parabola, by F; NaN: too few trials. What bends to
	// both sides alike, as where most is said, does not move the rate.
	Bent float64
	// Below and Above are the highest rate under Rate at which most trials met the bound, and
	// the lowest above it at which most did not, in classes of the rates: what is left to say
	// where the line does not fit. 0: there is none.
	Below, Above float64

	least, most float64 // rates of the trials
	flat        float64 // square of the slope's half-width over the slope: 1 is not told from 0
}

// Fits reports whether the trials do not contradict the line, at 1 %: it is one of
// many looks, and intervals hold beside a cliff too.
func (c Capacity) Fits() bool { return !(c.Bent < 0.01) }

// Precise reports whether the interval's half-width is at most that share of the rate, and
// the slope well told from 0: among much noise some interval is narrow by chance, since the
// line happens to be steep. The rates that were measured enclose it.
func (c Capacity) Precise(share float64) bool {
	return c.Trials > 0 && (c.Hi-c.Lo)/2 <= share*c.Rate && c.flat < steep && c.least <= c.Lo && c.Hi <= c.most
}

// ErrNoKnee means that the margin does not fall with the rate.
var ErrNoKnee = errors.New("the margin does not fall with the rate")

// FitCapacity estimates the capacity from randomized blocks of trials.
//
// Close to the knee the logarithm of the margin falls in a line with the rate. Slope and
// its error come from the trials within blocks, the level and its error from the blocks (a
// drift of the machine meets whole blocks), and the rate from Fieller's interval: all rates
// at which a mean of 0 is not contradicted, by Student's t: of the level with one degree of
// freedom less than there are blocks, of the slope with those of the trials within them. The
// level's error is at least what the trials within blocks make of it: few blocks are alike by
// chance, and a search would stop at them. At least three blocks of at least three trials are
// wanted.
func FitCapacity(blocks [][]CapacityTrial, confidence float64) (Capacity, error) {
	c := Capacity{Rate: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Confidence: confidence, Blocks: len(blocks),
		Bent: math.NaN()}
	if len(blocks) < CapacityBlocks {
		return c, fmt.Errorf("%w: %s no interval of a capacity; measure at least %d", ErrTooFew,
			plural.Count(len(blocks), "block")+plural.Verb(len(blocks), " gives", " give"), CapacityBlocks)
	}
	var xs, ys []float64 // each less its block's mean
	mean := make([][2]float64, len(blocks))
	for i, b := range blocks {
		if len(b) < 3 {
			return c, fmt.Errorf("%w: a block of %s; measure at least 3 rates in each", ErrTooFew, plural.Count(len(b), "trial"))
		}
		for _, t := range b {
			mean[i][0] += t.Rate / float64(len(b))
			mean[i][1] += t.said() / float64(len(b))
		}
		for _, t := range b {
			xs, ys = append(xs, t.Rate-mean[i][0]), append(ys, t.said()-mean[i][1])
		}
	}
	c.Trials, c.least, c.most = len(xs), math.Inf(1), 0
	for _, t := range slices.Concat(blocks...) {
		c.least, c.most = min(c.least, t.Rate), max(c.most, t.Rate)
	}
	sxx, sxy := dot(xs, xs), dot(xs, ys)
	if c.Slope = sxy / sxx; !(c.Slope < 0) {
		return c, ErrNoKnee
	}
	rest := 0.0
	for i := range xs {
		d := ys[i] - c.Slope*xs[i]
		rest += d * d
	}
	within := float64(c.Trials - len(blocks) - 1) // degrees of freedom
	noiseVar := rest / within

	var x, level float64
	levels := make([]float64, len(blocks)) // of the margin, were the block's mean rate 0
	for i, m := range mean {
		levels[i] = m[1] - c.Slope*m[0]
		x += m[0] / float64(len(blocks))
		level += levels[i] / float64(len(blocks))
	}
	levelVar := 0.0
	for _, l := range levels {
		levelVar += (l - level) * (l - level) / float64(len(blocks)-1) / float64(len(blocks))
	}
	levelVar = max(levelVar, noiseVar/float64(c.Trials))
	above := level + c.Slope*x // of 0, at the mean rate
	c.Rate = x - above/c.Slope
	c.Noise = math.Sqrt(noiseVar) / -c.Slope / c.Rate
	level = tCritical(confidence, float64(len(blocks)-1)) * math.Sqrt(levelVar)
	slope := tCritical(confidence, within) * math.Sqrt(noiseVar/sxx)
	c.flat = slope * slope / (c.Slope * c.Slope)
	c.Lo, c.Hi = fieller(above, level, c.Slope, slope)
	c.Lo, c.Hi = x+c.Lo, x+c.Hi
	if c.Lo < 0 {
		c.Lo = 0 // no rate is negative
	}
	c.Bent = bent(blocks)
	c.Below, c.Above = steps(blocks, c.Rate)
	return c, nil
}

// fieller is the interval of −a/b for independent a and b with intervals of those half-widths; NaN where b is not told
// from 0.
func fieller(a, aHalf, b, bHalf float64) (lo, hi float64) {
	// (a + b·x)² ≤ aHalf² + bHalf²·x²
	p, q, r := b*b-bHalf*bHalf, a*b, a*a-aHalf*aHalf
	d := q*q - p*r
	if p <= 0 || d < 0 {
		return math.NaN(), math.NaN()
	}
	return (-q - math.Sqrt(d)) / p, (-q + math.Sqrt(d)) / p
}

// bent tests the line within blocks against a parabola.
func bent(blocks [][]CapacityTrial) float64 {
	lo, hi, n := math.Inf(1), 0.0, 0
	for _, b := range blocks {
		for _, t := range b {
			lo, hi, n = min(lo, t.Rate), max(hi, t.Rate), n+1
		}
	}
	df := n - len(blocks) - 2
	if df < 3 || !(hi > lo) {
		return math.NaN()
	}
	cols := make([][]float64, 3) // x, x², what is said; each less its block's mean
	for _, b := range blocks {
		var mean [3]float64
		rows := make([][3]float64, len(b))
		for i, t := range b {
			x := (2*t.Rate - lo - hi) / (hi - lo)
			rows[i] = [3]float64{x, x * x, t.said()}
			for k := range mean {
				mean[k] += rows[i][k] / float64(len(b))
			}
		}
		for _, r := range rows {
			for k := range cols {
				cols[k] = append(cols[k], r[k]-mean[k])
			}
		}
	}
	x, square, y := cols[0], cols[1], cols[2]
	project(square, x)
	project(y, x)
	line := dot(y, y)
	project(y, square)
	left := dot(y, y)
	if left <= 1e-12*line {
		return math.NaN() // nothing is left to judge it by
	}
	return fUpper((line-left)/(left/float64(df)), 1, float64(df))
}

// project takes what is along u out of v.
func project(v, u []float64) {
	uu := dot(u, u)
	if uu == 0 {
		return
	}
	f := dot(v, u) / uu
	for i := range v {
		v[i] -= f * u[i]
	}
}

// steps are the highest of the classes of rates below at where most trials met the
// bound, and the lowest above it where most did not.
func steps(blocks [][]CapacityTrial, at float64) (below, above float64) {
	all := slices.Concat(blocks...)
	slices.SortFunc(all, func(a, b CapacityTrial) int { return cmp.Compare(a.Rate, b.Rate) })
	for class := range slices.Chunk(all, max(3, len(blocks))) {
		met := 0
		for _, t := range class {
			if t.Met() {
				met++
			}
		}
		lowest, highest := class[0].Rate, class[len(class)-1].Rate
		if 2*met > len(class) && highest <= at {
			below = highest
		}
		if 2*met < len(class) && lowest >= at && above == 0 {
			above = lowest
		}
	}
	return below, above
}
