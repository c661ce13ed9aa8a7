package population

import "math"

// A lot says which devices an outage cuts off: exactly its share of them, spread evenly over their numbers and so over
// their classes and the ramp, and with another seed others.
type lot struct{ step, first, all, cut uint64 }

// draws draws the lot of an outage.
func (s *Spec) draws() lot {
	n := uint64(s.Devices)
	// Each device's place in the order in which they are cut off. A step that has no divisor in common with their
	// number leads to each once; of this length, to far ones first.
	step := max(uint64(float64(n)*(math.Phi-1)), 1)
	for divisor(step, n) > 1 {
		step++
	}
	return lot{step: step, first: draw(s.Seed, 0, forOutage) % n, all: n,
		cut: uint64(math.Round(s.Outage.Share * float64(n)))}
}

func (l *lot) has(device int) bool { return (uint64(device)*l.step+l.first)%l.all < l.cut }

// divisor is the greatest that two numbers have in common.
func divisor(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// shows says whether an outage can show in a recovery: more devices are cut off than may be down.
func (l *lot) shows() bool { return l.cut > l.all/100 }
