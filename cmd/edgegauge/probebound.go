package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// A bound is one --fail-if of a probe: a figure that must not be beyond a value.
type bound struct {
	text   string
	figure string // response, rtt, failures, retries or rate
	of     string // mean, max or p99.9 of the times; share or number of the failures or retries
	less   bool
	equal  bool    // by at itself, too, which matters for facts
	at     float64 // s, 1/s, or as failures are counted
}

const boundExample = "write, for example, 'p99>20ms', 'rtt.mean>5ms', 'failures>0', 'failures>1%' or 'rate<100'"

var (
	boundName  = lazy.Regexp(`^[A-Za-z0-9_.]*`)
	boundValue = lazy.Regexp(`^[0-9]+(\.[0-9]+)?`)
	percentile = lazy.Regexp(`^p[0-9]{1,2}(\.[0-9]+)?$`)
)

// parseBound reads NAME>VALUE or NAME<VALUE. An error quotes it, and says at which character.
func parseBound(text string) (bound, error) {
	b := bound{text: strings.TrimSpace(text)}
	at := 0
	skip := func() {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " "))
	}
	fail := func(what, advice string) (bound, error) {
		return b, fmt.Errorf("%q, character %d: %s; %s", text, len([]rune(text[:at]))+1, what, advice)
	}
	skip()
	name := boundName().FindString(text[at:])
	if why := b.named(name); why != "" {
		return fail(why, boundExample)
	}
	at += len(name)
	skip()
	if at == len(text) || text[at] != '<' && text[at] != '>' {
		return fail("expected < or >", boundExample)
	}
	b.less = text[at] == '<'
	at++
	if b.equal = strings.HasPrefix(text[at:], "="); b.equal {
		at++
	}
	skip()
	value := boundValue().FindString(text[at:])
	if value == "" {
		return fail("expected a number", boundExample)
	}
	b.at, _ = strconv.ParseFloat(value, 64)
	at += len(value)
	skip()
	unit := strings.TrimSpace(text[at:])
	switch b.figure {
	case "failures", "retries":
		if b.of = "number"; unit == "%" {
			b.of, b.at = "share", b.at/100
		} else if unit != "" {
			return fail(fmt.Sprintf("unknown unit %q of %s", unit, b.figure), "write a number or a share such as 1%")
		}
	case "rate":
		if unit != "" && unit != "/s" {
			return fail(fmt.Sprintf("unknown unit %q of a rate", unit), "write answers per second, such as 100 or 100/s")
		}
	default:
		if unit == "" {
			return fail("a time without a unit", "write ns, us, ms, s or min behind it")
		}
		factor, ok := measure.Spelled("s", unit)
		if !ok {
			return fail(fmt.Sprintf("unknown unit %q of a time", unit), "write ns, us, ms, s or min")
		}
		b.at *= factor
	}
	return b, nil
}

// named takes the figure; it says what is wrong with its name.
func (b *bound) named(name string) string {
	b.figure, b.of = "response", name
	if head, rest, ok := strings.Cut(name, "."); ok && (head == "rtt" || head == "response") {
		b.figure, b.of = head, rest
	} else if slices.Contains([]string{"failures", "retries", "rate"}, name) {
		b.figure, b.of = name, ""
		return ""
	} else if name == "rtt" {
		b.figure, b.of = "rtt", "mean"
	}
	switch {
	case b.of == "median":
		b.of = "p50"
	case slices.Contains([]string{"mean", "max"}, b.of):
	case !percentile().MatchString(b.of):
		return fmt.Sprintf("unknown figure %q: there are mean, median, max and percentiles such as p99 (of the response "+
			"time; rtt.p99 of the RTT), failures, retries and rate", name)
	}
	return ""
}

// share is the percentile as a share; 0: it is none.
func (b bound) share() float64 {
	v, err := strconv.ParseFloat(strings.TrimPrefix(b.of, "p"), 64)
	if err != nil || b.of[0] != 'p' {
		return 0
	}
	return v / 100
}

