package link

import (
	"math"
	"math/rand/v2"
	"time"
)

// Counts are what became of the packets of one direction. At any instant
// In = Out + Lost + Dropped + Queued.
type Counts struct {
	In      int64 `json:"in"`      // read from the sender's interface
	Out     int64 `json:"out"`     // written to the receiver's
	Lost    int64 `json:"lost"`    // on the wire, as the shape says
	Dropped int64 `json:"dropped"` // the queue was full
	Queued  int64 `json:"queued"`  // on their way
	Bytes   int64 `json:"bytes"`   // B of the packets in Out
}

// A pipe decides when the packets of one direction arrive, and which do not.
// It knows no clock and touches no network. Packets come in the order of now.
type pipe struct {
	Shape
	rng *rand.Rand

	txEnd   time.Duration   // when the transmitter is free
	waiting []time.Duration // when each packet's transmission starts, from begun on
	begun   int             // of them have begun
	burst   bool            // packets are being lost
	last    time.Duration   // when the latest packet arrives
	counts  Counts
}

func newPipe(s Shape, seed, stream uint64) *pipe {
	p := &pipe{Shape: s, rng: rand.New(rand.NewPCG(seed, stream))}
	p.burst = s.Burst > 0 && p.rng.Float64() < s.Loss
	return p
}

// take says when a packet of n bytes that came at now is due at the other end,
// or that it never will be. A lost packet takes the transmitter's time too: it
// was sent.
func (p *pipe) take(now time.Duration, n int) (due time.Duration, ok bool) {
	p.counts.In++
	sent := now
	if p.Rate > 0 {
		if sent, ok = p.send(now, n); !ok {
			p.counts.Dropped++
			return 0, false
		}
	}
	if p.lose() {
		p.counts.Lost++
		return 0, false
	}
	due = sent + p.delay()
	if !p.Reorder {
		due = max(due, p.last)
		p.last = due
	}
	return due, true
}

// send queues n bytes for the transmitter, which sends one packet after the
// other: a token bucket of depth zero.
func (p *pipe) send(now time.Duration, n int) (sent time.Duration, ok bool) {
	for p.begun < len(p.waiting) && p.waiting[p.begun] <= now {
		p.begun++
	}
	if p.begun > len(p.waiting)/2 { // so that moving costs each packet once
		p.waiting = p.waiting[:copy(p.waiting, p.waiting[p.begun:])]
		p.begun = 0
	}
	start := now
	if p.txEnd > now {
		if len(p.waiting)-p.begun >= p.queue() {
			return 0, false
		}
		start = p.txEnd
		p.waiting = append(p.waiting, start)
	}
	p.txEnd = start + p.serialization(n)
	return p.txEnd, true
}

// lose walks the two states of Gilbert's model: in a burst every packet is
// lost, which goes on with probability 1 - 1/Burst; a burst begins as often as
// makes Loss of all packets lost in the long run.
func (p *pipe) lose() bool {
	if p.Loss == 0 || p.Loss == 1 {
		return p.Loss == 1
	}
	if p.Burst == 0 {
		return p.rng.Float64() < p.Loss
	}
	// In the long run as many bursts begin as end: begins·(1-Loss) = ends·Loss.
	ends := 1 / p.Burst
	begins := ends * p.Loss / (1 - p.Loss)
	if p.burst {
		p.burst = p.rng.Float64() >= ends
	} else {
		p.burst = p.rng.Float64() < begins
	}
	return p.burst
}

// MeanDelay is the mean of the delays that are drawn, of a normal distribution without what is negative: more than
// Delay where that is not far above the spread. That packets keep their order is not in it.
func (s Shape) MeanDelay() time.Duration {
	if s.DelayStdDev == 0 {
		return s.Delay
	}
	z := float64(s.Delay) / float64(s.DelayStdDev)
	density, positive := math.Exp(-z*z/2)/math.Sqrt(2*math.Pi), math.Erfc(-z/math.Sqrt2)/2
	return s.Delay + time.Duration(float64(s.DelayStdDev)*density/positive)
}

func (p *pipe) delay() time.Duration {
	if p.DelayStdDev == 0 {
		return p.Delay
	}
	for {
		d := float64(p.Delay) + p.rng.NormFloat64()*float64(p.DelayStdDev)
		if d >= 0 {
			return time.Duration(d)
		}
	}
}
