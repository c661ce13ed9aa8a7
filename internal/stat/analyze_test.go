package stat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// keys are the names of a JSON object's members, sorted.
func keys(v any) string {
	return strings.Join(slices.Sorted(maps.Keys(v.(map[string]any))), " ")
}

func TestAnalysisHasTheDocumentedShape(t *testing.T) {
	a := must[Analysis](t)(Analyze(designs(t, "designs.csv")["complete blocks"], AnovaOptions{}))
	var v map[string]any
	if err := json.Unmarshal([]byte(marshal(t, a)), &v); err != nil {
		t.Fatal(err)
	}
	first := func(v any) any { return v.([]any)[0] }
	anova := v["anova"].(map[string]any)
	for _, c := range []struct {
		what, got, want string
	}{
		{"analysis", keys(v), "anova confidence contrasts groups response warnings"},
		{"group", keys(first(v["groups"])), "by ci mean median median_ci n sd"},
		{"anova", keys(anova), "residual terms type"},
		{"term", keys(first(anova["terms"])), "df eta_squared f p ss term variation"},
		{"residual", keys(anova["residual"]), "df ss"},
		{"contrast", keys(first(v["contrasts"])), "between difference method p p_holm ratio ratio_ci"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got members %q, want %q", c.what, c.got, c.want)
		}
	}
	if len(a.Groups) != 6 || len(a.Contrasts) != 15 {
		t.Errorf("got %d groups and %d contrasts, want 6 and 15", len(a.Groups), len(a.Contrasts))
	}
	var ps []float64
	for _, c := range a.Contrasts {
		ps = append(ps, float64(c.P))
	}
	for i, p := range Holm(ps) {
		check(t, a.Contrasts[i].Method, "p after Holm over all contrasts", float64(a.Contrasts[i].PHolm), p)
	}
	var back Analysis
	if err := json.Unmarshal([]byte(marshal(t, a)), &back); err != nil || marshal(t, back) != marshal(t, a) {
		t.Errorf("read back: %v", err)
	}
}

func TestAnalysisAveragesRowsOfOneTreatmentAndBlock(t *testing.T) {
	plain := Table{Response: "rtt", Factors: []string{"stack"}}
	doubled := plain
	for b, y := range []float64{10, 12, 11, 14, 13, 15, 10.5} {
		block := fmt.Sprint(b)
		x := y*2 + float64(b%3)
		plain.Rows = append(plain.Rows, Row{[]string{"rest"}, block, y}, Row{[]string{"soap"}, block, x})
		doubled.Rows = append(doubled.Rows, Row{[]string{"rest"}, block, y - 1}, Row{[]string{"soap"}, block, x},
			Row{[]string{"rest"}, block, y + 1})
	}
	a, b := must[Analysis](t)(Analyze(plain, AnovaOptions{})), must[Analysis](t)(Analyze(doubled, AnovaOptions{}))
	if marshal(t, a) != marshal(t, b) {
		t.Errorf("one row each: %s\nsame, some in two rows: %s", marshal(t, a), marshal(t, b))
	}
	if a.Groups[0].N != 7 {
		t.Errorf("got %d replicates, want 7 blocks", a.Groups[0].N)
	}
	// The contrast is the paired comparison of the blocks' values.
	var rest, soap []float64
	for _, r := range plain.Rows {
		if r.Levels[0] == "rest" {
			rest = append(rest, r.Y)
		} else {
			soap = append(soap, r.Y)
		}
	}
	want := must[Comparison](t)(RatioPaired(rest, soap, 0.95))
	c := a.Contrasts[0]
	if float64(c.Ratio) != want.Estimate || c.RatioCI != (Interval{want.Lo, want.Hi}) || float64(c.P) != want.P ||
		c.Between[0]["stack"] != "rest" {
		t.Errorf("got %+v, want %+v", c, want)
	}
	// Without blocks each row is a replicate, compared by Welch.
	for i := range doubled.Rows {
		doubled.Rows[i].Block = ""
	}
	a = must[Analysis](t)(Analyze(doubled, AnovaOptions{}))
	if a.Groups[0].N != 14 || a.Groups[1].N != 7 || !strings.HasPrefix(a.Contrasts[0].Method, "Welch") {
		t.Errorf("without blocks: got %+v", a)
	}
}

