package lab

import (
	"fmt"
	"math"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// A schedule is when the requests of a run at a rate are due, beside what its clients say of that. At a constant rate
// the lab knows each instant and their number. Of random arrivals, which each client draws itself, it knows how many
// there can be, and for how long there can be none. So neither a client that sends at another rate is believed, nor one
// that puts off what is due until it sends, and hides that it stood still.
type schedule struct {
	run  stack.Run     // as each client was told
	from time.Duration // when the present client began
	base uint64        // the last seq of those before

	n     int           // its requests
	seq   uint64        // of the last one
	due   time.Duration // when that was
	gap   time.Duration // the longest between two
	wrong string        // what the first of all clients does not keep

	drawn, expected float64 // random arrivals of all clients that have ended, and how many there are on average
}

// What a clock or a format may round: an instant, the interval between two, and a rate.
const (
	roundedInstant  = time.Millisecond
	roundedInterval = 10 * time.Microsecond
	roundedRate     = 1e-3
)

// unlikely is how often a client that draws its arrivals is accused of another rate.
const unlikely = 1e-9

// newSchedule is that of a run; nil: its load is no rate.
func newSchedule(run stack.Run) *schedule {
	if run.Rate <= 0 {
		return nil
	}
	return &schedule{run: run}
}

// anew ends a client's records, and begins with another's.
func (s *schedule) anew(from time.Duration, base uint64) {
	s.end()
	*s = schedule{run: s.run, from: from, base: base, wrong: s.wrong, drawn: s.drawn, expected: s.expected}
}

// add takes the present client's next record.
func (s *schedule) add(x measure.Exchange) {
	s.n++
	seq, due := x.Seq-s.base, x.Due-s.from
	if x.Seq <= s.base || due == 0 && x.Failure != "" { // a record of nothing, or a failure that does not say
		return
	}
	if s.run.Arrival != drive.Random {
		s.judge(seq, due)
	}
	s.gap = max(s.gap, due-s.due)
	s.seq, s.due = seq, due
}

// judge compares an instant with that of the schedule, and with the last one.
func (s *schedule) judge(seq uint64, due time.Duration) {
	step := float64(time.Second) / s.run.Rate
	at := float64(seq-1) * step
	between, steps := float64(due-s.due), float64(seq)-float64(s.seq)
	if steps < 0 {
		between, steps = -between, -steps
	}
	late := between - steps*step
	switch {
	case s.seq > 0 && (late > steps*float64(roundedInterval) || late < -float64(roundedInstant)):
		s.fault("request %d is due %v after request %d, and not %v", seq, due-s.due, s.seq,
			time.Duration((float64(seq)-float64(s.seq))*step))
	case math.Abs(float64(due)-at) > float64(roundedInstant)+roundedRate*at:
		s.fault("request %d is due %v after the beginning of the run, and not %v", seq, due, time.Duration(at))
	}
}

// end judges how many requests the present client had, once.
func (s *schedule) end() {
	if s.n == 0 {
		return
	}
	defer func() { s.n = 0 }()
	if s.run.Arrival != drive.Random {
		if want := constant(s.run); s.run.Duration > 0 && math.Abs(float64(s.n)-want) > 1+roundedRate*want {
			s.fault("%d of its requests are due, and not %.0f", s.n, want)
		}
		return
	}
	over := time.Duration(s.run.Duration)
	if over == 0 || s.n == s.run.Requests { // it ended with its last one
		over = s.due
	} else {
		s.gap = max(s.gap, over-s.due)
	}
	mean := s.run.Rate * over.Seconds()
	s.drawn, s.expected = s.drawn+float64(s.n), s.expected+mean
	switch {
	case improbable(s.n, mean):
		s.fault("%d of its requests are due in %v, and not about %.0f", s.n, over, mean)
	case float64(s.n)*math.Exp(-s.run.Rate*s.gap.Seconds()) < unlikely:
		s.fault("no request is due for %v, which random arrivals do not leave", s.gap)
	}
}

// fault keeps the first fault.
func (s *schedule) fault(format string, a ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf(format, a...)
	}
}

// constant is how many requests of a run are due at a constant rate within its duration.
func constant(run stack.Run) float64 {
	n := math.Ceil(run.Rate*time.Duration(run.Duration).Seconds() - 1e-6)
	if run.Requests > 0 {
		n = min(n, float64(run.Requests))
	}
	return n
}

// improbable reports whether so many random arrivals, or fewer, or more, come where the mean is another: by Chernoff's
// bound of the Poisson distribution.
func improbable(n int, mean float64) bool {
	exponent := mean - float64(n)
	if n > 0 {
		exponent += float64(n) * math.Log(float64(n)/mean)
	}
	return exponent > -math.Log(unlikely)
}

// scheduled: requests at a rate were due as the study says.
func (e *evidence) scheduled() string {
	if e.schedule == nil {
		return ""
	}
	e.schedule.end()
	if e.schedule.wrong == "" {
		return ""
	}
	return fmt.Sprintf("the client does not keep the schedule of %g requests per second: %s; edgegauge stacks check "+
		"finds what is wrong", e.setup.Rate, e.schedule.wrong)
}
