package battery

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Conditions are what a forecast is for.
type Conditions struct {
	Radio, Battery Profile
	Set            []Figure // in the place of the files' figures
	Period         time.Duration
	Confidence     float64
}

// A Lever is a figure that may be changed, or that is not known exactly.
type Lever struct {
	Figure
	// Lo and Hi are the lives, in s, at the figure's limits, the shorter first; equal where it has none. 0: the device
	// does not work there.
	Lo, Hi float64
	// Changed is the life, in s, with the figure changed by Factor; NaN: nobody changes it.
	Factor, Changed float64
}

// A Forecast is how long a battery lasts. All of it is modelled.
type Forecast struct {
	Life, Lo, Hi float64 // s: at the stated values, and the limits of the interval
	Trials       int
	Watts        float64 // mean power at the battery
	Joules       float64 // what the battery has
	Peak         float64 // A
	Parts        []Part  // the largest first; their shares sum to 1
	Levers       []Lever // what gains most first; then what is most uncertain
	Period       Lever   // the period doubled
	Bytes        Lever   // half of the bytes
	Shelf        bool    // the battery's shelf life ends it, not the device
	Busy         bool    // the radio never sleeps
	// Impossible is the share of the draws in which the battery cannot give the radio's pulse, or a report takes longer
	// than the period: such a device does not work, and its life is 0.
	Impossible float64
}

// draws is how many times the figures are drawn: the ends of a 95 % interval then scatter by 1 to 2 %.
const draws = 4000

// figures are those of the files, or as the user states them, with what is taken where nobody states them.
func (c Conditions) figures() ([]Figure, error) {
	by := map[string]Figure{}
	for _, list := range [][]Figure{c.Radio.Figures, c.Battery.Figures, c.Set} {
		for _, f := range list {
			by[f.Key] = f
		}
	}
	var out []Figure
	for _, k := range keys {
		f, ok := by[k.name]
		if !ok {
			if k.need {
				return nil, fmt.Errorf("%s is not known: %s", k.name, k.says)
			}
			f = exactly(k.name, k.unit, k.other)
		}
		out = append(out, f)
	}
	for _, x := range [][2]int{{radioDrxOn, radioDrxCycle}, {radioPagingOn, radioPagingCycle}} {
		on, cycle := out[x[0]], out[x[1]]
		if cycle.Low > 0 && on.High > cycle.Low { // a cycle of 0 is none
			return nil, fmt.Errorf("%s of up to %.4g s is longer than %s of %.4g s: the receiver cannot be on for longer than "+
				"the cycle lasts", on.Key, on.High, cycle.Key, cycle.Low)
		}
	}
	return out, nil
}

// at are the values that pick chooses.
func at(figures []Figure, pick func(Figure) float64) values {
	v := values{}
	for i, f := range figures { // as keys are
		v[i] = pick(f)
	}
	v[batteryJoules] = v.joules()
	return v
}

func stated(f Figure) float64 { return f.Value }

// power is the mean power over trials, and its standard error: what the trials of a measurement leave open.
func (v *values) power(trials []Traffic, period float64) (mean, err float64) {
	var sum, squares float64
	for _, t := range trials {
		parts, _ := v.watts(t, period)
		var w float64
		for _, p := range parts {
			w += p
		}
		sum, squares = sum+w, squares+w*w
	}
	n := float64(len(trials))
	mean = sum / n
	if n > 1 {
		err = math.Sqrt(max(0, squares-n*mean*mean) / (n - 1) / n)
	}
	return mean, err
}

// lifeOf is the life at some values, in s.
func (v *values) lifeOf(trials []Traffic, period float64) float64 {
	mean, _ := v.power(trials, period)
	life, _ := v.life(mean)
	return life
}

// Predict forecasts the life of a battery from what was measured, one Traffic a trial.
func Predict(trials []Traffic, c Conditions) (Forecast, error) {
	if len(trials) == 0 {
		return Forecast{}, errors.New("no trial was measured")
	}
	figures, err := c.figures()
	if err != nil {
		return Forecast{}, err
	}
	v, period := at(figures, stated), c.Period.Seconds()
	if err := v.allPossible(trials, c.Period); err != nil {
		return Forecast{}, err
	}
	f := Forecast{Trials: len(trials), Joules: v[batteryJoules], Peak: v.peak()}
	f.Watts, _ = v.power(trials, period)
	var left float64
	f.Life, left = v.life(f.Watts)
	f.Shelf = f.Life == v[batteryShelfLife]
	f.parts(v, trials, period, left)
	f.Lo, f.Hi, f.Impossible = interval(figures, trials, c)
	f.levers(figures, trials, c.Period)
	return f, nil
}