func TestAnalysisDoesNotDependOnTheOrderOfRows(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	for name, tab := range designs(t, "designs.csv") {
		a := must[Analysis](t)(Analyze(tab, AnovaOptions{}))
		random.Shuffle(len(tab.Rows), func(i, j int) { tab.Rows[i], tab.Rows[j] = tab.Rows[j], tab.Rows[i] })
		b := must[Analysis](t)(Analyze(tab, AnovaOptions{}))
		for i := range a.Contrasts {
			check(t, name, "ratio", float64(b.Contrasts[i].Ratio), float64(a.Contrasts[i].Ratio))
			check(t, name, "p after Holm", float64(b.Contrasts[i].PHolm), float64(a.Contrasts[i].PHolm))
		}
		for i := range a.Groups {
			check(t, name, "mean", float64(b.Groups[i].Mean), float64(a.Groups[i].Mean))
		}
	}
}

func TestAnalysisOfBadDays(t *testing.T) {
	row := func(a, block string, y float64) Row { return Row{[]string{a}, block, y} }
	for _, c := range []struct {
		words string
		rows  []Row
		want  []string // in the JSON
	}{
		{"one trial each", []Row{row("p", "", 1), row("q", "", 2)},
			[]string{`"ci":null`, `"ratio":null`, `"p":null`, "one trial shows no spread", "no trials are left"}},
		{"one treatment", []Row{row("p", "", 1), row("p", "", 2)},
			[]string{`"anova":null`, `"contrasts":[]`, "at least two"}},
		{"constant bytes", []Row{row("p", "1", 512), row("q", "1", 256), row("p", "2", 512), row("q", "2", 256)},
			[]string{`"ratio":2`, `"p":null`, `"ratio_ci":[2,2]`, "all 2 values are 512"}},
		{"zeros", []Row{row("p", "", 0), row("q", "", 2), row("p", "", 1), row("q", "", 2.5)},
			[]string{`"ratio":null`, "Welch, t interval on difference of means", "cannot form a ratio"}},
		{"an outlier", []Row{row("p", "1", 1), row("p", "2", 1.1), row("p", "3", 0.9), row("p", "4", 1.05), row("p", "5", 30),
			row("p", "6", 1)},
			[]string{"1 of 6 is an outlier, modified z over 3.5: block 5 (30): kept"}},
		{"an outlier of large values close to each other", []Row{row("p", "1", 1e9+1), row("p", "2", 1e9+1.1),
			row("p", "3", 1e9+0.9), row("p", "4", 1e9+1.05), row("p", "5", 1e9+3.25), row("p", "6", 1e9+1)},
			[]string{"block 5 (1000000003.25): kept"}},
		{"few common blocks", []Row{row("p", "1", 1), row("p", "2", 1.1), row("p", "3", 0.9), row("q", "2", 2),
			row("q", "3", 2.2)},
			[]string{"1 of 1 comparisons use fewer blocks", "paired by block"}},
		{"drift", drifting(), []string{"something changed during the measurement"}},
	} {
		a, err := Analyze(Table{Response: "y", Factors: []string{"a"}, Rows: c.rows}, AnovaOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.words, err)
			continue
		}
		got := marshal(t, a)
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: got %s, want %q in it", c.words, got, w)
			}
		}
		if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("%s: got %s", c.words, got)
		}
	}
}

func drifting() (rows []Row) {
	random := rand.New(rand.NewPCG(17, 18))
	for i := range 30 {
		rows = append(rows, Row{[]string{string(rune('p' + i%2))}, "", 10 + float64(i)/5 + random.NormFloat64()})
	}
	return rows
}

