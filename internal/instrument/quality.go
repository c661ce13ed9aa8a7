package instrument

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/printable"
)

// A Meter is an instrument that reads a supply. Those with a device behind them
// are also io.Closer. One observation at a time.
type Meter interface {
	measure.Instrument
	Facts() energy.Facts // how it reads
	Stats() MeterStats   // of the last observation, when it has ended
}

// MeterStats is what a meter says of one observation. What it counts as lost is no
// sample, so a trial over the gap fails in energy.OfTrial; what no gap shows, Err says.
type MeterStats struct {
	Readings   uint64 // good ones
	Missing    uint64 // periods that never arrived, by their numbers
	BadCRC     uint64 // frames with a bad checksum
	Garbage    uint64 // bytes, or lines, outside of any message
	DeviceLost uint64 // periods the device says it had no room for; some of Missing
	Impossible uint64 // values no supply has, dropped
	OverRange  uint64 // periods in which the converter stood at its end, dropped
	Failed     uint64 // readings that failed
	Steps      uint64 // leaps of the device's clock
	Backwards  uint64 // readings of an energy counter below the one before
	Missed     uint64 // marker edges without room
	Repeats    uint64 // longest run of one and the same value
	Thrown     string // the first thing that was dropped, and why; empty: not known
	Apart      string // how volts times amperes and watts read together contradict each other; empty: they do not
	Clock      Fit    // zero where samples carry the host's own time
}

// Err says why the whole observation cannot be trusted, or nil.
func (q MeterStats) Err() error {
	var errs []error
	if q.Readings == 0 {
		errs = append(errs, q.noReadings())
	}
	if q.Steps > 0 {
		errs = append(errs, fmt.Errorf("the meter's clock jumped %d times", q.Steps))
	}
	if q.Backwards > 0 {
		errs = append(errs,
			fmt.Errorf("the energy counter went backwards %d times; was the meter reset, or the machine suspended?",
				q.Backwards))
	}
	if q.Missed > 0 {
		errs = append(errs, fmt.Errorf("%d marker edges were lost; keep them further apart", q.Missed))
	}
	return errors.Join(errs...)
}

