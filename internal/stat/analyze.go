package stat

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// An Analysis is everything stat says of one response in a tidy table. Its
// JSON is stable and documented in doc/method.md.
type Analysis struct {
	Response  string     `json:"response"`
	Groups    []Group    `json:"groups"`
	Anova     *Anova     `json:"anova"` // nil where there is nothing to analyse; a warning says why
	Contrasts []Contrast `json:"contrasts"`
	Warnings  []string   `json:"warnings"`
}

// A Group is one treatment. N counts its replicates.
type Group struct {
	By       map[string]string `json:"by"`
	N        int               `json:"n"`
	Mean     Number            `json:"mean"`
	SD       Number            `json:"sd"`
	CI       Interval          `json:"ci"`
	Median   Number            `json:"median"`
	MedianCI Interval          `json:"median_ci"`
}

// A Contrast sets the first of Between against the second: difference is
// first minus second, ratio first over second. P belongs to the ratio, or to
// the difference where Method says so.
type Contrast struct {
	Between    [2]map[string]string `json:"between"`
	Difference Number               `json:"difference"`
	Ratio      Number               `json:"ratio"`
	RatioCI    Interval             `json:"ratio_ci"`
	P          Number               `json:"p"`
	PHolm      Number               `json:"p_holm"`
	Method     string               `json:"method"`
}

// mostPairs is the number of contrasts up to which every pair of treatments is
// compared; beyond, only treatments that differ in one factor.
const mostPairs = 2000

// Analyze makes the whole analysis of a table: groups, analysis of variance,
// contrasts with Holm's p over all of them, warnings. Rows of one treatment
// and block are averaged first; without blocks each row is a replicate.
func Analyze(t Table, confidence float64) (Analysis, error) {
	if err := t.check(); err != nil {
		return Analysis{}, err
	}
	if !(confidence > 0 && confidence < 1) {
		return Analysis{}, fmt.Errorf("confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)
	}
	t = t.replicates()
	a := Analysis{Response: t.Response, Groups: []Group{}, Contrasts: []Contrast{}, Warnings: []string{}}
	treatments := t.treatments()
	for _, g := range treatments {
		if err := a.group(t, g, confidence); err != nil {
			return Analysis{}, err
		}
	}
	v, err := AnalyzeVariance(t, AnovaOptions{Confidence: confidence})
	if err != nil {
		a.warn("analysis of variance", err)
	} else {
		a.Anova = &v
		for _, w := range v.Warnings {
			a.warn("analysis of variance", w)
		}
	}
	a.contrasts(t, treatments, confidence)
	return a, nil
}

func (a *Analysis) warn(about string, w error) {
	a.Warnings = append(a.Warnings, fmt.Sprintf("%s: %v", about, w))
}

func (a *Analysis) group(t Table, g treatment, confidence float64) error {
	name := t.name(g)
	mean, err := Mean(g.ys, confidence)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	median, err := Median(g.ys, confidence)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.Groups = append(a.Groups, Group{t.by(g), mean.N, Number(mean.Center), Number(SD(g.ys)), Interval{mean.Lo, mean.Hi}, Number(median.Center), Interval{median.Lo, median.Hi}})
	for _, w := range mean.Warnings {
		a.warn(name, w)
	}
	if len(mean.Warnings) == 0 {
		for _, w := range median.Warnings {
			a.warn(name, w)
		}
	}
	flagged, err := Outliers(g.ys)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, i := range flagged {
		where := fmt.Sprintf("replicate %d", i+1)
		if g.blocks[i] != "" {
			where = "block " + g.blocks[i]
		}
		a.warn(name, fmt.Errorf("%s (%.6g) is an outlier, modified z over %v: kept; look for its cause", where, g.ys[i], OutlierLimit))
	}
	return nil
}

func (a *Analysis) contrasts(t Table, groups []treatment, confidence float64) {
	n := len(groups)
	onlyNeighbours := n*(n-1)/2 > mostPairs
	if onlyNeighbours {
		a.warn("contrasts", fmt.Errorf("%d treatments make %d pairs: only those that differ in one factor are compared", n, n*(n-1)/2))
	}
	if lo, _ := extremes(t.ys()); lo <= 0 {
		a.warn("contrasts", fmt.Errorf("%w: the response is %v and the like in places, which has no ratio: such treatments are compared by difference", ErrSign, lo))
	}
	var ps []float64
	fewer := 0
	for i, x := range groups {
		for _, y := range groups[i+1:] {
			if onlyNeighbours && apart(x.levels, y.levels) > 1 {
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
		a.warn("contrasts", fmt.Errorf("%d of %d compare fewer blocks than were run: those both treatments have", fewer, len(ps)))
	}
	for i, p := range Holm(ps) {
		a.Contrasts[i].PHolm = Number(p)
	}
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
	c = Contrast{Difference: Number(meanOf(xs) - meanOf(ys)), Ratio: none, RatioCI: Interval{math.NaN(), math.NaN()}, P: none, PHolm: none, Method: "none: too few replicates"}
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

func (t Table) by(g treatment) map[string]string {
	out := map[string]string{}
	for f, name := range t.Factors {
		out[name] = g.levels[f]
	}
	return out
}

func (t Table) name(g treatment) string {
	var words []string
	for f, name := range t.Factors {
		words = append(words, name+"="+g.levels[f])
	}
	return strings.Join(words, " ")
}

func (t Table) ys() []float64 {
	out := make([]float64, len(t.Rows))
	for i, r := range t.Rows {
		out[i] = r.Y
	}
	return out
}
