package stat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

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
// at which a mean of 0 is not contradicted, by Student's t with one degree of freedom less
// than there are blocks. The level's error is at least what the trials within blocks make
// of it: few blocks are alike by chance, and a search would stop at them. At least three
// blocks of at least three trials are wanted.
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
	noiseVar := rest / float64(c.Trials-len(blocks)-1)
	slopeVar := noiseVar / sxx

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
	t := tCritical(confidence, float64(len(blocks)-1))
	c.flat = t * t * slopeVar / (c.Slope * c.Slope)
	c.Lo, c.Hi = fieller(above, levelVar, c.Slope, slopeVar, t)
	c.Lo, c.Hi = x+c.Lo, x+c.Hi
	if c.Lo < 0 {
		c.Lo = 0 // no rate is negative
	}
	c.Bent = bent(blocks)
	c.Below, c.Above = steps(blocks, c.Rate)
	return c, nil
}

// fieller is the interval of −a/b for independent a and b with those variances; NaN
// where b is not told from 0.
func fieller(a, aVar, b, bVar, t float64) (lo, hi float64) {
	// (a + b·x)² ≤ t²·(aVar + bVar·x²)
	p, q, r := b*b-t*t*bVar, a*b, a*a-t*t*aVar
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

// A CapacitySearch says at which rates to measure, and when it is enough. It keeps
// nothing: what comes next follows from the trials so far, so that a search that was
// interrupted goes on as if it had not been.
type CapacitySearch struct {
	First       float64 // requests/s of the first trial
	Least, Most float64 // requests/s within which to search
	Precision   float64 // half-width of the interval over the rate, to reach
	Budget      int     // trials, at most
	Confidence  float64
	Seed        uint64
}

// A CapacityStage says where a search stands.
type CapacityStage int

const (
	Bracketing CapacityStage = iota // by doubling and halving, one trial at a time
	Measuring                       // randomized blocks around the knee
	Precise                         // the interval is as narrow as asked
	Exhausted                       // the budget does not allow another block
	AboveMost                       // trials at Most met the bound, CapacitySure of them
	BelowLeast                      // trials at Least broke it, as many
)

// A CapacityStep is what a search wants next, and what it knows.
type CapacityStep struct {
	Stage    CapacityStage
	Rates    []float64         // to measure next, in this order, in fresh processes; none: it has ended
	Lo, Hi   float64           // last rate of the bracket that met the bound, last that broke it; 0: none
	Blocks   [][]CapacityTrial // around the knee, which the capacity comes from
	Starts   []int             // which of the trials, from 0, is the first of each of Blocks
	Capacity Capacity          // of Blocks; Trials is 0 where there is none yet
}

// CapacityBlock is how many trials a block has, CapacityBlocks how many blocks an interval takes.
const CapacityBlock, CapacityBlocks = 3, 3

// CapacitySure is how many trials at a bound of a search must agree, one after the other, that the knee lies beyond it:
// of one, near the bound, chance decides.
const CapacitySure = 3

const (
	bracketWithin = 1.25 // upper over lower rate of a bracket that is narrow enough
	pilotBlocks   = 3
	leastBlocks   = 6 // before the first look at the interval: of fewer, it happens to be narrow too often
)

// steep is how flat a line may be, as Capacity.flat has it, to stop a search.
const steep = 0.3

// forStopping is what of the allowed error the interval of a search may take: it stops where
// an interval happens to be narrow, and such intervals hold the truth less often than
// they say. Found by simulation (edgegauge bench capacity).
const forStopping = 0.85

func (s CapacitySearch) confidence() float64 { return 1 - forStopping*(1-s.Confidence) }

// Half the window around the knee, over its centre. A wide one tells the slope among
// noise; in a narrow one, curves are straight. A pilot shows the noise, and counts where
// its own window was about right.
const (
	pilotWindow   = 0.1
	narrowest     = 0.015
	widest        = 0.1
	windowOfNoise = 2.0 // half a window over the standard deviation of a trial, in rate
	aboutRight    = 1.4 // factor
)

// windowFor is the window for the noise that a pilot has shown.
func windowFor(blocks [][]CapacityTrial, confidence float64) float64 {
	c, err := FitCapacity(blocks, confidence)
	if err != nil {
		return widest
	}
	return min(max(windowOfNoise*c.Noise, narrowest), widest)
}

// Next says what comes after the trials so far, in the order in which they were asked for.
func (s CapacitySearch) Next(trials []CapacityTrial) CapacityStep {
	var step CapacityStep
	rest, rate := s.bracket(&step, trials)
	if len(step.Rates) > 0 || step.Stage != Measuring {
		return step
	}
	center, window, pilot := rate, pilotWindow, true
	var said agreed
	for number := 1; ; number++ {
		rates := s.block(number, center, window)
		if len(rest) < len(rates) {
			step.Rates = rates[len(rest):]
			switch {
			case len(rest) > 0: // the rest of a block
			case len(step.Blocks) >= leastBlocks && step.Capacity.Precise(s.Precision):
				step.Stage, step.Rates = Precise, nil
			case len(trials)+CapacityBlock > s.Budget:
				step.Stage, step.Rates = Exhausted, nil
			}
			return step
		}
		b, start := rest[:len(rates)], len(trials)-len(rest)
		rest = rest[len(rates):]
		if away := beside(b); pilot && away != 0 {
			before := said
			for _, t := range b {
				if beyond := s.beyond(t); beyond != Measuring && said.with(beyond) {
					step.Stage = beyond
					return step
				}
			}
			if said == before {
				said = agreed{} // none was at a bound
			}
			center = s.within(center * (1 + 1.5*away*window))
			continue
		}
		said = agreed{}
		center = s.take(&step, b, center, window)
		step.Starts = append(step.Starts, start)
		if !pilot && step.Capacity.flat > steep { // a pilot that saw too little noise
			window = min(1.25*window, widest)
		}
		if pilot && len(step.Blocks) == pilotBlocks {
			pilot = false
			if w := windowFor(step.Blocks, s.confidence()); max(w/window, window/w) > aboutRight {
				window, step.Blocks, step.Starts, step.Capacity = w, nil, nil, Capacity{}
			}
		}
	}
}

// beside says whether a block lies beside the knee, of which it then tells nothing: 1
// where all trials met the bound, −1 where none did. Only a pilot may leave such blocks out:
// among those that count, they are the noise.
func beside(b []CapacityTrial) float64 {
	met := 0
	for _, t := range b {
		if t.Met() {
			met++
		}
	}
	switch met {
	case 0:
		return -1
	case len(b):
		return 1
	}
	return 0
}

// bracket replays the search for two rates between which the knee lies.
func (s CapacitySearch) bracket(step *CapacityStep, trials []CapacityTrial) (rest []CapacityTrial, center float64) {
	rate := min(max(s.First, s.Least), s.Most)
	var said agreed
	for {
		if len(trials) == 0 {
			step.Rates = []float64{rate}
			return nil, 0
		}
		t := trials[0]
		trials = trials[1:]
		if t.Met() {
			step.Lo = t.Rate
		} else {
			step.Hi = t.Rate
		}
		switch beyond := s.beyond(t); {
		case beyond != Measuring && (step.Lo == 0 || step.Hi == 0): // the same rate again, until one disagrees
			if said.with(beyond) {
				step.Stage = beyond
				return nil, 0
			}
		case step.Hi == 0:
			rate = min(Readable(2*t.Rate), s.Most)
		case step.Lo == 0:
			rate = max(Readable(t.Rate/2), s.Least)
		case step.Hi/step.Lo > bracketWithin:
			rate = Readable(math.Sqrt(step.Lo * step.Hi))
		default:
			step.Stage = Measuring
			return trials, math.Sqrt(step.Lo * step.Hi)
		}
	}
}

// aboutBound is how near to a bound of the search a rate is as good as there: four digits are up to half as far.
const aboutBound = 1e-3

// block draws the rates of a block: one in each part of the window, in random order.
// Drawn, not fixed: between fixed rates a cliff could hide, block after block.
func (s CapacitySearch) block(number int, center, w float64) []float64 {
	r := rand.New(rand.NewPCG(s.Seed, uint64(number)))
	rates := make([]float64, CapacityBlock)
	for i := range rates {
		share := (float64(i) + r.Float64()) / CapacityBlock
		rates[i] = s.within(Readable(center * (1 + w*(2*share-1))))
	}
	r.Shuffle(len(rates), func(i, k int) { rates[i], rates[k] = rates[k], rates[i] })
	return rates
}

// within is a rate, or the bound of the search that it lies beyond.
func (s CapacitySearch) within(rate float64) float64 { return min(max(rate, s.Least), s.Most) }

// beyond is the stage of a search whose knee lies where this trial alone has it, if that is beyond a bound.
func (s CapacitySearch) beyond(t CapacityTrial) CapacityStage {
	switch {
	case t.Met() && t.Rate >= s.Most*(1-aboutBound):
		return AboveMost
	case !t.Met() && t.Rate <= s.Least*(1+aboutBound):
		return BelowLeast
	}
	return Measuring
}

// agreed counts the trials at a bound that said the same, one after the other.
type agreed struct {
	stage  CapacityStage
	trials int
}

// with counts one more, and says whether they are enough.
func (a *agreed) with(stage CapacityStage) bool {
	if stage != a.stage {
		*a = agreed{stage: stage}
	}
	a.trials++
	return a.trials >= CapacitySure
}

// take adds a block and returns the centre of the next.
func (s CapacitySearch) take(step *CapacityStep, b []CapacityTrial, center, w float64) float64 {
	step.Blocks = append(step.Blocks, b)
	c, err := FitCapacity(step.Blocks, s.confidence())
	if err != nil {
		return center * (1 + w*beside(b))
	}
	step.Capacity = c
	step.Capacity.Confidence = s.Confidence
	return min(max(c.Rate, center*(1-w)), center*(1+w))
}

// Readable rounds a rate to four digits, as a study file would have it.
func Readable(rate float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64)
	return v
}
