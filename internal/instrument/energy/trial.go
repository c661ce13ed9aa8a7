package energy

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// An Idle is the power of a device that does nothing, read by the same meter in
// the same block: so the meter's bias cancels in net energy.
type Idle struct {
	Window
	Power float64 // W
	Noise float64 // W, standard deviation of one reading
	N     int     // readings
	// Slow is how many times larger the variance of a mean is than independent readings would make it, since the
	// power has beats that are longer than a reading; up to 1: none are seen.
	Slow float64
	// Slope is that of a line through it, W/s, which is off by up to SlopeErr in 95 of 100 cases. 0: it is not known.
	Slope, SlopeErr float64
}

// slowNoise is the standard deviation of independent readings whose means vary as these do, W.
func (i Idle) slowNoise() float64 { return i.Noise * math.Sqrt(max(1, i.Slow)) }

// stdErr is the standard error of the idle power, W.
func (i Idle) stdErr() float64 { return i.slowNoise() / math.Sqrt(float64(max(i.N, 1))) }

// middle is the instant in the middle of it.
func (w Window) middle() time.Duration { return w.From + w.Length()/2 }

// MeasureIdle takes the idle power from stretches without load, each for itself, and their noise from all of them. It
// needs ten readings in all.
func (t Trace) MeasureIdle(windows ...Window) ([]Idle, error) {
	idle := make([]Idle, len(windows))
	var length time.Duration
	var readings, squares, free float64 // how many, about the means of their windows; degrees of freedom
	for k, w := range windows {
		j, err := t.Energy(w)
		if err != nil {
			return nil, fmt.Errorf("idle: %w", err)
		}
		sd, n := t.spread(w)
		idle[k] = Idle{Window: w, Power: j / w.Length().Seconds(), N: int(n)}
		length, readings = length+w.Length(), readings+n
		squares, free = squares+max(0, n-1)*sd*sd, free+max(0, n-1)
	}
	if readings < 10 {
		return nil, fmt.Errorf("idle: %d readings in %v are too few; idle for %v or longer", int(readings), length,
			12*t.Fresh())
	}
	noise := math.Sqrt(squares / max(1, free))
	slow := t.slowness(windows, noise, readings)
	for k := range idle {
		idle[k].Noise, idle[k].Slow = noise, slow
	}
	t.findSlopes(idle, readings)
	return idle, nil
}

// A Method is how a trial's energy was estimated.
type Method string

const (
	// Clipped adds up power times overlap between the trial's edges. Where the
	// power steps inside a reading it is off by up to step × interval / 2 an edge.
	Clipped Method = "clipped at the edges"
	// Excess widens the window into the idle on both sides, so that no edge cuts
	// a reading, and takes idle power × widened length away.
	Excess Method = "excess over idle"
)

// A TrialEnergy is the energy of one trial.
type TrialEnergy struct {
	Window
	Gross     float64 // J, what the supply gave
	Net       float64 // J, over idle; NaN without idle
	MeanPower float64 // W, gross
	Idle      float64 // W, beneath the trial; NaN without
	Moved     float64 // J, by how much idle power behind the trial was above that before, over its length; 0: not known
	Error     float64 // J, half-width that the meter's interval, noise and step account for; not its calibration
	NetError  float64 // J, the same for Net, with what idle power may have done unseen; NaN without idle
	Unseen    Unseen
	Method    Method
	Doubts    []error // travel with the figures
}

// Intervals by which the window is widened at each end: the edge's own reading,
// and room for the clock fit's error. A counter may be silent for as long, since
// what an edge then cuts is idle.
const widenBy = 5

// Margin is the idle that must stand before and after a trial for its window to
// be widened. Two trials need twice as much between them. A value that is renewed seldom
// shows a step of power late.
func (f Facts) Margin() time.Duration { return widenBy*f.Interval + f.Renewal }

// OfTrial estimates a trial's energy. With idle, one measured before the trial or
// one before and one behind it in the same block, it is the excess over idle;
// without, it is clipped. A gap in the readings is an error: that trial is invalid.
func OfTrial(t Trace, w Window, idle ...Idle) (TrialEnergy, error) {
	if len(idle) == 0 {
		r, err := clipped(t, w)
		r.Doubts = append(r.Doubts, t.still(w, t.odd(w))...)
		return r, err
	}
	watched, stretches := w.Widen(t.Margin()), []Window{w}
	for _, i := range idle {
		watched = Window{min(watched.From, i.From), max(watched.To, i.To)}
		stretches = append(stretches, i.Window)
	}
	beneath := baseOf(w, idle)
	beneath.hidden = t.hidden(beneath.Noise, stretches...)
	r, err := excess(t, w, beneath)
	if err != nil {
		return r, err
	}
	r.Doubts = append(r.Doubts, t.still(w, t.odd(watched))...)
	return r, nil
}

