package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Places in a Pareto picture: shares of its width, and px of its height.
const (
	paretoLeft   = 0.09
	paretoWide   = 0.66 // at most: to the right of it there is room for names
	paretoLeast  = 544  // px, the least width that the page gives it (style.css)
	paretoGap    = 0.04 // between the axes and the names
	nameWidth    = 7.8  // px of a character, about as much as in the widest font
	mostLetters  = 24   // of a name
	titleLetters = 69   // of the title, in the least width
	paretoTop    = 46
	paretoHigh   = 214
	paretoBottom = 44
	nameHeight   = 15
	namesBeside  = (paretoTop+paretoHigh+paretoBottom)/nameHeight - 1 // as many names stand one below the other
	mostParetos  = 3
)

// A paretoPoint is one treatment: what it costs in two responses.
type paretoPoint struct {
	name  string
	x, y  stat.Summary
	front bool // no other treatment is shown to cost less in one and no more in the other
}

// paretos are pictures of bytes and time, one for each level that has three treatments
// or more.
func (r *Report) paretos() []Picture {
	var out []Picture
	for i, g := range r.groups() {
		time := r.timeOf(g.treatments)
		for _, bytes := range []string{"wire_bytes", "message_size"} {
			points := r.paretoPoints(g, bytes, time)
			if len(points) > 2 {
				out = append(out, paretoPicture(fmt.Sprintf("pareto-%d", i+1), g.name, r.titleIn(g, bytes), r.titleIn(g, time),
					points))
				break
			}
		}
		if len(out) == mostParetos {
			break
		}
	}
	return out
}

// titleIn is a response of the client as a title, which says where a group's figures are medians.
func (r *Report) titleIn(g group, response string) string {
	if r.groupLosses(g, response).known() {
		return words(response) + " (median of all requests)"
	}
	if slices.ContainsFunc(g.treatments, func(i int) bool {
		c, ok := r.Cell(i, measure.Client, response)
		return ok && c.ByMedian
	}) {
		return words(response) + " (median)"
	}
	return words(response)
}

func (r *Report) paretoPoints(g group, x, y string) []paretoPoint {
	var out []paretoPoint
	lost := r.groupLosses(g, y)
	var of [2][]*Cell
	for _, i := range g.treatments {
		a, ok := r.Cell(i, measure.Client, x)
		b, ok2 := r.Cell(i, measure.Client, y)
		if !ok || !ok2 || lost.known() && b.medianFails() {
			continue
		}
		q := paretoPoint{name: r.nameIn(g, i), x: a.Headline(), y: b.Headline()}
		if lost.known() {
			q.y = lost.centers[b]
		}
		if share := r.failedOf(b); share > 0 {
			q.name += " (" + percentFailed(share) + " failed)"
		}
		out = append(out, q)
		of[0], of[1] = append(of[0], a), append(of[1], b)
	}
	confidence := r.Study.Design.Confidence
	onFront(out, shownLower(of[0], nil, confidence), shownLower(of[1], lost, confidence))
	return out
}

// onFront marks the points of the Pareto front: those that no other is shown to beat. Another beats a point if it is
// higher in neither figure, and shown to be lower in one of them: points that noise parts share it.
func onFront(all []paretoPoint, lowerX, lowerY func(i, j int) bool) {
	for i, p := range all {
		all[i].front = true
		for j, o := range all {
			if o.x.Center <= p.x.Center && o.y.Center <= p.y.Center && (lowerX(j, i) || lowerY(j, i)) {
				all[i].front = false
			}
		}
	}
}

