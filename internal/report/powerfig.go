package report

import (
	"fmt"
	"math"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// underHeight is that of a meter's plane beneath another figure, in px.
const underHeight = 80

// ReadPower reads the power of a trial from one instant to another, in s since it began: of
// each meter the readings that cover them, thinned where there are many. A modelled power has
// no readings.
func (r *Report) ReadPower(s *store.Store, t store.TrialState, from, to float64) ([]*Trace, error) {
	sources, err := s.Sources(t.ID)
	if err != nil {
		return nil, err
	}
	var out []*Trace
	for _, src := range sources {
		if src.Method == store.Modelled {
			continue
		}
		x, power, err := r.readTrace(s, t, src)
		if err != nil {
			return nil, err
		}
		if x.Points = thinned(covering(power, from, to)); len(x.Points) > 1 {
			out = append(out, x)
		}
	}
	return out, nil
}

// covering are the points between two instants, with the one before and the one behind: each
// covers the time since the one before it.
func covering(all []TracePoint, from, to float64) []TracePoint {
	first, last := 0, len(all)
	for i, p := range all {
		if p.At <= from {
			first = i
		}
		if p.At >= to {
			last = i + 1
			break
		}
	}
	return all[min(first, last):last]
}

// WaterfallOver is a Waterfall with the power beneath, on the same axis: zero is where that
// begins, in s since the trial did. Off says how far the power may lie to either side.
func WaterfallOver(id, name string, bars []Bar, power []*Trace, zero float64, off string) Picture {
	pic, a := waterfall(id, name, bars)
	pic.under(a, power, zero, off)
	return pic
}

// CourseOver draws the values of a field, ns or B, over the instants of their requests, in s
// since the trial began, which are in order: those at the places given. The power is beneath,
// on the same axis.
func CourseOver(id, name string, f *measure.Field, at []float64, values []int64, places []int,
	power []*Trace, off string) Picture {
	ys := make([]float64, len(places))
	ax := axis{math.Inf(1), math.Inf(-1), false}
	for i, p := range places {
		ys[i] = float64(values[p]) * f.Scale()
		ax.lo, ax.hi = min(ax.lo, at[p]), max(ax.hi, at[p])
	}
	ax.hi = max(ax.hi, ax.lo+time1)
	ay := newAxis(ys)
	pic := Picture{ID: id, Height: topMargin + scatterHeight + axisHeight}
	var b strings.Builder
	ax.grid(&b, "s", topMargin+scatterHeight)
	ay.levels(&b, f.Response.Unit, topMargin, scatterHeight)
	dots(&b, ax, ay, places, func(i int) (x, y float64) { return at[places[i]], ys[i] })
	pic.body = b.String()
	q := quantilesOf(values, f)
	pic.Says = fmt.Sprintf("%s of the %d requests over the time of the trial: least %s, median %s, largest %s", name,
		len(values), q[0], q[1], q[2])
	pic.under(ax, power, 0, off)
	return pic
}

// time1 is the least that an axis of time spans, in s.
const time1 = 1e-6

// under adds the power of meters to a picture whose axis of time is given.
func (p *Picture) under(a axis, power []*Trace, zero float64, off string) {
	var b strings.Builder
	b.WriteString(p.body)
	for _, x := range power {
		top := p.Height + topMargin
		lo, hi, most := a.lo+zero, a.hi+zero, 0.0
		sum, length := 0.0, 0.0
		for i, q := range x.Points {
			if i == 0 || q.At <= lo || x.Points[i-1].At >= hi {
				continue
			}
			most = max(most, q.Hi)
			d := min(q.At, hi) - max(x.Points[i-1].At, lo)
			sum, length = sum+q.Mean*d, length+d
		}
		ay := newAxis([]float64{0, most * 1.1})
		name := fmt.Sprintf("power, %s", x.Side)
		value := "no reading"
		if length > 0 {
			value = "mean " + Format(sum/length, "W")
		}
		openRow(&b, name, value, false, p.Height)
		b.WriteString("</g>")
		a.grid(&b, "s", top+underHeight)
		ay.levels(&b, "W", top, underHeight)
		x.drawPower(&b, axis{lo, hi, false}, ay, top, underHeight)
		p.Height = top + underHeight + axisHeight
		p.Says += fmt.Sprintf("; beneath, on the same axis, the power of the %s by %s, %s, to within %s", x.Side,
			x.Instrument, value, off)
	}
	p.body = b.String()
}