// A base is the idle power beneath a trial.
type base struct {
	Idle
	err   float64 // W, standard error of the power
	moved float64 // W, by how much the idle behind the trial is above the one before
	noise float64 // W, standard error of that

	unknown float64 // W, of moved, what the slopes of both idles do not explain

	hidden float64 // W, what the meter's steps may hide
}

// baseOf takes the base of a trial from the idle before and behind it: what moves evenly from the one to the other has
// the power in the middle of the trial that lies between theirs.
func baseOf(w Window, idle []Idle) base {
	before, behind := idle[0], idle[len(idle)-1]
	b := base{Idle: before, err: before.stdErr()}
	if len(idle) == 1 {
		return b
	}
	share := 0.5
	if apart := behind.middle() - before.middle(); apart > 0 {
		share = min(1, max(0, float64(w.middle()-before.middle())/float64(apart)))
	}
	b.moved, b.noise = behind.Power-before.Power, math.Hypot(before.stdErr(), behind.stdErr())
	b.unknown = unexplained(before, behind)
	b.Power += share * b.moved
	b.err = math.Hypot((1-share)*before.stdErr(), share*behind.stdErr())
	b.Noise, b.Slow = max(before.Noise, behind.Noise), max(before.Slow, behind.Slow)
	return b
}

// unexplained is how much of the move from one idle to another may be a step, W: all of it, unless both rise by
// themselves as they would if it were even, as far as their noise shows that.
func unexplained(before, behind Idle) float64 {
	moved, apart := math.Abs(behind.Power-before.Power), (behind.middle() - before.middle()).Seconds()
	if !(before.SlopeErr > 0 && behind.SlopeErr > 0) {
		return moved
	}
	rise := (behind.Power - before.Power) / apart
	left := max(math.Abs(rise-before.Slope), math.Abs(rise-behind.Slope))
	return min(moved, apart*math.Hypot(left, max(before.SlopeErr, behind.SlopeErr)))
}

// movedErr is the standard error of the base that stems from its moving, W: what is not explained may have been a step
// at any instant of the trial, and a uniform distribution as wide has the standard deviation unknown / √12. Twice as
// much holds whatever the base did from one idle to the other, if it went only one way: that is off by half of it.
func (b base) movedErr() float64 { return b.unknown / math.Sqrt(12) }

// clipped. Equation: E = Σ Pk · overlap(k, window).
func clipped(t Trace, w Window) (TrialEnergy, error) {
	gross, err := t.Energy(w)
	if err != nil {
		return TrialEnergy{}, err
	}
	r := TrialEnergy{Window: w, Gross: gross, MeanPower: gross / w.Length().Seconds(), Method: Clipped,
		Net: math.NaN(), Idle: math.NaN(), NetError: math.NaN()}
	sd, _ := t.spread(w)
	coarse := t.hidden(sd, w) * w.Length().Seconds()
	r.Unseen = Unseen{Gross: coarse, Net: math.NaN()}
	r.Error = t.edgeError(w.From) + t.edgeError(w.To) + coarse
	if r.Error > 0.02*math.Abs(gross) {
		r.Doubts = append(r.Doubts, doubt("coarse",
			"the meter's interval of %v alone may be %.2g J of this trial's %.3g J; batch more requests, or measure idle "+
				"around it",
			t.Fresh(), r.Error, gross))
	}
	return r, nil
}

