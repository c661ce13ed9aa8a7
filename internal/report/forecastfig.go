package report

import (
	"fmt"
	"html"
	"strings"
)

// Places of a forecast's picture, in px.
const (
	forecastHead = 24
	forecastHigh = 62
	barTop       = 20 // of the row
	barHeight    = 18
	mostNamed    = 4 // parts named below the bar, the darkest first; the others have their names in tooltips only
)

// Picture draws the shares of each forecast's parts as one bar.
func (f Forecasts) Picture() Picture {
	p := Picture{ID: "forecast"}
	var b strings.Builder
	fmt.Fprintf(&b, `<text class="fig-name" x="0" y="14">%s</text>`, html.EscapeString(f.title()))
	says := []string{f.title()}
	top := forecastHead
	names := make([]string, len(f.Rows))
	for i, r := range f.Rows {
		names[i] = r.Name
	}
	names = cutApart(names, rowLetters)
	for row, r := range f.Rows {
		if r.Err != nil {
			continue
		}
		life := fmt.Sprintf("%s (%s)", r.life(), r.within("bound: "))
		openRow(&b, names[row], life, false, top)
		at := 0.0
		parts := make([]string, 0, len(r.Parts))
		for i, q := range r.Parts {
			text := fmt.Sprintf("%s %.1f %%", q.Name, 100*q.Share)
			parts = append(parts, text)
			fmt.Fprintf(&b, `<rect class="fig-hist" style="fill-opacity:%s" x="%s" y="%d" width="%s" height="%d" stroke="#fff">`+
				`<title>%s</title></rect>`, opacity(i), percent(at), top+barTop, percent(q.Share), barHeight,
				html.EscapeString(text))
			at += q.Share
		}
		fmt.Fprintf(&b, `<text class="fig-key" x="0" y="%d">%s</text></g>`, top+barTop+barHeight+14,
			html.EscapeString(strings.Join(parts[:min(mostNamed, len(parts))], " · ")))
		says = append(says, r.Name+" "+life+": "+strings.Join(parts, ", "))
		top += forecastHigh
	}
	p.Height, p.Says, p.body = top, strings.Join(says, "; "), b.String()
	return p
}

// opacity tells the neighbours of a bar apart: the largest part is the darkest.
func opacity(part int) string {
	return fmt.Sprintf("%.2f", max(0.1, 0.85-0.15*float64(part)))
}
