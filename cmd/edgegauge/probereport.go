package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// A probed is one figure of a probe, with its interval over the runs.
type probed struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Mean   float64   `json:"mean"` // over the runs, that which Method names
	CI     []float64 `json:"ci"`   // of that mean; null: there is none
	Method string    `json:"method"`

	arithmetic float64 // the mean of runs, which Mean is not where Method is geometric
	parts      parting
}

// untold reports whether the interval is so wide that its limits say nothing.
func (x probed) untold() bool { return x.CI != nil && advise.TellsNothing(x.Mean, x.CI[0], x.CI[1]) }

func (p *probe) print(w io.Writer, all []figures) error {
	t, table := totalOf(all), p.table(all)
	judgements := judgeAll(p.bounds, all, p.confidence)
	verdict := verdictOf(judgements)
	if err := p.unmeasured(t); err != nil && verdict != stat.Confirmed {
		if p.asJSON && p.broken == nil && t.sent > 0 { // that requests failed is a figure, too
			err = errors.Join(err, p.writeJSON(w, all, t, table, judgements))
		}
		return exit{exitUnmeasured, err}
	}
	if p.asJSON {
		if err := p.writeJSON(w, all, t, table, judgements); err != nil {
			return err
		}
		return compareExit(verdict, p.undecidedExit())
	}
	if err := p.printFigures(w, all, t, table); err != nil {
		return err
	}
	for _, j := range judgements {
		fmt.Fprintln(w, j)
	}
	return compareExit(verdict, p.undecidedExit())
}

// printStopped prints what there is of a probe that was stopped. Nothing is judged by it: how many runs there are may
// have depended on them, as where a service hangs until somebody's patience ends.
func (p *probe) printStopped(w io.Writer, all []figures) error {
	t := totalOf(all)
	if p.asJSON || t.failed == t.sent {
		return exit{exitUnmeasured, errors.New("stopped; an incomplete probe prints no figures")}
	}
	if err := p.printFigures(w, all, t, p.table(all)); err != nil {
		return err
	}
	return exit{exitUnmeasured, fmt.Errorf("stopped: the figures are those of %d of %d runs, and no condition was judged",
		len(all), p.runs)}
}

// printFigures is the text up to the conditions.
func (p *probe) printFigures(w io.Writer, all []figures, t total, table []probed) error {
	fmt.Fprintf(w, "%s: %s, %s\n%s\n", p.job.URL, plural.Count(len(all), "run"), t, hanging(p.loop(all)))
	for _, warning := range p.warnings(all, t) {
		fmt.Fprintln(w, hanging("warning: "+warning))
	}
	for _, hint := range p.hints(all) {
		fmt.Fprintln(w, hanging("hint: "+hint))
	}
	if err := writeFigures(w, table, len(all)); err != nil {
		return err
	}
	if t.failed > 0 {
		fmt.Fprintln(w, hanging(fmt.Sprintf("Times and the response body are of the %d of %d requests that were answered; "+
			"among all, with those that failed as the slowest, percentiles of times are greater, or none.",
			t.sent-t.failed, t.sent)))
	}
	return nil
}

// unmeasured says why there is nothing to judge by, unless what there is meets a condition.
func (p *probe) unmeasured(t total) error {
	switch {
	case p.broken != nil:
		return p.broken
	case t.sent == 0:
		return fmt.Errorf("%s: no request was sent; raise --duration or --rate", p.job.URL)
	case t.failed == t.sent:
		return fmt.Errorf("%s: every request failed; first failure: %s", p.job.URL, t.why)
	}
	return nil
}

// undecidedExit is the exit code of an answer that is undecided.
func (p *probe) undecidedExit() int {
	if p.strict {
		return exitWorse
	}
	return exitDone
}

// verdictOf is that of all conditions: confirmed if any is met.
func verdictOf(all []judged) stat.Verdict {
	out := stat.Verdict("")
	for _, j := range all {
		switch {
		case j.Verdict == stat.Confirmed || out == stat.Confirmed:
			out = stat.Confirmed
		case j.Verdict == stat.Undecided || out == stat.Undecided:
			out = stat.Undecided
		default:
			out = stat.Contradicted
		}
	}
	return out
}

