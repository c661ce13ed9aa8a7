package report

import (
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// What rose in several treatments together is said of those in which that rose, and not of those in which only
// something else did; of several the surest is.
func TestTheSurestIsOfTreatmentsInWhichItRose(t *testing.T) {
	x, y := []string{"x"}, []string{"y"}
	of := func(levels []string, again bool, rose string, v stat.Verdict, p float64) advise.Failures {
		return advise.Failures{Levels: levels, Again: again, Test: rose, Verdict: v, P: p,
			New: stat.Share{Hits: 1, N: 10}}
	}
	together := of(nil, true, "permutation", stat.Confirmed, 0.001)
	together.Together = 2
	got := surestOf([]advise.Failures{of(x, false, "Welch", stat.Contradicted, 0.4), of(x, true, "", stat.Contradicted, 1),
		of(y, false, "", stat.Contradicted, 1), of(y, true, "Welch", stat.Undecided, 0.04), together})
	if f, ok := got[placeKey(x)]; ok {
		t.Errorf("x, in which no more requests were sent again: %+v", f)
	}
	if f := got[placeKey(y)]; f.Together != 2 {
		t.Errorf("y: %+v", f)
	}
	for _, p := range [][2]float64{{0.01, 0.002}, {0.002, 0.01}} {
		got = surestOf([]advise.Failures{of(x, false, "Welch", stat.Confirmed, p[0]),
			of(x, true, "Welch", stat.Confirmed, p[1])})
		if f := got[placeKey(x)]; f.P != 0.002 {
			t.Errorf("the surest of %v: %+v", p, f)
		}
	}
}
