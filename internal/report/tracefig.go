package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/store"
)

// Places in a power trace, in px.
const (
	traceTop    = 26 // below the key
	traceHeight = 150
)

// Picture draws the power over the trial with the trial's phases behind it.
func (x *Trace) Picture(r *Report) Picture {
	from, to := x.span()
	ax := axis{from, to, false}
	var top float64
	for _, p := range x.Points {
		if !math.IsNaN(p.Hi) && !math.IsInf(p.Hi, 0) {
			top = max(top, p.Hi)
		}
	}
	ay := newAxis([]float64{0, top * 1.1})
	pic := Picture{ID: fmt.Sprintf("power-%s-%04d", x.Side, x.Trial), Height: traceTop + traceHeight + axisHeight,
		Says: x.describe(r)}
	var b strings.Builder
	x.drawPhases(&b, ax)
	ax.grid(&b, "s", traceTop+traceHeight)
	ay.levels(&b, "W", traceTop, traceHeight)
	x.drawPower(&b, ax, ay, traceTop, traceHeight)
	pic.body = b.String()
	return pic
}

// describe is the trace in words.
func (x *Trace) describe(r *Report) string {
	text := fmt.Sprintf("Power of the %s over trial %d (%s), %s by %s", x.Side, x.Trial, r.Treatments[x.Treatment].Name(),
		x.Method, x.Instrument)
	for _, p := range x.Phases {
		text += fmt.Sprintf("; %s from %s to %s", p.Name, Format(p.From, "s"), Format(p.To, "s"))
		if m := x.mean(p.From, p.To); !math.IsNaN(m) {
			text += " at " + Format(m, "W")
		}
	}
	if x.Method == store.Modelled {
		text += "; the model knows only the mean of the run"
	}
	return text
}

// mean is the mean power over the readings of a phase, each counting for the
// time since the one before; NaN without one.
func (x *Trace) mean(from, to float64) float64 {
	var sum, length float64
	for i := 1; i < len(x.Points); i++ {
		lo, hi := max(x.Points[i-1].At, from), min(x.Points[i].At, to)
		if hi > lo {
			sum, length = sum+x.Points[i].Mean*(hi-lo), length+hi-lo
		}
	}
	return sum / length
}

func (x *Trace) drawPhases(b *strings.Builder, ax axis) {
	for i, p := range x.Phases {
		class := "fig-" + strings.ReplaceAll(p.Name, " ", "-")
		fmt.Fprintf(b, `<rect class="%s" x="%s" width="%s" y="%d" height="%d"/>`, class, percent(ax.at(p.From)),
			percent(ax.at(p.To)-ax.at(p.From)), traceTop, traceHeight)
		if slices.ContainsFunc(x.Phases[:i], func(q TracePhase) bool { return q.Name == p.Name }) {
			continue // it is the last one, and in the key already
		}
		fmt.Fprintf(b, `<rect class="%s" x="%d" width="14" y="4" height="12"/><text class="fig-key" x="%d" y="14">%s</text>`,
			class, i*95, i*95+19, p.Name)
	}
}

// drawPower draws steps: each reading covers the time since the one before it.
func (x *Trace) drawPower(b *strings.Builder, ax, ay axis, top, height int) {
	const wide, high = 1000, 100
	px := func(p TracePoint) string { return short(ax.at(p.At) * wide) }
	py := func(w float64) string { return short((1 - ay.clamp(w)) * high) }
	fmt.Fprintf(b, `<svg x="0" y="%d" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`, top,
		height, wide, high)
	var band, line strings.Builder
	for i, p := range x.Points {
		if i == 0 {
			fmt.Fprintf(&line, "M%s %s", px(p), py(p.Mean))
			continue
		}
		fmt.Fprintf(&line, "V%sH%s", py(p.Mean), px(p))
		if p.Hi > p.Lo {
			fmt.Fprintf(&band, "M%s %sH%sV%sH%sz", px(x.Points[i-1]), py(p.Hi), px(p), py(p.Lo), px(x.Points[i-1]))
		}
	}
	if band.Len() > 0 {
		fmt.Fprintf(b, `<path class="fig-band" d="%s"/>`, band.String())
	}
	fmt.Fprintf(b, `<path class="fig-line" vector-effect="non-scaling-stroke" d="%s"/></svg>`, line.String())
}

// short prints a place with one digit behind the point.
func short(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }
