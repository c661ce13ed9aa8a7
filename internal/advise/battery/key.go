// Package battery forecasts how long a battery lasts in a device that reports now
// and then: from what was measured of its messages, and from a radio and a battery
// as files describe them. All that it computes is modelled. It draws no pictures.
package battery

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/meant"
)

// A key is one figure of the model.
type key struct {
	name string // "radio.sleep"; what stands before the point is the file's kind
	unit string
	need bool // the file must have it; otherwise it may be missing, and other is taken
	says string
	// other is taken where a file has no such figure.
	other float64
	// change is the factor of what to change first: 0.5 halves it, 2 doubles it, 0 asks nothing.
	change float64
	with   string // what it is high together with in a draw, or low; empty: with nothing
}

// What figures of a radio stand for together.
const (
	chip   = "chip"
	mast   = "far from the mast"
	nearer = "near the mast" // the farther, the lower
)

// Year is a Julian year.
const Year = 365.25 * 24 * time.Hour

// The figures of the model, as keys has them, and what follows from them.
const (
	radioSleep = iota
	radioIdle
	radioReceive
	radioSend
	radioSetupTime
	radioSetupPower
	radioUpRate
	radioDownRate
	radioOverhead
	radioWait
	radioMonitor
	radioInactivity
	radioDrxCycle
	radioDrxOn
	radioActive
	radioPagingCycle
	radioPagingOn
	batteryCapacity
	batteryVoltage
	batterySelfDischarge
	batteryShelfLife
	batteryRated
	batteryDerated
	batteryPulse
	deviceSleep
	deviceProcessing
	deviceEfficiency
	batteryJoules // what the battery has for the device; no figure
)

// keys are the figures of the model in the order of a table. One row, its constant, and its use in
// model.go, is all that a new one needs.
var keys = [batteryJoules]key{
	{"radio.sleep", "W", true, "power asleep: PSM, or standby with its timer", 0, 0.5, chip},
	{"radio.idle", "W", true, "power awake with the receiver off", 0, 0.5, chip},
	{"radio.receive", "W", true, "power while it receives or listens", 0, 0.5, chip},
	{"radio.send", "W", true, "power while it sends", 0, 0.5, chip},
	{"radio.setup_time", "s", false, "from waking until data may be sent: synchronize, attach or resume", 0, 0.5, mast},
	{"radio.setup_power", "W", false, "mean power in that time", 0, 0.5, chip},
	{"radio.up_rate", "bit/s", true, "rate of sending, scheduling and repetitions included", 0, 2, nearer},
	{"radio.down_rate", "bit/s", true, "rate of receiving, scheduling and repetitions included", 0, 2, nearer},
	{"radio.overhead", "B", false, "bytes that the radio adds to each packet", 0, 0.5, ""},
	{"radio.wait", "s", false, "from the last byte sent to the first of the response", 0, 0.5, mast},
	{"radio.monitor", "s", false, "it receives all the time this long after a byte, then in cycles", 0, 0.5, ""},
	{"radio.inactivity", "s", false, "from the last byte until the connection is released", 0, 0.5, ""},
	{"radio.drx_cycle", "s", false, "cycle of C-DRX; 0: it receives all the time until the release", 0, 2, ""},
	{"radio.drx_on", "s", false, "time it receives in each cycle of C-DRX", 0, 0.5, ""},
	{"radio.active", "s", false, "it can be paged this long after the release (T3324), then it sleeps", 0, 0.5, ""},
	{"radio.paging_cycle", "s", false, "between paging occasions (DRX, eDRX); 0: it receives all the time", 0, 2, ""},
	{"radio.paging_on", "s", false, "time it receives at each paging occasion", 0, 0.5, ""},
	{"battery.capacity", "Ah", true, "charge, down to the voltage at which the device stops", 0, 0, ""},
	{"battery.voltage", "V", true, "mean voltage over the discharge", 0, 0, ""},
	{"battery.self_discharge", "1", false, "share of what remains that is lost in a year", 0, 0, ""},
	{"battery.shelf_life", "s", false, "the longest life, whatever is left", math.Inf(1), 0, ""},
	{"battery.rated", "A", false, "up to this current all of the capacity is there", math.Inf(1), 0, ""},
	{"battery.derated", "1", false, "share of the capacity that is there if pulses are higher", 1, 0, ""},
	{"battery.pulse", "A", false, "the highest pulse that it can give", math.Inf(1), 0, ""},
	{"device.sleep", "W", false, "all the time, without the radio: processor asleep, sensors, regulator", 0, 0.5, ""},
	{"device.processing", "J", false, "for each report, without the radio", 0, 0.5, ""},
	{"device.efficiency", "1", false, "of the converter between battery and device", 1, 0, ""},
}

func findKey(name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// namesOf are the keys of a kind: of a file without the kind before the point.
func namesOf(kind string) []string {
	var out []string
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.name, kind+"."); ok {
			out = append(out, rest)
		}
	}
	return out
}

// A Figure is one stated constant and the limits it lies between, in the unit of its key.
type Figure struct {
	Key              string // "radio.sleep"
	Unit             string
	Value, Low, High float64
	Source           string // empty: the user stated it
}