// loop says how requests followed each other, and what that means for tails.
func (p *probe) loop(all []figures) string {
	if p.behind(all) != "" || p.job.Rate > 0 && totalOf(all).late > lateFrom {
		return fmt.Sprintf("open loop: %g requests per second (%s) were due, but not all were sent then (see the warning); "+
			"response time counts from when they were due", p.job.Rate, p.job.Arrivals)
	}
	if p.job.Rate > 0 {
		return fmt.Sprintf("open loop: %g requests per second (%s), sent when due; response time counts from then",
			p.job.Rate, p.job.Arrivals)
	}
	sends := plural.Count(p.job.Concurrency, "connection") + plural.Verb(p.job.Concurrency, ", which sends",
		", each of which sends") + " its next request when the last is answered"
	if p.job.Connection == drive.Pipelined || p.job.Connection == drive.Multiplexed {
		sends = fmt.Sprintf("1 connection, which sends its next request when one of %d in flight is answered",
			p.job.Concurrency)
	}
	return fmt.Sprintf("closed loop: %s; a slow answer delays what would have been sent meanwhile, so tails are "+
		"understated (coordinated omission): --rate measures them", sends)
}

// hints name likely causes of what the times look like.
func (p *probe) hints(all []figures) []string {
	out := []string{}
	var medians, p95s []float64
	var spectrum measure.Spectrum
	answered, held := 0, 0
	least := math.Inf(1)
	for _, x := range all {
		answered, held = answered+len(x.rtt), held+x.quality.Held
		for _, d := range x.rtt {
			spectrum.Add(time.Duration(d))
		}
		if w, err := stat.WithinTrial(slices.Clone(x.rtt)); err == nil {
			medians, p95s = append(medians, w.Median*1e-9), append(p95s, w.P95*1e-9)
			least = min(least, w.Min*1e-9)
		}
	}
	// Over HTTP/1 the driver sees whether answers stand still between header and body: what takes as long before its
	// first byte, or comes in many parts, waits for something else.
	seen := p.job.Protocol == drive.HTTP1 && p.job.Connection != drive.Pipelined
	gathers := func(w measure.Timer) bool {
		return w.Gathers(&spectrum, 0) && (w != measure.DelayedAcknowledgement || !seen || 25*held >= answered)
	}
	const quick = 10e-3 // s: so near, no network takes as long as a timer
	if hint := report.TimerHint(medians, p95s, gathers, "runs"); hint != "" {
		if !report.IsLocal(p.job.URL) && least > quick {
			hint += "; or the network takes as long"
		}
		out = append(out, hint)
	}
	return out
}

