package main

import (
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
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

// warnings are doubts about the figures, the rate first. It is not nil.
func (p *probe) warnings(all []figures, t total) []string {
	out := t.warnings()
	if text := p.behind(all); text != "" {
		out = append([]string{text}, out...)
	}
	return out
}
