package report

import (
	"fmt"
	"math"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// Total counts the verdicts on all papers, and those on directions and sizes.
func (all allFindings) Total() string {
	n, judged, direction, size, held := 0, map[stat.Verdict]int{}, map[stat.Verdict]int{}, map[stat.Verdict]int{}, 0
	for _, f := range all {
		n += len(f.Paper.Claims)
		if f.Results == nil {
			continue
		}
		for _, c := range f.Results.Published.Claims {
			judged[c.Verdict]++
			direction[c.Direction]++
			if c.Size != "" {
				size[c.Size]++
			}
			if c.Verdict == stat.Contradicted && c.Direction == stat.Confirmed {
				held++
			}
		}
	}
	decided := judged[stat.Confirmed] + judged[stat.Contradicted]
	open := judged[stat.Undecided]
	sizes := size[stat.Confirmed] + size[stat.Contradicted] + size[stat.Undecided]
	return fmt.Sprintf("Of %d claims, %d are decided: %d confirmed and %d contradicted. %d were judged and are "+
		"undecided, and %d wait for results. Of the %d contradicted, %d are right about the direction and wrong about the "+
		"size.\n\nDirections alone: %s. The sizes of %d claims alone: %s.", n, decided, judged[stat.Confirmed],
		judged[stat.Contradicted], open, n-decided-open, judged[stat.Contradicted], held, countsOf(direction), sizes,
		countsOf(size))
}

// Answer is how many of the directions and sizes that are decided hold, in a sentence; empty: none is decided.
func (all allFindings) Answer() string {
	var directions, sizes [2]int // that hold, of those decided
	count := func(of *[2]int, v stat.Verdict) {
		if v == stat.Confirmed {
			of[0]++
		}
		if v == stat.Confirmed || v == stat.Contradicted {
			of[1]++
		}
	}
	for _, f := range all {
		if f.Results == nil {
			continue
		}
		for _, c := range f.Results.Published.Claims {
			count(&directions, c.Direction)
			count(&sizes, c.Size)
		}
	}
	if directions[1] == 0 || sizes[1] == 0 {
		return ""
	}
	text := fmt.Sprintf("The direction holds in %d of the %d claims where it could be decided, the size in %d of %d.",
		directions[0], directions[1], sizes[0], sizes[1])
	if directions[0]*sizes[1] > sizes[0]*directions[1] {
		text += " The papers are a better guide to which stack wins than to what it gains."
	}
	return text
}

func countsOf(v map[stat.Verdict]int) string {
	return fmt.Sprintf("%d confirmed, %d contradicted, %d undecided", v[stat.Confirmed], v[stat.Contradicted],
		v[stat.Undecided])
}

// sizes is the figure of all claims that state a ratio and were judged by a measured one: theirs, and ours with its
// interval.
func (all allFindings) sizes() Chart {
	figure := Chart{ID: "sizes", Title: "Published ratios and ours"}
	for _, f := range all {
		if f.Results == nil {
			continue
		}
		for _, c := range f.Results.Published.Claims {
			lo, hi, ok := c.Published()
			if !ok || c.Kind() != "ratio" || c.Ours.None() || c.Modelled || c.Needs.Board {
				continue
			}
			figure.Rows = append(figure.Rows, ChartRow{Name: strings.ReplaceAll(c.ID, "-", " "),
				Value: "published " + strings.TrimPrefix(publishedFigure(c.Claim), "ratio ") + ", ours " +
					strings.TrimPrefix(oursText(c), "ratio "),
				Center: c.Ours.Estimate, Lo: c.Ours.Lo, Hi: c.Ours.Hi, Floor: math.NaN(), Published: math.Sqrt(lo * hi),
				PubLo: lo, PubHi: hi})
		}
	}
	return figure
}

// drawSizes draws sizes as a file, and returns the line that shows it; empty: there are none.
func (all allFindings) drawSizes(files *[]File) string {
	figure := all.sizes()
	if len(figure.Rows) == 0 {
		return ""
	}
	*files = append(*files, File{"sizes.svg", figure.File})
	return "Published ratios (squares) and ours, with intervals, of the claims that state one and rest on no model and " +
		"no board:\n\n![published ratios and ours, of each claim that states one](sizes.svg)"
}
