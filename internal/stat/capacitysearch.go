package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
)

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
	// leastBlocks are before the first look at the interval: of fewer, it happens to be narrow too often. If the budget
	// ends with fewer that count, all count.
	leastBlocks = 6
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
	var all CapacityStep // its blocks
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
				if len(step.Blocks) < leastBlocks {
					step.Blocks, step.Starts, step.Capacity = all.Blocks, all.Starts, s.fit(all.Blocks)
				}
			}
			return step
		}
		b, start := rest[:len(rates)], len(trials)-len(rest)
		rest = rest[len(rates):]
		all.Blocks, all.Starts = append(all.Blocks, b), append(all.Starts, start)
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
			center = s.within(aside(b, trials[:start], away, center*(1+1.5*away*window)))
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

// beside says whether a block lies beside the knee: 1 where all trials met the bound, −1
// where none did. Only a pilot may leave such blocks out, as long as others are enough: among
// those that count, they are the noise.
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

// aside is where to go from a block beside the knee: half of the way to the nearest of the trials before that said
// otherwise, or to furthest.
func aside(b, before []CapacityTrial, away, furthest float64) float64 {
	edge := b[0].Rate
	for _, t := range b {
		if away*(t.Rate-edge) > 0 {
			edge = t.Rate
		}
	}
	for _, t := range before {
		half := math.Sqrt(edge * t.Rate)
		if t.Met() == (away < 0) && away*(t.Rate-edge) > 0 && away*(furthest-half) > 0 {
			furthest = half
		}
	}
	return furthest
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
	step.Capacity = s.fit(step.Blocks)
	if step.Capacity.Trials == 0 {
		return center * (1 + w*beside(b))
	}
	return min(max(step.Capacity.Rate, center*(1-w)), center*(1+w))
}

// fit is the capacity by blocks, without trials where there is none.
func (s CapacitySearch) fit(blocks [][]CapacityTrial) Capacity {
	c, err := FitCapacity(blocks, s.confidence())
	switch {
	case errors.Is(err, ErrNoKnee):
		return Capacity{flat: math.Inf(1)}
	case err != nil:
		return Capacity{}
	}
	c.Confidence = s.Confidence
	return c
}

// Readable rounds a rate to four digits, as a study file would have it.
func Readable(rate float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64)
	return v
}