func TestAnalysisRefuses(t *testing.T) {
	row := func(block string, y float64, levels ...string) Row { return Row{levels, block, y} }
	for _, c := range []struct {
		words string
		table Table
		want  error
		text  string
	}{
		{"empty", Table{Factors: []string{"a"}}, ErrNoData, "no rows"},
		{"no factor", Table{Rows: []Row{row("", 1)}}, ErrNoData, "no factor"},
		{"NaN", Table{Factors: []string{"a"}, Rows: []Row{row("", 1, "p"), row("", math.NaN(), "p")}}, ErrNotFinite, "row 2"},
		{"too small", Table{Factors: []string{"a"}, Rows: []Row{row("", 1e-200, "p"), row("", 2e-200, "p")}}, ErrTooSmall,
			"smaller unit"},
		{"too small, each treatment flat", Table{Factors: []string{"a"}, Rows: []Row{row("", 1e-200, "p"),
			row("", 1e-200, "p"), row("", 2e-200, "q"), row("", 2e-200, "q")}}, ErrTooSmall, "smaller unit"},
		{"one treatment too small", Table{Factors: []string{"a"}, Rows: []Row{row("", 1, "p"), row("", 2, "p"),
			row("", 1e-200, "q"), row("", 2e-200, "q")}}, ErrTooSmall, "smaller unit"},
		{"ragged", Table{Factors: []string{"a", "b"}, Rows: []Row{row("", 1, "p")}}, nil, "row 1 has 1 levels"},
		{"some without block", Table{Factors: []string{"a"}, Rows: []Row{row("1", 1, "p"), row("", 1, "p")}}, nil, "row 2"},
		{"a factor twice", Table{Factors: []string{"a", "a"}, Rows: []Row{row("", 1, "p", "p")}}, nil, "twice"},
	} {
		a, err := Analyze(c.table, AnovaOptions{})
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %+v, %v; want %v with %q", c.words, a, err, c.want, c.text)
		}
	}
}

func TestManyTreatmentsAreComparedWithNeighboursOnly(t *testing.T) {
	tab := Table{Factors: []string{"a", "b"}}
	random := rand.New(rand.NewPCG(19, 20))
	for i := range 3 * 80 {
		tab.Rows = append(tab.Rows, Row{[]string{fmt.Sprint(i % 8), fmt.Sprint(i / 8 % 10)}, "", 5 + random.NormFloat64()})
	}
	a := must[Analysis](t)(Analyze(tab, AnovaOptions{}))
	if want := 10*28 + 8*45; len(a.Contrasts) != want {
		t.Errorf("got %d contrasts, want %d: those that differ in one factor", len(a.Contrasts), want)
	}
	for _, c := range a.Contrasts {
		if (c.Between[0]["a"] == c.Between[1]["a"]) == (c.Between[0]["b"] == c.Between[1]["b"]) {
			t.Fatalf("got %v against %v", c.Between[0], c.Between[1])
		}
	}
	// Levels that are numbers stand in the order of their values.
	if a.Groups[9].By["b"] != "9" || a.Groups[10].By["a"] != "1" {
		t.Errorf("groups stand in the order %v", a.Groups)
	}
}

func TestVeryManyTreatmentsAreComparedWithTheFirst(t *testing.T) {
	tab := Table{Factors: []string{"a"}}
	for i := range 2 * 200 {
		tab.Rows = append(tab.Rows, Row{[]string{fmt.Sprint(i % 200)}, "", 5 + float64(i*i%7)})
	}
	a := must[Analysis](t)(Analyze(tab, AnovaOptions{}))
	if len(a.Contrasts) != 199 || a.Contrasts[198].Between[0]["a"] != "0" ||
		!strings.Contains(strings.Join(a.Warnings, "\n"), "the first treatment is compared") {
		t.Errorf("got %d contrasts, warnings %v", len(a.Contrasts), a.Warnings)
	}
}

