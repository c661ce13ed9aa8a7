package main

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/study"
)

// decidable refuses a condition that one run cannot decide, and one on a percentile that no run has enough requests
// for. Of random arrivals one run in 1000 may have too few: a single one leaves the condition undecided.
func (p *probe) decidable(b bound) error {
	if p.runs == 1 && !b.counts() && b.of != "max" {
		return fmt.Errorf("%q: it is judged by its interval over the runs, and one run has none; write --runs 6 "+
			"or more", b.text)
	}
	n, known := p.most()
	mean := p.job.Rate * p.job.Duration.Seconds()
	random := p.job.Arrivals == drive.Random && mean > 0
	some := random && b.needs() > 1 && mean < p.due(b.needs())-1e-9
	if !known || n >= b.needs() && !some {
		return nil
	}
	if most := p.job.Requests; p.job.Duration == 0 || most > 0 && most < b.needs() {
		return fmt.Errorf("%q: %s needs at least %d requests in a run; raise --requests", b.text, b.of, b.needs())
	}
	makes := fmt.Sprintf("%d, so it would stay undecided", n)
	if random {
		makes = fmt.Sprintf("%.6g on average, so it may stay undecided", mean)
	}
	return fmt.Errorf("%q: %s needs at least %d requests in a run, and --rate %g for --duration %s makes %s; "+
		"write --duration %s or longer", b.text, b.of, b.needs(), p.job.Rate, study.DurationText(p.job.Duration), makes,
		study.DurationText(p.lasting(b.needs())))
}

// most is how many requests a run has, and if that is known before it: how many answers come in a time is not,
// but how many requests are due in it is.
func (p *probe) most() (n int, known bool) {
	n = p.job.Requests
	if p.job.Duration == 0 {
		return cmp.Or(n, defaultRequests), true
	}
	if !(p.job.Rate > 0) {
		return n, n > 0
	}
	due := int(math.Ceil(p.job.Rate*p.job.Duration.Seconds() - 1e-9))
	if n == 0 || due < n {
		n = due
	}
	return n, true
}

// spread is how many standard deviations fewer than expected all but one in 1000 of normal variables have.
const spread = 3.1

// due is how many requests must be due on average in a run that is to have so many.
func (p *probe) due(n int) float64 {
	if p.job.Arrivals != drive.Random {
		return float64(n)
	}
	root := (spread + math.Sqrt(spread*spread+4*float64(n+1))) / 2
	return root * root
}

// lasting is how long a run must be for so many requests, in tenths of a second.
func (p *probe) lasting(n int) time.Duration {
	return time.Duration(math.Ceil(10*p.due(n)/p.job.Rate)) * 100 * time.Millisecond
}
