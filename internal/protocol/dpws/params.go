package dpws

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// Params are the delays and repetitions of discovery.
type Params struct {
	// Repeat says how often a datagram is sent again, multicast and unicast.
	MulticastRepeat, UnicastRepeat int
	// The first repetition follows after a random time from MinDelay to
	// MaxDelay, each later one after twice the time before, at most UpperDelay
	// (SOAP-over-UDP 1.1, section 4).
	MinDelay, MaxDelay, UpperDelay time.Duration
	// MatchDelay bounds the random time that a device waits before its Hello
	// and before a match, so that not all answer at once (APP_MAX_DELAY).
	MatchDelay time.Duration
	// MatchTimeout is how long a client waits for matches (MATCH_TIMEOUT); then it asks anew.
	MatchTimeout time.Duration
}

// DPWS are the values of DPWS 1.1, appendix B.
func DPWS() Params {
	return Params{MulticastRepeat: 1, UnicastRepeat: 1, MinDelay: 50 * time.Millisecond, MaxDelay: 250 * time.Millisecond,
		UpperDelay: 450 * time.Millisecond, MatchDelay: 2500 * time.Millisecond, MatchTimeout: 10 * time.Second}
}

// SOAPOverUDP are the values of SOAP-over-UDP 1.1, section 4, and of
// WS-Discovery 1.1, appendix B, where no profile says otherwise.
func SOAPOverUDP() Params {
	p := DPWS()
	p.MulticastRepeat, p.UpperDelay, p.MatchDelay = 2, 500*time.Millisecond, 500*time.Millisecond
	return p
}

// waits are the times before each repetition.
func (p Params) waits(repeat int) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		wait := p.MinDelay + random(p.MaxDelay-p.MinDelay)
		for range repeat {
			if !yield(wait) {
				return
			}
			wait = min(2*wait, p.UpperDelay)
		}
	}
}

// random is uniform from 0 to most.
func random(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most + 1)
}

// Counts say what became of datagrams that were not simply answered.
type Counts struct {
	Oversized  atomic.Int64 // larger than MaxUDPEnvelope
	Malformed  atomic.Int64 // no discovery message
	Duplicate  atomic.Int64 // seen before
	Unasked    atomic.Int64 // a match that answers nothing of ours: late, another's or forged
	Unmatched  atomic.Int64 // a Probe or Resolve for somebody else
	Overloaded atomic.Int64 // no room to remember it
}

// String says what was dropped, "2 malformed, 5 unmatched"; it is empty if nothing was.
func (c *Counts) String() string {
	var b strings.Builder
	for _, k := range []struct {
		what string
		n    *atomic.Int64
	}{
		{"oversized", &c.Oversized}, {"malformed", &c.Malformed}, {"duplicates", &c.Duplicate}, {"unasked", &c.Unasked},
		{"for another receiver", &c.Unmatched}, {"without room in the queue", &c.Overloaded},
	} {
		if n := k.n.Load(); n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, k.what)
		}
	}
	return strings.TrimPrefix(b.String(), ", ")
}
