// Package slo reads a service-level objective, such as "response_time p99 < 200ms,
// failed < 0.1%", and says by how much a trial keeps to it.
package slo

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Condition is an upper bound on a figure of a trial's requests.
type Condition struct {
	Metric Metric
	Share  float64 // of a percentile, 0.99; 0: the mean, or Failed
	Bound  float64 // s, or a share of the requests
	Text   string  // "response_time p99 < 200ms"
}

// A Metric is what a condition bounds.
type Metric string

// The figures that an objective may bound. A request that failed was not answered in time:
// it counts in a percentile, and in a mean, as one that took for ever.
const (
	ResponseTime Metric = "response_time"
	RTT          Metric = "rtt"
	TotalTime    Metric = "total_time"
	Failed       Metric = "failed"
)

// Metrics are all of them.
var Metrics = []Metric{ResponseTime, RTT, TotalTime, Failed}

// An SLO is one or several conditions, all of which are to be kept.
type SLO []Condition

func (s SLO) String() string {
	texts := make([]string, len(s))
	for i, c := range s {
		texts[i] = c.Text
	}
	return strings.Join(texts, ", ")
}

const example = `"response_time p99 < 200ms, failed < 0.1%"`

var form = lazy.Regexp(`^([a-z_]+)(?:[ .]+(p[0-9.]+|mean|median))? *<=? *` +
	`([0-9.]+(?:e[+-]?[0-9]+)?) *([A-Za-zµμ%]*)$`)

// Parse reads conditions with commas between them.
func Parse(text string) (SLO, error) {
	var s SLO
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.Join(strings.Fields(part), " "); part == "" {
			continue
		}
		c, err := parse(part)
		if err != nil {
			return nil, err
		}
		s = append(s, c)
	}
	if len(s) == 0 {
		return nil, errors.New("the objective is empty; write, for example, " + example)
	}
	return s, nil
}

func parse(text string) (Condition, error) {
	c := Condition{Text: text}
	m := form().FindStringSubmatch(text)
	if m == nil {
		return c, fmt.Errorf("%q is not a condition; write a figure, < and a bound with its unit, for example %s", text,
			example)
	}
	if c.Metric = Metric(m[1]); !slices.Contains(Metrics, c.Metric) {
		var names []string
		for _, f := range Metrics {
			names = append(names, string(f))
		}
		return c, fmt.Errorf("%q: unknown figure %q; %s", text, m[1], meant.Advice(m[1], names, "write one of "+
			strings.Join(names, ", ")))
	}
	v, err := strconv.ParseFloat(m[3], 64)
	if err != nil || !(v > 0) {
		return c, fmt.Errorf("%q: the bound %s is not above 0, or too large", text, m[3])
	}
	if c.Metric == Failed {
		return c.share(m[2], v, m[4])
	}
	scale, ok := measure.Spelled("s", m[4])
	if !ok {
		return c, fmt.Errorf("%q: the bound is a time; write it with ns, us, ms, s or min", text)
	}
	c.Bound = v * scale
	switch m[2] {
	case "mean":
		return c, nil
	case "median":
		c.Share = 0.5
		return c, nil
	case "":
		return c, fmt.Errorf("%q names no percentile; write, for example, %s p99", text, c.Metric)
	}
	p, err := strconv.ParseFloat(m[2][1:], 64)
	if err != nil || !(p > 0 && p < 100) {
		return c, fmt.Errorf("%q: %s is no percentile; write, for example, p99", text, m[2])
	}
	c.Share = p / 100
	return c, nil
}

func (c Condition) share(figure string, v float64, unit string) (Condition, error) {
	switch {
	case figure != "":
		return c, fmt.Errorf("%q: failed is a share of the requests and has no %s", c.Text, figure)
	case unit != "%":
		return c, fmt.Errorf("%q: the bound is a share of the requests; write it in %%, for example failed < 0.1%%", c.Text)
	case v >= 100:
		return c, fmt.Errorf("%q: a bound of 100 %% or more is always kept", c.Text)
	}
	c.Bound = v / 100
	return c, nil
}

