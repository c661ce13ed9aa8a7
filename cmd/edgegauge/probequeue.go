package main

import (
	"fmt"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
)

// figures are those of a run that begins.
func (p *probe) figures() (x figures) {
	if p.job.Rate > 0 {
		x.queue = lab.NewLateness(p.job.Concurrency, lab.DefaultLateness)
	}
	return x
}

// behind says that requests did not leave when they were due, as report.Behind does.
func (p *probe) behind(all []figures) string {
	var waits []measure.Waits
	for _, x := range all {
		if x.queue != nil {
			waits = append(waits, x.queue.Waits())
		}
	}
	text, _ := report.Behind(report.Together(waits), p.job.Rate, p.job.Concurrency, p.job.Connection, "--concurrency")
	return text
}

// streams says that requests waited for a stream on the connection that they share, as report.Streams does.
func (p *probe) streams(all []figures) string {
	if p.job.Connection != drive.Multiplexed {
		return ""
	}
	requests, waited, wait := 0, 0, time.Duration(0)
	for _, x := range all {
		requests, waited, wait = requests+x.sent, waited+x.waited, wait+x.wait
	}
	return report.Streams(waited, requests, wait.Seconds(), p.job.Concurrency, "--concurrency")
}

// warnings are doubts about the figures, the rate first. It is not nil.
func (p *probe) warnings(all []figures, t total) []string {
	t.coap = strings.HasPrefix(p.job.URL, "coap")
	out := t.warnings()
	if text := p.behind(all); text != "" {
		out = append([]string{text}, out...)
	}
	if text := p.streams(all); text != "" {
		out = append(out, text)
	}
	if text := unlikeTimes(all); text != "" {
		out = append(out, text)
	}
	if n, known := p.most(); known && n < p.job.Concurrency && p.job.Rate == 0 && p.job.Connection == drive.KeepAlive {
		out = append(out, fmt.Sprintf("a run has %s and --concurrency %d connections: %s carried none of them",
			plural.Count(n, "request"), p.job.Concurrency, plural.Count(p.job.Concurrency-n, "connection")))
	}
	if n := silent(all); n > 0 && n < len(all) {
		out = append(out, fmt.Sprintf("%d of %d runs had no answer: times and sizes are of the others, and the rate of "+
			"a run without an answer is 0", n, len(all)))
	}
	if p.broken != nil {
		out = append(out, fmt.Sprintf("run %d could not be made, so there is none after it either: %v", len(all)+1, p.broken))
	}
	return out
}

// silent is how many runs had no answer.
func silent(all []figures) (n int) {
	for _, x := range all {
		if len(x.rtt) == 0 {
			n++
		}
	}
	return n
}
