package population

import "time"

// A State is how a run goes while it does.
type State struct {
	Devices  int   `json:"devices"`  // of this process, that are switched on
	Down     int   `json:"down"`     // their last request failed
	Requests int64 `json:"requests"` // begun so far
	Failed   int64 `json:"failed"`   // of them
	// Rate is of requests begun since the last State, in 1/s.
	Rate float64 `json:"rate"`
	// Lateness of all requests so far, p99; see Account.
	Lateness time.Duration `json:"lateness_p99"`
}

// Together is the state of devices that are several processes. Its lateness is the worst.
func Together(parts []State) State {
	var sum State
	for _, s := range parts {
		sum.Devices += s.Devices
		sum.Down += s.Down
		sum.Requests += s.Requests
		sum.Failed += s.Failed
		sum.Rate += s.Rate
		sum.Lateness = max(sum.Lateness, s.Lateness)
	}
	return sum
}

// A teller tells the State now and then.
type teller struct {
	to    func(State) // nil: nobody looks
	every int64       // ns
	last  int64       // instant
	sent  int64       // requests then
}

// tellEvery is how often a State is told.
const tellEvery = time.Second

// look tells the state of a run if it is time to.
func (t *teller) look(c *core, now int64) {
	if t.to == nil || now-t.last < t.every {
		return
	}
	s := State{Devices: c.switchedOn(now), Down: c.back.down, Requests: c.Requests, Failed: c.Failed,
		Rate:     float64(c.Requests-t.sent) / time.Duration(now-t.last).Seconds(),
		Lateness: c.late.Quantile(0.99)}
	t.last, t.sent = now, c.Requests
	t.to(s)
}
