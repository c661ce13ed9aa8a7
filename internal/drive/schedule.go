package drive

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// A Schedule yields the instants at which requests are due, in order, counted
// from the start of the run. It knows no clock.
//
// A negative instant is relative: the request is due that long after a
// connection became free. A closed loop without a pause yields -1: a
// nanosecond, which no clock here resolves.
type Schedule = iter.Seq[time.Duration]

// ClosedLoop yields n requests (0: without end), each due pause after a
// connection became free.
func ClosedLoop(n int, pause time.Duration) Schedule {
	return func(yield func(time.Duration) bool) {
		for i := 0; n == 0 || i < n; i++ {
			if !yield(-max(pause, 1)) {
				return
			}
		}
	}
}

// Constant yields rate requests a second, the first at 0, until n are yielded
// or the next would be due at or after span; a limit of 0 does not limit.
// A rate that is not positive yields nothing.
func Constant(rate float64, n int, span time.Duration) Schedule {
	return func(yield func(time.Duration) bool) {
		if !(rate > 0) {
			return
		}
		for i := 0; n == 0 || i < n; i++ {
			// Subtle: multiplied, not added up, so that rounding does not drift.
			due := time.Duration(math.Round(float64(i) / rate * 1e9))
			if span > 0 && due >= span || !yield(due) {
				return
			}
		}
	}
}

// Poisson yields requests with exponential gaps of mean 1/rate seconds, the
// first after one gap; same seed, same instants. The limits are Constant's.
func Poisson(rate float64, seed uint64, n int, span time.Duration) Schedule {
	return func(yield func(time.Duration) bool) {
		if !(rate > 0) {
			return
		}
		random := rand.New(rand.NewPCG(seed, 0))
		var at float64 // s
		for i := 0; n == 0 || i < n; i++ {
			at += random.ExpFloat64() / rate
			due := time.Duration(at * 1e9)
			if span > 0 && due >= span || !yield(due) {
				return
			}
		}
	}
}
