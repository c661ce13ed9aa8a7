package link

import (
	"math/bits"
	"time"
)

// A lateness record counts how late packets were handed over, in steps of
// 1/32 of their size: quantiles are right within 3.2 %, the maximum exactly.
// Nothing is forgotten and nothing allocated, however long the trial.
type lateness struct {
	n    int64
	max  time.Duration
	bins [bins]int64
}

const (
	fine = 5 // bits kept below the first
	bins = (64 - fine) << fine
)

func (l *lateness) add(d time.Duration) {
	d = max(d, 0)
	l.n++
	l.max = max(l.max, d)
	l.bins[bin(uint64(d))]++
}

// bin numbers: 0 to 63 are nanoseconds, then 32 to each power of two.
func bin(v uint64) int {
	shift := max(bits.Len64(v)-fine-1, 0)
	return shift<<fine + int(v>>shift)
}

// top is the largest value of a bin.
func top(bin int) time.Duration {
	shift := max(bin>>fine-1, 0)
	return time.Duration(uint64(bin-shift<<fine+1)<<shift - 1)
}

// quantile is the least value that at least the share q does not exceed,
// rounded up to its bin's end: the nearest rank, so that few packets give the
// maximum.
func (l *lateness) quantile(q float64) time.Duration {
	rank := int64(q * float64(l.n))
	if float64(rank) < q*float64(l.n) {
		rank++
	}
	var seen int64
	for i, n := range l.bins {
		if seen += n; n > 0 && seen >= rank {
			return min(top(i), l.max)
		}
	}
	return l.max
}
