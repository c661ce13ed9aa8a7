package report

import "testing"

// A percentage has no exponent.
func TestRoughPercent(t *testing.T) {
	for v, want := range map[float64]string{1.236: "124 %", 0.999: "100 %", 0.5: "50 %", 0.0123: "1.2 %", 12: "1200 %"} {
		if got := RoughPercent(v); got != want {
			t.Errorf("%g: got %s, want %s", v, got, want)
		}
	}
}
