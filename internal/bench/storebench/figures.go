package storebench

import (
	"math"
	"slices"
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

type figures struct{ mean, sd, median, p95 float64 }

// describe reorders v.
func describe(v []int64) figures {
	var sum float64
	for _, x := range v {
		sum += float64(x)
	}
	mean := sum / float64(len(v))
	var squares float64
	for _, x := range v {
		squares += (float64(x) - mean) * (float64(x) - mean)
	}
	median := quantile(v, 0.5)
	return figures{mean, math.Sqrt(squares / float64(len(v)-1)), median, quantile(v, 0.95)}
}

// quantile is Hyndman & Fan 1996, type 7, by selection: sorting 10 million
// values four times would take longer than storing them.
func quantile(v []int64, q float64) float64 {
	h := q * float64(len(v)-1)
	k := int(h)
	lo := selectNth(v, k)
	if k+1 >= len(v) {
		return float64(lo)
	}
	hi := slices.Min(v[k+1:])
	return float64(lo) + (h-float64(k))*float64(hi-lo)
}

// selectNth puts the k-th smallest at k, none smaller after it (Hoare 1961).
func selectNth(v []int64, k int) int64 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		pivot := v[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return v[k]
		}
	}
	return v[k]
}
