package tidy

import "math"

// A sum adds without losing small values to large ones (Neumaier 1974).
type sum struct {
	n           int
	total, lost float64
	first       float64
	equal       bool // all values so far
}

func newSum(x float64) sum { return sum{1, x, 0, x, true} }

func (s *sum) add(x float64) {
	t := s.total + x
	if math.Abs(s.total) >= math.Abs(x) {
		s.lost += (s.total - t) + x
	} else {
		s.lost += (x - t) + s.total
	}
	s.n, s.total, s.equal = s.n+1, t, s.equal && x == s.first
}

func (s *sum) mean() float64 {
	if s.equal {
		return s.first
	}
	return (s.total + s.lost) / float64(s.n)
}
