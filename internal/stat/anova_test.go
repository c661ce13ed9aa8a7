package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// designs reads the tables of one file, by name.
func designs(t *testing.T, file string) map[string]Table {
	t.Helper()
	out := map[string]Table{}
	for _, r := range oracle(t, file) {
		name := r["design"]
		tab := out[name]
		if len(tab.Rows) == 0 {
			for _, f := range []string{"a", "b", "c"} {
				if r[f] != "" {
					tab.Factors = append(tab.Factors, f)
				}
			}
		}
		var levels []string
		for _, f := range tab.Factors {
			levels = append(levels, r[f])
		}
		tab.Rows = append(tab.Rows, Row{levels, r["block"], r.f(t, "y")})
		out[name] = tab
	}
	return out
}

func TestAnovaAgreesWithStatsmodels(t *testing.T) {
	tables := designs(t, "designs.csv")
	for _, r := range oracle(t, "anova.csv") {
		a, err := AnalyzeVariance(tables[r["design"]], AnovaOptions{Type: r.n(t, "type")})
		if err != nil {
			t.Fatal(err)
		}
		words := r["design"] + ", type " + a.Type + ", " + r["term"]
		if r["term"] == "Residual" {
			check(t, words, "ss", float64(a.Residual.SS), r.f(t, "ss"))
			check(t, words, "df", float64(a.Residual.DF), r.f(t, "df"))
			continue
		}
		i := slices.IndexFunc(a.Terms, func(l Term) bool { return l.Term == r["term"] })
		if i < 0 {
			t.Errorf("%s: no such term in %+v", words, a.Terms)
			continue
		}
		l := a.Terms[i]
		for figure, got := range map[string]float64{"df": float64(l.DF), "ss": float64(l.SS), "f": float64(l.F),
			"p": float64(l.P), "eta_squared": float64(l.EtaSquared), "variation": float64(l.Variation)} {
			check(t, words, figure, got, r.f(t, figure))
		}
	}
}

func TestEffectsAgreeWithStatsmodels(t *testing.T) {
	tables := designs(t, "designs.csv")
	for _, r := range oracle(t, "effects.csv") {
		a := must[Anova](t)(AnalyzeVariance(tables[r["design"]], AnovaOptions{}))
		levels := strings.Split(r["levels"], "|")
		i := slices.IndexFunc(a.Effects, func(e Effect) bool { return e.Term == r["term"] && slices.Equal(e.Levels, levels) })
		if i < 0 {
			t.Errorf("%s: no effect of %s at %v", r["design"], r["term"], levels)
			continue
		}
		words := r["design"] + ", " + r["term"] + " at " + r["levels"]
		for figure, got := range map[string]float64{"value": a.Effects[i].Value, "lo": a.Effects[i].Lo,
			"hi": a.Effects[i].Hi} {
			check(t, words, figure, got, r.f(t, figure))
		}
	}
	for name, tab := range tables {
		a := must[Anova](t)(AnalyzeVariance(tab, AnovaOptions{}))
		sums := map[string]float64{}
		for _, e := range a.Effects {
			if e.Term != "" {
				sums[e.Term+e.Levels[0]] += e.Value // over the other factors' levels
				if len(e.Levels) == 1 {
					sums[e.Term] += e.Value
				}
			}
		}
		for term, sum := range sums {
			if math.Abs(sum) > 1e-8 && (strings.Contains(term, ":") || len(term) == 1) {
				t.Errorf("%s: effects of %s sum to %g, want 0", name, term, sum)
			}
		}
	}
}

func TestRandomBlocksAgreeWithProjections(t *testing.T) {
	tables := designs(t, "designs.csv")
	for _, r := range oracle(t, "blocksd.csv") {
		a := must[Anova](t)(AnalyzeVariance(tables[r["design"]], AnovaOptions{}))
		check(t, r["design"], "sd of blocks", float64(a.BlockSD), r.f(t, "sd"))
	}
}

func TestAnovaProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for name, tab := range designs(t, "designs.csv") {
		for kind := 1; kind <= 3; kind++ {
			base := must[Anova](t)(AnalyzeVariance(tab, AnovaOptions{Type: kind}))
			moved := Table{Factors: tab.Factors, Rows: slices.Clone(tab.Rows)}
			for i := range moved.Rows {
				moved.Rows[i].Y = 3*moved.Rows[i].Y - 11
			}
			random.Shuffle(len(moved.Rows), func(i, j int) { moved.Rows[i], moved.Rows[j] = moved.Rows[j], moved.Rows[i] })
			other := must[Anova](t)(AnalyzeVariance(moved, AnovaOptions{Type: kind}))
			share := float64(base.Residual.SS)
			for i, l := range base.Terms {
				if !within(float64(other.Terms[i].F), float64(l.F), 1e-7) {
					t.Errorf("%s, type %d, %s: F %v, and %v of 3y-11 with rows shuffled", name, kind, l.Term, l.F, other.Terms[i].F)
				}
				share += float64(l.SS)
			}
			if kind == 1 {
				var parts float64
				for _, l := range base.Terms {
					parts += float64(l.Variation)
				}
				check(t, name, "shares of the variation", parts+float64(base.Residual.SS)/share, 1)
			}
		}
	}
}