// noReadings says what came instead of readings.
func (q MeterStats) noReadings() error {
	var came []string
	for _, x := range []struct {
		n    uint64
		what string
	}{
		{q.Impossible, "had values that no supply has"}, {q.Garbage, "could not be understood"},
		{q.OverRange, "were out of the meter's range"}, {q.BadCRC, "had a bad checksum"}, {q.Failed, "failed"},
	} {
		if x.n > 0 {
			came = append(came, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	switch {
	case len(came) == 0:
		return errors.New("no readings")
	case q.Thrown == "":
		return fmt.Errorf("no reading that can be used: %s", strings.Join(came, ", "))
	}
	return fmt.Errorf("no reading that can be used: %s; the first: %s", strings.Join(came, ", "), q.Thrown)
}

// throw keeps the first thing that was dropped, and why.
func (q *MeterStats) throw(what []byte, why string) {
	const most = 100
	if q.Thrown != "" {
		return
	}
	if what = bytes.TrimSpace(what); len(what) > most {
		what = append(slices.Clone(what[:most]), "…"...)
	}
	q.Thrown = printable.Line(string(what)) + " (" + why + ")"
}

// Doubts are what a report says beside the figures.
func (q MeterStats) Doubts() []error {
	var doubts []error
	add := func(n uint64, key, what string) {
		if n > 0 && q.Thrown != "" && (key == "garbage" || key == "impossible") {
			what += "; the first that was dropped: " + q.Thrown
		}
		if n > 0 {
			doubts = append(doubts, energy.Doubt{Key: key, Text: fmt.Sprintf("%d %s", n, what)})
		}
	}
	add(q.Missing, "missing", "readings are missing")
	add(q.BadCRC, "bad_crc", "frames had a bad checksum")
	add(q.Garbage, "garbage", "bytes or lines were garbage")
	add(q.Impossible, "impossible", "readings were impossible")
	add(q.OverRange, "over_range", "readings were out of the meter's range")
	add(q.Failed, "failed", "readings failed")
	if q.Apart != "" {
		doubts = append(doubts, energy.Doubt{Key: "apart", Text: q.Apart})
	}
	if q.Readings > 20 && q.Repeats+1 >= q.Readings {
		add(q.Readings, "stuck", "readings, all of them, are the same: the meter is stuck, or too coarse for this load")
	}
	return doubts
}

// apartFrom is the share by which volts times amperes and watts that were read together may differ.
const apartFrom = 0.03

// mainsFrom is the voltage, V, from which what is drawn may alternate: then watts may be less than volts times amperes.
const mainsFrom = 60

// A twice follows power that is told twice, as volts and amperes and as watts.
type twice struct {
	n              float64
	product, watts float64 // sums, W
	mains          bool
}

func (t *twice) see(r reading) {
	if x := r.volts * r.amps; !math.IsNaN(x) && !math.IsNaN(r.watts) {
		t.n, t.product, t.watts = t.n+1, t.product+x, t.watts+r.watts
		t.mains = t.mains || math.Abs(r.volts) >= mainsFrom
	}
}

// apart says in words that the two contradict each other, on average and by more than a step of the meter.
func (t *twice) apart(resolution float64) string {
	off := math.Abs(t.product-t.watts) - t.n*resolution
	if t.n == 0 || off <= apartFrom*max(math.Abs(t.product), math.Abs(t.watts)) ||
		t.mains && math.Abs(t.watts) < math.Abs(t.product) {
		return ""
	}
	return fmt.Sprintf("volts times amperes are %.3g W, and the watts beside them %.3g W (means of %.0f readings): the "+
		"watts are taken; have the program print what is right alone", t.product/t.n, t.watts/t.n, t.n)
}

// An Item is one line of the quality record.
type Item struct {
	Key   string
	Value float64
	Unit  string
}

// Items is the quality record, for the store.
func (q MeterStats) Items() []Item {
	items := []Item{
		{"meter_readings", float64(q.Readings), "1"}, {"meter_missing", float64(q.Missing), "1"},
		{"meter_bad_crc", float64(q.BadCRC), "1"}, {"meter_garbage", float64(q.Garbage), "1"},
		{"meter_device_lost", float64(q.DeviceLost), "1"}, {"meter_impossible", float64(q.Impossible), "1"},
		{"meter_over_range", float64(q.OverRange), "1"}, {"meter_failed", float64(q.Failed), "1"},
		{"meter_clock_steps", float64(q.Steps), "1"}, {"meter_backwards", float64(q.Backwards), "1"},
		{"meter_repeats", float64(q.Repeats), "1"},
	}
	if q.Clock.Method != "" {
		items = append(items, Item{"meter_clock_skew", q.Clock.Skew, "1"},
			Item{"meter_clock_residual", q.Clock.Residual.Seconds(), "s"},
			Item{"meter_clock_bias", q.Clock.Bias.Seconds(), "s"}, Item{"meter_clock_points", float64(q.Clock.Points), "1"})
	}
	return items
}

// What a supply has at most, V, A and W.
const supplyVolts, supplyAmps, supplyWatts = 1e3, 1e3, 1e5

// sane bounds what a supply of a small device, or of a server, can have. A
// reading of 933 kA is a broken meter or a broken line.
func sane(volts, amps, watts float64) bool {
	within := func(x, limit float64) bool { return x >= -limit && x <= limit } // false for NaN
	return within(volts, supplyVolts) && within(amps, supplyAmps) && within(watts, supplyWatts)
}

// repeats follows the longest run of one value.
type repeats struct {
	last    float64
	run     uint64
	longest uint64
	began   bool
}

func (r *repeats) see(x float64) {
	if r.began && x == r.last {
		r.run++
	} else {
		r.run = 0
	}
	r.last, r.began = x, true
	r.longest = max(r.longest, r.run)
}

// sample makes one.
func sample(q measure.Quantity, at time.Duration, x float64) measure.Sample {
	return measure.Sample{Quantity: q, At: at, Value: x}
}
