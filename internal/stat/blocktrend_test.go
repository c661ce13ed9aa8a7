package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Values that do not drift are seldom said to, whichever blocks have which treatments; those that drift are.
func TestDriftOfBlocksThatLackTreatments(t *testing.T) {
	const studies = 200
	for name, has := range map[string]func(treatment, block int) bool{"complete": all, "exchanged": exchanged,
		"ending": ending} {
		for _, drift := range []float64{0, 3} {
			said := 0
			for seed := range uint64(studies) {
				r := rand.New(rand.NewPCG(seed, 9))
				a := must[Anova](t)(AnalyzeVariance(incomplete(r, 20, 0, drift, has), AnovaOptions{}))
				if warned(a, "drift of the blocks' means") {
					said++
				}
			}
			if drift == 0 && said > studies/20 || drift > 0 && said < studies*9/10 {
				t.Errorf("%s: drift of %v was said in %d of %d studies", name, drift, said, studies)
			}
		}
	}
}

// Where all blocks have the same treatments, the score of pairs is Kendall's of the means, and so is its variance.
func TestScoreOfCompleteBlocksIsKendalls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for _, n := range []int{4, 5, 20} {
		blocks := incomplete(r, n, 1, 0, all).byBlock()
		got, want := scoreOfBlocks(blocks, 0), scoreOf(meansOf(blocks))
		if got.score != want.score || got.pairs != want.pairs || math.Abs(got.variance/want.variance-1) > 1e-12 {
			t.Errorf("%d blocks: got %+v, want %+v", n, got, want)
		}
	}
}

// Effects of treatments do not count, however large.
func TestDriftOfBlocksKnowsNoTreatments(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	table := incomplete(r, 20, 1, 0, exchanged)
	before := must[Test](t)(trendOfBlocks(table, 50))
	for i, row := range table.Rows {
		table.Rows[i].Y += 1000 * float64(len(row.Levels[0])+int(row.Levels[0][0])%7)
	}
	if after := must[Test](t)(trendOfBlocks(table, 5000)); after.Statistic != before.Statistic || after.P != before.P {
		t.Errorf("got %+v, then %+v", before, after)
	}
}

// Blocks of one treatment each: what differs between them is as well the treatments'.
func TestNoDriftOfBlocksOfOneTreatment(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	table := incomplete(r, 24, 1, 3, func(treatment, block int) bool { return treatment == block/6 })
	a := must[Anova](t)(AnalyzeVariance(table, AnovaOptions{}))
	if warned(a, "drift of the blocks") || warned(a, "fewer trials") || a.Type != "I" ||
		!warned(a, "drift between blocks cannot be told from treatments") {
		t.Errorf("type %s, %v", a.Type, a.Warnings)
	}
}

func TestWhyADesignIsUnbalanced(t *testing.T) {
	for want, has := range map[string]func(a, b, block int) bool{
		"some treatments have fewer trials than others": func(a, b, block int) bool { return a+b+block > 0 },
		"some combinations of levels have no trials":    func(a, b, block int) bool { return a+b < 2 },
		"some blocks lack treatments":                   func(a, b, block int) bool { return (2*a+b+block)%4 > 0 },
	} {
		r := rand.New(rand.NewPCG(6, 9))
		table := Table{Factors: []string{"a", "b"}}
		for i := range 4 * 8 {
			if a, b, block := i%2, i/2%2, i/4; has(a, b, block) {
				table.Rows = append(table.Rows, Row{[]string{fmt.Sprint(a), fmt.Sprint(b)}, fmt.Sprint(block), r.NormFloat64()})
			}
		}
		a := must[Anova](t)(AnalyzeVariance(table, AnovaOptions{Order: 1}))
		if a.Type != "III" || !warned(a, want+": sums of squares are of type III") {
			t.Errorf("%s: got type %s, %v", want, a.Type, a.Warnings)
		}
	}
}

func warned(a Anova, words string) bool {
	for _, w := range a.Warnings {
		if strings.Contains(w.Error(), words) {
			return true
		}
	}
	return false
}