// parts says where the energy goes.
func (f *Forecast) parts(v values, trials []Traffic, period, left float64) {
	var sum [drawn]float64
	for _, t := range trials {
		watts, busy := v.watts(t, period)
		for i, w := range watts {
			sum[i] += w / float64(len(trials))
		}
		f.Busy = f.Busy || busy+v[radioInactivity] >= period
	}
	rest := 1.0
	for i, w := range sum {
		if w > 0 {
			p := Part{partNames[i], w, w * f.Life / f.Joules}
			rest -= p.Share
			f.Parts = append(f.Parts, p)
		}
	}
	if f.Shelf {
		f.Parts = append(f.Parts, Part{"left when the shelf life ends", 0, left / f.Joules})
		rest -= left / f.Joules
	}
	if rest > 1e-12 {
		f.Parts = append(f.Parts, Part{"self-discharge", rest * f.Joules / f.Life, rest})
	}
	slices.SortStableFunc(f.Parts, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
}

// interval draws the figures between their limits and the mean of the trials from its t distribution. It also returns
// the share of draws with which the device does not work.
func interval(figures []Figure, trials []Traffic, c Conditions) (lo, hi, impossible float64) {
	random := rand.New(rand.NewPCG(1, 1))
	t := newStudent(len(trials), random)
	lives := make([]float64, draws)
	for i := range lives {
		v := draw(figures, random)
		if lives[i] = v.drawnLife(trials, c, t); lives[i] == 0 {
			impossible += 1. / draws
		}
	}
	slices.Sort(lives)
	tail := int((1 - c.Confidence) / 2 * draws)
	return lives[tail], lives[draws-1-tail], impossible
}

// allPossible says why the device does not work; nil: it does.
func (v *values) allPossible(trials []Traffic, period time.Duration) error {
	for _, t := range trials {
		if err := v.possible(t, period); err != nil {
			return err
		}
	}
	return nil
}

// draw draws a device, its radio and its battery. What stands for one chip, or for how far away the mast is, goes
// together: how it does so nobody states, and drawn one by one such figures would make up for each other.
func draw(figures []Figure, random *rand.Rand) values {
	v, ofChip, ofMast := values{}, math.NaN(), math.NaN()
	for i, f := range figures { // as keys are
		u := random.Float64()
		switch keys[i].with {
		case chip:
			u = shared(&ofChip, u)
		case mast:
			u = shared(&ofMast, u)
		case nearer:
			u = 1 - shared(&ofMast, u)
		}
		v[i] = f.drawn(u)
	}
	v[batteryJoules] = v.joules()
	return v
}

// shared is what the first figure of a draw drew for all that go with it.
func shared(of *float64, u float64) float64 {
	if math.IsNaN(*of) {
		*of = u
	}
	return *of
}

// drawn is the quantile u of a figure: half of all draws lie below its value, evenly down to its lower limit, the other
// half evenly up to its upper limit.
func (f Figure) drawn(u float64) float64 {
	if u < 0.5 {
		return f.Low + 2*u*(f.Value-f.Low)
	}
	return f.Value + (2*u-1)*(f.High-f.Value)
}

// levers changes one figure after the other. A device that does not work with it has no life.
func (f *Forecast) levers(figures []Figure, trials []Traffic, each time.Duration) {
	v, period := at(figures, stated), each.Seconds()
	with := func(name string, x float64) float64 {
		changed := at(figures, func(g Figure) float64 {
			if g.Key == name {
				return x
			}
			return g.Value
		})
		then := changed.waiting(trials, v, trials)
		if changed.allPossible(then, each) != nil {
			return 0
		}
		return changed.lifeOf(then, period)
	}
	for _, g := range figures {
		k, _ := findKey(g.Key)
		l := Lever{Figure: g, Lo: f.Life, Hi: f.Life, Factor: k.change, Changed: math.NaN()}
		if !g.Exact() {
			a, b := with(g.Key, g.Low), with(g.Key, g.High)
			l.Lo, l.Hi = min(a, b), max(a, b)
		}
		if k.change > 0 {
			l.Changed = with(g.Key, g.Value*k.change)
		}
		f.Levers = append(f.Levers, l)
	}
	slices.SortStableFunc(f.Levers, func(a, b Lever) int { return cmp.Compare(b.gain(f.Life), a.gain(f.Life)) })

	f.Period = Lever{Figure: exactly("the period", "s", period), Lo: f.Life, Hi: f.Life, Factor: 2,
		Changed: v.lifeOf(trials, 2*period)}
	half := slices.Clone(trials)
	var bytes float64
	for i := range half {
		bytes += (half[i].Up + half[i].Down) / float64(len(half))
		half[i].Up, half[i].Down = half[i].Up/2, half[i].Down/2
	}
	f.Bytes = Lever{Figure: exactly("bytes of a report", "B", bytes), Lo: f.Life, Hi: f.Life, Factor: 0.5,
		Changed: v.lifeOf(v.waiting(half, v, trials), period)}
}

// waiting are trials of other messages, or of another radio, that wait as long as those that were measured: what is
// sent in less time is answered earlier.
func (v *values) waiting(trials []Traffic, as values, measured []Traffic) []Traffic {
	out := slices.Clone(trials)
	for i, t := range measured {
		if !math.IsNaN(t.Took) {
			out[i].Took = as.wait(t) + v.send(out[i]) + v.receive(out[i])
		}
	}
	return out
}

// gain is how many times as long the life gets.
func (l Lever) gain(life float64) float64 {
	if math.IsNaN(l.Changed) {
		return 0
	}
	return l.Changed / life
}
