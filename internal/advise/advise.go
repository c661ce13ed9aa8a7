// Package advise turns summaries into a choice: which treatment, whether a
// change made it worse, what to measure next. It reads no store and prints
// nothing; its answers name what they are not sure of.
package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
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
	Modelled bool // computed from a model, not measured
	// s that programs were ready and had no CPU in each s of the run, where that touches the response
	Waiting float64
	// Unsteady says that requests took another time at the end of trials than at their beginning, where that touches it.
	Unsteady bool
	// Interleaved says that the series it is compared with was measured in the same
	// blocks: trials are paired by block.
	Interleaved bool
	Failed      float64 // share of the requests that failed, of all trials: times are of the others
	Requests    int     // of all trials, of which that is the share; 0: not known
	Longer      int     // trials without a value, since they would have had to go on for it
	Units       bool    // Trials are units of several benches, whose center is their mean
	Ticks       bool    // a clock or a meter gave the values, with its steps: see stat.Comparison.OfTicks
	Step        float64 // in Unit, the largest that that clock can have, by all its figures; 0: its values tell it
	Unseen      float64 // in Unit, by how much all values may be off alike: what a meter does not see
	Resends     bool    // what is lost is sent again, by the protocol or below it, which may happen beyond these trials
	// Lost is, by block, the share of the requests that failed in all attempts at its trial, or were of attempts that took
	// too long, 1 where the trial has no value for that; nil: none was, or it is no time of requests. Limit is how long
	// answers were waited for.
	Lost   map[int]float64
	Limit  float64
	Ended  int            // attempts that took longer than a trial may, of which nothing is known
	Trials []TrialSummary // in the order of their blocks
}

// A TrialSummary is what one trial gave: figures within it, of the requests that were answered, in the Series' Unit,
// NaN where there are none.
type TrialSummary struct {
	ID, Block             int
	Mean, Median, P95, SD float64
	// AllMedian and AllP95 are those of all requests, of which the ones that failed count as the slowest: +Inf where it is
	// one of them, NaN where nobody knows. 0: as those of the answered ones.
	AllMedian, AllP95 float64
	// Late is, of a share of requests that failed, that of the ones without an answer in time, or of all, where nobody
	// knows: waiting for a CPU may have made these, and no others.
	Late float64
	// Failed are, of a share of requests that failed, the requests that it is of; none: not known.
	Failed stat.Share
}

// starvedFrom is the wait for a CPU, in s for each s of the run, from which
// trials alone decide nothing: the limit from which a report warns.
const starvedFrom = 0.10

// Starved reports whether the trials waited so long for a CPU that they decide
// nothing by themselves.
func (s Series) Starved() bool { return s.Waiting > starvedFrom }

// Allowance is the factor by which waiting for a CPU may have changed the ratio
// of two Series that waited so long: 1 where neither was starved and both waited alike.
func Allowance(a, b float64) float64 {
	w := max(a, b)
	if w <= starvedFrom {
		if w = math.Abs(a - b); w < 0.02 {
			return 1
		}
	}
	return Slower(w)
}

// WaitingTurns reports whether a figure of trials that waited so long for a CPU would lie on the
// other side of a bound if they had not: times would have been shorter, rates higher.
func WaitingTurns(waiting, value float64, unit string, bound float64) bool {
	if waiting <= starvedFrom {
		return false
	}
	without := value / Slower(waiting)
	if unit == "1/s" || unit == "B/s" {
		without = value * Slower(waiting)
	}
	return (without < bound) != (value < bound)
}

// Beyond reports whether a ratio is apart from 1 by more than that factor.
func Beyond(ratio stat.Comparison, factor float64) bool {
	return ratio.Lo > factor || ratio.Hi < 1/factor
}

// Slower is how many times as long things may take that wait for a CPU for w s
// in each second: 1/(1-w), with a fifth of w added since a machine so busy is
// slower in other ways, too; at most 10.
func Slower(w float64) float64 { return 1 / (1 - min(0.9, 1.2*w)) }

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