// needs is how many requests of a run are the least for the figure.
func (b bound) needs() int {
	q := b.share()
	if q == 0 || b.counts() || b.figure == "rate" {
		return 1
	}
	return int(math.Ceil(1/min(q, 1-q) - 1e-9))
}

// times are those of a run that the bound is on.
func (b bound) times(x figures) []int64 {
	if b.figure == "rtt" {
		return x.rtt
	}
	return x.response
}

// of one run; false if it has too few answers.
func (b bound) ofRun(x figures) (float64, bool) {
	values := b.times(x)
	switch {
	case b.figure == "rate":
		return x.rate(), true
	case len(values) == 0:
		return 0, false
	case b.of == "max":
		return float64(slices.Max(values)) * 1e-9, true
	case b.of == "mean":
		w, err := stat.WithinTrial(slices.Clone(values))
		return w.Mean * 1e-9, err == nil
	}
	v, err := stat.QuantileWithin(slices.Clone(values), b.share())
	return v * 1e-9, err == nil
}

// ofAllOfRun is the percentile of a run among all its requests, of which those that failed come last; +Inf where it is
// one of them.
func (b bound) ofAllOfRun(x figures) float64 {
	v, err := stat.QuantileOfAll(slices.Clone(b.times(x)), x.failed, b.share())
	if err != nil {
		return math.Inf(1)
	}
	return v * 1e-9
}

// A judged is what became of a bound.
type judged struct {
	Condition string `json:"condition"`
	// Value is the mean of runs, that which Method names if there is an interval; the greatest of all for max; over all
	// runs for failures and retries; null: unknown.
	Value   *float64     `json:"value"`
	Unit    string       `json:"unit"`
	CI      []float64    `json:"ci"`               // null: there is none
	Method  string       `json:"method,omitempty"` // of value and ci, as that of a figure
	Verdict stat.Verdict `json:"verdict"`
	Why     string       `json:"why"`

	p          float64 // of the verdict by itself; NaN: a fact
	arithmetic float64 // the mean of runs, which Value is not where Method is geometric
	untold     bool    // the interval says nothing
}

// doubt leaves a condition undecided, and says why.
func (j *judged) doubt(why string) {
	if j.Verdict == stat.Undecided {
		why = j.Why + "; " + why
	}
	j.Verdict, j.Why = stat.Undecided, why
}

// judgeAll holds the runs against all bounds. Those that an interval judges share its level (Holm). What waiting for a
// CPU may explain is undecided, and so is what only those requests keep to that were answered, unless one of the bounds
// allows so many of a mean to fail.
func judgeAll(bounds []bound, all []figures, confidence float64) []judged {
	out, ps := make([]judged, len(bounds)), make([]float64, len(bounds))
	for i, b := range bounds {
		out[i] = b.held(all, confidence)
		ps[i] = out[i].p
	}
	among := len(slices.DeleteFunc(slices.Clone(ps), math.IsNaN))
	for i, p := range stat.Holm(ps) {
		if j := &out[i]; j.Verdict != stat.Undecided && p >= 1-confidence {
			j.doubt(fmt.Sprintf("alone this would be decided (p %.2g), but %d conditions are judged at once, so that each "+
				"needs stronger evidence (p %.2g among all); more --runs would decide", j.p, among, p))
		}
	}
	t := totalOf(all)
	for i, b := range bounds {
		b.doubtAnswered(&out[i], t, bounds, out)
	}
	for i, b := range bounds {
		j := &out[i]
		if !b.counts() && j.Value != nil && advise.WaitingTurns(t.starved, *j.Value, j.Unit, b.at) {
			j.doubt(fmt.Sprintf("the driver waited for a CPU for %.2g s of each second, which may explain it; probe on a "+
				"quieter machine", t.starved))
		}
		b.doubtSentAgain(j, t, bounds, out, confidence)
	}
	return out
}

