package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// mostContrasts is how many a terminal shows; JSON has them all.
const mostContrasts = 40

// WriteAnalysis writes the analysis of a table for a terminal, levels in the
// order of the factors.
func WriteAnalysis(w io.Writer, a stat.Analysis, factors []string, confidence float64) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s intervals\n\n", a.Response, plural.Count(len(a.Groups), "treatment"),
		percentOf(confidence))
	groups := [][]string{{strings.Join(factors, " "), "n", "mean", "interval", "sd", "median", "interval"}}
	for _, g := range a.Groups {
		mean, within := plainWithin(float64(g.Mean), g.CI)
		median, medianWithin := plainWithin(float64(g.Median), g.MedianCI)
		groups = append(groups, []string{levelsText(factors, g.By), strconv.Itoa(g.N), mean, within, plain(float64(g.SD)),
			median, medianWithin})
	}
	writeColumns(&b, groups)
	if a.Anova != nil {
		writeAnova(&b, *a.Anova)
	}
	writeContrasts(&b, factors, a.Contrasts)
	for _, line := range a.Warnings {
		wrap(&b, "! "+line, "  ")
	}
	return PrintText(w, b.String())
}

func writeAnova(b *strings.Builder, v stat.Anova) {
	rows := [][]string{{"variation, type " + v.Type, "df", "sum of squares", "F", "p", "eta²", "share"}}
	rows = append(rows, anovaRows(v)...)
	writeColumns(b, rows)
}

// writeContrasts shows the clearest first, since there may be many.
func writeContrasts(b *strings.Builder, factors []string, all []stat.Contrast) {
	if len(all) == 0 {
		return
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y stat.Contrast) int {
		switch px, py := orOne(x.PHolm), orOne(y.PHolm); {
		case px < py:
			return -1
		case px > py:
			return 1
		}
		return 0
	})
	rows := [][]string{{"first over second", "ratio", "interval", "difference", "p", "p (Holm)"}}
	for _, c := range all[:min(len(all), mostContrasts)] {
		ratio, within := plainWithin(float64(c.Ratio), c.RatioCI)
		rows = append(rows, []string{levelsText(factors, c.Between[0]) + " / " + levelsText(factors, c.Between[1]),
			ratio, within, plain(float64(c.Difference)), pText(float64(c.P)), pText(float64(c.PHolm))})
	}
	writeColumns(b, rows)
	if more := len(all) - mostContrasts; more > 0 {
		fmt.Fprintf(b, "… and %s more; --json has them all\n\n", plural.Count(more, "contrast"))
	}
}

func orOne(p stat.Number) float64 {
	if math.IsNaN(float64(p)) {
		return 1
	}
	return float64(p)
}

// levelsText is a treatment in words: its levels in the order of the factors.
func levelsText(factors []string, by map[string]string) string {
	var parts []string
	for _, f := range factors {
		parts = append(parts, by[f])
	}
	return strings.Join(parts, " ")
}

// usualDigits are how many significant ones a bare number has.
const usualDigits = 5

// plain prints a bare number with five significant digits.
func plain(v float64) string { return plainTo(v, usualDigits) }

func plainTo(v float64, digits int) string {
	size := math.Abs(v)
	switch large := digits > usualDigits && size < 1e15; {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v != 0 && (size < 1e-4 || size >= 1e7 && !large):
		return strconv.FormatFloat(v, 'e', digits-2, 64)
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, digits-1-int(math.Floor(math.Log10(size)))), 64)
}

// plainWithin prints a figure and its interval, with as many digits as tell them apart, which those of large values
// close to each other need.
func plainWithin(v float64, i stat.Interval) (figure, within string) {
	if math.IsNaN(i[0]) || math.IsNaN(i[1]) {
		return plain(v), "–"
	}
	digits := usualDigits
	for digits < 14 && (printedAlike(v, i[0], digits) || printedAlike(v, i[1], digits) ||
		printedAlike(i[0], i[1], digits)) {
		digits++
	}
	if digits > usualDigits {
		digits++ // the first that differs has one digit of the width
	}
	return plainTo(v, digits), plainTo(i[0], digits) + " to " + plainTo(i[1], digits)
}

// printedAlike reports whether two values that differ, by more than rounding, are printed alike.
func printedAlike(a, b float64, digits int) bool {
	return math.Abs(a-b) > 1e-12*math.Abs(a) && plainTo(a, digits) == plainTo(b, digits)
}

func pText(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.0001:
		return "<0.0001"
	}
	return strconv.FormatFloat(p, 'f', 4, 64)
}

func shareText(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

// writeColumns aligns a table for a terminal of Columns, the first column to the
// left. Where it is too wide, the first column is shortened.
func writeColumns(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, s := range r {
			widths[i] = max(widths[i], len([]rune(s)))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	first := make([]string, len(rows))
	for i, r := range rows {
		first[i] = r[0]
	}
	first = shortened(first, max(12, widths[0]-max(0, total-Columns)))
	widths[0] = widest(first)
	for i, r := range rows {
		line := pad(first[i], widths[0], false)
		for i, s := range r[1:] {
			line += "  " + pad(s, widths[i+1], true)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteByte('\n')
}
