package instrument

import (
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// A record keeps what one energy meter says from its start command on, and
// accounts for what is missing. It reads no clock.
type record struct {
	info    info
	cal     Calibration
	q       MeterStats
	periods []period
	edges   []markerEdge
	echoes  []Echo
	sent    map[byte]time.Duration // pings on their way, by token

	ticks   unwrap
	last    data
	lastAt  uint64 // its ticks
	began   bool
	repeats repeats
}

// A period is one good reading on the device's clock.
type period struct {
	end                time.Duration
	volts, amps, watts float64
}

type markerEdge struct {
	at   time.Duration
	high bool
}

func newRecord(i info) *record {
	return &record{info: i, cal: i.now(), sent: map[byte]time.Duration{}}
}

// unwrap extends ticks of 32 bits, which wrap after 35.8 minutes, to 64. Stamps
// may come a little out of order: an echo's is older than a frame before it.
type unwrap struct {
	last  uint64
	began bool
}

func (u *unwrap) extend(t uint32) uint64 {
	if !u.began {
		u.last, u.began = uint64(t)+1<<32, true // room below
		return u.last
	}
	u.last += uint64(int64(int32(t - uint32(u.last))))
	return u.last
}

func (r *record) device(ticks uint64) time.Duration {
	return time.Duration(ticks) * time.Duration(r.info.tick)
}

// take takes one frame that arrived at the given host time. An error ends the
// observation.
func (r *record) take(f frame, arrived time.Duration) error {
	if d, ok := f.data(); ok {
		r.takeData(d)
	} else if e, ok := f.edge(); ok {
		r.q.Missed = max(r.q.Missed, uint64(e.missed))
		r.edges = append(r.edges, markerEdge{r.device(r.ticks.extend(e.t)), e.rising})
	} else if e, ok := f.echo(); ok {
		return r.takeEcho(e, arrived)
	} else if i, ok := f.info(); ok {
		if i.boot != 0 {
			return fmt.Errorf("the meter restarted during the observation (cause %#02x): check its power supply and cable",
				i.boot)
		}
	} else {
		r.q.Garbage++
	}
	return nil
}

// byteTime is what a byte takes at 250000 Bd.
const byteTime = 40 * time.Microsecond

func (r *record) takeEcho(e echo, arrived time.Duration) error {
	received, replied := r.device(r.ticks.extend(e.received)), r.device(r.ticks.extend(e.reply))
	if e.command != commandPing {
		return e.err()
	}
	if sent, ok := r.sent[e.token]; ok {
		delete(r.sent, e.token)
		const out, back = (frameExtra + 1) * byteTime, (frameExtra + 11) * byteTime
		r.echoes = append(r.echoes, Echo{Sent: sent + out, Received: arrived - back, DeviceReceived: received,
			Replied: replied})
	}
	return nil
}

// takeData keeps one period or counts it as what it is.
func (r *record) takeData(d data) {
	at := r.ticks.extend(d.t)
	if r.began && !r.follows(d, at) {
		return
	}
	if !r.began {
		r.q.Missing += uint64(d.seq)
		r.q.DeviceLost += uint64(d.los)
	}
	r.last, r.lastAt, r.began = d, at, true
	volts, amps, watts := r.cal.apply(d)
	switch {
	case !d.possible() || !sane(volts, amps, watts):
		r.q.Impossible++
	case d.flags&(flagLimitV|flagLimitI) != 0:
		r.q.OverRange++
	default:
		r.q.Readings++
		r.repeats.see(watts)
		r.q.Repeats = r.repeats.longest
		r.periods = append(r.periods, period{r.device(at), volts, amps, watts})
	}
}

// follows checks number against clock: seq says how many periods went by, and
// ticks must say the same. It counts the missing. A leap of the clock without
// one of the numbers, or back, makes everything after it worthless.
func (r *record) follows(d data, at uint64) bool {
	gone := uint64(d.seq - r.last.seq)
	if gone == 0 || gone > 1<<15 {
		r.q.Steps++
		return false
	}
	off := int64(at-r.lastAt) - int64(gone)*int64(r.info.period)
	if off > int64(r.info.period)/2 || off < -int64(r.info.period)/2 {
		r.q.Steps++
	}
	r.q.Missing += gone - 1
	r.q.DeviceLost += uint64(d.los - r.last.los)
	return true
}

// emit hands out the samples on the host's clock.
func (r *record) emit(f Fit, emit func(measure.Sample)) {
	for _, p := range r.periods {
		at, _ := f.DeviceToHost(p.end)
		emit(sample(energy.Power, at, p.watts))
		emit(sample(energy.Voltage, at, p.volts))
		emit(sample(energy.Current, at, p.amps))
	}
	for _, e := range r.edges {
		at, _ := f.DeviceToHost(e.at)
		level := 0.0
		if e.high {
			level = 1
		}
		emit(sample(energy.Marker, at, level))
	}
}
