package report

import (
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// An interval is printed so that its ends differ, if they do.
func TestIntervalsOfLargeValuesHaveEnds(t *testing.T) {
	for _, c := range []struct {
		what            string
		v, lo, hi       float64
		figure, between string
	}{
		{"as usual", 1.2123, 1.073, 1.3516, "1.2123", "1.0730 to 1.3516"},
		{"a large offset", 1e9 + 1.2123, 1e9 + 1.073, 1e9 + 1.3516, "1000000001.21", "1000000001.07 to 1000000001.35"},
		{"large, and as usual", 2.5e9, 1.5e9, 3.5e9, "2.500e+09", "1.500e+09 to 3.500e+09"},
		{"a ratio next to 1", 1 - 1e-9, 1 - 1.1e-9, 1 - 0.9e-9, "0.99999999900", "0.99999999890 to 0.99999999910"},
		{"beyond what is printed in full", 1.00000001e200, 1.000000001e200, 1.00000002e200, "1.000000010e+200",
			"1.000000001e+200 to 1.000000020e+200"},
		{"no spread", 0.1, 0.1, 0.1, "0.10000", "0.10000 to 0.10000"},
		{"no spread but rounding", 0.3, 0.1 + 0.2, 0.3, "0.30000", "0.30000 to 0.30000"},
	} {
		figure, between := plainWithin(c.v, stat.Interval{c.lo, c.hi})
		if figure != c.figure || between != c.between {
			t.Errorf("%s: got %s (%s), want %s (%s)", c.what, figure, between, c.figure, c.between)
		}
	}
}
