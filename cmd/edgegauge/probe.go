package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// driveVerb is the hidden verb of a driver's child process.
const driveVerb = "drive"

func driveMain([]string) int {
	if err := drive.Main(os.Stdin, os.Stdout); err != nil {
		return exitUnmeasured
	}
	return exitDone
}

// probe is what probe was asked.
type probe struct {
	job        drive.Job
	runs, cpu  int
	bodyFile   string
	asJSON     bool
	confidence float64
	failIf     []string
	strict     bool
	bounds     []bound
}

func probeCmd(*app) *cobra.Command {
	p := probe{confidence: 0.95}
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "measure any HTTP, CoAP, MQTT or gRPC endpoint: RTT, response time, bytes, failures, with intervals",
		Long: `Probe measures one endpoint in several runs, one after the other, each in a new process with new connections. Intervals come
from the runs, not from single requests. URLs: http, https (TLS 1.3), coap, coap+tcp, mqtt, mqtts; gRPC is an http URL with
--protocol grpc. Requests over MQTT go to --topic, and answers come on --response-topic, where {id} stands for the client's
own name; without them, mqtt://HOST/NAME asks on NAME/request and expects answers on NAME/response/{id}.

Without --rate the load is a closed loop: the next request follows the answer. With --rate, requests are sent on schedule
whether or not earlier ones were answered, and response time counts from the scheduled instant.

--fail-if names a condition that must not be met: 'p99>20ms' (of the response time; also mean, median, max, p50 to p99.9;
rtt.p99 is of the RTT), 'failures>0', 'failures>1%' or 'rate<100' (answers per second). Of means, percentiles and the rate
the interval over the runs decides: where it contains the bound, the answer is "undecided". Failures and max are facts.
The exit code is 1 if a condition is met, or if one is undecided and --strict is given; otherwise 0. 2: the command line is
wrong; 3: nothing could be measured.

edgegauge compare sets two outputs of --json against each other.

If a connection breaks, its request is sent again only if the method is idempotent (never POST), and at most once; probe
reports how many were. Times and response sizes are those of answered requests.`,
		Example: "  edgegauge probe http://127.0.0.1:8080/ --requests 10000 --concurrency 32\n" +
			"  edgegauge probe coap://[::1]/sensor --method GET --rate 50 --duration 10s --json\n" +
			"  edgegauge probe mqtt://127.0.0.1 --topic sensor/request --response-topic 'sensor/response/{id}' --body reading.json\n" +
			"  edgegauge probe http://127.0.0.1:8080/ --fail-if 'p99>20ms' --fail-if 'failures>0'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.job.URL = args[0]
			return p.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.IntVar(&p.job.Requests, "requests", 0, "requests per run (default 1000, unless --duration is given)")
	f.DurationVar(&p.job.Duration, "duration", 0, "duration of a run")
	f.IntVar(&p.runs, "runs", 6, "number of runs; a 95 % interval of a median needs 6")
	f.IntVar(&p.job.Concurrency, "concurrency", 1, "connections")
	f.Float64Var(&p.job.Rate, "rate", 0, "requests per second over all connections; 0: closed loop")
	f.StringVar(&p.job.Arrivals, "arrival", "", "arrivals with --rate: constant or poisson (default constant)")
	f.Uint64Var(&p.job.Seed, "seed", 0,
		"seed for --arrival poisson; run i uses seed+i (default: random; --json prints it)")
	f.StringVar(&p.job.Connection, "connection", drive.KeepAlive, "keep-alive or per-request")
	f.StringVar(&p.job.Protocol, "protocol", "",
		"for http URLs: http/1.1 (default), h2 (prior knowledge, or ALPN) or grpc (body: one message); for https also h3; "+
			"for mqtt URLs: mqtt5 (default) or mqtt311")
	f.StringVar(&p.job.Topic, "topic", "", "for mqtt URLs: topic that requests are published to")
	f.StringVar(&p.job.ResponseTopic, "response-topic", "",
		"for mqtt URLs: topic that answers come on; {id}: the client's name")
	f.Uint8Var(&p.job.QoS, "qos", 0, "for mqtt URLs: quality of service, 0, 1 or 2")
	f.IntVar(&p.job.Status, "expect", 0, "status that every answer must have, CoAP's 2.05 as 205 (default: any of success)")
	f.StringVar(&p.job.Match, "match", "", "regular expression that the body of every answer must match")
	f.StringArrayVar(&p.failIf, "fail-if", nil, "condition that must not be met, e.g. 'p99>20ms' (repeatable)")
	f.BoolVar(&p.strict, "strict", false, "also exit with 1 if a condition is undecided")
	f.StringVar(&p.job.Method, "method", "", "GET, POST, … (default: GET, or POST with --body)")
	f.StringVar(&p.bodyFile, "body", "", "file with the body of every request")
	f.StringVar(&p.job.ContentType, "content-type", "", "media type of the body; for CoAP also a content-format number")
	f.StringArrayVar(&p.job.Header, "header", nil, "additional header, e.g. 'Name: value' (repeatable)")
	f.IntVar(&p.job.WarmUp, "warmup", 20, "warm-up requests before each run, not counted")
	f.DurationVar(&p.job.Timeout, "timeout", 5*time.Second, "of a request")
	f.IntVar(&p.job.MostBody, "max-body", 64<<20,
		"largest accepted response body, in bytes; larger ones count as failures")
	f.StringVar(&p.job.Credentials.CA, "ca", "", "PEM file of certificate authorities (default: the system's)")
	f.BoolVar(&p.job.Credentials.Insecure, "insecure", false, "accept any server certificate")
	f.IntVar(&p.cpu, "cpu", drive.AnyCPU, "CPU to pin the driver to")
	f.BoolVar(&p.asJSON, "json", false, "print JSON")
	return c
}

