package packet

import (
	"math"
	"slices"
)

// A summary describes the calls of one capture, with no claim about others.
type summary struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	N      int      `json:"n"`
	Min    float64  `json:"min"`
	Mean   float64  `json:"mean"`
	SD     *float64 `json:"sd,omitempty"` // of n-1; absent for one
	Median float64  `json:"median"`
	Max    float64  `json:"max"`
}

func summaries(calls []Call) []summary {
	var out []summary
	for _, q := range Quantities() {
		var v []float64
		if q == Jitter || q == JitterRFC3550 {
			v = jitters(calls, q == JitterRFC3550)
		} else {
			for i := range calls {
				if x, refusal, _ := calls[i].figure(q); refusal == "" {
					v = append(v, x)
				}
			}
		}
		if len(v) > 0 {
			out = append(out, summarizeValues(q.Name, q.Unit, v))
		}
	}
	return out
}

// jitters returns the jitter of each call from the second on, and nothing if a
// delay is missing: its neighbours would not be successive.
func jitters(calls []Call, rfc bool) []float64 {
	var out []float64
	var est float64
	for i := range calls {
		if calls[i].NoDelay != "" {
			return nil
		}
		if i == 0 {
			continue
		}
		d := math.Abs((calls[i].Delay - calls[i-1].Delay).Seconds())
		if est += (d - est) / 16; rfc {
			d = est
		}
		out = append(out, d)
	}
	return out
}

func summarizeValues(name, unit string, v []float64) summary {
	slices.Sort(v)
	n := len(v)
	s := summary{Name: name, Unit: unit, N: n, Min: v[0], Max: v[n-1], Median: (v[(n-1)/2] + v[n/2]) / 2}
	for _, x := range v {
		s.Mean += x // whole numbers stay whole
	}
	s.Mean /= float64(n)
	var square float64
	for _, x := range v {
		square += (x - s.Mean) * (x - s.Mean)
	}
	if n > 1 {
		sd := math.Sqrt(square / float64(n-1))
		s.SD = &sd
	}
	return s
}
