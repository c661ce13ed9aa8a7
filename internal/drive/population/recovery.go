package population

import (
	"time"
)

// calm is how long all but the tolerated devices must be up to be called recovered.
const calm = 10 * time.Second

// A recovery watches how many devices are down: those whose last request failed.
type recovery struct {
	down, tolerated int
	end             int64 // of the outage
	bad             bool  // more than the tolerated are down
	since           int64 // when that changed last
	most            int   // devices that were down at once
	keep            bool  // steps
	steps           []Step
	at              int64 // when they had recovered; -1: not yet
}

// change counts a device that goes down (1) or comes up (-1).
func (r *recovery) change(by int, now int64) {
	r.look(now)
	r.down += by
	if r.keep {
		r.note(by, now)
	}
	r.most = max(r.most, r.down)
	if bad := r.down > r.tolerated; bad != r.bad {
		r.bad, r.since = bad, now
	}
}

// stepBits: a step is of 2^23 ns, 8.4 ms.
const stepBits = 23

// A Step is by how many the devices that are down became more in a short time.
type Step struct {
	At int64 `json:"at"` // ns of the run
	By int   `json:"by"` // devices
}

func (r *recovery) note(by int, now int64) {
	at := now >> stepBits << stepBits
	if n := len(r.steps); n > 0 && r.steps[n-1].At == at {
		r.steps[n-1].By += by
		return
	}
	r.steps = append(r.steps, Step{at, by})
}

// look closes the time up to now: was it calm for long enough?
func (r *recovery) look(now int64) {
	if from := max(r.since, r.end); r.at < 0 && !r.bad && now-from >= int64(calm) {
		r.at = from
	}
}
