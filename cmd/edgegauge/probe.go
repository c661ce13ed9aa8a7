package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"edgegauge/internal/drive"
	"edgegauge/internal/measure"
	"edgegauge/internal/report"
	"edgegauge/internal/stat"
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
}

func probeCmd(*app) *cobra.Command {
	p := probe{confidence: 0.95}
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "measure any HTTP or CoAP endpoint: RTT, response time, bytes, failures, with intervals",
		Long: `Probe drives one endpoint, some runs after each other, each in a fresh process with fresh connections: intervals come from
the runs, not from single requests. URLs: http, https (TLS 1.3), coap. Without --rate it is a closed loop: the next request follows
the answer. With --rate requests are due whether or not earlier ones were answered, and response time counts from the due instant.`,
		Example: "  edgegauge probe http://127.0.0.1:8080/ --requests 10000 --concurrency 32\n  edgegauge probe coap://[::1]/sensor --method GET --rate 50 --duration 10s --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.job.URL = args[0]
			return p.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.IntVar(&p.job.Requests, "requests", 0, "requests a run (default 1000, unless --duration is given)")
	f.DurationVar(&p.job.Duration, "duration", 0, "length of a run")
	f.IntVar(&p.runs, "runs", 6, "runs; a 95 % interval of a median needs 6")
	f.IntVar(&p.job.Concurrency, "concurrency", 1, "connections")
	f.Float64Var(&p.job.Rate, "rate", 0, "requests a second over all connections; 0: closed loop")
	f.StringVar(&p.job.Arrivals, "arrival", "", "with --rate: constant or poisson (default constant)")
	f.StringVar(&p.job.Connection, "connection", drive.KeepAlive, "keep-alive or per-request")
	f.StringVar(&p.job.Protocol, "protocol", drive.HTTP1, "http URLs: http/1.1, h2 (prior knowledge, or ALPN) or grpc (body: one message)")
	f.StringVar(&p.job.Method, "method", "", "GET, POST, … (default GET, with --body POST)")
	f.StringVar(&p.bodyFile, "body", "", "file with the body of every request")
	f.StringVar(&p.job.ContentType, "content-type", "", "media type of the body; for CoAP also a content-format number")
	f.StringArrayVar(&p.job.Header, "header", nil, "further header, as 'Name: value' (repeatable)")
	f.IntVar(&p.job.WarmUp, "warmup", 20, "requests before each run, not counted")
	f.DurationVar(&p.job.Timeout, "timeout", 5*time.Second, "of a request")
	f.StringVar(&p.job.Credentials.CA, "ca", "", "PEM file of certificate authorities (default the system's)")
	f.BoolVar(&p.job.Credentials.Insecure, "insecure", false, "take any server certificate for right")
	f.IntVar(&p.cpu, "cpu", drive.AnyCPU, "CPU to pin the driver to")
	f.BoolVar(&p.asJSON, "json", false, "print JSON")
	return c
}

// figures are one run's.
type figures struct {
	rtt, response      []int64
	out, in            int64
	sent, failed       int
	why                string
	elapsed            time.Duration
	reconnects, resent int
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
	for range p.runs {
		var x figures
		result, err := drive.Exec(ctx, []string{exe, driveVerb}, p.job, p.cpu, x.add)
		if ctx.Err() != nil {
			return exit{exitUnmeasured, errors.New("stopped; an unfinished probe prints no figures")}
		}
		if err != nil {
			return exit{exitUnmeasured, err}
		}
		x.elapsed, x.reconnects, x.resent = result.Quality.Elapsed, result.Quality.Reconnects, result.Quality.Retransmissions
		all = append(all, x)
	}
	return p.print(w, all)
}