func TestAnovaSaysWhatItLeftOut(t *testing.T) {
	tables := designs(t, "designs.csv")
	for name, want := range map[string][]string{
		"two factors, balanced":      nil,
		"complete blocks":            nil,
		"two factors, unbalanced":    {"type III"},
		"no replication":             {"highest interaction serves as the error"},
		"a treatment without trials": {"have no trial", "type III"},
	} {
		a := must[Anova](t)(AnalyzeVariance(tables[name], AnovaOptions{}))
		var got []string
		for _, w := range a.Warnings {
			got = append(got, w.Error())
		}
		all := strings.Join(got, "\n")
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: warnings %q, want one with %q", name, all, w)
			}
		}
		if want == nil && got != nil {
			t.Errorf("%s: warnings %q, want none", name, all)
		}
	}
	row := func(a, b, block string, y float64) Row { return Row{[]string{a, b}, block, y} }
	for _, c := range []struct {
		words string
		rows  []Row
		want  string
	}{
		{"factors that move together", []Row{row("p", "u", "", 1), row("q", "v", "", 2), row("p", "u", "", 1.5),
			row("q", "v", "", 2.5)}, "b: its effect is confounded"},
		{"a block a treatment", []Row{row("p", "u", "1", 1), row("q", "u", "2", 2), row("p", "u", "3", 1.5),
			row("q", "u", "4", 2.5)}, "every block has only one treatment"},
		{"one level", []Row{row("p", "u", "", 1), row("q", "u", "", 2), row("p", "u", "", 1.5)}, "only the level"},
		{"no spread", []Row{row("p", "u", "", 1), row("q", "u", "", 2), row("p", "u", "", 1), row("q", "u", "", 2)},
			"replicates do not differ"},
		{"nothing left", []Row{row("p", "u", "", 1), row("q", "u", "", 2)}, "no trials are left"},
	} {
		a := must[Anova](t)(AnalyzeVariance(Table{Factors: []string{"a", "b"}, Rows: c.rows}, AnovaOptions{}))
		var got []string
		for _, w := range a.Warnings {
			got = append(got, w.Error())
		}
		if !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: warnings %q, want one with %q", c.words, got, c.want)
		}
	}
}

func TestAnovaWithoutSpreadGivesNoTest(t *testing.T) {
	tab := Table{Factors: []string{"a"}}
	for range 4 {
		tab.Rows = append(tab.Rows, Row{[]string{"p"}, "", 0.1}, Row{[]string{"q"}, "", 0.3})
	}
	a := must[Anova](t)(AnalyzeVariance(tab, AnovaOptions{}))
	if a.Residual.SS != 0 || !math.IsNaN(float64(a.Terms[0].P)) || !near(float64(a.Terms[0].Variation), 1) {
		t.Errorf("replicates equal: got %+v", a)
	}
	for i := range tab.Rows {
		tab.Rows[i].Y = 0.1
	}
	a = must[Anova](t)(AnalyzeVariance(tab, AnovaOptions{}))
	if a.Terms[0].SS != 0 || !math.IsNaN(float64(a.Terms[0].P)) || !math.IsNaN(float64(a.Terms[0].EtaSquared)) {
		t.Errorf("all equal: got %+v", a)
	}
}

// A study of more blocks than a model may have columns: the sums of squares are those of the
// textbook formulas for complete blocks, and nothing is left out.
func TestAnovaOfManyBlocks(t *testing.T) {
	const blocks, treatments = 1500, 3
	r := rand.New(rand.NewPCG(21, 4))
	var table Table
	table.Factors = []string{"stack"}
	var y [blocks][treatments]float64
	for b := range y {
		block := 5 * r.NormFloat64()
		for k := range y[b] {
			y[b][k] = 100 + block + float64(k) + 2*r.NormFloat64()
			table.Rows = append(table.Rows, Row{[]string{string(rune('a' + k))}, fmt.Sprint(b), y[b][k]})
		}
	}
	a, err := AnalyzeVariance(table, AnovaOptions{})
	if err != nil || len(a.Warnings) > 0 {
		t.Fatal(err, a.Warnings)
	}
	var grand float64
	var ofBlock [blocks]float64
	var ofTreatment [treatments]float64
	for b := range y {
		for k, v := range y[b] {
			grand += v / (blocks * treatments)
			ofBlock[b] += v / treatments
			ofTreatment[k] += v / blocks
		}
	}
	var block, treatment, rest float64
	for b := range y {
		block += treatments * (ofBlock[b] - grand) * (ofBlock[b] - grand)
		for k, v := range y[b] {
			e := v - ofBlock[b] - ofTreatment[k] + grand
			rest += e * e
		}
	}
	for _, m := range ofTreatment {
		treatment += blocks * (m - grand) * (m - grand)
	}
	f := treatment / (treatments - 1) / (rest / ((blocks - 1) * (treatments - 1)))
	got := []float64{float64(a.Terms[0].SS), float64(a.Terms[1].SS), float64(a.Residual.SS), float64(a.Terms[1].F)}
	for i, want := range []float64{block, treatment, rest, f} {
		if math.Abs(got[i]-want) > 1e-9*want {
			t.Errorf("%d: got %v, want %v", i, got[i], want)
		}
	}
	if a.Terms[0].Term != "block" || a.Terms[0].DF != blocks-1 || a.Residual.DF != (blocks-1)*(treatments-1) {
		t.Errorf("got %+v, residual %+v", a.Terms, a.Residual)
	}
}