// defaultRequests are those of a run.
const defaultRequests = 1000

// figures are one run's.
type figures struct {
	rtt, response []int64
	out, in       int64
	sent, failed  int
	why           string
	quality       drive.DriverStats
}

func (p *probe) run(ctx context.Context, w io.Writer) error {
	if err := p.complete(); err != nil {
		return exit{exitUsage, err}
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	var all []figures
	for i := range p.runs {
		var x figures
		result, err := drive.Exec(ctx, []string{exe, driveVerb}, p.jobOf(i), p.cpu, x.add)
		if ctx.Err() != nil {
			return exit{exitUnmeasured, errors.New("stopped; an incomplete probe prints no figures")}
		}
		if err != nil {
			return exit{exitUnmeasured, err}
		}
		x.quality = result.Quality
		all = append(all, x)
	}
	return p.print(w, all)
}

// jobOf is the job of run i: runs are replications of one another, so each has
// random arrivals of its own.
func (p *probe) jobOf(i int) drive.Job {
	j := p.job
	j.Seed += uint64(i)
	return j
}

// complete fills in the defaults and reads the body.
func (p *probe) complete() error {
	if !strings.Contains(p.job.URL, "://") {
		return fmt.Errorf("%q is not a URL; write http://%[1]s, or another scheme", p.job.URL)
	}
	for _, text := range p.failIf {
		b, err := parseBound(text)
		if err != nil {
			return err
		}
		n := p.job.Requests
		if n == 0 {
			n = defaultRequests
		}
		if p.job.Duration == 0 && n < b.needs() {
			return fmt.Errorf("--fail-if %q: %s needs at least %d requests in a run; raise --requests", text, b.of, b.needs())
		}
		p.bounds = append(p.bounds, b)
	}
	if p.job.QoS > 2 {
		return fmt.Errorf("--qos %d; write 0, 1 or 2", p.job.QoS)
	}
	if p.job.Concurrency < 1 {
		return fmt.Errorf("--concurrency %d; write 1 or more", p.job.Concurrency)
	}
	if p.runs < 1 {
		return fmt.Errorf("--runs %d; write 1 or more", p.runs)
	}
	if u, err := url.Parse(p.job.URL); err == nil && p.job.Protocol == "" {
		p.job.Protocol = drive.HTTP1
		if strings.HasPrefix(u.Scheme, "mqtt") {
			p.job.Protocol = drive.MQTT5
		} else if !strings.HasPrefix(u.Scheme, "http") {
			p.job.Protocol = ""
		}
	}
	if p.job.Requests == 0 && p.job.Duration == 0 {
		p.job.Requests = defaultRequests
	}
	if p.job.Arrivals == "" && p.job.Rate > 0 {
		p.job.Arrivals = drive.Even
	}
	for p.job.Seed == 0 {
		p.job.Seed = rand.Uint64() >> 12 // JSON readers keep 53 bits
	}
	if p.bodyFile != "" {
		b, err := kernel.ReadFile(p.bodyFile, drive.MostBody)
		if err != nil {
			return fmt.Errorf("--body: %w", unreadable(p.bodyFile, err))
		}
		p.job.Body = b
	}
	if p.job.Method == "" {
		p.job.Method = "GET"
		if p.bodyFile != "" {
			p.job.Method = "POST"
		}
	}
	return p.job.Check()
}

func (x *figures) add(e measure.Exchange) error {
	x.sent++
	x.out += e.Out
	if e.Failure != "" {
		x.failed++
		if x.why == "" {
			x.why = e.Failure
		}
		return nil
	}
	x.in += e.In
	x.rtt = append(x.rtt, int64(e.RTT()))
	x.response = append(x.response, int64(e.Response()))
	return nil
}

// A probed is one figure of a probe, with its interval over the runs.
type probed struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Mean   float64   `json:"mean"`
	CI     []float64 `json:"ci"` // of the mean that Method names; null: there is none
	Method string    `json:"method"`
}

