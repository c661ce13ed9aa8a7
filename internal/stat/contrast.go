package stat

import (
	"errors"
	"fmt"
	"math"
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
	PHolm      Number               `json:"p_holm"`     // P, adjusted for all contrasts by Holm
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
	var ps []float64
	fewer := 0
	for i, x := range groups {
		for j, y := range groups {
			if j <= i || !compared(i, j) {
				continue
			}
			c, pairs, warnings := contrastOf(x, y, confidence)
			if pairs > 0 && pairs < max(len(x.ys), len(y.ys)) {
				fewer++
			}
			c.Between = [2]map[string]string{t.by(x), t.by(y)}
			for _, w := range warnings {
				a.warn(t.name(x)+" against "+t.name(y), w)
			}
			a.Contrasts = append(a.Contrasts, c)
			ps = append(ps, float64(c.P))
		}
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
func contrastOf(x, y treatment, confidence float64) (c Contrast, pairs int, warnings []error) {
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
	return c, pairs, warnings
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
