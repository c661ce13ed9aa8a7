package measure

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
	{38e-3, 48e-3,
		"near 40 ms, the delayed acknowledgement of Linux: header and body are probably written separately, and Nagle's " +
			"algorithm holds the second write; send both in one write, or set TCP_NODELAY"},
	{195e-3, 230e-3,
		"near 200 ms, the minimum retransmission timeout of TCP and the delayed acknowledgement of other systems: look for " +
			"lost packets and for a header and a body in two writes; set TCP_NODELAY"},
}

// Holds reports whether a time, in s, is as long as the timer's.
func (t Timer) Holds(s float64) bool { return s > t.From && s < t.To }
