package report

import (
	"fmt"
	"html"
	"io"
	"math"
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

// SVG draws the figure as an element to stand in a page.
func (f Figure) SVG(w io.Writer) error { return f.draw(w, `width="100%"`, "") }

// File draws the figure as a file of its own.
func (f Figure) File(w io.Writer) error {
	if _, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"); err != nil {
		return err
	}
	return f.draw(w, `xmlns="http://www.w3.org/2000/svg" width="720"`, "<style>"+fileStyle+"</style>")
}

// fileStyle is for figures that stand alone; the page has its own.
const fileStyle = `svg{overflow:visible;font:13px system-ui,sans-serif;background:#fff}.fig-name{fill:#1b1f24}.fig-value{fill:#1b1f24;text-anchor:end}` +
	`.fig-grid{stroke:#e3e6ea}.fig-tick{fill:#4b5563;font-size:12px;text-anchor:middle}.fig-pt{fill:#2563a8;fill-opacity:.35}.fig-ci{stroke:#12365e;stroke-width:2.5}` +
	`.fig-mean{fill:#12365e;stroke:#fff}.fig-floor{stroke:#b45309;stroke-width:2.5}.fig-pub{fill:none;stroke:#7c3aed;stroke-width:2}.fig-isfloor{opacity:.75}`

func (f Figure) draw(w io.Writer, size, style string) error {
	a := newAxis(f.values())
	height := topMargin + rowHeight*len(f.Rows) + axisHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg %s height="%d" role="img" aria-labelledby="t-%s" class="fig">%s<title id="t-%s">%s</title>`,
		size, height, f.ID, style, f.ID, html.EscapeString(f.describe()))
	f.grid(&b, a, height)
	for i, row := range f.Rows {
		row.draw(&b, a, f.Unit, topMargin+i*rowHeight)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// describe is the figure in words, for those who do not see it.
func (f Figure) describe() string {
	parts := make([]string, 0, len(f.Rows))
	for _, r := range f.Rows {
		parts = append(parts, r.Name+" "+r.Value)
	}
	return f.Title + ": " + strings.Join(parts, "; ")
}

func (f Figure) grid(b *strings.Builder, a axis, height int) {
	bottom := height - axisHeight
	for _, t := range a.ticks() {
		x := percent(a.at(t))
		fmt.Fprintf(b, `<line class="fig-grid" x1="%s" x2="%s" y1="0" y2="%d"/>`, x, x, bottom+4)
		anchor := ""
		switch at := a.at(t); {
		case at < 0.03:
			anchor = ` style="text-anchor:start"`
		case at > 0.97:
			anchor = ` style="text-anchor:end"`
		}
		fmt.Fprintf(b, `<text class="fig-tick" x="%s" y="%d"%s>%s</text>`, x, bottom+19, anchor, a.label(t, f.Unit))
	}
}

func (r FigureRow) draw(b *strings.Builder, a axis, unit string, top int) {
	class := ""
	if r.IsFloor {
		class = ` class="fig-isfloor"`
	}
	fmt.Fprintf(b, `<g%s><text class="fig-name" x="0" y="%d">%s</text><text class="fig-value" x="100%%" y="%d">%s</text>`,
		class, top+labelBase, html.EscapeString(shorten(r.Name, 42)), top+labelBase, html.EscapeString(r.Value))
	mid := top + stripMid
	if a.shows(r.Floor) {
		x := percent(a.at(r.Floor))
		fmt.Fprintf(b, `<line class="fig-floor" x1="%s" x2="%s" y1="%d" y2="%d"><title>floor %s</title></line>`, x, x, mid-9, mid+9, Format(r.Floor, unit))
	}
	for i, v := range r.Points {
		if a.shows(v) { // every other point a little higher, so that equal ones are seen
			fmt.Fprintf(b, `<circle class="fig-pt" cx="%s" cy="%d" r="3.5"/>`, percent(a.at(v)), mid-2+4*(i%2))
		}
	}
	if r.Hi > r.Lo {
		lo, hi := a.clamp(r.Lo), a.clamp(r.Hi)
		fmt.Fprintf(b, `<line class="fig-ci" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(lo), percent(hi), mid, mid)
		for _, x := range []float64{lo, hi} {
			fmt.Fprintf(b, `<line class="fig-ci" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(x), percent(x), mid-5, mid+5)
		}
	}
	if a.shows(r.Center) {
		fmt.Fprintf(b, `<svg x="%s" y="%d" overflow="visible"><path class="fig-mean" d="M0-6 6 0 0 6-6 0z"/></svg>`, percent(a.at(r.Center)), mid)
	}
	r.drawPublished(b, a, mid)
	b.WriteString("</g>")
}

func (r FigureRow) drawPublished(b *strings.Builder, a axis, mid int) {
	if !a.shows(r.Published) {
		return
	}
	if r.PubHi > r.PubLo {
		fmt.Fprintf(b, `<line class="fig-pub" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(a.clamp(r.PubLo)), percent(a.clamp(r.PubHi)), mid, mid)
	}
	fmt.Fprintf(b, `<svg x="%s" y="%d" overflow="visible"><path class="fig-pub" d="M-5-5h10v10h-10z"/></svg>`, percent(a.at(r.Published)), mid)
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
