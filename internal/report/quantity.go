package report

import (
	"fmt"
	"math"
	"strconv"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Format prints a value with an SI prefix and three significant digits.
func Format(v float64, unit string) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case !hasPrefixes(unit):
		return significant(v) + unitText("", unit)
	case unit == "B" && v == math.Trunc(v) && math.Abs(v) < 1000:
		return strconv.Itoa(int(v)) + " B"
	}
	p := prefixOf(v, unit)
	return significant(v/p.Factor) + unitText(p.Name, unit)
}

// hasPrefixes reports whether a unit is printed with SI prefixes.
func hasPrefixes(unit string) bool {
	is, _ := measure.Prefixed(unit)
	return is
}

// unitText is what stands behind a number: " ms", nothing for a share. A
// million a second is 1.00 M/s.
func unitText(prefix, unit string) string {
	switch unit {
	case "", "1":
		return ""
	case "1/s":
		return " " + prefix + "/s"
	}
	return " " + prefix + unit
}

// prefixOf is the prefix in which v has one to three digits before the point.
// Bytes have no small ones.
func prefixOf(v float64, unit string) measure.Prefix {
	_, small := measure.Prefixed(unit)
	all := measure.Prefixes()
	for _, p := range all {
		if math.Abs(v) >= p.Factor*0.9995 || p.Factor == 1 && (!small || v == 0) {
			return p
		}
	}
	return all[len(all)-1]
}

// percentOf prints a confidence. Rounded to whole per cent, 99.5 % would be 100 %, which no interval has.
func percentOf(confidence float64) string { return fmt.Sprintf("%.6g %%", 100*confidence) }

// RoughPercent prints a share with two digits, or all those before the decimal point.
func RoughPercent(share float64) string {
	if 100*share >= 99.5 {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}

// significant prints three significant digits without an exponent.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))+1e-12))
	return strconv.FormatFloat(v, 'f', max(0, min(digits, 9)), 64)
}

// supported rounds large figures and the ends of their interval to where its half-width has two digits: 19500 (18100 to
// 21100), not 19461 (18083 to 21145).
func supported(lo, hi float64) func(float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/2))-1)
	return func(v float64) float64 {
		if !(step > 1) || math.IsInf(step, 1) {
			return v
		}
		return math.Round(v/step) * step
	}
}

// interval prints, in brackets, the ends of a lopsided interval, and of another its half-width as a share of its
// center; nothing where there is none.
func interval(s stat.Summary, unit string) string {
	if math.IsNaN(s.Hi-s.Lo) || math.IsInf(s.Hi-s.Lo, 0) || s.Center == 0 && s.Lo == s.Hi {
		return ""
	}
	if s.Center == 0 { // of which there is no share
		return "(" + span(s, unit) + ")"
	}
	share := 100 * halfWidth(s)
	switch {
	case share == 0:
		return ""
	case share < 0.1:
		return "±<0.1%"
	case ends(s, unit) != "":
		return "(" + ends(s, unit) + ")"
	case share < 9.95:
		return fmt.Sprintf("±%.1f%%", share)
	case share > 1000:
		return "±>1000%"
	}
	return fmt.Sprintf("±%.0f%%", share)
}

// lopsided reports whether one side of an interval is longer than the other by more than a quarter: center ±
// half-width would then be another interval, and may reach below 0.
func lopsided(center, lo, hi float64) bool {
	below, above := center-lo, hi-center
	return max(below, above) > 1.25*min(below, above)
}

// endsFrom is the half-width, a share of the center, from which the ends of a lopsided interval are printed: those of a
// narrower one lie near center ± half-width.
const endsFrom = 0.1

// span is the interval of a figure in words.
func span(s stat.Summary, unit string) string {
	if advise.TellsNothing(s.Center, s.Lo, s.Hi) {
		return advise.Untold
	}
	return Format(s.Lo, unit) + " to " + Format(s.Hi, unit)
}

// ends are those of a wide and lopsided interval, as far as they are told apart in print; empty: ± says as much.
func ends(s stat.Summary, unit string) string {
	if !lopsided(s.Center, s.Lo, s.Hi) || halfWidth(s) < endsFrom || Format(s.Lo, unit) == Format(s.Hi, unit) {
		return ""
	}
	return span(s, unit)
}

// Known says how well a figure is known: "within 2.9 %", or where it lies if its interval is lopsided.
func Known(s stat.Summary, unit string) string {
	if advise.TellsNothing(s.Center, s.Lo, s.Hi) {
		return "not even within a factor of 100"
	}
	share := Format(100*halfWidth(s), "1") + " %"
	if ends := ends(s, unit); ends != "" {
		return fmt.Sprintf("to lie at %s (half-width %s)", ends, share)
	}
	return "within " + share
}