// 20 treatments in 25 blocks: 500 trials.
func BenchmarkAnalyze(b *testing.B) {
	tab := Table{Response: "rtt", Factors: []string{"stack", "link"}}
	random := rand.New(rand.NewPCG(21, 22))
	for i := range 500 {
		tab.Rows = append(tab.Rows, Row{[]string{fmt.Sprint(i % 5), fmt.Sprint(i / 5 % 4)}, fmt.Sprint(i / 20),
			math.Exp(random.NormFloat64() / 10)})
	}
	for b.Loop() {
		if _, err := Analyze(tab, AnovaOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Trials that fall into two kinds, three of each treatment: some treatments have all of theirs of one kind, and vary
// hardly. Of equals so, and of others, few studies have any contrast that is significant; and where treatments differ,
// contrasts say so. Before is the share without steadied.
func TestAnalysisOfFewBlocksHoldsItsLevel(t *testing.T) {
	bimodal := func(r *rand.Rand) float64 {
		v := 1 + 0.002*r.NormFloat64()
		if r.Float64() < 0.3 {
			v *= 1.4
		}
		return v
	}
	normal := func(r *rand.Rand) float64 { return math.Exp(0.1 * r.NormFloat64()) }
	for _, x := range []struct {
		what               string
		draw               func(*rand.Rand) float64
		treatments, blocks int
		blocked            bool
		least, most        float64 // of studies with a significant contrast, in %
		differ             float64 // the first is so many times as much
	}{
		{"two kinds", bimodal, 20, 3, true, 0, 6, 1},
		{"two kinds", bimodal, 10, 3, true, 0, 6, 1},
		{"two kinds", bimodal, 5, 3, true, 0, 6, 1},
		{"two kinds", bimodal, 20, 5, true, 0, 6, 1},
		{"two kinds", bimodal, 20, 3, false, 0, 6, 1},
		{"normal", normal, 20, 3, true, 0, 6, 1},
		{"normal", normal, 5, 3, true, 0, 6, 1},
		{"normal", normal, 5, 4, false, 0, 6, 1},
		{"normal, twice as much", normal, 5, 5, true, 90, 100, 2},
	} {
		const studies = 300
		r := rand.New(rand.NewPCG(12, uint64(x.treatments*x.blocks)))
		found, before, best := 0, 0, 0
		for range studies {
			table := Table{Response: "y", Factors: []string{"a"}}
			for b := range x.blocks {
				for k := range x.treatments {
					row := Row{Levels: []string{fmt.Sprint(k)}, Y: x.draw(r)}
					if k == 0 {
						row.Y *= x.differ
					}
					if x.blocked {
						row.Block = fmt.Sprint(b)
					}
					table.Rows = append(table.Rows, row)
				}
			}
			a := must[Analysis](t)(Analyze(table, AnovaOptions{}))
			var ps []float64
			for _, c := range a.Contrasts {
				ps = append(ps, float64(c.P))
			}
			if x.blocked && bestDiffers(t, table, x.treatments) {
				best++
			}
			if slices.ContainsFunc(a.Contrasts, func(c Contrast) bool { return c.PHolm < 0.05 }) {
				found++
			}
			if slices.ContainsFunc(Holm(ps), func(p float64) bool { return p < 0.05 }) {
				before++
			}
		}
		is := 100 * float64(found) / studies
		t.Logf("%s, %d treatments of %d, blocked %v: %.1f %% of studies have a contrast, before %.1f %%; best apart %.1f %%",
			x.what, x.treatments, x.blocks, x.blocked, is, 100*float64(before)/studies, 100*float64(best)/studies)
		if is < x.least || is > x.most {
			t.Errorf("%s, %d treatments of %d, blocked %v: %.1f %% of studies have a contrast, want %v to %v", x.what,
				x.treatments, x.blocks, x.blocked, is, x.least, x.most)
		}
	}
}

// bestDiffers reports whether a report would tell any treatment from the best.
func bestDiffers(t *testing.T, table Table, treatments int) bool {
	rows := make([][]float64, treatments)
	for i, r := range table.Rows {
		rows[i%treatments] = append(rows[i%treatments], r.Y)
	}
	best := 0
	for i := range rows {
		if meanOf(rows[i]) < meanOf(rows[best]) {
			best = i
		}
	}
	p := must[*AllPairs](t)(NewAllPairs(rows, 0.95))
	for i := range rows {
		if i != best && must[Comparison](t)(p.Interval(i, best)).Lo > 1 {
			return true
		}
	}
	return false
}
