package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
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

// The nearest is the one with the smallest ratio that is said, and the last the one with the largest: they are of
// blocks, and means of treatments that are nearly alike may lie the other way round.
func TestNextAndLastAreInTheOrderOfTheirRatios(t *testing.T) {
	one, even := slices.Repeat([]float64{1.00, 1.01, 0.99, 1.005, 0.995}, 2), []float64(nil)
	for i, v := range one {
		even = append(even, 1.80*v*(1+0.002*float64(i%3)))
	}
	r := reportOfRan(t, ran{"best", 1, one}, ran{"even", 1, even},
		ran{"uneven", 1, []float64{1.2, 1.45, 1.7, 1.8, 1.95, 2.05, 2.3, 2.45, 1.4, 1.95}})
	a, _ := r.Cell(1, measure.Client, "rtt")
	b, _ := r.Cell(2, measure.Client, "rtt")
	if got := r.Verdict()[0]; a.ByMedian || !(a.Mean.Center < b.Mean.Center) ||
		!strings.Contains(got, "; next is uneven, 1.78") || !strings.Contains(got, "; last is even, 1.80") {
		t.Errorf("%v and %v: %s", a.Mean.Center, b.Mean.Center, got)
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

// One group that is left to the tables is one group.
func TestVerdictLeavesOneGroupToTheTables(t *testing.T) {
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		var all []store.Result
		for _, response := range []string{"rtt", "message_size", "energy", "cpu"} {
			m, _ := measure.FindResponse(response)
			v := map[string]float64{"a": 1, "b": 2}[at["stack"]] * wobble(block)
			all = append(all, store.Result{Side: measure.Client, Response: response, Unit: m.Unit, N: 100, Mean: v, SD: v / 10,
				Median: v, P95: v, Min: v, Max: v, Method: store.Measured})
		}
		return all
	}
	got := strings.Join(reportOf(t, w.write(t, "study: s\nservice: monitor\nrequests: 100\n"+
		"factors: {stack: [a, b], concurrency: [1, 2, 3]}\ndesign: {replications: 6, seed: 1}\n")).Verdict(), "\n")
	const want = "1 more group (concurrency 3) has a verdict of its own: see the tables, or edgegauge choose."
	if !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 8 {
		t.Errorf("got\n%s\nwant at its end %s", got, want)
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
	for i := range r.Cells { // as of earlier versions, and where a paper printed means
		r.Cells[i].ByMedian = false
	}
	const odd = "because of a few slow trials: spiky (mean 2.45 times as much, typical trial 0.7" // 24.5 ms over 10 ms
	if got := strings.Join(r.Verdict(), " "); !strings.Contains(got, odd) {
		t.Errorf("got %q, want %q in it", got, odd)
	}
	if got := (LevelChoice{Choice: chosenBy(t, r, "mean")}).answer(); !strings.Contains(got, odd) {
		t.Errorf("choose: got %q, want %q in it", got, odd)
	}
}

// Where one stack failed behind one link, or behind all, the answer says that nothing is compared there: it said
// nothing of the one, and of all that no time was measured.
func TestVerdictOfALinkThatOneStackFailedBehind(t *testing.T) {
	const file = "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [rest, soap], ip: [ipv4, ipv6]}\n" +
		"design: {replications: 6, seed: 1}\n"
	const six, four = "No comparison, ip ipv6: only rest has two or more valid trials.",
		"No comparison, ip ipv4: only rest has two or more valid trials."
	for _, x := range []struct {
		fails     func(stack, ip string) bool
		want, not []string
	}{
		{func(stack, ip string) bool { return false }, []string{"Quickest, ip ipv4: rest", "Quickest, ip ipv6: rest"},
			[]string{"No "}},
		{func(stack, ip string) bool { return stack == "soap" && ip == "ipv6" }, []string{"Quickest, ip ipv4: rest", six},
			[]string{four, "No verdict"}},
		{func(stack, ip string) bool { return stack == "soap" }, []string{four, six}, []string{"Quickest", "No verdict"}},
		{func(stack, ip string) bool { return stack == "soap" || ip == "ipv6" }, []string{
			"No comparison: only one treatment has two or more valid trials."}, []string{"No verdict", "ip ipv6"}},
		{func(stack, ip string) bool { return true }, []string{"No answer: no treatment has two valid trials."},
			[]string{"ip ipv6", "No verdict"}},
	} {
		dir := exactly(func(at map[string]string, block int) float64 {
			if x.fails(at["stack"], at["ip"]) {
				return math.NaN()
			}
			return map[string]float64{"rest": 1e-3, "soap": 2e-3}[at["stack"]] * wobble(block)
		}).write(t, file)
		got := strings.Join(reportOf(t, dir).Verdict(), "\n")
		for _, want := range x.want {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
		for _, not := range x.not {
			if strings.Contains(got, not) {
				t.Errorf("%q in\n%s", not, got)
			}
		}
	}
}
