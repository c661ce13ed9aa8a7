package population

import (
	"math"
	"time"
)

// What devices do, as arithmetic: the same seed gives the same instants. Nothing of
// it is kept in a device's record.

// draw is a number that looks random, of a device and what it is for: SplitMix64's
// finalizer (Steele, Lea and Flood 2014) over a counter.
func draw(seed uint64, device int, what uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15*(uint64(device)+1) + 0xd1342543de82ef95*(what+1)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	return z ^ z>>27
}

// share is draw as a number from 0 to below 1.
func share(seed uint64, device int, what uint64) float64 {
	return float64(draw(seed, device, what)>>11) / (1 << 53)
}

// What numbers are drawn for; jitters of reports and timeouts come above them.
const (
	forPhase = iota
	forOutage
	forMessage
	forPaging
	forJitter  = 1 << 32 // and the number of the report, from -1
	forTimeout = 2 << 32 // and the message ID
	forRetry   = 3 << 32 // and the message ID
	forSample  = 4 << 32 // and the run and the message ID
	forWatch   = 5 << 32 // and the message ID
)

// classOf is the class of a device: the first devices are of the first class.
func (s *Spec) classOf(device int) *Class {
	upto := 0.0
	for i := range s.Classes {
		upto += s.Classes[i].Share
		if float64(device) < math.Round(upto*float64(s.Devices)) {
			return &s.Classes[i]
		}
	}
	return &s.Classes[len(s.Classes)-1]
}

// first is the number of the first report of a device that is switched on at an instant. Report 0 is that of its first
// period. That of the period before it, -1, may come after the instant by its jitter: without it, jitter would push
// reports out at the end of a run and none in at its beginning, and devices would send fewer than one a period.
func (s *Spec) first(device int, on int64) int32 {
	if s.due(device, -1, on) >= on {
		return -1
	}
	return 0
}

// due is when report number k is due of a device that is switched on at an instant, in ns of the
// run: on a grid of its own, so that no error adds up, and later by the jitter of that report.
func (s *Spec) due(device int, k int32, on int64) int64 {
	c := s.classOf(device)
	if c.Period == 0 {
		return never // it only listens
	}
	at := on
	if s.Phase == Random {
		at += int64(share(s.Seed, device, forPhase) * float64(c.Period))
	} else if late := at % int64(c.Period); late > 0 { // it has a clock: all report at the same instants
		at += int64(c.Period) - late
	}
	at += int64(k) * int64(c.Period)
	if c.Jitter > 0 {
		at += int64(share(s.Seed, device, uint64(forJitter+int64(k))) * c.Jitter * float64(c.Period))
	}
	return at
}

// start is when a device is switched on, for the first time.
func (s *Spec) start(device int) int64 {
	if s.Ramp == 0 {
		return 0
	}
	return int64(float64(device) / s.Ramp * 1e9)
}

// after is how long a device waits after so many failures in a row, from 1, before it
// tries again; u is from 0 to below 1.
func (b *Backoff) after(failures int, u float64) time.Duration {
	d := math.Min(float64(b.First)*math.Pow(b.Factor, float64(failures-1)), float64(b.Most))
	switch b.Jitter {
	case Full:
		d *= u
	case Equal:
		d = d/2 + u*d/2
	}
	return time.Duration(d)
}

// hits says whether the outage of this run cuts a device off at an instant.
func (c *core) hits(device int, now int64) bool {
	o := &c.outage
	return o.For > 0 && now >= int64(o.At) && now < int64(o.At+o.For) && c.lot.has(device)
}

// RFC 7252, section 4.8.
const (
	ackTimeout      = 2 * time.Second
	ackRandomFactor = 1.5
	maxRetransmit   = 4
)

// ackWait is how long a confirmable message that was sent again so many times waits
// for its acknowledgement (RFC 7252, section 4.2).
func (s *Spec) ackWait(device int, id uint16, again int) time.Duration {
	u := share(s.Seed, device, forTimeout+uint64(id))
	return time.Duration(float64(ackTimeout)*(1+u*(ackRandomFactor-1))) << again
}

// TCP's timers: Linux sends a segment again after 200 ms at the least (TCP_RTO_MIN of
// include/net/tcp.h), an opening one after 1 s (RFC 6298, section 2.1), and each time
// after twice as long (section 5.5).
const (
	segmentAgain = 200 * time.Millisecond
	openingAgain = time.Second
)

// again is when what was first sent at an instant, and is lost until the outage ends, is
// sent for the first time after it.
func (o *Outage) again(sent int64, first time.Duration) int64 {
	end := int64(o.At + o.For)
	at := sent
	for wait := int64(first); at < end; wait *= 2 {
		at += wait
	}
	return at
}
