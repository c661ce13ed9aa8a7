package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// Places in a figure, in px. Across, everything is in per cent, so that one
// drawing fits a phone and a page; text keeps its size.
const (
	rowHeight  = 42
	labelBase  = 13 // of the row's text
	stripMid   = 25 // of the row's points
	axisHeight = 34
	topMargin  = 4
)

// A Picture is a drawing, ready to stand in a page or in a file.
type Picture struct {
	ID     string // "rtt-client": its file name without the ending
	Says   string // it in words, for those who do not see it
	Height int    // px
	body   string
}

// SVG writes the picture as an element to stand in a page.
func (p Picture) SVG(w io.Writer) error {
	_, err := fmt.Fprintf(w,
		`<svg width="100%%" height="%d" role="img" aria-labelledby="t-%s" class="fig"><title id="t-%s">%s</title>%s</svg>`+
			"\n",
		p.Height, p.ID, p.ID, html.EscapeString(p.Says), p.body)
	return err
}

// margin keeps what reaches over the edge of a figure visible in a file.
const margin = 10

// File writes the picture as a file of its own.
func (p Picture) File(w io.Writer) error {
	_, err := fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+
		`<svg xmlns="http://www.w3.org/2000/svg" width="740" height="%d" role="img" aria-labelledby="t-%s">`+
		`<title id="t-%s">%s</title><style>%s</style><rect width="740" height="%d" fill="#fff"/><svg x="%d" y="%d" `+
		`width="720" height="%d" class="fig">%s</svg></svg>`+"\n",
		p.Height+2*margin, p.ID, p.ID, html.EscapeString(p.Says), fileStyle, p.Height+2*margin, margin, margin,
		p.Height, p.body)
	return err
}

// fileStyle is for figures that stand alone; the page has its own.
const fileStyle = `svg{overflow:visible;font:13px system-ui,"DejaVu Sans",sans-serif}.fig-name{fill:#1b1f24}` +
	`.fig-value{fill:#1b1f24;text-anchor:end;paint-order:stroke;stroke:#fff;stroke-width:6px;` +
	`stroke-linejoin:round}.fig-key{fill:#4b5563;font-size:12px}.fig-grid{stroke:#e3e6ea}` +
	`.fig-tick{fill:#4b5563;font-size:12px;text-anchor:middle}.fig-first{text-anchor:start}` +
	`.fig-last{text-anchor:end}.fig-pt{fill:#2563a8;fill-opacity:.35}` +
	`.fig-ci{stroke:#12365e;stroke-width:2.5}.fig-mean{fill:#12365e;stroke:#fff}` +
	`.fig-floor{stroke:#b45309;stroke-width:2.5}.fig-pub{fill:none;stroke:#7c3aed;stroke-width:2}` +
	`.fig-isfloor{opacity:.75}.fig-front{fill:#12365e;stroke:#fff;stroke-width:1.5}` +
	`.fig-open{fill:#fff;stroke:#12365e;stroke-width:2}.fig-hist{fill:#2563a8;fill-opacity:.55}` +
	`.fig-median{stroke:#12365e;stroke-width:2}.fig-band{fill:#2563a8;fill-opacity:.22}` +
	`.fig-line{fill:none;stroke:#12365e;stroke-width:1.5}.fig-warm-up{fill:#b45309;fill-opacity:.16}` +
	`.fig-idle{fill:#4b5563;fill-opacity:.13}.fig-measured-run{fill:#14653a;fill-opacity:.17}`

// SVG draws the figure as an element to stand in a page.
func (f Chart) SVG(w io.Writer) error { return f.Picture().SVG(w) }

// File draws the figure as a file of its own.
func (f Chart) File(w io.Writer) error { return f.Picture().File(w) }

// Picture draws the figure.
func (f Chart) Picture() Picture {
	a := newAxis(f.values())
	p := Picture{ID: f.ID, Says: f.describe(), Height: topMargin + rowHeight*len(f.Rows) + axisHeight}
	var b strings.Builder
	a.grid(&b, f.Unit, p.Height-axisHeight)
	names := make([]string, len(f.Rows))
	for i, row := range f.Rows {
		names[i] = row.Name
	}
	for i, name := range cutApart(names, rowLetters) {
		f.Rows[i].draw(&b, name, a, f.Unit, topMargin+i*rowHeight, max(20, mostTrials/len(f.Rows)))
	}
	p.body = b.String()
	return p
}

// mostTrials is about how many trials a figure draws; of more, the extremes of each stretch.
const mostTrials = 2000

// describe is the figure in words, for those who do not see it.
func (f Chart) describe() string {
	parts := make([]string, 0, len(f.Rows))
	for _, r := range f.Rows {
		parts = append(parts, r.Name+" "+r.Value)
	}
	return f.Title + ": " + strings.Join(parts, "; ")
}

// grid draws the ticks of a horizontal axis, from the top down to bottom.
func (a axis) grid(b *strings.Builder, unit string, bottom int) {
	for _, t := range a.ticks() {
		x := percent(a.at(t))
		fmt.Fprintf(b, `<line class="fig-grid" x1="%s" x2="%s" y1="0" y2="%d"/>`, x, x, bottom+4)
		anchor := ""
		switch at := a.at(t); {
		case at < 0.03:
			anchor = " fig-first"
		case at > 0.97:
			anchor = " fig-last"
		}
		fmt.Fprintf(b, `<text class="fig-tick%s" x="%s" y="%d">%s</text>`, anchor, x, bottom+19, a.label(t, unit))
	}
}

