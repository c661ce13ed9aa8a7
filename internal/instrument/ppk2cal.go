package instrument

import (
	"fmt"
	"strconv"
	"strings"
)

// ppk2Ranges is how many measuring ranges a PPK2 has: the last is the coarsest.
const ppk2Ranges = 5

// ppk2Range is the calibration of one range.
type ppk2Range struct{ r, gs, gi, o, s, i, ug float64 }

// ppk2Cal turns a PPK2's readings into amperes. The constants come from the
// device's metadata; those of a range it leaves out are the nominal ones.
type ppk2Cal [ppk2Ranges]ppk2Range

func nominalPPK2() (c ppk2Cal) {
	for k, r := range []float64{1031.64, 101.65, 10.15, 0.94, 0.043} { // ohm
		c[k] = ppk2Range{r: r, gs: 1, gi: 1, ug: 1}
	}
	return c
}

// parsePPK2 reads metadata: lines "R0: 1031.64" with the keys R, GS, GI, O, S, I
// and UG and the range's number, others, and "END".
func parsePPK2(metadata string) (ppk2Cal, error) {
	c := nominalPPK2()
	known := 0
	for line := range strings.Lines(metadata) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || len(key) < 2 {
			continue
		}
		k := int(key[len(key)-1] - '0')
		if k < 0 || k >= ppk2Ranges {
			continue
		}
		into, ok := map[string]*float64{"R": &c[k].r, "GS": &c[k].gs, "GI": &c[k].gi, "O": &c[k].o, "S": &c[k].s,
			"I": &c[k].i, "UG": &c[k].ug}[key[:len(key)-1]]
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || x != x || x > 1e9 || x < -1e9 {
			return c, fmt.Errorf("metadata %q is not a number", strings.TrimSpace(line))
		}
		*into = x
		known++
	}
	for k := range c {
		if c[k].r <= 0 {
			return c, fmt.Errorf("invalid metadata: range %d has %g ohm", k, c[k].r)
		}
	}
	if known == 0 {
		return c, fmt.Errorf("the metadata %.60q have no calibration: is it a PPK2?", metadata)
	}
	return c, nil
}

// ppk2Step is the volts of one step of the 14-bit converter, after the factor
// of 4 that its readings carry.
const ppk2Step = 4 * 1.8 / 163840

// amps applies the calibration. Equation, x the uncorrected current, vdd in V:
// I = UG·(x·(GS·x + GI) + S·vdd + I), x = (adc − O)·step/R.
func (c *ppk2Cal) amps(adc uint32, k int, vdd float64) float64 {
	m := &c[k]
	x := (float64(adc) - m.o/4) * ppk2Step / m.r
	return m.ug * (x*(m.gs*x+m.gi) + m.s*vdd + m.i)
}

// A spikeFilter takes out what a change of range rings: three samples after it
// stand for nothing and are replaced by a slow average, in the coarsest range by
// a slower one.
type spikeFilter struct {
	slow, slower float64
	last         int // range, plus 1; 0: none yet
	ringing      int // samples still to be replaced
	inRow        int // samples since the range changed
}

const (
	spikeSamples = 3
	alphaSlow    = 0.18
	alphaSlower  = 0.06
)

func (f *spikeFilter) next(amps float64, k int) float64 {
	if f.last == 0 {
		f.slow, f.slower, f.last = amps, amps, k+1
	}
	slow, slower := f.slow, f.slower
	f.slow += alphaSlow * (amps - f.slow)
	f.slower += alphaSlower * (amps - f.slower)
	changed := f.last != k+1
	f.last = k + 1
	if changed {
		f.inRow, f.ringing = 0, spikeSamples
	} else if f.ringing == 0 {
		return amps
	} else {
		f.inRow++
	}
	f.ringing--
	if k != ppk2Ranges-1 {
		return f.slow
	}
	if f.inRow < 2 {
		f.slow, f.slower = slow, slower // the ringing stays out of the averages
	}
	return f.slower
}