func exactly(key, unit string, x float64) Figure {
	return Figure{Key: key, Unit: unit, Value: x, Low: x, High: x}
}

// Exact reports whether no limits are stated.
func (f Figure) Exact() bool { return f.Low == f.High }

// A unitName is a way to write a unit, and how many of the unit it is.
type unitName struct {
	name   string
	factor float64
}

var unitNames = map[string][]unitName{
	"W": {{"kW", 1e3}, {"mW", 1e-3}, {"uW", 1e-6}, {"µW", 1e-6}, {"nW", 1e-9}, {"W", 1}},
	"J": {{"kWh", 3.6e6}, {"Wh", 3600}, {"kJ", 1e3}, {"mJ", 1e-3}, {"uJ", 1e-6}, {"µJ", 1e-6}, {"nJ", 1e-9}, {"J", 1}},
	"s": {{"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"min", 60}, {"s", 1}, {"h", 3600}, {"d", 86400},
		{"y", float64(Year / time.Second)}},
	"bit/s": {{"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"bit", 1}},
	"B":     {{"kB", 1e3}, {"B", 1}, {"", 1}},
	"Ah":    {{"mAh", 1e-3}, {"Ah", 1}},
	"A":     {{"mA", 1e-3}, {"uA", 1e-6}, {"µA", 1e-6}, {"A", 1}},
	"V":     {{"mV", 1e-3}, {"V", 1}},
	"1":     {{"%", 0.01}, {"", 1}},
}

// ParseQuantity reads a number with a unit: "15uW", "2.048s", "5y", "2500mAh", "1%".
// The result is in the unit asked.
func ParseQuantity(text, unit string) (float64, error) {
	text = strings.TrimSpace(text)
	for _, u := range unitNames[unit] {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			continue
		}
		if u.factor < 1 { // the nearest number to what is written: 15 × 1e-6 is not 15e-6
			x /= math.Round(1 / u.factor)
		} else {
			x *= u.factor
		}
		if !(x >= 0) || math.IsInf(x, 0) {
			return 0, errors.New("write a number that is not negative")
		}
		return x, nil
	}
	return 0, fmt.Errorf("write a number and its unit, such as %s", examples[unit])
}

var examples = map[string]string{"W": "15uW", "J": "2mJ", "s": "10s or 5y", "bit/s": "20kbit", "B": "73",
	"Ah": "225mAh", "A": "30mA", "V": "3V", "1": "2%"}

// figureOf reads one figure. Without low or high, that limit is the value.
func figureOf(k key, value, low, high string) (Figure, error) {
	f := Figure{Key: k.name, Unit: k.unit}
	for _, x := range []struct {
		what, text string
		to         *float64
	}{{"value", value, &f.Value}, {"low", low, &f.Low}, {"high", high, &f.High}} {
		if x.text == "" && x.what != "value" {
			*x.to = f.Value
			continue
		}
		v, err := ParseQuantity(x.text, k.unit)
		if err != nil {
			return f, fmt.Errorf("%s %q: %w", x.what, x.text, err)
		}
		*x.to = v
	}
	return f, f.check()
}

func (f Figure) check() error {
	switch {
	case f.Low > f.High && f.Low != f.Value && f.High != f.Value: // else one of them is the value, and was not given
		return errors.New("the lower limit is above the upper one; write the lower one first")
	case f.Low > f.Value || f.Value > f.High:
		return errors.New("the value is not between low and high")
	case f.Unit == "1" && f.High > 1:
		return errors.New("a share is at most 100%")
	}
	switch f.Key {
	case "battery.self_discharge":
		if f.High == 1 {
			return errors.New("it is less than 100%")
		}
	case "radio.up_rate", "radio.down_rate", "battery.capacity", "battery.voltage", "battery.shelf_life",
		"battery.derated", "device.efficiency":
		if f.Low == 0 {
			return errors.New("it is more than 0")
		}
	}
	return nil
}

// ParseSet reads what a user states in the place of a file's figure:
// "radio.inactivity=5s", or between limits "radio.inactivity=5s..20s", whose value is
// the middle.
func ParseSet(text string) (Figure, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return Figure{}, fmt.Errorf("%q: write KEY=VALUE, for example radio.inactivity=5s", text)
	}
	k, ok := findKey(name)
	if !ok {
		var all []string
		for _, k := range keys {
			all = append(all, k.name)
		}
		return Figure{}, fmt.Errorf("%q: unknown figure %q; %s", text, name, meant.Advice(name, all,
			"the figures are "+strings.Join(all, ", ")))
	}
	low, high, limits := strings.Cut(value, "..")
	if !limits {
		f, err := figureOf(k, value, "", "")
		if err != nil {
			return f, fmt.Errorf("%q: %w", text, err)
		}
		return f, nil
	}
	f := Figure{Key: k.name, Unit: k.unit}
	var err, err2 error
	f.Low, err = ParseQuantity(low, k.unit)
	f.High, err2 = ParseQuantity(high, k.unit)
	f.Value = (f.Low + f.High) / 2
	if err := errors.Join(err, err2); err != nil {
		return f, fmt.Errorf("%q: %w", text, errors.Join(err))
	}
	if err := f.check(); err != nil {
		return f, fmt.Errorf("%q: %w", text, err)
	}
	return f, nil
}
