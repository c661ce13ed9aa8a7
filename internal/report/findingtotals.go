package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// Total counts the verdicts on all papers, and those on directions and sizes.
func (all allFindings) Total() string {
	n, judged, direction, size := 0, map[stat.Verdict]int{}, map[stat.Verdict]int{}, map[stat.Verdict]int{}
	held, elsewhere, own := 0, 0, 0
	for _, f := range all {
		n += len(f.Paper.Claims)
		if f.Results == nil {
			continue
		}
		for i, c := range f.Results.Published.Claims {
			judged[c.Verdict]++
			if len(f.withOwnStacks(i)) > 0 {
				own++
			}
			if c.Verdict == stat.Contradicted && slices.ContainsFunc(f.Settings(), func(other finding) bool {
				return other.Results.Published.Claims[i].Verdict == stat.Confirmed
			}) {
				elsewhere++
			}
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
		"size.%s\n\nDirections alone: %s. The sizes of %d claims alone: %s.", n, decided, judged[stat.Confirmed],
		judged[stat.Contradicted], open, n-decided-open, judged[stat.Contradicted], held, otherwise(elsewhere, own),
		countsOf(direction), sizes, countsOf(size))
}

// otherwise says how many contradicted claims another setting confirms, and how many undecided ones a run with the
// papers' own stacks decides; empty: none.
func otherwise(elsewhere, own int) (text string) {
	if elsewhere > 0 {
		text += fmt.Sprintf(" Of the contradicted, %d %s confirmed in another setting of ours.", elsewhere,
			plural.Verb(elsewhere, "is", "are"))
	}
	if own > 0 {
		text += fmt.Sprintf(" Of the undecided, %d %s decided beside these results, by a run with the paper's own stacks.",
			own, plural.Verb(own, "is", "are"))
	}
	return text
}

// Answer is how many of the directions and sizes that are decided hold, in a few sentences; empty: none is decided.
// Directions and sizes are set beside each other of the same claims alone, and what a repetition does not share is left
// out.
func (all allFindings) Answer() string {
	decided := func(v stat.Verdict) bool { return v == stat.Confirmed || v == stat.Contradicted }
	var both, directions, sizes, alone, hold int
	for _, f := range all {
		if f.Results == nil {
			continue
		}
		for i, c := range f.Results.Published.Claims {
			if !decided(c.Direction) || len(f.unshared(i)) > 0 {
				continue
			}
			alone++
			if c.Direction == stat.Confirmed {
				hold++
			}
			if !decided(c.Size) {
				continue
			}
			both++
			if c.Direction == stat.Confirmed {
				directions++
			}
			if c.Size == stat.Confirmed {
				sizes++
			}
		}
	}
	if alone == 0 {
		return ""
	}
	text := fmt.Sprintf("Of %s decided in all, %d hold.", plural.Count(alone, "direction"), hold)
	if both > 0 {
		text = fmt.Sprintf("Of %s whose direction and size could both be decided on our machines, the direction holds in %d "+
			"and the size in %d. ", plural.Count(both, "claim"), directions, sizes) + text
	}
	return text
}

func countsOf(v map[stat.Verdict]int) string {
	return fmt.Sprintf("%d confirmed, %d contradicted, %d undecided", v[stat.Confirmed], v[stat.Contradicted],
		v[stat.Undecided])
}

// sizes is the figure of all claims that state a ratio and were judged by measured ones: theirs, and ours with its
// interval, or the range of several.
func (all allFindings) sizes() Chart {
	figure := Chart{ID: "sizes", Title: "Published ratios and ours"}
	for _, f := range all {
		if f.Results == nil {
			continue
		}
		for _, c := range f.Results.Published.Claims {
			if row, ok := sizeRow(c); ok {
				figure.Rows = append(figure.Rows, row)
			}
		}
	}
	return figure
}

// sizeRow is a claim's row of sizes; false: it has none.
func sizeRow(c paper.Judged) (ChartRow, bool) {
	lo, hi, ok := c.Published()
	if !ok || c.Kind() != "ratio" || c.Modelled || c.Needs.Board || c.Needs.Messages || c.Needs.Stacks {
		return ChartRow{}, false
	}
	center, from, to := c.Ours.Estimate, c.Ours.Lo, c.Ours.Hi
	if c.Ours.None() {
		kind, _, least, most, ok := c.Range()
		if !ok || kind != "ratio" || !(least > 0) {
			return ChartRow{}, false
		}
		center, from, to = math.Sqrt(least*most), least, most
	}
	c.Ours.Strata = nil // a picture has no room for them
	value := "published " + strings.TrimPrefix(publishedFigure(c.Claim), "ratio ") + ", ours " +
		strings.TrimPrefix(oursText(c), "ratio ")
	return ChartRow{Name: sizeName(c.Claim), Value: value, Center: center, Lo: from, Hi: to, Floor: math.NaN(),
		Published: math.Sqrt(lo * hi), PubLo: lo, PubHi: hi}, true
}

// sizeName is a claim in as few words as a picture has room for: "server total_time: axis2 below cxf (100)".
func sizeName(c paper.Claim) string {
	var at []string
	for _, k := range sortedKeys(c.At) {
		at = append(at, c.At[k])
	}
	side := c.Side
	c.At, c.Side, c.Everywhere = nil, "", false
	text := strings.TrimSpace(side + " " + strings.TrimSuffix(c.Words(), ", everywhere"))
	if len(at) > 0 {
		text += " (" + strings.Join(at, ", ") + ")"
	}
	return text
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
