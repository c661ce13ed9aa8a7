package advise

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// leastPower is the chance of an answer with which a number of trials is named, where nobody wishes another.
const leastPower = 0.8

// A Size is how many blocks of both versions find a change of a figure.
type Size struct {
	Condition Condition
	Treatment string
	SD        float64 // of a block's difference of logarithms, new less old
	Pilot     int     // blocks, or trials of one version, that SD is from
	Blocks    int     // 0: no practical number of blocks finds it (stat.ErrTooMany)
	Paired    bool    // SD is from pairs; else from one version, whose blocks do not cancel
}

// Sizes are those of every condition and treatment, floors aside. The level is
// shared by all of them (Bonferroni), so that the comparison as a whole keeps it.
// Without old series the spread is that of one version's trials, times the root of 2.
func Sizes(old, new []Series, conditions []Condition, confidence, power float64) ([]Size, error) {
	var out []Size
	var df []float64
	for _, k := range conditions {
		n := len(out)
		for _, s := range new {
			if !k.Matches(s) || s.Floor {
				continue
			}
			size := Size{Condition: k, Treatment: s.Name()}
			xs, err := s.values(k.Figure)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(xs, func(x float64) bool { return x <= 0 }) {
				return nil, fmt.Errorf("%s of %s is not above 0 in every trial, so it has no ratio to detect", k.Response, s.Name())
			}
			size.SD, size.Pilot = math.Sqrt2*stat.SD(logs(xs)), len(xs)
			if a, ok := Find(old, s); ok {
				c := contrast(a, s, k.Figure, confidence)
				if c.Doubt != "" {
					return nil, fmt.Errorf("%s of %s: %s", k.Response, s.Name(), c.Doubt)
				}
				size.SD, size.Pilot, size.Paired = c.Ratio.SD(), c.Ratio.N[0], true
			}
			out, df = append(out, size), append(df, float64(size.Pilot-1))
		}
		if len(out) == n {
			return nil, apart(fmt.Sprintf("%q: %s is not in the results; add the response to the study", k.Text, k.Response))
		}
	}
	for i := range out {
		var err error
		out[i].Blocks, err = stat.Blocks(out[i].SD, df[i], math.Log(out[i].Condition.Bound),
			(1-confidence)/float64(len(out)), power)
		if err != nil && !errors.Is(err, stat.ErrTooMany) {
			return nil, fmt.Errorf("%s of %s: %w", out[i].Condition.Response, out[i].Treatment, err)
		}
	}
	return out, nil
}