// complete fills in the defaults and reads the body.
func (p *probe) complete() error {
	if !strings.Contains(p.job.URL, "://") {
		return fmt.Errorf("%q is no URL; write http://%[1]s, or another scheme", p.job.URL)
	}
	if p.runs < 1 {
		return fmt.Errorf("--runs %d; write 1 or more", p.runs)
	}
	if p.job.Requests == 0 && p.job.Duration == 0 {
		p.job.Requests = 1000
	}
	if p.job.Arrivals == "" && p.job.Rate > 0 {
		p.job.Arrivals = drive.Even
	}
	if p.bodyFile != "" {
		b, err := os.ReadFile(p.bodyFile)
		if err != nil {
			return err
		}
		p.job.Body = b
	}
	if p.job.Method == "" {
		p.job.Method = "GET"
		if p.bodyFile != "" {
			p.job.Method = "POST"
		}
	}
	return nil
}

func (x *figures) add(e measure.Exchange) error {
	x.sent++
	x.out, x.in = x.out+e.Out, x.in+e.In
	if e.Failure != "" {
		x.failed++
		if x.why == "" {
			x.why = e.Failure
		}
		return nil
	}
	x.rtt = append(x.rtt, int64(e.RTT()))
	x.response = append(x.response, int64(e.Response()))
	return nil
}

// A probed is one figure of a probe, with its interval over the runs.
type probed struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Mean   float64   `json:"mean"`
	CI     []float64 `json:"ci"` // of the mean; null: there is none
	Method string    `json:"method"`
}

func (p *probe) print(w io.Writer, all []figures) error {
	table, err := p.table(all)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	sent, failed, why := 0, 0, ""
	for _, x := range all {
		sent, failed = sent+x.sent, failed+x.failed
		if why == "" {
			why = x.why
		}
	}
	if p.asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"url": p.job.URL, "runs": len(all), "requests": sent, "failures": failed, "first_failure": why, "figures": table})
	}
	fmt.Fprintf(w, "%s: %d runs, %d requests, %d failures", p.job.URL, len(all), sent, failed)
	if why != "" {
		fmt.Fprintf(w, " (the first: %s)", why)
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "figure\tmean of runs\t95 % from\tto\t")
	for _, x := range table {
		lo, hi := math.NaN(), math.NaN()
		if x.CI != nil {
			lo, hi = x.CI[0], x.CI[1]
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t\n", x.Name, report.Format(x.Mean, x.Unit), report.Format(lo, x.Unit), report.Format(hi, x.Unit))
	}
	return tw.Flush()
}

// table summarizes the runs. A run without any answer has no latencies.
func (p *probe) table(all []figures) ([]probed, error) {
	rows := []struct {
		name, unit string
		values     []float64
	}{{name: "rtt", unit: "s"}, {name: "rtt median", unit: "s"}, {name: "rtt p95", unit: "s"}, {name: "rtt p99", unit: "s"},
		{name: "response time", unit: "s"}, {name: "response time p99", unit: "s"}, {name: "request body", unit: "B"}, {name: "response body", unit: "B"}, {name: "answers", unit: "1/s"}}
	for _, x := range all {
		rtt, err := stat.WithinTrial(x.rtt)
		if err != nil {
			return nil, fmt.Errorf("%s: every request of a run failed, the first with: %s", p.job.URL, x.why)
		}
		response, err := stat.WithinTrial(x.response)
		if err != nil {
			return nil, err
		}
		n := float64(x.sent)
		for i, v := range []float64{rtt.Mean * 1e-9, rtt.Median * 1e-9, rtt.P95 * 1e-9, rtt.P99 * 1e-9, response.Mean * 1e-9, response.P99 * 1e-9,
			float64(x.out) / n, float64(x.in) / n, float64(len(x.rtt)) / x.elapsed.Seconds()} {
			rows[i].values = append(rows[i].values, v)
		}
	}
	var out []probed
	for _, r := range rows {
		s, err := stat.Mean(r.values, p.confidence)
		if err != nil {
			continue // too few requests for that percentile
		}
		x := probed{r.name, r.unit, s.Center, nil, s.Method}
		if s.Lo < s.Hi {
			x.CI = []float64{s.Lo, s.Hi}
		}
		out = append(out, x)
	}
	return out, nil
}
