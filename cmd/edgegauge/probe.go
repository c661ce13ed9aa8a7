package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
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
	broken     error // why the run after those that were made could not be; nil: all were
}

// probeConfidence is that of every interval over the runs of a probe, which has no study that could say another.
const probeConfidence = 0.95

func probeCmd(*app) *cobra.Command {
	p := probe{confidence: probeConfidence}
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "measure any HTTP, CoAP, MQTT or gRPC endpoint: RTT, response time, bytes, failures, with intervals",
		Long: `Probe measures one endpoint in several runs, one after the other, each in a new process with new connections.
Intervals come from the runs, not from single requests. URLs: http, https (TLS 1.3), coap, coap+tcp, mqtt, mqtts; gRPC
is an http URL with --protocol grpc. Requests over MQTT go to --topic, and answers come on --response-topic, where {id}
stands for the client's own name; without them, mqtt://HOST/NAME asks on NAME/request and expects answers on
NAME/response/{id}.

MQTT 3.1.1 (--protocol mqtt311) tells a service neither a response topic nor correlation data: the service must know by
the topic of a request where to answer. So put {id} into both topics if it answers each client on a topic of its own,
or name the one topic that it answers on, with --concurrency 1. Without topics, requests go to NAME/request/{id}.

A figure is the mean of runs. A figure marked with * is their geometric mean: the runs differ so much that an interval
of their mean would reach below zero; the mean is printed below the table. A figure marked with ? is the mean, without
an interval: the interval of the geometric mean reaches from below 1/100 of it to above 100 times it, as it often does
with two runs. Answers per second are counted until a run's last request ends, answered or not, or, with --rate, over
the time of its schedule (requests over rate) if that is longer.

Without --rate the load is a closed loop: the next request follows the answer. With --rate, each request is due at an
instant of a schedule, and its response time counts from that instant. It is sent then if one of the --concurrency
connections is free; otherwise it waits for one, and probe says how many requests waited. Set --concurrency to at least
--rate times the response time in seconds. All requests that are due in --duration are sent, so a run takes longer if
requests wait.

--fail-if names a condition that must not be met: 'p99>20ms' (of the response time; also mean, median, max and any
percentile, such as p99.9; rtt.p99 is of the RTT), 'failures>0', 'failures>1%', 'retries>1%' or 'rate<100' (answers per
second).
Means, percentiles and the rate are judged by their interval over the runs, and a share of failures or retries by its
exact interval over all requests. If the interval contains the bound, the answer is "undecided". Several such conditions
share the level of 5 % (Holm). The number of failures or retries and max are judged as counted.

Requests that failed count as the slowest: if only the answered requests are within a bound on a percentile (or max),
the answer is "undecided", too. So is a bound on a mean, unless a condition such as 'failures>1%' says how many may fail
and is not met. A run in which every request failed has no times: a condition on times may be met by the other runs, but
is not excluded.

The exit code is 1 if a condition is met, or if one is undecided and --strict is given; otherwise 0. It is 2 if the
command line is wrong, and 3 if no condition is met, and no request was answered or a run could not be made.

Where nobody answers the first requests of a run, those of the warm-up included, for 30 s and for five times --timeout,
probe ends with 3; else a service that hangs would take --timeout for each request. If it is stopped, probe prints the
figures of the runs that are whole, judges no condition, and ends with 3.

edgegauge compare compares two outputs of --json.

If a kept connection breaks, its request is sent again only if the method is idempotent (never POST), and at most once;
probe reports how many were sent again (retries). A condition on failures is "undecided" if it would be met with these
as failures, unless a condition such as 'retries>1%' says how many may be sent again, and is not met.
Times and response sizes are those of answered requests.`,
		Example: "  edgegauge probe http://127.0.0.1:8080/ --requests 10000 --concurrency 32\n  edgegauge probe " +
			"'coap://[::1]/sensor' --method GET --rate 50 --duration 10s --json\n  edgegauge probe mqtt://127.0.0.1 --topic " +
			"sensor/request --response-topic 'sensor/response/{id}' --body reading.json\n  edgegauge probe " +
			"http://127.0.0.1:8080/ --fail-if 'p99>20ms' --fail-if 'failures>0'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.job.URL = args[0]
			if err := emptied(cmd); err != nil {
				return err
			}
			if err := p.zeros(cmd.Flags().Changed); err != nil {
				return exit{exitUsage, err}
			}
			return p.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.IntVar(&p.job.Requests, "requests", 0, "requests per run, 1 or more (default 1000, unless --duration is given)")
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
	f.IntVar(&p.job.Status, "expect", 0, "status that every answer must have, CoAP's 2.05 as 205 (default: any of "+
		"success)")
	f.StringVar(&p.job.Match, "match", "", "regular expression that the body of every answer must match")
	f.StringArrayVar(&p.failIf, "fail-if", nil, "condition that must not be met, e.g. 'p99>20ms' (repeatable)")
	f.BoolVar(&p.strict, "strict", false, "also exit with 1 if a condition is undecided")
	f.StringVar(&p.job.Method, "method", "", "GET, POST, … (default: GET, or POST with --body or --protocol grpc)")
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
	goWith(c, []string{"fail-if"}, "strict")
	goWith(c, []string{"arrival"}, "seed")
	return c
}