func (p *probe) print(w io.Writer, all []figures) error {
	t := totalOf(all)
	table, err := p.table(all)
	if err != nil {
		if p.asJSON && t.sent > 0 { // that requests failed is a figure, too
			err = errors.Join(err, p.writeJSON(w, all, t, []probed{}, nil))
		}
		return exit{exitUnmeasured, err}
	}
	var judgements []judged
	for _, b := range p.bounds {
		judgements = append(judgements, b.judge(all, p.confidence))
	}
	verdict := verdictOf(judgements)
	if p.asJSON {
		if err := p.writeJSON(w, all, t, table, judgements); err != nil {
			return err
		}
		return compareExit(verdict, p.undecidedExit())
	}
	fmt.Fprintf(w, "%s: %d runs, %s\n%s\n", p.job.URL, len(all), t, p.loop())
	for _, warning := range t.warnings() {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
	for _, hint := range p.hints(all) {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
	if err := writeFigures(w, table); err != nil {
		return err
	}
	for _, j := range judgements {
		fmt.Fprintln(w, j)
	}
	return compareExit(verdict, p.undecidedExit())
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
func (p *probe) loop() string {
	if p.job.Rate > 0 {
		return fmt.Sprintf("open loop: %g requests per second (%s), sent when due; response time counts from then",
			p.job.Rate, p.job.Arrivals)
	}
	return fmt.Sprintf("closed loop: %d connections, each sends when it was answered; a slow answer delays what would "+
		"have been sent meanwhile, so tails are understated (coordinated omission): --rate measures them", p.job.Concurrency)
}

// hints name likely causes of what the times look like.
func (p *probe) hints(all []figures) []string {
	out := []string{}
	var medians, p95s []float64
	least := math.Inf(1)
	for _, x := range all {
		if w, err := stat.WithinTrial(slices.Clone(x.rtt)); err == nil {
			medians, p95s = append(medians, w.Median*1e-9), append(p95s, w.P95*1e-9)
			least = min(least, w.Min*1e-9)
		}
	}
	const quick = 10e-3 // s: so near, no network takes as long as a timer
	if hint := report.TimerHint(medians, p95s, "runs"); hint != "" {
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
		Rate: p.job.Rate, Arrival: p.job.Arrivals, Body: len(p.job.Body)},
		Requests: t.sent, Failures: t.failed, FirstFailure: t.why, Repetitions: t.repetitions,
		Retransmissions: t.retransmissions, Reconnects: t.reconnects, Seed: p.job.Seed, Warnings: t.warnings(),
		Hints: p.hints(all), Figures: table, Runs: len(all), Conditions: judgements, Verdict: string(verdictOf(judgements))}
	for _, x := range all {
		elapsed := x.quality.Elapsed.Seconds()
		r := probeRun{Requests: x.sent, Failures: x.failed, RTT: withinOf(x.rtt), ResponseTime: withinOf(x.response),
			RequestBody: float64(x.out) / float64(max(1, x.sent))}
		if elapsed > 0 {
			r.Answers, r.Waiting = float64(len(x.rtt))/elapsed, max(x.quality.RunQueueWait, 0).Seconds()/elapsed
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

func writeFigures(w io.Writer, table []probed) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "figure\tmean of runs\t95 % from\tto\t")
	for _, x := range table {
		lo, hi := math.NaN(), math.NaN()
		if x.CI != nil {
			lo, hi = x.CI[0], x.CI[1]
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t\n", x.Name, report.Format(x.Mean, x.Unit), report.Format(lo, x.Unit),
			report.Format(hi, x.Unit))
	}
	return tw.Flush()
}

// table summarizes the runs. A run without any answer has no latencies.
func (p *probe) table(all []figures) ([]probed, error) {
	rows := []struct {
		name, unit string
		values     []float64
	}{{name: "rtt", unit: "s"}, {name: "rtt median", unit: "s"}, {name: "rtt p95", unit: "s"},
		{name: "rtt p99", unit: "s"},
		{name: "response time", unit: "s"}, {name: "response time p99", unit: "s"}, {name: "request body", unit: "B"},
		{name: "response body", unit: "B"}, {name: "answers", unit: "1/s"}}
	for _, x := range all {
		rtt, err := stat.WithinTrial(x.rtt)
		if err != nil {
			return nil, fmt.Errorf("%s: every request of a run failed; first failure: %s", p.job.URL, x.why)
		}
		response, err := stat.WithinTrial(x.response)
		if err != nil {
			return nil, err
		}
		n, answered := float64(x.sent), float64(len(x.rtt))
		for i, v := range []float64{rtt.Mean * 1e-9, rtt.Median * 1e-9, rtt.P95 * 1e-9, rtt.P99 * 1e-9,
			response.Mean * 1e-9, response.P99 * 1e-9,
			float64(x.out) / n, float64(x.in) / answered, answered / x.quality.Elapsed.Seconds()} {
			rows[i].values = append(rows[i].values, v)
		}
	}
	var out []probed
	for _, r := range rows {
		x, err := overRuns(r.values, p.confidence)
		if err != nil {
			continue // too few requests for that percentile
		}
		x.Name, x.Unit = r.name, r.unit
		out = append(out, x)
	}
	return out, nil
}

// overRuns is the mean of the runs with its interval. What is measured here is
// never below zero: where runs differ so much that the interval of their mean
// would reach there, it is the geometric mean and the interval on the log scale.
func overRuns(values []float64, confidence float64) (probed, error) {
	s, err := stat.Mean(values, confidence)
	if err != nil {
		return probed{}, err
	}
	x := probed{Mean: s.Center, Method: s.Method}
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
	if s, err = stat.Mean(logs, confidence); err != nil { // a zero among them
		return x, nil
	}
	return probed{Mean: math.Exp(s.Center), CI: []float64{math.Exp(s.Lo), math.Exp(s.Hi)},
		Method: "geometric mean of trial means, t interval of their logarithms"}, nil
}

// A total is what all runs say together.
type total struct {
	sent, failed, repetitions, retransmissions, reconnects int
	why                                                    string  // of the first failure
	starved                                                float64 // s without a CPU in each s of the run, median of runs
	// the driver's p99 lateness over the median RTT, likewise
	late float64
}

func totalOf(all []figures) (t total) {
	var starved, late []float64
	for _, x := range all {
		t.sent, t.failed = t.sent+x.sent, t.failed+x.failed
		t.repetitions += x.quality.Repetitions
		t.retransmissions += x.quality.Retransmissions
		t.reconnects += x.quality.Reconnects
		if t.why == "" {
			t.why = x.why
		}
		if q := x.quality; q.Elapsed > 0 {
			starved = append(starved, max(q.RunQueueWait, 0).Seconds()/q.Elapsed.Seconds())
		}
		if rtt, err := stat.WithinTrial(x.rtt); err == nil && rtt.Median > 0 {
			late = append(late, float64(x.quality.LatenessP99)/rtt.Median)
		}
	}
	t.starved, t.late = middle(starved), middle(late)
	return t
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
	text := fmt.Sprintf("%d requests, %d failures", t.sent, t.failed)
	if t.why != "" {
		text += fmt.Sprintf(" (the first: %s)", t.why)
	}
	if t.repetitions > 0 {
		text += fmt.Sprintf(", %d retried", t.repetitions)
	}
	if t.retransmissions > 0 {
		text += fmt.Sprintf(", %d messages retransmitted by the protocol", t.retransmissions)
	}
	return text
}

const (
	starvedFrom = 0.10 // s without a CPU in each s of the run, as for trials
	lateFrom    = 0.10 // of the median RTT
)

// warnings are doubts about the figures. It is not nil.
func (t total) warnings() []string {
	out := []string{}
	if t.repetitions > 0 {
		out = append(out,
			fmt.Sprintf("%d connections broke during a request, which was then retried: the server may have seen up to %d "+
				"requests, and the times include the lost attempts; find out why the server closes connections", t.repetitions,
				t.sent+t.repetitions))
	}
	if t.starved > starvedFrom {
		out = append(out, fmt.Sprintf("the driver waited for a CPU for %.2g s of each second (median of runs): "+
			"times include that wait; use a quieter machine, or pin with --cpu", t.starved))
	}
	if t.late > lateFrom {
		out = append(out, fmt.Sprintf("1 %% of requests were sent late, by at least %.2g times the median "+
			"RTT: the driver cannot keep up; response times include that delay", t.late))
	}
	return out
}
