package report

import "testing"

// Digits of an interval that knows nothing would look like knowledge.
func TestIntervalsThatKnowNothing(t *testing.T) {
	for v, want := range map[float64]string{1.002: "1.002", 11.48: "11.5", 5888: "5888", 3.6e18: ">1000000",
		2.4e-10: "<0.000001", 0.05: "0.0500", 1: "1.000", 1.00042: "1.0004", 0.99996: "0.99996", 1.0000000001: "1.000"} {
		if got := ratioText(v); got != want {
			t.Errorf("ratio %g: got %q, want %q", v, got, want)
		}
	}
	for hi, want := range map[float64]string{1.02: "±2.0%", 1.5: "±50%", 1e6: "±>1000%"} {
		if got := interval(1, 2-hi, hi); got != want {
			t.Errorf("1 ± %g: got %q, want %q", hi-1, got, want)
		}
	}
}