// defaultRequests are those of a run.
const defaultRequests = 1000

// figures are one run's.
type figures struct {
	rtt, response []int64
	out, in       int64
	sent, failed  int
	late          int           // of those that failed, the ones without an answer in time
	last          time.Duration // when the last request was over, answered or not
	scheduled     time.Duration // how long requests at a rate were to take
	why           string
	quality       drive.DriverStats
	queue         *lab.Lateness // of requests at a rate; nil: there is none
	waited        int           // requests that waited for their connection, and for how long in all
	wait          time.Duration
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
		x := p.figures()
		result, err := drive.Exec(ctx, []string{exe, driveVerb}, p.jobOf(i), p.cpu, x.add)
		if ctx.Err() != nil {
			return p.printStopped(w, all)
		}
		if err != nil {
			p.broken = err
			break
		}
		x.quality = result.Quality
		x.scheduled = measure.Scheduled(p.job.Rate, p.job.Arrivals == drive.Random, x.sent, p.job.Requests, p.job.Duration)
		all = append(all, x)
	}
	return p.print(w, all)
}

// jobOf is the job of run i: runs are replications of one another, so each has
// random arrivals of its own.
func (p *probe) jobOf(i int) drive.Job {
	j := p.job
	j.Seed += uint64(i)
	j.Limit = "--max-body"
	j.Silence = max(shortestSilence, 5*j.Timeout)
	return j
}

// shortestSilence leaves a service that has just begun, or stands still for a while, time to answer, however short the
// time-outs are.
const shortestSilence = 30 * time.Second

