package report

import (
	"fmt"
	"math"
	"strings"
)

// spreadBins is into how many parts a histogram's axis is cut.
const spreadBins = 140

// Places in the rows of distributions and courses, in px.
const (
	shapeTop    = 18 // of the row's shape
	shapeHeight = 26
	shapeRow    = shapeTop + shapeHeight + 8
)

// distributions draws, row by row on one axis, how all requests of each
// treatment spread. The axis ends at the 0.1 and 99.9 % quantiles.
func (r *Report) distributions(p Panel) (Picture, bool) {
	var rows []*Distribution
	var reach []float64
	for i := range r.Treatments {
		if d, ok := r.Distribution(i, p); ok {
			rows = append(rows, d)
			reach = append(reach, d.Quantiles([]float64{0.001, 0.5, 0.999})...)
		}
	}
	if len(rows) == 0 {
		return Picture{}, false
	}
	a := newAxis(reach)
	pic := Picture{ID: p.ID() + "-distribution", Height: topMargin + shapeRow*len(rows) + axisHeight}
	var b strings.Builder
	says, names := []string{}, r.rowNames()
	a.grid(&b, p.Unit, pic.Height-axisHeight)
	for i, d := range rows {
		t := r.Treatments[d.Treatment]
		q := d.Quantiles([]float64{0.5, 0.95, 1})
		value := fmt.Sprintf("p50 %s · p95 %s", Format(q[0], p.Unit), Format(q[1], p.Unit))
		if c, ok := r.Cell(d.Treatment, p.Side, p.Response); ok {
			value += besideFigure(r.notInIt(c))
		}
		says = append(says, fmt.Sprintf("%s %s · max %s", t.Name(), value, Format(q[2], p.Unit)))
		top := topMargin + i*shapeRow
		openRow(&b, names[d.Treatment], value, r.isFloor(t.Stack), top)
		d.draw(&b, a, top+shapeTop)
		if a.shows(q[0]) {
			fmt.Fprintf(&b, `<line class="fig-median" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(a.at(q[0])),
				percent(a.at(q[0])), top+shapeTop, top+shapeTop+shapeHeight)
		}
		b.WriteString("</g>")
	}
	pic.Says = "Distribution of " + words(p.Response) + ", " + string(p.Side) + ", over all requests: " +
		strings.Join(says, "; ")
	pic.body = b.String()
	return pic, true
}

// rowNames are the names of the treatments as rows of a picture have them.
func (r *Report) rowNames() []string {
	names := make([]string, len(r.Treatments))
	for i, t := range r.Treatments {
		names[i] = t.Name()
	}
	return cutApart(names, rowLetters)
}

// draw draws the histogram, the highest bin as high as the row.
func (d *Distribution) draw(b *strings.Builder, a axis, top int) {
	var shares [spreadBins]float64
	most := 0.0
	for i := range shares {
		from, to := a.value(float64(i)/spreadBins), a.value(float64(i+1)/spreadBins)
		shares[i] = d.Values.between(from*d.perUnit, to*d.perUnit)
		most = max(most, shares[i])
	}
	if most == 0 {
		return
	}
	fmt.Fprintf(b,
		`<svg x="0" y="%d" width="100%%" height="%d" viewBox="0 0 %d 100" preserveAspectRatio="none"><path `+
			`class="fig-hist" d="M0 100`, top, shapeHeight, spreadBins)
	for i, s := range shares {
		if h := 100 - math.Round(s/most*1000)/10; h < 100 {
			fmt.Fprintf(b, "M%d 100V%vh1V100", i, h)
		}
	}
	b.WriteString(`z"/></svg>`)
}

// value is what stands at a place of the axis, from 0 to 1.
func (a axis) value(at float64) float64 {
	if a.log {
		return a.lo * math.Pow(a.hi/a.lo, at)
	}
	return a.lo + at*(a.hi-a.lo)
}

// courses draws, row by row, how a response went from the first request of the
// recorded run to the last.
func (r *Report) courses(p Panel) (Picture, bool) {
	pic := Picture{ID: p.ID() + "-course"}
	var b strings.Builder
	var says []string
	n, names := 0, r.rowNames()
	for i, t := range r.Treatments {
		d, ok := r.Distribution(i, p)
		if !ok {
			continue
		}
		value := "last third " + times2(d.drift()) + " the first"
		says = append(says, t.Name()+" "+value)
		openRow(&b, names[i], value, r.isFloor(t.Stack), topMargin+n*shapeRow)
		d.drawCourse(&b, topMargin+n*shapeRow+shapeTop)
		b.WriteString("</g>")
		n++
	}
	if n == 0 {
		return pic, false
	}
	pic.Height = topMargin + n*shapeRow + axisHeight
	var grid strings.Builder
	axis{0, 100, false}.grid(&grid, "%", pic.Height-axisHeight)
	pic.body = grid.String() + b.String()
	pic.Says = "Course of " + words(p.Response) + ", " + string(p.Side) + ", over the recorded run: " +
		strings.Join(says, "; ")
	return pic, true
}

func times2(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.2f×", x)
}

// drift is the mean of the run's last third over that of its first.
func (d *Distribution) drift() float64 {
	var first, last float64
	third := len(d.Course) / 3
	for i := range third {
		first, last = first+d.Course[i].Mean, last+d.Course[len(d.Course)-1-i].Mean
	}
	return last / first
}

// drawCourse draws the mean with the band of its trials, from the least to the
// largest, at least a tenth of the mean high on both sides: so that what hardly
// changes looks so.
func (d *Distribution) drawCourse(b *strings.Builder, top int) {
	lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, p := range d.Course {
		lo, hi, sum = min(lo, p.Lo), max(hi, p.Hi), sum+p.Mean
	}
	mean := sum / float64(len(d.Course))
	lo, hi = min(lo, mean*0.9), max(hi, mean*1.1)
	if !(hi > lo) {
		lo, hi = lo-1, hi+1
	}
	y := func(v float64) float64 { return math.Round((hi-v)/(hi-lo)*1000) / 10 }
	fmt.Fprintf(b,
		`<svg x="0" y="%d" width="100%%" height="%d" viewBox="0 0 %d 100" preserveAspectRatio="none"><path `+
			`class="fig-band" d="M`, top, shapeHeight, len(d.Course)-1)
	for i, p := range d.Course {
		fmt.Fprintf(b, "%d %v ", i, y(p.Hi))
	}
	for i := len(d.Course) - 1; i >= 0; i-- {
		fmt.Fprintf(b, "%d %v ", i, y(d.Course[i].Lo))
	}
	b.WriteString(`z"/><path class="fig-line" vector-effect="non-scaling-stroke" d="M`)
	for i, p := range d.Course {
		fmt.Fprintf(b, "%d %v ", i, y(p.Mean))
	}
	b.WriteString(`"/></svg>`)
}