// Needs is how many requests a trial needs for the condition to mean something: ten
// beyond the percentile, or ten that may fail.
func (c Condition) Needs() int {
	switch {
	case c.Metric == Failed:
		return atLeast(10 / c.Bound)
	case c.Share == 0:
		return 10
	}
	return atLeast(10 / min(c.Share, 1-c.Share))
}

// atLeast is the next whole number; one whose share was rounded is that number itself.
func atLeast(x float64) int { return int(math.Ceil(x * (1 - 1e-9))) }

// Needs is how many requests a trial needs for all conditions.
func (s SLO) Needs() int {
	n := 0
	for _, c := range s {
		n = max(n, c.Needs())
	}
	return n
}

// Shortest is the shortest time that is a bound; 0: none is.
func (s SLO) Shortest() time.Duration {
	var least time.Duration
	for _, c := range s {
		if d := time.Duration(c.Bound * 1e9); c.Metric != Failed && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// Longest is the longest time that is a bound; 0: none is.
func (s SLO) Longest() time.Duration {
	var most time.Duration
	for _, c := range s {
		if c.Metric != Failed {
			most = max(most, time.Duration(c.Bound*1e9))
		}
	}
	return most
}

// Highest is the highest percentile that is bounded, as a share of the requests; 0: none is.
func (s SLO) Highest() float64 {
	var most float64
	for _, c := range s {
		most = max(most, c.Share)
	}
	return most
}

// A Tally gathers a trial's requests.
type Tally struct {
	slo    SLO
	n      int
	failed int
	times  map[Metric][]float64 // s; of those that were answered
}

// NewTally begins one.
func (s SLO) NewTally() *Tally {
	t := &Tally{slo: s, times: map[Metric][]float64{}}
	for _, c := range s {
		if c.Metric != Failed {
			t.times[c.Metric] = nil
		}
	}
	return t
}

// Add takes one request.
func (t *Tally) Add(x measure.Exchange) {
	if t.n++; x.Failure != "" {
		t.failed++
		return
	}
	for f := range t.times {
		v := x.Response()
		switch f {
		case RTT:
			v = x.RTT()
		case TotalTime:
			v = x.Total
		}
		t.times[f] = append(t.times[f], v.Seconds())
	}
}

// A Kept is what a trial says of one condition.
type Kept struct {
	Figure float64 // s, or a share; +Inf: too many requests failed
	Margin float64 // bound over figure: 1 or more is kept
}

// Judge is what the trial says of each condition, and which one binds: that with the
// least margin.
func (t *Tally) Judge() (kept []Kept, binding int) {
	for _, xs := range t.times {
		slices.Sort(xs)
	}
	for i, c := range t.slo {
		k := Kept{Figure: t.figure(c)}
		k.Margin = c.Bound / k.Figure // of nothing failed: +Inf
		kept = append(kept, k)
		if k.Margin < kept[binding].Margin {
			binding = i
		}
	}
	return kept, binding
}

func (t *Tally) figure(c Condition) float64 {
	xs := t.times[c.Metric]
	switch {
	case c.Metric == Failed:
		return float64(t.failed) / float64(max(1, t.n))
	case c.Share == 0 && t.failed > 0, len(xs) == 0:
		return math.Inf(1)
	case c.Share == 0:
		sum := 0.0
		for _, x := range xs {
			sum += x
		}
		return sum / float64(len(xs))
	}
	rank := int(math.Ceil(c.Share*float64(t.n)-1e-6)) - 1 // of all, failed ones last; 0.999 is a little more than it says
	if rank >= len(xs) {
		return math.Inf(1)
	}
	return xs[max(0, rank)]
}

// Trial is the trial as a search for a capacity sees it.
func (t *Tally) Trial(rate float64) stat.CapacityTrial {
	kept, binding := t.Judge()
	return stat.CapacityTrial{Rate: rate, Margin: kept[binding].Margin}
}