// edgeError bounds what clipping loses at an instant: half the step of power
// around it times the interval, or what there is of a counter's between two readings; all of the step
// times the interval of a value that is held, since it shows the step behind it only.
func (t Trace) edgeError(at time.Duration) float64 {
	interval := t.Fresh()
	if t.Kind == Cumulative {
		for _, s := range t.within(Window{at, at + 1}) {
			interval = max(interval, s.Length())
		}
	}
	around := t.within(Window{at - interval - interval/2, at + interval + interval/2})
	if len(around) == 0 {
		return 0
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range around {
		lo, hi = min(lo, s.W), max(hi, s.W)
	}
	if t.Renewal > 0 {
		return (hi - lo) * interval.Seconds()
	}
	return (hi - lo) * interval.Seconds() / 2
}

// dithers is the standard deviation of readings, in steps of the meter, from which on their mean is off by no more than
// 1/200 of a step. Two neighbouring values have up to 0.53, however little the power varies, and hide as much as one.
const dithers = 0.55

// hidden is what the meter's steps may hide of the mean of readings, W: half a step, unless noise, that of a single
// conversion, dithers it away. Where nobody says how large a step is, the readings of a stretch show it.
func (t Trace) hidden(noise float64, stretches ...Window) float64 {
	step := t.Resolution
	switch {
	case step == 0:
		step = t.step(stretches)
	case t.Kind == Mean && t.Sampling > 0:
		noise *= math.Sqrt(t.Interval.Seconds() / t.Sampling.Seconds())
	}
	if noise > dithers*step {
		return 0
	}
	return step / 2
}

// step is the least that two readings of a stretch differ by in which they go up and down, W; 0: in none. What only
// rises or falls there may be the load.
func (t Trace) step(stretches []Window) float64 {
	least := math.Inf(1)
	for _, w := range stretches {
		var watts []float64
		up, down := false, false
		for _, s := range t.within(w) {
			if s.From < w.From || s.To > w.To {
				continue
			}
			if n := len(watts); n > 0 {
				up, down = up || s.W > watts[n-1], down || s.W < watts[n-1]
			}
			watts = append(watts, s.W)
		}
		slices.Sort(watts)
		for k := 1; up && down && k < len(watts); k++ {
			if watts[k] > watts[k-1] {
				least = min(least, watts[k]-watts[k-1])
			}
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// excess. Equation: net = Σ Pk · overlap(k, widened) − idle · length(widened);
// gross = net + idle · length(window), within what the readings of the window allow.
func excess(t Trace, w Window, idle base) (TrialEnergy, error) {
	wide, missed := w.Widen(t.Margin()), t.outside()
	if missed >= w.Length() {
		return TrialEnergy{}, fmt.Errorf("the meter's clock may be %v off, and the trial lasts %v: its readings may be of "+
			"another time; measure for longer", t.Clock, w.Length())
	}
	sum, err := t.Energy(wide)
	if err != nil {
		return TrialEnergy{}, fmt.Errorf("%w (the trial and %v of idle on both sides)", err, t.Margin())
	}
	r := TrialEnergy{Window: w, Idle: idle.Power, Method: Excess}
	rounding := t.rounding(wide, idle.Idle)
	idle.moved = told(idle.moved, 2*rounding/wide.Length().Seconds())
	idle.unknown = min(idle.unknown, math.Abs(idle.moved))
	r.Moved = idle.moved * w.Length().Seconds()
	r.Net = told(sum-idle.Power*wide.Length().Seconds(), rounding)
	least, most := t.allowed(w)
	r.Gross = min(max(r.Net+idle.Power*w.Length().Seconds(), least), most)
	r.MeanPower = told(r.Gross/w.Length().Seconds(), rounding/w.Length().Seconds())
	step := math.Abs(r.Net) / (w.Length() - missed).Seconds() // had it been missed
	coarse, outside := idle.hidden*w.Length().Seconds(), step*missed.Seconds()
	r.Unseen = Unseen{Gross: rounding + coarse + outside}
	if low, high := t.around(wide, 0); low == high && r.Net == 0 && t.Resolution == 0 {
		coarse = math.Abs(low) / 2 * w.Length().Seconds() // one value, and nobody knows how coarse it is
	}
	r.Unseen.Net = rounding + 2*coarse + outside
	r.Error = math.Hypot(t.netError(idle.slowNoise(), idle.err, step, wide.Length()), rounding) + 2*coarse
	moved := 2 * idle.movedErr() * wide.Length().Seconds()
	r.NetError = math.Hypot(r.Error, moved)
	if r.Net >= -r.NetError && r.Error > 0.02*math.Abs(r.Net) {
		r.Doubts = append(r.Doubts, doubt("coarse",
			"this meter measures the net energy of %.3g J only to within %.2g J; batch more requests", r.Net, r.Error))
	}
	if r.Net < -r.NetError {
		r.Doubts = append(r.Doubts, doubt("below_idle",
			"net energy %.3g J is below idle: the device was not idle when idle was measured", r.Net))
	}
	if math.Abs(idle.moved) > 3*idle.noise && moved > 0.02*math.Abs(r.Net) {
		r.Doubts = append(r.Doubts, doubt("idle_moved",
			"idle power changed by %.3g W from before the trial to behind it, %.3g J over its length; where it does not change "+
				"evenly, that may be up to %.2g J of its net energy of %.3g J; wait for the device to settle", idle.moved, r.Moved,
			moved, r.Net))
	}
	return r, nil
}

// netError is twice the standard error of the excess over a widened length:
// readings of standard deviation noise (W), an idle known to idleErr (W), and at
// both edges a step (W) that falls somewhere between two conversions. What a clock that is further off than the
// window was widened leaves outside comes on top.
func (f Facts) netError(noise, idleErr, step float64, wide time.Duration) float64 {
	sum := noise * math.Sqrt(f.Fresh().Seconds()*wide.Seconds())
	edges := step * f.conversions().Seconds() * math.Sqrt(2.0/12)
	return 2*math.Hypot(math.Hypot(sum, edges), idleErr*wide.Seconds()) + step*f.outside().Seconds()
}

// outside is how much of a trial the widened window may miss at one end, of which the edge's own reading takes an
// interval.
func (f Facts) outside() time.Duration { return max(0, f.Clock-(widenBy-1)*f.Interval) }

// conversions is the time between two looks of the meter at the power: a step may fall anywhere in it.
func (f Facts) conversions() time.Duration {
	if f.Kind == Instant {
		return time.Duration(math.Hypot(float64(f.Interval), float64(f.Renewal))) // it is renewed, and then read
	}
	return f.Sampling
}
