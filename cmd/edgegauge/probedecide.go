package main

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
)

// decidable refuses a condition on a percentile that no run has enough requests for.
func (p *probe) decidable(b bound) error {
	n, known := p.most()
	if !known || n >= b.needs() {
		return nil
	}
	if most := p.job.Requests; p.job.Duration == 0 || most > 0 && most < b.needs() {
		return fmt.Errorf("--fail-if %q: %s needs at least %d requests in a run; raise --requests", b.text, b.of, b.needs())
	}
	about := ""
	if p.job.Arrivals == drive.Random {
		about = " on average"
	}
	return fmt.Errorf("--fail-if %q: %s needs at least %d requests in a run, and --rate %g for --duration %v makes %d%s, "+
		"so it would stay undecided; write --duration %v or longer", b.text, b.of, b.needs(), p.job.Rate, p.job.Duration, n,
		about, p.lasting(b.needs()))
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

// lasting is how long a run must be for so many requests, in tenths of a second.
func (p *probe) lasting(n int) time.Duration {
	due := float64(n)
	if p.job.Arrivals == drive.Random {
		root := (spread + math.Sqrt(spread*spread+4*(due+1))) / 2
		due = root * root
	}
	return time.Duration(math.Ceil(10*due/p.job.Rate)) * 100 * time.Millisecond
}