// shownLower tells of two cells of one response whether the first is lower beyond doubt, as the answer has it: all
// pairs at once, and more than waiting for a CPU may explain.
func shownLower(cells []*Cell, lost *losses, confidence float64) func(i, j int) bool {
	if len(cells) < 2 {
		return func(int, int) bool { return false }
	}
	k, err := rankCells(cells, lost, confidence)
	return func(i, j int) bool {
		a, b := cells[i], cells[j]
		if err != nil || a.modelled() != b.modelled() {
			return false
		}
		x, err := k.pairs.Interval(slices.Index(k.cells, a), slices.Index(k.cells, b))
		return err == nil && x.Hi < x.Even() && !k.waitingExplains(a, b, x)
	}
}

// nameIn is a treatment's name without what all of its level have.
func (r *Report) nameIn(g group, treatment int) string {
	var parts []string
	for f, l := range r.Treatments[treatment].Levels {
		if g.name == "" || len(r.levelsIn(g, f)) > 1 {
			parts = append(parts, l)
		}
	}
	if len(parts) == 0 {
		return r.Treatments[treatment].Name()
	}
	return strings.Join(parts, " ")
}

func paretoPicture(id, level, xTitle, yTitle string, points []paretoPoint) Picture {
	var xs, ys []float64
	for _, q := range points {
		xs, ys = append(xs, q.x.Center), append(ys, q.y.Center, q.y.Hi)
		if q.y.Lo > 0 { // an interval below 0 must not bend a log axis
			ys = append(ys, q.y.Lo)
		}
	}
	ax, ay := newAxis(xs), newAxis(ys)
	var b strings.Builder
	title := yTitle + " and " + xTitle
	head := title
	if level != "" {
		room := max(mostLetters, titleLetters-utf8.RuneCountInString(title)-len(": "))
		title, head = shortenMiddle(level, room)+": "+title, level+": "+title
	}
	which, named := namedInPareto(points)
	fmt.Fprintf(&b, `<text class="fig-name" x="0" y="14">%s</text><text class="fig-key" x="0" y="30">lower left is `+
		`better; %s: on the Pareto front</text>`, html.EscapeString(capital(title)), which)
	names := make([]string, len(points))
	for i, q := range points {
		names[i] = q.name
	}
	names = shortened(names, mostLetters)
	wide := wideBeside(names)
	paretoGrid(&b, ax, ay, wide, xTitle)
	var heights []int
	for _, i := range named {
		heights = append(heights, paretoY(ay, points[i].y.Center))
	}
	last := max(namesBeside, len(named))
	p := Picture{ID: id, Height: (last+1)*nameHeight + nameHeight/2}
	rows := map[int]int{}
	for k, row := range nameRows(heights, last) {
		rows[named[k]] = row
	}
	says := []string{capital(head)}
	for _, q := range points {
		says = append(says, fmt.Sprintf("%s %s, %s", q.name, Format(q.x.Center, "B"), Format(q.y.Center, "s")))
	}
	for _, i := range lastOnFront(points) {
		q := points[i]
		x, y := percent(paretoX(ax, wide, q.x.Center)), paretoY(ay, q.y.Center)
		if q.y.Hi > q.y.Lo {
			fmt.Fprintf(&b, `<line class="fig-ci" x1="%s" x2="%s" y1="%d" y2="%d"/>`, x, x, paretoY(ay, q.y.Lo),
				paretoY(ay, q.y.Hi))
		}
		class, radius := "fig-open", "6.5"
		if q.front { // a hollow one in the same place is a ring around it
			class, radius = "fig-front", "5"
		}
		fmt.Fprintf(&b, `<circle class="%s" cx="%s" cy="%d" r="%s"><title>%s</title></circle>`, class, x, y, radius,
			html.EscapeString(says[i+1]))
		row, ok := rows[i]
		if !ok {
			continue
		}
		at := row*nameHeight + nameHeight/2
		fmt.Fprintf(&b, `<line class="fig-grid" x1="%s" x2="%s" y1="%d" y2="%d"/>`, x,
			percent(paretoLeft+wide+paretoGap-0.01), y, at)
		class, from := "fig-name", percent(paretoLeft+wide+paretoGap)
		if utf8.RuneCountInString(names[i]) > mostLetters { // it ends at the edge, wherever it begins
			class, from = "fig-name fig-last", "100%"
		}
		fmt.Fprintf(&b, `<text class="%s" x="%s" y="%d">%s</text>`, class, from, at+4, html.EscapeString(names[i]))
	}
	p.Says, p.body = strings.Join(says, "; "), b.String()
	return p
}

