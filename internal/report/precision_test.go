package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// wideOf is what WideTreatments says of a directory.
func wideOf(t *testing.T, dir string) ([]int, string) {
	t.Helper()
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	treatments, widest, err := WideTreatments(s)
	if err != nil {
		t.Fatal(err)
	}
	return treatments, widest
}

// Precision is relative to the size of a figure, whatever its sign; what has no spread has it.
// t(2) at 95 % is 4.303, so 1, 2 and 3 are 2 ± 2.484.
func TestPrecisionIsRelative(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			v := sign * float64(block)
			if at["stack"] == "soap" {
				v = sign
			}
			return []store.Result{{Side: measure.Client, Response: "energy", Unit: "J", N: 1, Mean: v, Median: v, Min: v,
				Max: v, SD: math.NaN(), P95: math.NaN(), Method: store.Measured}}
		}
		dir := w.write(t, "study: s\nservice: monitor\nfactors: {stack: [soap, rest-json]}\n"+
			"design: {replications: 3, precision: 2%}\n")
		if got, widest := wideOf(t, dir); !slices.Equal(got, []int{1}) ||
			widest != "energy of rest-json at the client (±124 %)" {
			t.Errorf("sign %v: got %v, %q", sign, got, widest)
		}
	}
}

// Of several benches the intervals are of the kind that the study says: for soap 2 ± 2.484 of three
// benches, on the scale of logarithms since it is positive, half of exp(1.242) - exp(-1.242).
func TestPrecisionOfSeveralBenches(t *testing.T) {
	values := []float64{0.99, 1.01, 1.99, 2.01, 2.99, 3.01}
	for _, x := range []struct{ said, benches, want string }{
		{"", "aabbcc", "RTT of soap at the client (578 µs to 6.93 ms, half-width 159 %)"},
		{", benches: fixed", "aabbcc", ""},
		{", benches: random", "aaabbb", "RTT of rest-json at the client (too few benches)"},
	} {
		// soap's values are those of rest-json, in thousandths
		dir := fleetOf(t, ", precision: 2%"+x.said, strings.Split(x.benches, ""), func(at map[string]string,
			block int) float64 {
			if at["stack"] == "soap" {
				return values[block-1] / 1000
			}
			return 1
		})
		got, widest := wideOf(t, dir)
		if widest != x.want {
			t.Errorf("%q on %s: got %v, %q, want %q", x.said, x.benches, got, widest, x.want)
		}
	}
}

// An interval that is narrow with the last trial only is wide for whoever would stop: five values of
// 1 and 1.1 are known within 5.9 %, the first four of them within 8.7 %.
func TestPrecisionTakesTwoLooks(t *testing.T) {
	values := []float64{1, 1.1, 1, 1.1, 1.05, 1.05}
	for n, want := range map[int]string{4: "(±8.75 %)", 5: "", 6: ""} {
		dir := fabricated(t, fmt.Sprintf("study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, b]}\nresponses: [rtt]\n"+
			"design: {replications: %d, precision: 6.5%%}\n", n), func(at map[string]string, block int) float64 {
			return values[block-1]
		})
		if got, widest := wideOf(t, dir); !strings.HasSuffix(widest, want) || (len(got) == 0) != (n == 6) {
			t.Errorf("%d trials: got %v, %q, want %q", n, got, widest, want)
		}
		if r := reportOf(t, dir); (len(r.wide(false)) > 0) != (n == 4) {
			t.Errorf("%d trials: the report says %v", n, r.wide(false))
		}
	}
}

// The interval that counts is the one that the report shows: that of the median, where trials are skewed.
func TestPrecisionOfTheHeadline(t *testing.T) {
	r := &Report{Treatments: make([]Treatment, 1)}
	r.Study.Design.Precision = 0.05
	c := Cell{Side: measure.Client, Response: "rtt", Mean: stat.Summary{Center: 10, Lo: 6, Hi: 14},
		Median: stat.Summary{Center: 10, Lo: 9.9, Hi: 10.1}}
	for _, byMedian := range []bool{true, false} {
		c.ByMedian = byMedian
		r.Cells = []Cell{c}
		if wide := r.wide(false); (len(wide) == 0) != byMedian {
			t.Errorf("by median %v: got %v", byMedian, wide)
		}
	}
}

// One trial has no interval, so it has no precision either.
func TestOneTrialHasNoPrecision(t *testing.T) {
	dir := fabricated(t, "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, b]}\nresponses: [rtt]\n"+
		"design: {replications: 6, precision: 50%}\n", func(at map[string]string, block int) float64 {
		if at["stack"] == "b" && block > 1 {
			return math.NaN()
		}
		return wobble(block)
	})
	if got, widest := wideOf(t, dir); !slices.Equal(got, []int{1}) || widest != "RTT of b at the client (one trial)" {
		t.Errorf("got %v, %q", got, widest)
	}
	if said := reportOf(t, dir).precise(); said != nil {
		t.Errorf("said %q", said)
	}
}

// The report says which treatments have the precision and which have not, after how many trials,
// and what ended it.
func TestPrecisionIsSaid(t *testing.T) {
	file := "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [quiet, noisy]}\nresponses: [rtt]\n" +
		"design: {replications: %s}\n"
	noise := func(at map[string]string, block int) float64 {
		if at["stack"] == "quiet" || block > 8 {
			return wobble(block)
		}
		return 1 + 0.15*float64(block%2)
	}
	for _, x := range []struct{ design, want string }{
		{"20", ""},
		{"20, precision: 50%", "Every figure is within ±50 %, as asked, after 20 trials each."},
		{"20, precision: 2%", "the requested precision of ±2 % was not reached by 1 figure: RTT of noisy at the client (±2.86 %);" +
			" 1 of 2 treatments reached it after 20 trials each, the others did not after 20 trials each; the budget of 20 " +
			"more blocks was used"},
		{"20, precision: 0.1%, budget: 3m", "no treatment reached it after 20 trials each; the budget of 3m was used"},
	} {
		r := reportOf(t, fabricated(t, fmt.Sprintf(file, x.design), noise))
		if text := strings.Join(append(r.Warnings, r.conditions()...), "\n"); !strings.Contains(text, x.want) ||
			x.want == "" && strings.Contains(text, "asked") {
			t.Errorf("%s: got %s\nwant %s", x.design, text, x.want)
		}
	}
}
