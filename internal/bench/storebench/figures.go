package storebench

import (
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// idle is from the end of an exchange to the instant at which the next is due.
const idle = 900

// maker makes exchanges of a closed loop: skewed latencies, one request in a
// thousand without an answer. SplitMix64, so that making them costs little.
type maker struct {
	state, seq uint64
	at         time.Duration
}

func (m *maker) next() uint64 {
	m.state += 0x9e3779b97f4a7c15
	z := m.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// skewed is about scale, with a tail to four times as much.
func (m *maker) skewed(scale time.Duration) time.Duration {
	u := float64(m.next()>>11) / (1 << 53)
	return scale + time.Duration(float64(scale)*(0.2*u+3*u*u*u*u*u*u*u*u))
}

func (m *maker) fill(xs []measure.Exchange) {
	for i := range xs {
		m.seq++
		x := measure.Exchange{Seq: m.seq, Due: m.at, Serialization: m.skewed(2000), Deserialization: m.skewed(3000),
			Out: 120, In: 64}
		x.Sent = x.Due + x.Serialization + 150
		x.Done = x.Sent + m.skewed(20000)
		x.Total = x.Done - x.Due + x.Deserialization
		m.at = x.Due + x.Total + idle
		if m.next()%1000 == 0 {
			x.Done, x.In, x.Failure = 0, 0, "timeout"
		}
		xs[i] = x
	}
}

// A source gives the same exchanges again and again, numbered and due after those before: making them anew takes 40 ns
// each, more than half of what storing them does, and a lab gets them from a stack.
type source struct {
	made [4][]measure.Exchange
	turn int
	seq  uint64        // of the last
	at   time.Duration // when the next is due
}

func newSource(seed uint64) *source {
	s := &source{}
	m := maker{state: seed}
	for i := range s.made {
		s.made[i] = make([]measure.Exchange, 4096)
		m.fill(s.made[i])
	}
	return s
}

// begin begins a trial.
func (s *source) begin() { s.seq, s.at = 0, 0 }

// next are the next exchanges of a trial, at most so many, good until it has been called three times more.
func (s *source) next(most int) []measure.Exchange {
	made := s.made[s.turn]
	s.turn = (s.turn + 1) % len(s.made)
	further, later := s.seq+1-made[0].Seq, s.at-made[0].Due
	for i := range made {
		x := &made[i]
		x.Seq, x.Due, x.Sent = x.Seq+further, x.Due+later, x.Sent+later
		if x.Failure == "" {
			x.Done += later
		}
	}
	made = made[:min(most, len(made))]
	last := &made[len(made)-1]
	s.seq, s.at = last.Seq, last.Due+last.Total+idle
	return made
}
