package measure

import "time"

// A Timer is a delay that comes from a timer of a protocol, not from work. Where no
// link delays messages, round trips that take as long waited for it.
type Timer struct {
	From, To float64 // s
	Says     string  // "near …": which timer, the likely cause, what to try
}

// Timers are those of TCP: delayed acknowledgements (RFC 1122, 4.2.3.2; 40 ms in Linux,
// 200 ms elsewhere), which Nagle's algorithm (RFC 896) makes a sender wait for, and the
// minimum retransmission timeout (200 ms in Linux).
var Timers = []Timer{
	DelayedAcknowledgement,
	{195e-3, 230e-3,
		"near 200 ms, the minimum retransmission timeout of TCP and the delayed acknowledgement of other systems: look for " +
			"lost packets and for a header and a body in two writes; set TCP_NODELAY"},
}

// DelayedAcknowledgement is that of Linux: an answer that waits for it stands still between its header and its body.
var DelayedAcknowledgement = Timer{38e-3, 48e-3,
	"near 40 ms, the delayed acknowledgement of Linux: header and body are probably written separately, and Nagle's " +
		"algorithm holds the second write; send both in one write, or set TCP_NODELAY"}

// Holds reports whether a time, in s, is as long as the timer's.
func (t Timer) Holds(s float64) bool { return s > t.From && s < t.To }

// A Spectrum counts times, so finely that those that gather near a timer are told from those that pass it.
type Spectrum [512]int32 // ms

// SpectrumFrom is the shortest time that matters to a Spectrum: none that is shorter lies at a timer, or beside it.
const SpectrumFrom = 28 * time.Millisecond

// Add counts a time.
func (s *Spectrum) Add(d time.Duration) {
	if i := int(d / time.Millisecond); i >= 0 && i < len(s) {
		s[i]++
	}
}

// within is how many times lie in a stretch, in s.
func (s *Spectrum) within(from, to float64) (n int32) {
	for i := max(0, int(from*1e3+0.5)); i < min(len(s), int(to*1e3+0.5)); i++ {
		n += s[i]
	}
	return n
}

// far is how many times as many a timer has as the stretches beside it.
const far = 5

// Gathers reports whether times gather where the timer's are, besides so much work, in s: not in the stretches as wide
// below and above, which a continuum of times, as that of a queue, fills as well.
func (t Timer) Gathers(s *Spectrum, work float64) bool {
	from, to := t.From+work, t.To+work
	beside := max(s.within(2*from-to, from), s.within(to, 2*to-from))
	return s.within(from, to) >= far*(beside+1)
}
