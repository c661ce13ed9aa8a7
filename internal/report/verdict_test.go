package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
)

// A treatment that has no two blocks in common with the best is not compared with it: it is not
// said to be like it, nor does it widen the range of those that are.
func TestVerdictDoesNotCompareWithoutCommonBlocks(t *testing.T) {
	r := reportOfRan(t, ran{"best", 1, []float64{1.0e-3, 1.01e-3, 0.99e-3}},
		ran{"alike", 1, []float64{1.01e-3, 1.0e-3, 1.0e-3}}, ran{"apart", 3, []float64{9.0e-3, 9.02e-3, 9.01e-3}})
	got := strings.Join(r.Verdict(), " ")
	for _, want := range []string{"no significant difference from it: alike (0.9",
		"not compared with it, since fewer than two blocks have both: apart."} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	c, err := advise.Choose(r.Series(), []advise.Objective{{Term: advise.Term{Response: "rtt"}}}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if got := (LevelChoice{Choice: c}).answer(); !strings.Contains(got,
		"difference from it: alike; not compared with it") {
		t.Errorf("choose: got %q", got)
	}
}

// A treatment that cannot be told from the best is not also said to be the
// last, and so many times as much.
func TestVerdictNamesAsLastOnlyWhatItCanTell(t *testing.T) {
	r := reportOfRan(t, ran{"best", 1, []float64{1.0e-3, 1.01e-3, 0.99e-3}},
		ran{"second", 1, []float64{2.0e-3, 2.02e-3, 1.99e-3}}, ran{"third", 1, []float64{3.0e-3, 3.03e-3, 2.98e-3}},
		ran{"wild", 1, []float64{1e-3, 2e-3, 30e-3}})
	got := strings.Join(r.Verdict(), " ")
	for _, want := range []string{"Quickest: best", "no significant difference from it: wild", "next is second",
		"last is third"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// Who has exactly as much as the first shares its place, in the report and in choose; who has as much in the
// blocks of both, or nearly as much, does not.
func TestTiesAreNamed(t *testing.T) {
	r := reportOfRan(t, ran{"first", 1, []float64{2, 2, 2}}, ran{"as much", 1, []float64{2, 2, 2}},
		ran{"on average", 1, []float64{1, 3, 2}}, ran{"nearly", 1, []float64{2, 2, 2.000001}},
		ran{"worse", 1, []float64{8, 9, 8.5}})
	got := strings.Join(r.Verdict(), " ")
	const want = "Quickest: first, 2.00 s, and exactly as much: as much; on average; no significant difference from it: nearly"
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "next is worse") {
		t.Errorf("got %q, want %q first", got, want)
	}
	c := chosenBy(t, r, "mean")
	if got := (LevelChoice{Choice: c}).answer(); !strings.Contains(got,
		", and exactly as much: as much; on average; no significant difference from it: nearly.") {
		t.Errorf("choose: got %q", got)
	}
	for _, x := range c.Candidates[1:] {
		if said := noiseWord(x) == "exactly as much"; said != (x.Name == "as much" || x.Name == "on average") {
			t.Errorf("choose, %s: %s", x.Name, noiseWord(x))
		}
	}
}

// So it is with those behind it.
func TestTiesBehindTheFirstAreNamed(t *testing.T) {
	first := ran{"first", 1, []float64{1, 1, 1}}
	for want, others := range map[string][]ran{
		"; next is a, 2.00 times as much, and exactly as much: b; last is c, 4.00 times as much.": {{"a", 1, []float64{2, 2, 2}},
			{"b", 1, []float64{2, 2, 2}}, {"c", 1, []float64{4, 4, 4}}},
		"; next is a, 2.00 times as much; last is b, 4.00 times as much, and exactly as much: c.": {{"a", 1, []float64{2, 2, 2}},
			{"b", 1, []float64{4, 4, 4}}, {"c", 1, []float64{4, 4, 4}}},
		"; next is a, 2.00 times as much, and exactly as much: b.": {{"a", 1, []float64{2, 2, 2}},
			{"b", 1, []float64{2, 2, 2}}},
	} {
		if got := strings.Join(reportOfRan(t, append(others, first)...).Verdict(), " "); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// What is printed of means and typical trials is what was held against each other: both of the blocks that both
// treatments have. The trials that only one of them has would put the ratio of the means where nothing is odd.
func TestMeansAndTypicalTrialsAreOfOneSetOfBlocks(t *testing.T) {
	best, spiky := make([]float64, 10), make([]float64, 20)
	for b := range spiky {
		spiky[b] = 0.5e-3
		if b < len(best) {
			best[b] = 1e-3
		}
	}
	spiky[0] = 20e-3
	r := reportOfRan(t, ran{"best", 1, best}, ran{"spiky", 1, spiky})
	const odd = "because of a few slow trials: spiky (mean 2.45 times as much, typical trial 0.7" // 24.5 ms over 10 ms
	if got := strings.Join(r.Verdict(), " "); !strings.Contains(got, odd) {
		t.Errorf("got %q, want %q in it", got, odd)
	}
	if got := (LevelChoice{Choice: chosenBy(t, r, "mean")}).answer(); !strings.Contains(got, odd) {
		t.Errorf("choose: got %q, want %q in it", got, odd)
	}
}