// doubtAnswered takes back that a mean or the greatest time is below the bound where that is known of the requests that
// were answered alone. all are the verdicts on the bounds.
func (b bound) doubtAnswered(j *judged, t total, bounds []bound, all []judged) {
	if t.failed == 0 || j.Verdict == stat.Undecided || (j.Verdict == stat.Confirmed) != b.less {
		return
	}
	failed := 100 * float64(t.failed) / float64(max(1, t.sent))
	switch {
	case b.counts() || b.figure == "rate":
	case b.of == "max":
		j.doubt(notAnswered(failed, b.of))
	case b.of == "mean":
		why := fmt.Sprintf("the mean covers only the requests that were answered, and %.3g %% of all failed", failed)
		if open := allows("failures", bounds, all); open != "" {
			j.doubt(why + ": " + open)
		} else {
			j.Why = strings.TrimPrefix(j.Why+"; "+why, "; ")
		}
	}
}

// notAnswered says why a figure of so many per cent of requests that failed keeps to no bound.
func notAnswered(failed float64, figure string) string {
	return fmt.Sprintf("%.3g %% of all requests have failed, and %s covers only those that were answered: among "+
		"all it is one that failed", failed, figure)
}

// amongAll takes back that the percentile of the requests that were answered is below the bound where that of all
// requests, of which those that failed are the slowest, is not.
func (b bound) amongAll(j judged, all []figures, confidence float64) judged {
	t := totalOf(all)
	if b.share() == 0 || t.failed == 0 || j.Verdict == stat.Undecided || (j.Verdict == stat.Confirmed) != b.less {
		return j
	}
	var values []float64
	for _, x := range all {
		values = append(values, b.ofAllOfRun(x))
	}
	if math.IsInf(slices.Max(values), 1) {
		j.doubt(notAnswered(100*float64(t.failed)/float64(t.sent), b.of))
		return j
	}
	whole := b.over(values, confidence)
	if j.p = max(j.p, whole.p); whole.Verdict != j.Verdict {
		j.doubt(fmt.Sprintf("this covers only the requests that were answered; among all, with those that failed as the "+
			"slowest, it is %s", report.Format(*whole.Value, whole.Unit)))
	}
	return j
}

// held is the verdict by itself, on an idle machine. A run without an answer has no times: the others may meet the
// bound, but do not exclude it.
func (b bound) held(all []figures, confidence float64) judged {
	if b.counts() {
		return b.counted(totalOf(all), confidence)
	}
	var values []float64
	for i, x := range all {
		switch v, ok := b.ofRun(x); {
		case ok:
			values = append(values, v)
		case len(x.rtt) > 0:
			return b.unknown(fmt.Sprintf("run %d has %d answers, and %s needs %d; make runs longer", i+1, len(x.rtt), b.of,
				b.needs()))
		}
	}
	if len(values) == 0 {
		return b.unknown("no request was answered")
	}
	var runs [][]int64
	for _, x := range all {
		runs = append(runs, b.times(x))
	}
	j := b.over(values, confidence, lowerPercentiles(runs, b.share())...)
	if len(values) < len(all) {
		if j.Verdict == stat.Contradicted {
			j.Verdict = stat.Undecided
		}
		j.Why = fmt.Sprintf("%d of %d runs had no answer, and the others were judged", silent(all), len(all))
	}
	return b.amongAll(j, all, confidence)
}

// unknown is a condition on what is not known.
func (b bound) unknown(why string) judged {
	return judged{Condition: b.text, Unit: b.unit(), Verdict: stat.Undecided, Why: why, p: math.NaN()}
}

// unit is that of the figure.
func (b bound) unit() string {
	switch b.figure {
	case "failures", "retries":
		return "1"
	case "rate":
		return "1/s"
	}
	return "s"
}

// met reports whether v is beyond the bound.
func (b bound) met(v float64) bool {
	if advise.SameFigure(v, b.at) {
		return b.equal
	}
	return v < b.at == b.less
}