func (r ChartRow) draw(b *strings.Builder, name string, a axis, unit string, top, most int) {
	openRow(b, name, r.Value, r.IsFloor, top)
	mid := top + stripMid
	if a.shows(r.Floor) {
		x := percent(a.at(r.Floor))
		fmt.Fprintf(b, `<line class="fig-floor" x1="%s" x2="%s" y1="%d" y2="%d"><title>floor %s</title></line>`, x, x, mid-9,
			mid+9, Format(r.Floor, unit))
	}
	for _, i := range Thinned(r.Points, most) {
		if v := r.Points[i]; a.shows(v) { // every other point a little higher, so that equal ones are seen
			fmt.Fprintf(b, `<circle class="fig-pt" cx="%s" cy="%d" r="3.5"><title>%s</title></circle>`, percent(a.at(v)),
				mid-2+4*(i%2), r.says(i, unit))
		}
	}
	if r.Hi > r.Lo {
		fmt.Fprintf(b, `<line class="fig-ci" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(a.clamp(r.Lo)),
			percent(a.clamp(r.Hi)), mid, mid)
		for _, v := range []float64{r.Lo, r.Hi} {
			if !a.shows(v) { // it goes on beyond the axis
				continue
			}
			x := a.at(v)
			fmt.Fprintf(b, `<line class="fig-ci" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(x), percent(x), mid-5, mid+5)
		}
	}
	if a.shows(r.Center) {
		fmt.Fprintf(b, `<svg x="%s" y="%d" overflow="visible"><path class="fig-mean" d="M0-6 6 0 0 6-6 0z"/></svg>`,
			percent(a.at(r.Center)), mid)
	}
	r.drawPublished(b, a, mid)
	b.WriteString("</g>")
}

// rowLetters are the characters of a name that a row has room for, beside its value.
const rowLetters = 42

// openRow begins a row's group with its texts: the name at the left, the value
// at the right. The caller closes the group.
func openRow(b *strings.Builder, name, value string, isFloor bool, top int) {
	class := ""
	if isFloor {
		class = ` class="fig-isfloor"`
	}
	fmt.Fprintf(b, `<g%s><text class="fig-name" x="0" y="%d">%s</text><text class="fig-value" x="100%%" y="%d">%s</text>`,
		class, top+labelBase, html.EscapeString(name), top+labelBase, html.EscapeString(value))
}

// says is what hovering a point shows.
func (r ChartRow) says(i int, unit string) string {
	text := Format(r.Points[i], unit)
	if i < len(r.Trials) {
		text = fmt.Sprintf("trial %d, block %d: %s", r.Trials[i].Trial, r.Trials[i].Block, text)
	}
	return text
}

func (r ChartRow) drawPublished(b *strings.Builder, a axis, mid int) {
	if !a.shows(r.Published) {
		return
	}
	if r.PubHi > r.PubLo {
		fmt.Fprintf(b, `<line class="fig-pub" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(a.clamp(r.PubLo)),
			percent(a.clamp(r.PubHi)), mid, mid)
	}
	fmt.Fprintf(b, `<svg x="%s" y="%d" overflow="visible"><path class="fig-pub" d="M-5-5h10v10h-10z"/></svg>`,
		percent(a.at(r.Published)), mid)
}

// clamp is the place of v, at the edge where it lies beyond.
func (a axis) clamp(v float64) float64 {
	if a.log && v <= 0 {
		return 0
	}
	return min(max(a.at(v), 0), 1)
}

func percent(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", math.Max(share, 0)*100), "0"), ".") + "%"
}

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// shortenMiddle keeps both ends.
func shortenMiddle(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	head := most / 2
	return string(r[:head]) + "…" + string(r[len(r)-(most-1-head):])
}

// shortenHead keeps the end.
func shortenHead(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return "…" + string(r[len(r)-(most-1):])
	}
	return s
}

// cutApart are names of at most so many characters, cut in the middle. Those that would then be alike and are not are
// cut at another place; where that does not tell them apart either, they stay whole.
func cutApart(names []string, most int) []string {
	out, done := slices.Clone(names), make([]bool, len(names))
	for _, cut := range []func(string, int) string{shortenMiddle, shorten, shortenHead} {
		of, several := map[string]string{}, map[string]bool{}
		for i, n := range names {
			if short := cut(n, most); !done[i] {
				was, seen := of[short]
				several[short] = several[short] || seen && was != n
				of[short] = n
			}
		}
		for i, n := range names {
			if short := cut(n, most); !done[i] && !several[short] {
				out[i], done[i] = short, true
			}
		}
	}
	return out
}

// shortened are names of at most so many characters. Names that differ, as those of treatments that begin alike, stay
// different: they are cut in the middle, or not at all.
func shortened(names []string, most int) []string {
	out := make([]string, len(names))
	for _, cut := range []func(string, int) string{shorten, shortenMiddle} {
		of, apart := map[string]string{}, true
		for i, n := range names {
			out[i] = cut(n, most)
			was, cutBefore := of[out[i]]
			apart = apart && (!cutBefore || was == n)
			of[out[i]] = n
		}
		if apart {
			return out
		}
	}
	return slices.Clone(names)
}
