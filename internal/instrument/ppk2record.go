package instrument

import (
	"encoding/binary"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// A PPK2's sample is 32 bits, little-endian:
//
//	31      24 23     18 17   14 13             0
//	  logic   | counter | range |  ADC, 14 bits     range in bits 14–16, bit 17 unused
const (
	ppk2Every  = 10 * time.Microsecond // between samples
	ppk2PerBin = 100                   // samples in a reading of ours: 1 ms
	ppk2Bin    = ppk2PerBin * ppk2Every
	ppk2Top    = 1<<14 - 1
	ppk2Slot   = 20 * time.Millisecond // one point of the clock fit
	ppk2Stuck  = 2000                  // equal samples in a row that no current makes
)

// ppk2Record keeps one observation of a PPK2 as means over 1 ms. A bin that
// lacks a sample, or holds one that cannot be, is left out: a gap.
type ppk2Record struct {
	cal    ppk2Cal
	vdd    float64
	q      MeterStats
	bins   []ppk2Mean
	edges  []markerEdge
	filter spikeFilter

	rest    []byte // bytes of a sample not yet whole
	index   uint64 // of the next sample: device time in units of ppk2Every
	counter uint32 // of the sample before
	began   bool

	sum     float64
	n       int
	spoiled bool
	last    uint32 // ADC and range of the sample before
	sameRun int
	marker  uint32
	device  []time.Duration // least late arrival of each slot
	arrived []time.Duration
	same    repeats
}

type ppk2Mean struct {
	end  time.Duration
	amps float64
}

// write takes bytes that arrived at a host time.
func (r *ppk2Record) write(b []byte, arrived time.Duration) {
	r.rest = append(r.rest, b...)
	p := r.rest
	for len(p) >= 4 {
		x := binary.LittleEndian.Uint32(p)
		if lost := (x>>18 - r.counter - 1) & 63; lost > 0 && r.began {
			shift, enough := aligned(p)
			if !enough {
				break // decide when more has come
			}
			if shift > 0 {
				r.q.Garbage += uint64(shift)
				p = p[shift:]
				continue
			}
			r.lose(uint64(lost))
		}
		r.sample(x)
		p = p[4:]
	}
	r.rest = r.rest[:copy(r.rest, p)]
	r.arrival(arrived)
}

// aligned finds at which of four offsets counters count, over eight samples. A
// byte lost on the way shifts all that follow; where the first offset counts as
// well as any, samples were lost and no bytes.
func aligned(p []byte) (shift int, enough bool) {
	if len(p) < 4*9+3 {
		return 0, false
	}
	best := -1
	for at := range 4 {
		good := 0
		for k := range 8 {
			a, b := binary.LittleEndian.Uint32(p[at+4*k:]), binary.LittleEndian.Uint32(p[at+4*k+4:])
			if (b>>18-a>>18)&63 == 1 {
				good++
			}
		}
		if good > best {
			best, shift = good, at
		}
	}
	return shift, true
}

func (r *ppk2Record) arrival(arrived time.Duration) {
	device := time.Duration(r.index) * ppk2Every
	i := len(r.device) - 1
	if i < 0 || device/ppk2Slot != r.device[i]/ppk2Slot {
		r.device = append(r.device, device)
		r.arrived = append(r.arrived, arrived)
	} else if arrived-device < r.arrived[i]-r.device[i] {
		r.device[i], r.arrived[i] = device, arrived
	}
}

func (r *ppk2Record) sample(x uint32) {
	r.counter, r.began = x>>18&63, true
	r.logic(x >> 24 & 1)
	k, adc := int(x>>14&7), x&ppk2Top
	r.stuck(x & (1<<17 - 1))
	switch {
	case k >= ppk2Ranges:
		r.q.Impossible++
		r.spoiled = true
	case adc == ppk2Top || r.sameRun >= ppk2Stuck:
		r.q.OverRange++
		r.spoiled = true
	default:
		r.sum += r.filter.next(r.cal.amps(adc, k, r.vdd), k)
	}
	r.n++
	r.index++
	if r.index%ppk2PerBin == 0 {
		r.close()
	}
}

// stuck follows runs of one and the same reading: 14 bits always show noise.
func (r *ppk2Record) stuck(x uint32) {
	if x == r.last {
		r.sameRun++
	} else {
		r.sameRun = 0
	}
	r.last = x
}

// lose passes over samples that never came.
func (r *ppk2Record) lose(n uint64) {
	r.q.Missing += n
	for range n {
		r.spoiled = true
		r.index++
		if r.index%ppk2PerBin == 0 {
			r.close()
		}
	}
}

func (r *ppk2Record) close() {
	if !r.spoiled && r.n == ppk2PerBin {
		if amps := r.sum / ppk2PerBin; sane(r.vdd, amps, amps*r.vdd) {
			r.bins = append(r.bins, ppk2Mean{time.Duration(r.index) * ppk2Every, amps})
			r.q.Readings++
			r.same.see(amps)
			r.q.Repeats = r.same.longest
		} else {
			r.q.Impossible++
		}
	}
	r.sum, r.n, r.spoiled = 0, 0, false
}

// logic watches input D0, the marker.
func (r *ppk2Record) logic(level uint32) {
	if level != r.marker && r.index > 0 {
		r.edges = append(r.edges, markerEdge{time.Duration(r.index) * ppk2Every, level == 1})
	}
	r.marker = level
}

// fit fits the clock by arrival: a PPK2 answers no ping. Samples that were lost
// by 64 at a time leave no trace in the counter but bend this line.
func (r *ppk2Record) fit() (Fit, error) {
	return FitArrival(r.device, r.arrived, time.Millisecond)
}

func (r *ppk2Record) emit(f Fit, emit func(measure.Sample)) {
	for _, b := range r.bins {
		at, _ := f.DeviceToHost(b.end)
		emit(sample(energy.Power, at, b.amps*r.vdd))
		emit(sample(energy.Current, at, b.amps))
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