// p95Needs is how many values of a trial show its p95: of fewer, none is expected beyond it.
const p95Needs = 20

// lacking says that a trial has no such figure.
type lacking struct {
	treatment, response, figure string
	trial                       int
}

func (l lacking) Error() string {
	return fmt.Sprintf("trial %d of %s has no %s of %s: %s", l.trial, l.treatment, l.figure, l.response, l.advice())
}

// advice says what would have it.
func (l lacking) advice() string {
	if l.figure == "p95" {
		return fmt.Sprintf("it takes %d answered requests in a trial; raise requests", p95Needs)
	}
	return "too few requests, or none answered; raise requests"
}

// An ofFailed says that a figure of a trial, among all its requests, is one that failed, or may be.
type ofFailed struct {
	lacking
	unseen bool // a copy does not say
}

func (f ofFailed) Error() string {
	return fmt.Sprintf("trial %d of %s: %s", f.trial, f.treatment, f.advice())
}

// advice says why, and what else has an answer.
func (f ofFailed) advice() string {
	if f.unseen {
		return fmt.Sprintf("requests failed, and this copy lacks the exchanges that tell the %s of %s among all of them",
			f.figure, f.response)
	}
	return fmt.Sprintf("among all requests the %s of %s is one that failed, which has no time; look at failed_share",
		f.figure, f.response)
}

// unseen reports whether requests failed, and nobody knows where among all of them a figure lies.
func (t TrialSummary) unseen(figure string) bool {
	return figure == "median" && math.IsNaN(t.AllMedian) || figure == "p95" && math.IsNaN(t.AllP95)
}

// AnsweredOnly are series whose figures are of the answered requests alone.
func AnsweredOnly(all []Series) []Series {
	out := slices.Clone(all)
	for i := range out {
		out[i].Trials = slices.Clone(out[i].Trials)
		for j := range out[i].Trials {
			out[i].Trials[j].AllMedian, out[i].Trials[j].AllP95 = 0, 0
		}
	}
	return out
}

// values are one figure of every trial, a median or p95 among all its requests; an error says which trials lack it.
func (s Series) values(figure string) ([]float64, error) {
	if s.Longer > 0 {
		return nil, fmt.Errorf("%d of %d trials of %s ended before they had a %s, and the others are the better ones; give "+
			"trials a longer duration", s.Longer, s.Longer+len(s.Trials), s.Name(), s.Response)
	}
	out := make([]float64, 0, len(s.Trials))
	for _, t := range s.Trials {
		v := t.Mean
		switch figure {
		case "median":
			v = cmp.Or(t.AllMedian, t.Median)
		case "p95":
			v = cmp.Or(t.AllP95, t.P95)
		}
		if math.IsInf(v, 1) || t.unseen(figure) {
			return nil, ofFailed{lacking{s.Name(), s.Response, figure, t.ID}, math.IsNaN(v)}
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, lacking{s.Name(), s.Response, figure, t.ID}
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no valid trials; run it again", s.Name())
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

// withoutLate is the series of what failed without the requests that waiting for a CPU may have made late.
func (s Series) withoutLate() Series {
	s.Trials = slices.Clone(s.Trials)
	for i := range s.Trials {
		s.Trials[i].Mean -= s.Trials[i].Late
		s.Trials[i].Median = s.Trials[i].Mean
	}
	return s
}

func mean(xs []float64) float64 {
	s, err := stat.Mean(xs, 0.95)
	if err != nil {
		return math.NaN()
	}
	return s.Center
}

// mostTrials a side is beyond what anybody runs.
const mostTrials = 10_000

// needed is the number of trials, or blocks, that decide with leastPower on which side of a bound a figure lies, if it
// stays that distance away, in the unit of the standard deviation sd of single ones, which has df degrees of freedom
// (stat.Blocks). 0: beyond what anybody runs.
func needed(sd, df, distance, alpha float64) int {
	if !(sd > 0) {
		return 0
	}
	n, err := stat.Blocks(sd, df, distance, alpha, leastPower)
	if err != nil || n > mostTrials {
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