// complete fills in the defaults and reads the body.
func (p *probe) complete() error {
	if !strings.Contains(p.job.URL, "://") {
		rest := p.job.URL
		for _, scheme := range []string{"https", "http"} {
			if after, ok := strings.CutPrefix(rest, scheme+":"); ok {
				return fmt.Errorf("%q is not a URL; write %s://%s", p.job.URL, scheme, strings.TrimLeft(after, "/"))
			}
		}
		return fmt.Errorf("%q is not a URL; write http://%s, or another scheme", rest, strings.TrimLeft(rest, "/"))
	}
	if u, err := url.Parse(p.job.URL); err == nil && u.User != nil { // what stands there is not repeated
		advice := "leave it out"
		if strings.HasPrefix(u.Scheme, "http") {
			advice = "write --header 'Authorization: Basic …'"
		}
		return fmt.Errorf("the URL contains a user or a password, which a probe does not send; %s", advice)
	}
	if scheme, _, _ := strings.Cut(p.job.URL, "://"); scheme == "tcp" || scheme == "udp" {
		return fmt.Errorf("%s: a probe speaks a protocol, not bare %s; write http://, https://, coap:// or mqtt://",
			p.job.URL, scheme)
	}
	var err error
	p.bounds, err = eachOf("--fail-if", p.failIf, func(text string) (bound, error) {
		b, err := parseBound(text)
		return b, cmp.Or(err, p.decidable(b), p.settled(b))
	})
	if err != nil {
		return err
	}
	if p.job.QoS > 2 {
		return fmt.Errorf("--qos %d; write 0, 1 or 2", p.job.QoS)
	}
	if p.job.Concurrency < 1 {
		return fmt.Errorf("--concurrency %d; write 1 or more", p.job.Concurrency)
	}
	if !(p.job.Rate >= 0) { // nor NaN
		return fmt.Errorf("--rate %g; write requests per second, such as 100", p.job.Rate)
	}
	if p.runs < 1 {
		return fmt.Errorf("--runs %d; write 1 or more", p.runs)
	}
	if p.job.Timeout == 0 {
		return errors.New("--timeout 0s; write more, such as 5s")
	}
	if p.job.Arrivals != "" && p.job.Rate == 0 {
		return fmt.Errorf("--arrival %s is of requests at a rate; add --rate 100, for example", p.job.Arrivals)
	}
	if allowed := kernel.AllowedCPUs(); p.cpu != drive.AnyCPU && allowed != nil && !slices.Contains(allowed, p.cpu) {
		return fmt.Errorf("--cpu %d is not one of those that this process may use; write one of %v", p.cpu, allowed)
	}
	if up := strings.ToUpper(p.job.Method); up != p.job.Method {
		return fmt.Errorf("--method %s; methods are in capitals: write --method %s", p.job.Method, up)
	}
	if flag := p.foreign(); flag != "" {
		return fmt.Errorf("--%s means nothing to %s; leave it out", flag, p.job.URL)
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
		switch name := strings.TrimPrefix(p.bodyFile, "@"); {
		case err == nil:
		case name != p.bodyFile && exists(name):
			return fmt.Errorf("--body names a file; write --body %s", name)
		case strings.ContainsAny(p.bodyFile, "{}<>=\"' "):
			return fmt.Errorf("--body takes the name of a file, and %s looks like a message; save it in a file first",
				p.bodyFile)
		}
		if err != nil {
			return fmt.Errorf("--body: %w", unreadable(p.bodyFile, err))
		}
		p.job.Body = b
	}
	if p.job.Method == "" {
		p.job.Method = "GET"
		if p.bodyFile != "" || p.job.Protocol == drive.GRPC {
			p.job.Method = "POST"
		}
	}
	return cmp.Or(p.vain(), p.job.Check())
}

// foreign is a flag that is for URLs of another kind; empty: there is none.
func (p *probe) foreign() string {
	scheme, _, _ := strings.Cut(p.job.URL, ":")
	mqtt, http := strings.HasPrefix(scheme, "mqtt"), strings.HasPrefix(scheme, "http")
	certified := scheme == "https" || scheme == "mqtts"
	switch {
	case p.job.Topic != "" && !mqtt:
		return "topic"
	case p.job.ResponseTopic != "" && !mqtt:
		return "response-topic"
	case p.job.QoS > 0 && !mqtt:
		return "qos"
	case p.job.Protocol != "" && !mqtt && !http:
		return "protocol"
	case len(p.job.Header) > 0 && !http:
		return "header"
	case p.job.Method != "" && mqtt:
		return "method"
	case p.job.Credentials.CA != "" && !certified:
		return "ca"
	case p.job.Credentials.Insecure && !certified:
		return "insecure"
	}
	return ""
}

func (x *figures) add(e measure.Exchange) error {
	x.sent++
	x.out += e.Out
	if x.queue != nil {
		x.queue.Add(e)
	}
	if e.Connection > 0 {
		x.waited++
		x.wait += e.Connection
	}
	at, _ := e.Ended()
	x.last = max(x.last, at)
	if e.Failure != "" {
		x.failed++
		if measure.Late(e.Failure) {
			x.late++
		}
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

// length is how long the run took: until its last request was over, answered or not, or the end of the schedule.
func (x figures) length() time.Duration { return max(x.last, x.scheduled) }

// rate is how many answers came per second of the run, as the throughput of a trial is.
func (x figures) rate() float64 {
	if len(x.rtt) == 0 {
		return 0
	}
	return float64(len(x.rtt)) / x.length().Seconds()
}
