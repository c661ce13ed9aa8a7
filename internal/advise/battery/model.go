package battery

import (
	"errors"
	"fmt"
	"math"
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// Traffic is what one report of a device is, as it was measured in one trial.
type Traffic struct {
	Up, Down float64 // B on the wire, or of the bodies alone
	Packets  float64 // both ways; 0: one each way
	Joules   float64 // of the device, besides the radio; NaN: not measured
	// Took is how long connecting and the round trip took in s, sending and receiving included;
	// NaN: not measured over this link.
	Took float64
	// Whole says that Joules contain the radio, from the first byte of the request to the last of the response.
	Whole bool
}

// values are the figures of the model, one each.
type values [batteryJoules + 1]float64

// A Part is one of the things that a battery's energy goes into.
type Part struct {
	Name  string
	Watts float64 // mean over the life
	Share float64 // of the battery's energy
}

// The parts, in the order of a table.
const (
	partSleep = iota
	partDevice
	partSetup
	partSend
	partReceive
	partWait
	partTail
	partPaging
	partProcessing
	partExchange
	partConverter
	drawn // how many are drawn by the device
)

var partNames = [...]string{"radio asleep", "device asleep", "setup", "sending", "receiving",
	"waiting for the response", "tail until the release", "reachable by paging",
	"processing", "the exchange, as in the results", "converter"}

// current is one in words.
func current(amperes float64) string {
	if amperes >= 0.9995 {
		return fmt.Sprintf("%.3g A", amperes)
	}
	return fmt.Sprintf("%.3g mA", 1e3*amperes)
}

// ErrPulse says that the battery cannot give the current that the device draws.
var ErrPulse = errors.New("the pulse is too high")

// ErrBusy says that a report takes longer than its period.
var ErrBusy = errors.New("the period is too short")

// send is how long a report's bytes are sent, in s.
func (v *values) send(t Traffic) float64 { return 8 * (t.Up + v.overhead(t)) / v[radioUpRate] }

// receive is how long those of its answer are received, in s.
func (v *values) receive(t Traffic) float64 {
	return 8 * (t.Down + v.overhead(t)) / v[radioDownRate]
}

// overhead are the radio's own bytes, each way.
func (v *values) overhead(t Traffic) float64 {
	packets := t.Packets
	if packets == 0 {
		packets = 2
	}
	return packets / 2 * v[radioOverhead]
}

// wait is how long a report waits for its answer, in s: as measured, or as the radio is said to.
func (v *values) wait(t Traffic) float64 {
	if math.IsNaN(t.Took) {
		return v[radioWait]
	}
	return max(0, t.Took-v.send(t)-v.receive(t))
}

// watts is the mean power of each part, in W at the battery, for a report in each
// period (s). A period of +Inf is no traffic at all. busy is how long a report takes
// until its last byte.
//
// Equation: P = Σ E/period + sleep · (1 − awake/period) + device.sleep, over the efficiency.
func (v *values) watts(t Traffic, period float64) (p [drawn]float64, busy float64) {
	rate := 1 / period
	send, receive, wait := v.send(t), v.receive(t), v.wait(t)
	setup := v[radioSetupTime]
	busy = setup + send + wait + receive
	tail := min(v[radioInactivity], max(0, period-busy))
	paging := min(v[radioActive], max(0, period-busy-tail))

	p[partSetup] = rate * setup * v[radioSetupPower]
	p[partSend] = rate * send * v[radioSend]
	p[partReceive] = rate * receive * v[radioReceive]
	p[partWait] = rate * v.listen(wait)
	p[partTail] = rate * v.listen(tail)
	p[partPaging] = rate * paging * v.cycled(radioPagingOn, radioPagingCycle)
	p[partProcessing] = rate * v[deviceProcessing]
	switch {
	case t.Whole:
		p[partSend], p[partReceive], p[partWait], p[partExchange] = 0, 0, 0, rate*t.Joules
	case !math.IsNaN(t.Joules):
		p[partProcessing] += rate * t.Joules
	}
	p[partSleep] = v[radioSleep] * max(0, 1-rate*(busy+tail+paging))
	p[partDevice] = v[deviceSleep]
	var sum float64
	for _, w := range p {
		sum += w
	}
	p[partConverter] = sum * (1/v[deviceEfficiency] - 1)
	return p, busy
}

// cycled is the mean power of receiving for a part of each cycle; all the time where
// there is no cycle.
func (v *values) cycled(on, cycle int) float64 {
	if v[cycle] == 0 {
		return v[radioReceive]
	}
	return v[radioIdle] + (v[radioReceive]-v[radioIdle])*min(1, v[on]/v[cycle])
}

// listen is the energy, in J, of being connected without traffic for d s: receiving
// all the time at first, then in cycles.
func (v *values) listen(d float64) float64 {
	first := min(d, v[radioMonitor])
	return first*v[radioReceive] + (d-first)*v.cycled(radioDrxOn, radioDrxCycle)
}

// peak is the highest current, in A. That of the setup is at least its mean.
func (v *values) peak() float64 {
	radio := max(v[radioSend], v[radioReceive], v[radioSetupPower])
	return (radio + v[deviceSleep]) / v[batteryVoltage] / v[deviceEfficiency]
}

// joules is the energy that the battery has for the device.
func (v *values) joules() float64 {
	e := v[batteryCapacity] * 3600 * v[batteryVoltage]
	if v.peak() > v[batteryRated] {
		e *= v[batteryDerated]
	}
	return e
}

// life is how long the battery gives watts, in s, and what is left in it when its
// shelf life ends it, in J.
//
// Self-discharge takes a share of what remains: dE/dt = −rE − P, so E reaches 0 at ln(1 + rE₀/P)/r, with
// r = −ln(1 − share) a year.
func (v *values) life(watts float64) (seconds, left float64) {
	e := v[batteryJoules]
	r := -math.Log1p(-v[batterySelfDischarge]) / Year.Seconds()
	if seconds = e / watts; r > 0 {
		seconds = math.Log1p(r*e/watts) / r
	}
	if most := v[batteryShelfLife]; seconds > most {
		seconds, left = most, max(0, e-watts*most)
		if r > 0 {
			left = (e+watts/r)*math.Exp(-r*most) - watts/r
		}
	}
	return seconds, left
}

// possible is an error if the device cannot work so at all.
func (v *values) possible(t Traffic, period time.Duration) error {
	if peak := v.peak(); peak > v[batteryPulse] {
		return fmt.Errorf("%w: the device draws %s, and the battery gives pulses of at most %s; name another "+
			"battery, or the pulse that a capacitor allows: --set battery.pulse=%.0fmA", ErrPulse, current(peak),
			current(v[batteryPulse]), math.Ceil(1e3*peak))
	}
	if _, busy := v.watts(t, period.Seconds()); busy > period.Seconds() {
		return fmt.Errorf("%w: a report takes %.3g s until its last byte, and the period is %s; write a longer --period",
			ErrBusy, busy, study.DurationText(period))
	}
	return nil
}
