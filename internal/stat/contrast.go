package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Contrast sets the first of Between against the second: difference is
// first minus second, ratio first over second. P belongs to the ratio, or to
// the difference where Method says so.
type Contrast struct {
	Between    [2]map[string]string `json:"between"`    // level of each factor, of both
	Difference Number               `json:"difference"` // in the unit of the response
	Ratio      Number               `json:"ratio"`      // of the geometric means
	RatioCI    Interval             `json:"ratio_ci"`   // interval of Ratio
	P          Number               `json:"p"`          // two-sided
	PHolm      Number               `json:"p_holm"`     // P, or that of steadied, adjusted for all contrasts by Holm
	Method     string               `json:"method"`     // name of the test
}

// Every pair of treatments is compared while that makes at most mostPairs
// contrasts; beyond, those that differ in one factor; where those are more than
// mostNeighbours, only the first treatment with each other one.
const (
	mostPairs      = 2_000
	mostNeighbours = 10_000
)

func (a *Analysis) contrasts(t Table, groups []treatment, confidence float64) {
	compared := a.family(groups)
	if lo, _ := extremes(t.ys()); lo <= 0 {
		a.warn("contrasts",
			fmt.Errorf("%w: some values of the response, such as %v, cannot form a ratio: those treatments are compared by "+
				"difference", ErrSign, lo))
	}
	var found []Comparison
	fewer := 0
	for i, x := range groups {
		for j, y := range groups {
			if j <= i || !compared(i, j) {
				continue
			}
			c, got, pairs, warnings := contrastOf(x, y, confidence)
			if pairs > 0 && pairs < max(len(x.ys), len(y.ys)) {
				fewer++
			}
			c.Between = [2]map[string]string{t.by(x), t.by(y)}
			for _, w := range warnings {
				a.warn(t.name(x)+" against "+t.name(y), w)
			}
			a.Contrasts = append(a.Contrasts, c)
			found = append(found, got)
		}
	}
	ps, steadied := steadied(found)
	if steadied > 0 {
		a.warn("contrasts", fmt.Errorf("%d of %d comparisons have fewer than %d replicates and vary less than most such: "+
			"their variance counts as the median of all such in p_holm", steadied, len(ps), fewestAlone))
	}
	if fewer > 0 {
		a.warn("contrasts", fmt.Errorf("%d of %d comparisons use fewer blocks than were run: only those that both "+
			"treatments have",
			fewer, len(ps)))
	}
	for i, p := range Holm(ps) {
		a.Contrasts[i].PHolm = Number(p)
	}
}

// family says which pairs of treatments are compared.
func (a *Analysis) family(groups []treatment) func(i, j int) bool {
	n := len(groups)
	if n*(n-1)/2 <= mostPairs {
		return func(int, int) bool { return true }
	}
	neighbours := func(i, j int) bool { return apart(groups[i].levels, groups[j].levels) == 1 }
	count := 0
	for i := range groups {
		for j := range i {
			if neighbours(i, j) {
				count++
			}
		}
	}
	if count <= mostNeighbours {
		a.warn("contrasts", fmt.Errorf("%d treatments form %d pairs: only those that differ in one factor are compared",
			n, n*(n-1)/2))
		return neighbours
	}
	a.warn("contrasts",
		fmt.Errorf("%d treatments form %d pairs: the first treatment is compared with each of the others", n, n*(n-1)/2))
	return func(i, j int) bool { return i == 0 }
}

// contrastOf compares two treatments, paired over the blocks both have (it
// says how many pairs), else by Welch. What is said of the groups or of the
// whole table is not said again.
func contrastOf(x, y treatment, confidence float64) (c Contrast, got Comparison, pairs int, warnings []error) {
	xs, ys, shared := common(x, y)
	difference, ratio := DifferenceWelch, RatioWelch
	if shared {
		difference, ratio, pairs = DifferencePaired, RatioPaired, len(xs)
	}
	none := Number(math.NaN())
	c = Contrast{Difference: Number(meanOf(xs) - meanOf(ys)), Ratio: none, RatioCI: Interval{math.NaN(), math.NaN()},
		P: none, PHolm: none, Method: "none: too few replicates"}
	got, err := ratio(xs, ys, confidence)
	if errors.Is(err, ErrSign) {
		if got, err = difference(xs, ys, confidence); err == nil {
			c.P, c.Method = Number(got.P), got.Method
		}
	} else if err == nil {
		c.P, c.Method = Number(got.P), got.Method
		c.Ratio, c.RatioCI = Number(got.Estimate), Interval{got.Lo, got.Hi}
	}
	for _, w := range got.Warnings {
		if !errors.Is(w, ErrNoSpread) || !allEqual(xs) && !allEqual(ys) {
			warnings = append(warnings, w)
		}
	}
	if err != nil {
		got = Comparison{P: math.NaN()}
	}
	return c, got, pairs, warnings
}

// fewestAlone is from how many replicates on a comparison is judged by its own variance alone.
const fewestAlone = 6

// steadied is the p of each comparison. Of few replicates some look quiet by chance, as where trials fall into two
// kinds and three of a treatment are of one kind: a variance below the median of all such comparisons' counts as that
// median. (The lower quartile, which serves more replicates in AllPairs, may be of such pairs itself.) Of how many it
// did is said, too.
func steadied(found []Comparison) (ps []float64, of int) {
	each := func(c Comparison) float64 { // replicates as of pairs
		if c.paired {
			return float64(c.N[0])
		}
		return 1 / (1/float64(c.N[0]) + 1/float64(c.N[1]))
	}
	few := func(c Comparison) bool { return !math.IsNaN(c.P) && min(c.N[0], c.N[1]) < fewestAlone }
	variances := map[string][]float64{} // by the scale
	for _, c := range found {
		if few(c) {
			variances[c.Method] = append(variances[c.Method], c.se*c.se*each(c))
		}
	}
	for _, all := range variances {
		slices.Sort(all)
	}
	for _, c := range found {
		p := c.P
		if few(c) {
			all := variances[c.Method]
			if usual := all[(len(all)-1)/2]; c.se*c.se*each(c) < usual {
				p = tTwoSided(math.Abs(c.center)/math.Sqrt(usual/each(c)), c.DF)
				of++
			}
		}
		ps = append(ps, p)
	}
	return ps, of
}

// common pairs the values by block; without two common blocks it returns all.
func common(x, y treatment) (xs, ys []float64, shared bool) {
	at := map[string]float64{}
	for i, b := range y.blocks {
		if b != "" {
			at[b] = y.ys[i]
		}
	}
	for i, b := range x.blocks {
		if v, ok := at[b]; ok {
			xs, ys = append(xs, x.ys[i]), append(ys, v)
		}
	}
	if len(xs) < 2 {
		return x.ys, y.ys, false
	}
	return xs, ys, true
}

func apart(a, b []string) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
