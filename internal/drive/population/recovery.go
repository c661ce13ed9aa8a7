package population

import (
	"math"
	"time"
)

const (
	// calm is how long devices and answers must be back to be called recovered; see Calm.
	calm = 10 * time.Second
	// outlier is the share of the devices that may be down then, and of the requests that may fail, beside those that
	// were and did before the outage.
	outlier = 0.01
	// evidence is how many requests must have ended to say that no more of them fail.
	evidence = 100
)

// Calm is for how long devices must be up to be called recovered, if their requests wait so long for an answer: what
// was sent within the outage has failed by then.
func Calm(timeout time.Duration) time.Duration { return max(calm, timeout+time.Second) }

// A recovery watches how many devices are down, those whose last request failed, and how many requests fail. Devices
// have recovered at the earliest instant after the outage from which on, for so long as lasts says, at most 1 % more of
// them were down than on average before the outage, and at most 1 % more of the requests failed.
type recovery struct {
	down, tolerated int
	began, end      int64 // of the outage; end of 0: there is none
	lasts           int64
	was             before
	bad             bool  // more than the tolerated are down
	since           int64 // when that changed last, or the failure that is not part of the calm
	start           int   // requests that had ended by then
	ended           int   // requests after the outage
	failures        []lapse
	latest          latest
	most            int  // devices that were down at once
	keep            bool // steps
	steps           []Step
	wider           int   // steps are of so many more bits
	at              int64 // when they had recovered; -1: not yet
}

// before is what was so before the outage.
type before struct {
	over          bool
	until         int64
	down          float64 // ns of all devices
	ended, failed int
}

// A lapse is a request that failed, in a time that may be calm.
type lapse struct {
	at    int64
	ended int // requests by then, this one included
}

// latest are the last requests that ended: so many that a share of them says something.
type latest struct {
	bad     [evidence]bool
	most    int // at most evidence
	n, next int
	failed  int // of the n
}

func (l *latest) put(failed bool) {
	if l.n == l.most && l.bad[l.next] {
		l.failed--
	}
	l.n = min(l.n+1, l.most)
	if l.bad[l.next] = failed; failed {
		l.failed++
	}
	l.next = (l.next + 1) % l.most
}

func newRecovery(devices int, o Outage, lasts time.Duration) recovery {
	return recovery{tolerated: devices / 100, began: int64(o.At), end: int64(o.At + o.For), lasts: int64(lasts),
		latest: latest{most: max(1, min(evidence, devices))}, at: -1}
}

// change counts a device that goes down (1) or comes up (-1).
func (r *recovery) change(by int, now int64) {
	r.look(now)
	r.down += by
	if r.keep {
		r.note(Step{At: now, By: by})
	}
	r.most = max(r.most, r.down)
	r.turn(now)
}

// request counts one that ended, as devices see it: before they go down or come up by it.
func (r *recovery) request(failed bool, now int64) {
	if r.end == 0 {
		return
	}
	r.look(now)
	one := 0
	if failed {
		one = 1
	}
	if r.keep {
		r.note(Step{At: now, Ended: 1, Failed: one})
	}
	switch {
	case now < r.began:
		r.was.ended++
		r.was.failed += one
	case now < r.end || r.at >= 0:
	default:
		r.ended++
		r.latest.put(failed)
		if failed && !r.bad {
			r.failures = append(r.failures, lapse{now, r.ended})
		}
	}
}

// turn notes whether more than the tolerated are down now.
func (r *recovery) turn(now int64) {
	if bad := r.down > r.tolerated; bad != r.bad {
		r.bad, r.since, r.start, r.failures = bad, now, r.ended, r.failures[:0]
	}
}

// look closes the time up to now: was it calm for long enough?
func (r *recovery) look(now int64) {
	r.pass(now)
	for r.at < 0 && !r.bad {
		from := max(r.since, r.end)
		if now-from < r.lasts {
			return
		}
		n, failed := r.ended-r.start, len(r.failures)
		if n < r.latest.most {
			n, failed = r.latest.n, r.latest.failed // which has those of this time, and others before it
			if n < r.latest.most || !r.fine(failed, n) {
				return
			}
		}
		if r.fine(failed, n) {
			r.at = from
			return
		}
		first := r.failures[0]
		r.since, r.start, r.failures = first.at, first.ended, r.failures[1:]
	}
}

// fine says whether no more of n requests failed than did before the outage, and 1 % of them.
func (r *recovery) fine(failed, n int) bool {
	share := outlier
	if r.was.ended >= evidence {
		share += float64(r.was.failed) / float64(r.was.ended)
	}
	return float64(failed) <= share*float64(n)+1e-9
}

// pass accounts for the time before the outage.
func (r *recovery) pass(now int64) {
	if r.was.over || r.end == 0 {
		return
	}
	upto := min(now, r.began)
	r.was.down += float64(r.down) * float64(upto-r.was.until)
	if r.was.until = upto; now < r.began {
		return
	}
	r.was.over = true
	if r.began > 0 {
		r.tolerated += int(math.Round(r.was.down / float64(r.began)))
	}
	r.turn(r.began)
}

const (
	// stepBits: a step is of 2^23 ns, 8.4 ms, unless there are too many.
	stepBits = 23
	// quietBits: what was answered within 2^27 ns, 0.13 s, and changed nothing, is a step.
	quietBits = 27
	// mostSteps, of some 50 B each, are told in one line.
	mostSteps = 1 << 13
)

// A Step is by how many the devices that are down became more in a short time, and how many requests ended.
type Step struct {
	At     int64 `json:"at"`               // ns of the run
	By     int   `json:"by"`               // devices
	Ended  int   `json:"ended,omitempty"`  // requests
	Failed int   `json:"failed,omitempty"` // of them
}

func (s *Step) add(o Step) {
	s.By += o.By
	s.Ended += o.Ended
	s.Failed += o.Failed
}

// step is when the step begins that an instant is in. No step goes across the beginning of the outage or its end: what
// the outage does would be told of the time before it.
func (r *recovery) step(at int64) int64 {
	bits := stepBits + r.wider
	begins := at >> bits << bits
	for _, edge := range []int64{r.began, r.end} {
		if edge <= at {
			begins = max(begins, edge)
		}
	}
	return begins
}

func (r *recovery) note(s Step) {
	for {
		s.At = r.step(s.At)
		if n := len(r.steps); n > 0 {
			last := &r.steps[n-1]
			quiet := s.By == 0 && s.Failed == 0 && s.At-last.At < 1<<quietBits
			if last.At == s.At || quiet && last.At < r.began == (s.At < r.began) && last.At < r.end == (s.At < r.end) {
				last.add(s)
				return
			}
		}
		if len(r.steps) < mostSteps {
			r.steps = append(r.steps, s)
			return
		}
		r.widen()
	}
}

// widen makes steps of twice the time.
func (r *recovery) widen() {
	r.wider++
	kept := r.steps[:0]
	for _, s := range r.steps {
		s.At = r.step(s.At)
		if n := len(kept); n > 0 && kept[n-1].At == s.At {
			kept[n-1].add(s)
			continue
		}
		kept = append(kept, s)
	}
	r.steps = kept
}
