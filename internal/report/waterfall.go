package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
)

// A Bar is a stretch of time in a waterfall, in s.
type Bar struct {
	Name     string
	From, To float64
	Class    string // of the style: "fig-hist", …
}

// Waterfall draws stretches of time below each other, all by one clock. Name says
// whose they are.
func Waterfall(id, name string, bars []Bar) Picture {
	pic, _ := waterfall(id, name, bars)
	return pic
}

func waterfall(id, name string, bars []Bar) (Picture, axis) {
	pic := Picture{ID: id, Height: topMargin + rowHeight*len(bars) + axisHeight}
	values := []float64{0}
	var says []string
	for _, x := range bars {
		values = append(values, x.To)
	}
	a := newAxis(values)
	var b strings.Builder
	a.grid(&b, "s", pic.Height-axisHeight)
	for i, x := range bars {
		top := topMargin + i*rowHeight
		value := Format(x.To-x.From, "s")
		says = append(says, x.Name+" "+value)
		openRow(&b, shortenMiddle(x.Name, rowLetters), value, false, top)
		from, to := a.clamp(x.From), a.clamp(x.To)
		fmt.Fprintf(&b, `<rect class="%s" x="%s" width="%s" y="%d" height="14"/>`, x.Class, percent(from),
			percent(max(to-from, 0.002)), top+stripMid-5)
		b.WriteString("</g>")
	}
	pic.Says, pic.body = name+": "+strings.Join(says, "; "), b.String()
	return pic, a
}

// Thinned are the places of at most so many values, in order: of each stretch the
// least and the largest, so that no extreme is lost.
func Thinned[T cmp.Ordered](values []T, most int) []int {
	if len(values) <= most {
		all := make([]int, len(values))
		for i := range all {
			all[i] = i
		}
		return all
	}
	parts := most / 2
	out := make([]int, 0, most)
	for p := range parts {
		from, to := p*len(values)/parts, (p+1)*len(values)/parts
		lo, hi := from, from
		for i := from; i < to; i++ {
			if values[i] < values[lo] {
				lo = i
			}
			if values[i] > values[hi] {
				hi = i
			}
		}
		out = append(out, min(lo, hi))
		if lo != hi {
			out = append(out, max(lo, hi))
		}
	}
	return out
}

// scatterHeight is that of a scatter's plane, in px.
const scatterHeight = 200

// Scatter draws the values of a field, ns or B, over their order: those at the places
// given, which Thinned finds. Name says whose they are.
func Scatter(id, name string, f *measure.Field, values []int64, places []int) Picture {
	ys := make([]float64, len(places))
	for i, p := range places {
		ys[i] = float64(values[p]) * f.Scale()
	}
	ax, ay := axis{1, float64(max(len(values), 2)), false}, newAxis(ys)
	pic := Picture{ID: id, Height: topMargin + scatterHeight + axisHeight}
	var b strings.Builder
	ax.grid(&b, "1", topMargin+scatterHeight)
	ay.levels(&b, f.Response.Unit, topMargin, scatterHeight)
	dots(&b, ax, ay, places, func(i int) (x, y float64) { return float64(places[i] + 1), ys[i] })
	pic.body = b.String()
	q := quantilesOf(values, f)
	pic.Says = fmt.Sprintf("%s of the %d requests in their order: least %s, median %s, largest %s", name, len(values),
		q[0], q[1], q[2])
	return pic
}

// dots draws points into a scatter's plane.
func dots(b *strings.Builder, ax, ay axis, places []int, at func(int) (x, y float64)) {
	fmt.Fprintf(b, `<svg x="0" y="%d" width="100%%" height="%d" viewBox="0 0 1000 %d" preserveAspectRatio="none" `+
		`overflow="visible"><path class="fig-dots" vector-effect="non-scaling-stroke" d="`, topMargin, scatterHeight,
		scatterHeight)
	for i := range places {
		if x, y := at(i); ay.shows(y) {
			fmt.Fprintf(b, "M%s %sh0", short(ax.at(x)*1000), short((1-ay.at(y))*scatterHeight))
		}
	}
	b.WriteString(`"/></svg>`)
}

// levels draws the ticks of an axis that goes up, over the whole width of a plane.
func (a axis) levels(b *strings.Builder, unit string, top, height int) {
	for _, t := range a.ticks() {
		y := float64(top) + float64(height)*(1-a.at(t))
		fmt.Fprintf(b,
			`<line class="fig-grid" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/><text class="fig-key" x="2" y="%.1f">%s</text>`, y, y,
			y-3, a.label(t, unit))
	}
}

func quantilesOf(values []int64, f *measure.Field) [3]string {
	var h histogram
	h.add(values)
	var out [3]string
	for i, v := range h.quantiles([]float64{0, 0.5, 1}) {
		out[i] = Format(v*f.Scale(), f.Response.Unit)
	}
	return out
}

// Spread draws how the values of a field, ns or B, spread. Name says whose they are.
// The axis ends at the 0.1 and 99.9 % quantiles.
func Spread(id, name string, f *measure.Field, values []int64) Picture {
	d := &Distribution{perUnit: math.Round(1 / f.Scale())}
	d.Values.add(values)
	q := d.Quantiles([]float64{0, 0.001, 0.5, 0.95, 0.999, 1})
	a := newAxis(q[1:5])
	pic := Picture{ID: id, Height: topMargin + shapeRow + axisHeight}
	value := fmt.Sprintf("p50 %s · p95 %s", Format(q[2], f.Response.Unit), Format(q[3], f.Response.Unit))
	var b strings.Builder
	a.grid(&b, f.Response.Unit, pic.Height-axisHeight)
	openRow(&b, shortenMiddle(name, rowLetters), value, false, topMargin)
	d.draw(&b, a, topMargin+shapeTop)
	if a.shows(q[2]) {
		fmt.Fprintf(&b, `<line class="fig-median" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(a.at(q[2])),
			percent(a.at(q[2])), topMargin+shapeTop, topMargin+shapeTop+shapeHeight)
	}
	b.WriteString("</g>")
	pic.Says, pic.body = fmt.Sprintf("%s %s · max %s", name, value, Format(q[5], f.Response.Unit)), b.String()
	return pic
}

// Words turns a response's name into a title: "response_time", "Response time".
func Words(response string) string { return capital(words(response)) }