// fact judges a value that has no interval.
func (b bound) fact(v float64, why string) judged {
	j := judged{Condition: b.text, Value: &v, Unit: b.unit(), Verdict: stat.Contradicted, Why: why, p: math.NaN()}
	if b.met(v) {
		j.Verdict = stat.Confirmed
	}
	return j
}

// over judges the figures of runs. The greatest value is a fact; of means and percentiles the interval decides. One run
// has none; where runs have none since they are all alike, the value itself decides. Where it is that of the geometric
// mean, which is never above the mean, the mean must not say otherwise. lower are lower percentiles of the runs.
func (b bound) over(values []float64, confidence float64, lower ...[]float64) judged {
	if b.of == "max" {
		return b.fact(slices.Max(values), "the largest of all requests")
	}
	p, err := overRuns(values, confidence)
	p, by := p.above(lower, confidence)
	if err != nil || p.CI == nil {
		if len(values) == 1 {
			j := b.unknown("one run has no interval; use --runs 6 or more")
			j.Value = &values[0]
			return j
		}
		return b.fact(mean(values), "the runs have no interval: the value itself was judged")
	}
	j := judged{Condition: b.text, Value: &p.Mean, Unit: b.unit(), CI: p.CI, Method: p.Method,
		p: pOf(values, p.Method, b.at), arithmetic: p.arithmetic, untold: p.untold()}
	if by != nil && p.CI[0] > b.at {
		j.p = min(j.p, pOf(by, p.Method, b.at))
	}
	switch lo, hi := p.CI[0], p.CI[1]; {
	case !b.less && lo > b.at || b.less && hi < b.at:
		j.Verdict = stat.Confirmed
	case !b.less && hi <= b.at || b.less && lo >= b.at:
		j.Verdict = stat.Contradicted
	default:
		j.Verdict, j.Why = stat.Undecided, "the interval contains the bound; more --runs would decide"
		if j.untold {
			j.Why = untoldBy(len(values))
		}
	}
	if parts := partingOf(values, lower); parts.leaveOpen(&j, b) {
		return j
	}
	if v := mean(values); p.Method == geometric && j.Verdict != stat.Undecided {
		if b.met(v) != (j.Verdict == stat.Confirmed) {
			j.Verdict, j.Why = stat.Undecided, fmt.Sprintf("the mean of runs is %s; more --runs would decide",
				report.Format(v, j.Unit))
		}
	}
	b.doubtRuns(&j, values)
	return j
}

// pOf is the two-sided p of the mean that method names being at a bound: below 1-confidence where the interval of runs
// does not contain that.
func pOf(values []float64, method string, at float64) float64 {
	compare := stat.DifferencePaired
	if method == geometric {
		compare = stat.RatioPaired
	}
	c, err := compare(values, slices.Repeat([]float64{at}, len(values)), probeConfidence)
	if err != nil { // of a bound of 0, which no geometric mean is
		return 0
	}
	return c.P
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// String is a line for a terminal.
func (j judged) String() string {
	word := map[stat.Verdict]string{stat.Confirmed: "met", stat.Contradicted: "not met",
		stat.Undecided: "undecided"}[j.Verdict]
	text := fmt.Sprintf("%s: %s", j.Condition, word)
	if j.Unit != "1" { // how many requests, and the interval, stand in why
		text += j.figure()
	}
	if j.Why != "" {
		text += "; " + j.Why
	}
	return text
}

// figure is the value with its interval, for a terminal.
func (j judged) figure() string {
	switch {
	case j.Value == nil:
		return ""
	case j.untold:
		return ", " + report.Format(j.arithmetic, j.Unit) + ", the arithmetic mean of runs"
	}
	text := ", " + report.Format(*j.Value, j.Unit)
	if j.CI != nil {
		text += fmt.Sprintf(" (%s to %s)", report.Format(j.CI[0], j.Unit), report.Format(j.CI[1], j.Unit))
	}
	if j.Method == geometric {
		text += ", the geometric mean of runs"
	}
	return text
}