func (p *probe) writeJSON(w io.Writer, all []figures, t total, table []probed, judgements []judged) error {
	loop := drive.Closed
	if p.job.Rate > 0 {
		loop = "open"
	}
	out := probeReport{Format: probeFormat, Kind: "probe", URL: p.job.URL, Load: probeLoad{Loop: loop,
		Protocol: p.job.Protocol, Method: p.job.Method, Connection: p.job.Connection, Concurrency: p.job.Concurrency,
		Rate: p.job.Rate, Arrival: p.job.Arrivals, Body: len(p.job.Body)}, Settings: settingsOf(p.job),
		Requests: t.sent, Failures: t.failed, FirstFailure: t.why, Repetitions: t.repetitions,
		Retransmissions: t.retransmissions, Reconnects: t.reconnects, Seed: p.job.Seed, Warnings: p.warnings(all, t),
		Hints: p.hints(all), Confidence: p.confidence, Figures: table, Runs: len(all), Conditions: judgements,
		Verdict: string(verdictOf(judgements))}
	for _, x := range all {
		length := x.length().Seconds()
		r := probeRun{Requests: x.sent, Failures: x.failed, Late: &x.late, Repetitions: &x.quality.Repetitions,
			RTT: withinOf(x.rtt, x.failed), ResponseTime: withinOf(x.response, x.failed), Answers: x.rate(), Length: &length,
			RequestBody: float64(x.out) / float64(max(1, x.sent))}
		r.Waiting, _ = x.starved()
		if x.queue != nil {
			w := x.queue.Waits()
			r.Waited, r.RateReached = &w.Waited, &w.Pace
		}
		if n := len(x.rtt); n > 0 {
			body := float64(x.in) / float64(n)
			r.ResponseBody = &body
		}
		out.PerRun = append(out.PerRun, r)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// writeFigures writes the table, and below it what is no mean of runs, or has no interval that says anything.
func writeFigures(w io.Writer, table []probed, runs int) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "figure\tmean of runs\t95 % from\tto\t")
	var means []string // arithmetic ones, of figures whose geometric mean stands in the table
	untold := false
	var parted []string
	for _, x := range table {
		lo, hi := math.NaN(), math.NaN()
		switch {
		case len(x.parts.low) > 0:
			parted = append(parted, x.parts.why(x.Name))
			x.Name, x.Mean = x.Name+" ?", x.arithmetic
		case x.untold():
			x.Name, x.Mean, untold = x.Name+" ?", x.arithmetic, true
		case x.CI != nil:
			lo, hi = x.CI[0], x.CI[1]
			if x.Method == geometric {
				means = append(means, x.Name+" "+report.Format(x.arithmetic, x.Unit))
				x.Name += " *"
			}
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t\n", x.Name, report.Format(x.Mean, x.Unit), report.Format(lo, x.Unit),
			report.Format(hi, x.Unit))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var below []string
	if len(means) > 0 {
		below = append(below, "* the geometric mean of runs: they differ so much that an interval of their mean would reach "+
			"below zero. The arithmetic mean: "+strings.Join(means, ", "))
	}
	if untold {
		below = append(below, "? the arithmetic mean of runs. "+untoldBy(runs))
	}
	for _, why := range parted {
		below = append(below, "? the arithmetic mean of runs: "+why)
	}
	for _, text := range below {
		if _, err := fmt.Fprintln(w, hanging(text)); err != nil {
			return err
		}
	}
	return nil
}

// untoldBy says that so many runs have no interval that says anything, and what would.
func untoldBy(runs int) string {
	return fmt.Sprintf("%s that differ so much do not tell how near it is; more --runs would", plural.Count(runs, "run"))
}

// table summarizes the runs. One without any answer has no times and sizes; its rate is zero.
func (p *probe) table(all []figures) []probed {
	rows := []struct {
		name, unit string
		values     []float64
	}{{name: "rtt", unit: "s"}, {name: "rtt median", unit: "s"}, {name: "rtt p95", unit: "s"},
		{name: "rtt p99", unit: "s"},
		{name: "response time", unit: "s"}, {name: "response time p99", unit: "s"}, {name: "request body", unit: "B"},
		{name: "response body", unit: "B"}, {name: "answers", unit: "1/s"}}
	rate := &rows[len(rows)-1]
	var rtts, responses [][]int64
	for _, x := range all {
		rtts, responses = append(rtts, x.rtt), append(responses, x.response)
		rate.values = append(rate.values, x.rate())
		rtt, err := stat.WithinTrial(x.rtt)
		if err != nil {
			continue
		}
		response, err := stat.WithinTrial(x.response)
		if err != nil {
			continue
		}
		n, answered := float64(x.sent), float64(len(x.rtt))
		for i, v := range []float64{rtt.Mean * 1e-9, rtt.Median * 1e-9, rtt.P95 * 1e-9, rtt.P99 * 1e-9,
			response.Mean * 1e-9, response.P99 * 1e-9, float64(x.out) / n, float64(x.in) / answered} {
			rows[i].values = append(rows[i].values, v)
		}
	}
	out := []probed{}
	for _, r := range rows {
		x, err := overRuns(r.values, p.confidence)
		if err != nil {
			continue // too few requests for that percentile
		}
		var lower [][]float64
		switch r.name {
		case "rtt p95":
			lower = lowerPercentiles(rtts, 0.95)
		case "rtt p99":
			lower = lowerPercentiles(rtts, 0.99)
		case "response time p99":
			lower = lowerPercentiles(responses, 0.99)
		}
		x, _ = x.above(lower, p.confidence)
		if x.parts = partingOf(r.values, lower); len(x.parts.low) > 0 {
			x.CI = nil // its limits say nothing of the service
		}
		x.Name, x.Unit = r.name, r.unit
		out = append(out, x)
	}
	return out
}

// geometric is the Method of a mean that is not the arithmetic one.
const geometric = "geometric mean of trial means, t interval of their logarithms"

// overRuns is the mean of the runs with its interval. What is measured here is
// never below zero: where runs differ so much that the interval of their mean
// would reach there, it is the geometric mean and the interval on the log scale.
// With a zero among the runs there is no such mean, and the interval is cut off.
func overRuns(values []float64, confidence float64) (probed, error) {
	s, err := stat.Mean(values, confidence)
	if err != nil {
		return probed{}, err
	}
	x := probed{Mean: s.Center, Method: s.Method, arithmetic: s.Center}
	switch {
	case !(s.Lo < s.Hi):
		return x, nil
	case s.Lo > 0:
		x.CI = []float64{s.Lo, s.Hi}
		return x, nil
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	of, err := stat.Mean(logs, confidence)
	if err != nil { // a zero among them
		x.CI, x.Method = []float64{0, s.Hi}, s.Method+", cut off at 0"
		return x, nil
	}
	x.Mean, x.CI, x.Method = math.Exp(of.Center), []float64{math.Exp(of.Lo), math.Exp(of.Hi)}, geometric
	return x, nil
}

// A total is what all runs say together.
type total struct {
	sent, failed, repetitions, retransmissions, reconnects, surplus, unsure int

	coap    bool    // a port's message IDs may be used up
	why     string  // of the first failure
	starved float64 // s without a CPU in each s of the run, median of runs
	late    float64 // the driver's p99 lateness over the median RTT, likewise
}

func totalOf(all []figures) (t total) {
	var starved, late []float64
	for _, x := range all {
		t.sent, t.failed = t.sent+x.sent, t.failed+x.failed
		t.repetitions += x.quality.Repetitions
		t.retransmissions += x.quality.Retransmissions
		t.reconnects += x.quality.Reconnects
		t.surplus += x.quality.Surplus
		t.unsure += x.quality.Unsure
		if t.why == "" {
			t.why = x.why
		}
		if share, tells := x.starved(); tells {
			starved = append(starved, share)
		}
		if rtt, err := stat.WithinTrial(x.rtt); err == nil && rtt.Median > 0 {
			late = append(late, float64(x.quality.LatenessP99)/rtt.Median)
		}
	}
	t.starved, t.late = middle(starved), middle(late)
	return t
}

// tellsFrom is how long a run must be to tell how long the driver waits for a CPU: one scheduler's turn is all of a
// shorter one.
const tellsFrom = 10 * time.Millisecond

// starved is how long the driver waited for a CPU in each second of the time for which that was counted, and whether
// the run is long enough to tell. Several threads may wait at once, which is no more than waiting.
func (x figures) starved() (share float64, tells bool) {
	watched := max(x.quality.Watched, x.quality.Elapsed)
	if watched <= 0 {
		return 0, false
	}
	return min(1, max(x.quality.RunQueueWait, 0).Seconds()/watched.Seconds()), watched >= tellsFrom
}

// middle is the median, 0 of nothing.
func middle(values []float64) float64 {
	w, err := stat.WithinTrial(values)
	if err != nil {
		return 0
	}
	return w.Median
}

func (t total) String() string {
	text := fmt.Sprintf("%s, %s", plural.Count(t.sent, "request"), plural.Count(t.failed, "failure"))
	if t.why != "" {
		text += fmt.Sprintf(" (the first: %s)", t.why)
	}
	if t.repetitions > 0 {
		text += fmt.Sprintf(", %d retried", t.repetitions)
	}
	if t.retransmissions > 0 {
		text += fmt.Sprintf(", %s retransmitted by the protocol", plural.Count(t.retransmissions, "message"))
	}
	return text
}

const (
	starvedFrom = 0.10 // s without a CPU in each s of the run, as for trials
	lateFrom    = 0.10 // of the median RTT
	closedFrom  = 0.01 // of the requests
)

// warnings are doubts about the figures. It is not nil.
func (t total) warnings() []string {
	out := []string{}
	if t.repetitions > 0 {
		out = append(out,
			fmt.Sprintf("%s broke during a request, which was then retried: the server may have seen up to %d "+
				"requests, and the times include the lost attempts; find out why the server closes connections",
				plural.Count(t.repetitions, "connection"),
				t.sent+t.repetitions))
	}
	if t.surplus > 0 {
		out = append(out, report.SurplusAnswers(t.surplus, t.sent))
	}
	if closed := t.reconnects - t.surplus; float64(closed) > closedFrom*float64(t.sent) {
		kept, why := report.Reconnected(float64(closed), float64(t.failed+t.repetitions), float64(t.sent), t.coap)
		do := ""
		if !kept {
			do = "; let the server keep connections, or probe with --connection per-request"
		}
		out = append(out, fmt.Sprintf("%s needed a new connection, %s: response times include connecting, RTT "+
			"does not%s", plural.Count(closed, "request"), why, do))
	}
	if t.unsure > 0 {
		out = append(out, report.UnsureAnswers(t.unsure, t.sent, "--response-topic"))
	}
	if t.starved > starvedFrom {
		out = append(out, fmt.Sprintf("the driver waited for a CPU for %.2g s of each second (median of runs): "+
			"times include that wait; use a quieter machine, or pin with --cpu", t.starved))
	}
	if t.late > lateFrom {
		out = append(out, fmt.Sprintf("the driver was slow: it took up 1 %% of requests late though they might have been "+
			"sent, by at least %.2g times the median RTT; response times include that delay; use a quieter machine, pin it "+
			"with --cpu, or lower the rate", t.late))
	}
	return out
}