// namedInPareto are the places of the points that have a name beside them, and what is said of a filled one: all
// points, or where they are too many for that, those of the front.
func namedInPareto(points []paretoPoint) (which string, named []int) {
	which = "filled"
	if len(points) > namesBeside {
		which = "filled and named"
	}
	for i, q := range points {
		if q.front || len(points) <= namesBeside {
			named = append(named, i)
		}
	}
	return which, named
}

// lastOnFront are the places of points in the order in which they are drawn: those of the front last, so that no other
// lies over them.
func lastOnFront(points []paretoPoint) []int {
	var open, front []int
	for i, q := range points {
		if q.front {
			front = append(front, i)
		} else {
			open = append(open, i)
		}
	}
	return append(open, front...)
}

// wideBeside is the share of the picture's width that its axes have, so that the names to the right of them end within
// it where it is narrow.
func wideBeside(names []string) float64 {
	most := 0
	for _, n := range names {
		most = max(most, utf8.RuneCountInString(n))
	}
	return min(paretoWide, 1-paretoLeft-paretoGap-nameWidth*float64(min(most, mostLetters))/paretoLeast-0.001)
}

// nameRows gives each name a row of its own from 1 to last, near the height of its point and in the
// order of the points, so that the lines between them do not cross: rows that collide
// are moved apart around their mean (pool adjacent violators).
func nameRows(heights []int, last int) []int {
	order := make([]int, len(heights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return heights[a] - heights[b] })
	type block struct{ sum, n int } // of wanted rows, each less its place in the order
	var blocks []block
	for place, i := range order {
		b := block{max(heights[i]/nameHeight, 1) - place, 1}
		for len(blocks) > 0 {
			before := blocks[len(blocks)-1]
			if before.sum*b.n < b.sum*before.n {
				break
			}
			b = block{b.sum + before.sum, b.n + before.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	rows := make([]int, len(heights))
	place := 0
	for _, b := range blocks {
		first := max(min(int(math.Round(float64(b.sum)/float64(b.n))), last-len(heights)+1), 1)
		for range b.n {
			rows[order[place]] = first + place
			place++
		}
	}
	return rows
}

func paretoX(a axis, wide, v float64) float64 { return paretoLeft + wide*a.clamp(v) }

func paretoY(a axis, v float64) int { return paretoTop + int((1-a.clamp(v))*paretoHigh) }

func paretoGrid(b *strings.Builder, ax, ay axis, wide float64, xTitle string) {
	for _, t := range ax.ticks() {
		x := percent(paretoX(ax, wide, t))
		fmt.Fprintf(b, `<line class="fig-grid" x1="%s" x2="%s" y1="%d" y2="%d"/>`, x, x, paretoTop, paretoTop+paretoHigh)
		fmt.Fprintf(b, `<text class="fig-tick" x="%s" y="%d">%s</text>`, x, paretoTop+paretoHigh+16, ax.label(t, "B"))
	}
	for _, t := range ay.ticks() {
		y := paretoY(ay, t)
		fmt.Fprintf(b, `<line class="fig-grid" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(paretoLeft),
			percent(paretoLeft+wide), y, y)
		fmt.Fprintf(b, `<text class="fig-tick fig-last" x="%s" y="%d">%s</text>`, percent(paretoLeft-0.01),
			y+4, ay.label(t, "s"))
	}
	fmt.Fprintf(b, `<text class="fig-tick" x="%s" y="%d">%s</text>`, percent(paretoLeft+wide/2),
		paretoTop+paretoHigh+34, html.EscapeString(xTitle))
}
