package stat

import (
	"fmt"
	"math"
	"strings"

	"edgegauge.example/edgegauge/internal/plural"
)

// An Analysis is everything stat says of one response in a tidy table. Its
// JSON is stable and documented in doc/method.md.
type Analysis struct {
	Response   string     `json:"response"`   // column of the table
	Confidence float64    `json:"confidence"` // of every interval, 0 to 1
	Groups     []Group    `json:"groups"`     // one for each treatment
	Anova      *Anova     `json:"anova"`      // nil where there is nothing to analyse; a warning says why
	Contrasts  []Contrast `json:"contrasts"`  // of pairs of treatments: of all pairs where those are few
	Warnings   []string   `json:"warnings"`   // in sentences
}

// A Group is one treatment. N counts its replicates.
type Group struct {
	By       map[string]string `json:"by"`        // level of each factor
	N        int               `json:"n"`         // replicates
	Mean     Number            `json:"mean"`      // in the unit of the response; likewise the others
	SD       Number            `json:"sd"`        // standard deviation
	CI       Interval          `json:"ci"`        // of the mean
	Median   Number            `json:"median"`    // of the replicates
	MedianCI Interval          `json:"median_ci"` // of the median
}

// Analyze makes the whole analysis of a table: groups, analysis of variance,
// contrasts with Holm's p over all of them, warnings. Rows of one treatment
// and block are averaged first; without blocks each row is a replicate. The
// options' zero value is 0.95 and the type that fits the design.
func Analyze(t Table, o AnovaOptions) (Analysis, error) {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	confidence := o.Confidence
	if err := t.check(); err != nil {
		return Analysis{}, err
	}
	if !(confidence > 0 && confidence < 1) {
		return Analysis{}, fmt.Errorf("confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)
	}
	t = t.replicates()
	a := Analysis{Response: t.Response, Confidence: confidence, Groups: []Group{}, Contrasts: []Contrast{},
		Warnings: []string{}}
	treatments := t.treatments()
	for _, g := range treatments {
		if err := a.group(t, g, confidence); err != nil {
			return Analysis{}, err
		}
	}
	v, err := AnalyzeVariance(t, o)
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
	a.Groups = append(a.Groups, Group{t.by(g), mean.N, Number(mean.Center), Number(SD(g.ys)), Interval{mean.Lo, mean.Hi},
		Number(median.Center), Interval{median.Lo, median.Hi}})
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
	if len(flagged) > 0 {
		a.warn(name, outliersOf(g, flagged))
	}
	return nil
}

// outliersOf names the first few of a group's outliers.
func outliersOf(g treatment, flagged []int) error {
	var words []string
	for _, i := range flagged[:min(3, len(flagged))] {
		where := fmt.Sprintf("replicate %d", i+1)
		if g.blocks[i] != "" {
			where = "block " + g.blocks[i]
		}
		words = append(words, fmt.Sprintf("%s (%.*g)", where, digitsOf(g.ys), g.ys[i]))
	}
	if len(flagged) > len(words) {
		words = append(words, "…")
	}
	return fmt.Errorf("%d of %d %s, modified z over %v: %s: kept; look for the cause", len(flagged), len(g.ys),
		plural.Verb(len(flagged), "is an outlier", "are outliers"), OutlierLimit, strings.Join(words, ", "))
}

// digitsOf is how many significant digits tell values apart: large ones may lie close to each other.
func digitsOf(ys []float64) int {
	lo, hi := extremes(ys)
	apart := math.Log10(max(math.Abs(lo), math.Abs(hi)) / (hi - lo))
	return int(min(max(6, 3+math.Ceil(apart)), 15))
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
