package instrument

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/instrument/energy"
)

// A clock says whose time a reading carries.
type clock string

const (
	clockDevice clock = "device" // fitted to the host's by arrival
	clockHost   clock = "host"   // CLOCK_MONOTONIC of this machine, s
	clockNone   clock = "none"   // the time of arrival is taken
)

// A form is how a program's lines look: JSON objects, or columns.
type form struct {
	clock      clock
	kind       energy.Kind
	rate       float64 // readings a second; 0: unknown
	resolution float64 // W
	columns    []string
}

func (f form) facts() energy.Facts {
	facts := energy.Facts{Kind: f.kind, Resolution: f.resolution}
	if f.rate > 0 {
		facts.Interval = seconds(1 / f.rate)
	}
	return facts
}

// parseHeader reads the first line: a description in JSON, or the columns' names.
func parseHeader(line string) (form, error) {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF"))
	if !strings.HasPrefix(line, "{") {
		return csvHeader(line)
	}
	var h struct {
		Type, Name, Clock, Kind string
		Rate                    float64
		Resolution              struct{ V, A, W float64 }
	}
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		return form{}, fmt.Errorf("the description %q: %w", line, err)
	}
	if h.Type != "meter" {
		return form{}, fmt.Errorf(`the first line is %q; it must be {"type":"meter",…} or a header like t,V,A`, line)
	}
	f := form{clock: clock(h.Clock), rate: h.Rate, resolution: h.Resolution.W}
	if f.resolution == 0 {
		f.resolution = 5 * h.Resolution.A // at 5 V
	}
	switch f.clock {
	case clockDevice, clockHost, clockNone:
	case "":
		f.clock = clockNone
	default:
		return f, fmt.Errorf("unknown clock %q; supported: device, host, none", h.Clock)
	}
	switch h.Kind {
	case "mean":
		f.kind = energy.Mean
	case "instantaneous", "":
		f.kind = energy.Instant
	case "cumulative":
		f.kind = energy.Cumulative
	default:
		return f, fmt.Errorf("unknown kind %q; supported: mean, instantaneous, cumulative", h.Kind)
	}
	if !(h.Rate >= 0 && h.Rate <= 1e7) || !(f.resolution >= 0) {
		return f, fmt.Errorf("invalid rate of %g readings per second or resolution of %g W", h.Rate, f.resolution)
	}
	return f, nil
}

// csvHeader takes columns t, V, A, W, J, marker in any order. Time is the device's.
func csvHeader(line string) (form, error) {
	f := form{clock: clockDevice, kind: energy.Instant}
	has := map[string]bool{}
	for name := range strings.SplitSeq(line, ",") {
		name = strings.TrimSpace(name)
		if has[name] {
			return f, fmt.Errorf("the header %q names %q twice", line, name)
		}
		has[name] = true
		f.columns = append(f.columns, name)
	}
	switch {
	case has["J"] && !has["W"] && !has["A"]:
		f.kind = energy.Cumulative
	case !has["W"] && !(has["V"] && has["A"]):
		return f, fmt.Errorf("the header %q has neither V and A, nor W, nor J", line)
	}
	if !has["t"] {
		f.clock = clockNone
	}
	return f, nil
}

var (
	errLine  = errors.New("not a value for each column")
	errTime  = errors.New("no time t, as the clock of the description asks for, or none that can be")
	errPower = errors.New("no W, nor V and A")
	errCount = errors.New("no J, which a cumulative meter counts")
)

// understood says in words why a line is no reading.
func understood(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var number *strconv.NumError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s is a %s and not a number", kind.Field, kind.Value)
	case errors.As(err, &kind), errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return "not an object in JSON"
	case errors.As(err, &number):
		return fmt.Sprintf("%q is not a number", number.Num)
	}
	return err.Error()
}

// parse reads one line.
func (f form) parse(b []byte) (execLine, error) {
	l := execLine{reading: unknown, marker: math.NaN()}
	var t float64
	var err error
	if f.columns != nil {
		t, err = f.parseCSV(b, &l)
	} else {
		t, err = parseJSON(b, &l)
	}
	if err != nil {
		return l, err
	}
	if f.clock != clockNone {
		if !(math.Abs(t) < 9e9) {
			return l, errTime
		}
		l.t = seconds(t)
	}
	power := l.fill().watts
	switch {
	case f.kind == energy.Cumulative && math.IsNaN(l.joules):
		return l, errCount
	case f.kind != energy.Cumulative && math.IsNaN(power):
		return l, errPower
	}
	if f.kind != energy.Cumulative {
		l.joules = math.NaN()
	}
	return l, nil
}

func parseJSON(b []byte, l *execLine) (t float64, err error) {
	var x struct{ T, V, A, W, J, Marker *float64 }
	if err := json.Unmarshal(b, &x); err != nil {
		return 0, err
	}
	l.volts, l.amps, l.watts, l.joules, l.marker = maybe(x.V), maybe(x.A), maybe(x.W), maybe(x.J), maybe(x.Marker)
	return maybe(x.T), nil
}

func (f form) parseCSV(b []byte, l *execLine) (t float64, err error) {
	t = math.NaN()
	n := 0
	for field := range bytes.SplitSeq(bytes.TrimSpace(b), []byte(",")) {
		if n == len(f.columns) {
			return t, errLine
		}
		name := f.columns[n]
		n++
		into, ok := map[string]*float64{"t": &t, "V": &l.volts, "A": &l.amps, "W": &l.watts, "J": &l.joules,
			"marker": &l.marker}[name]
		if !ok {
			continue // unknown columns are ignored
		}
		if *into, err = strconv.ParseFloat(string(bytes.TrimSpace(field)), 64); err != nil {
			return t, err
		}
	}
	if n != len(f.columns) {
		return t, errLine
	}
	return t, nil
}
