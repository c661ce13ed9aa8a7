// Package advise turns summaries into a choice: which treatment, whether a
// change made it worse, what to measure next. It reads no store and prints
// nothing; its answers name what they are not sure of.
package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge/internal/measure"
	"edgegauge/internal/stat"
)

// A Series is one response of one side of one treatment, a value a trial.
type Series struct {
	Factors  []string
	Levels   []string // of Factors
	Stack    string   // full name of the server's stack
	Floor    bool     // a bare exchange, which is no choice
	Side     measure.Side
	Response string
	Unit     string
	Modelled bool
	Trials   []Trial // in the order of their blocks
}

// A Trial is what one trial gave: figures within it, NaN where there are none.
type Trial struct {
	ID, Block             int
	Mean, Median, P95, SD float64
}

// Name is the treatment in words.
func (s Series) Name() string { return strings.Join(s.Levels, " ") }

// Level is the level of a factor; empty if there is no such factor.
func (s Series) Level(factor string) string {
	if i := slices.Index(s.Factors, factor); i >= 0 {
		return s.Levels[i]
	}
	return ""
}

// Stats are the figures of a trial that a condition may name.
var stats = []string{"mean", "median", "p95"}

// values are one figure of every trial; an error says which trials lack it.
func (s Series) values(figure string) ([]float64, error) {
	out := make([]float64, 0, len(s.Trials))
	for _, t := range s.Trials {
		v := t.Mean
		switch figure {
		case "median":
			v = t.Median
		case "p95":
			v = t.P95
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("trial %d of %s has no %s of %s: too few requests for it, or none answered; raise requests", t.ID, s.Name(), figure, s.Response)
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no valid trial; run it again", s.Name())
	}
	return out, nil
}

// blocks pairs the values of two series by block.
func blocks(a, b Series, figure string) (xs, ys []float64, err error) {
	av, err := a.values(figure)
	if err != nil {
		return nil, nil, err
	}
	bv, err := b.values(figure)
	if err != nil {
		return nil, nil, err
	}
	at := map[int]int{}
	for i, t := range b.Trials {
		at[t.Block] = i
	}
	for i, t := range a.Trials {
		if j, ok := at[t.Block]; ok {
			xs, ys = append(xs, av[i]), append(ys, bv[j])
		}
	}
	return xs, ys, nil
}

// constant reports whether all values are one.
func constant(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return x != xs[0] })
}

func mean(xs []float64) float64 {
	s, err := stat.Mean(xs, 0.95)
	if err != nil {
		return math.NaN()
	}
	return s.Center
}

// needed is the number of trials after which an interval on a logarithm, whose
// single values have the standard deviation sd, is expected to be clear of a
// bound that is distance away. 0: beyond what anybody runs.
func needed(sd, distance, alpha float64) int {
	const most = 10_000
	if !(sd > 0) || !(math.Abs(distance) > 0) {
		return 0
	}
	n, err := stat.Replications(sd, math.Abs(distance), 1-alpha)
	if err != nil || n > most {
		return 0
	}
	return n
}

func logs(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Log(x)
	}
	return out
}
