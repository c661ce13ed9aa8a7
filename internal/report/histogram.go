package report

import (
	"math"
	"math/bits"
)

// A histogram counts whole numbers, ns or B, in bins that are 1/128 of their
// lower bound wide or finer, so that it costs the same for ten values and ten
// million. Values below 128 have bins of their own.
//
//	v        0 … 127   128, 129 … 255   256-257 … 510-511   512-515 …
//	bin      0 … 127   128      … 255   256     … 383       384     …
type histogram struct {
	counts []int64 // up to the largest bin in use
	n      int64
	lo, hi int64 // the least and the largest value
}

const (
	binBits   = 7
	binsOfTwo = 1 << binBits // in each doubling
)

func binOf(v int64) int {
	if v < binsOfTwo {
		return int(max(v, 0))
	}
	shift := bits.Len64(uint64(v)) - 1 - binBits
	return shift<<binBits + int(v>>shift)
}

// binFrom is the least value of a bin.
func binFrom(bin int) int64 {
	if bin < 2*binsOfTwo {
		return int64(bin)
	}
	shift := bin>>binBits - 1
	return (int64(bin) - int64(shift)<<binBits) << shift
}

func (h *histogram) add(values []int64) {
	if len(values) == 0 {
		return
	}
	lo, hi := values[0], values[0]
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	if b := binOf(hi); b >= len(h.counts) {
		h.counts = append(h.counts, make([]int64, b+1-len(h.counts))...)
	}
	counts := h.counts
	if lo == hi { // as the sizes of all messages are, often
		counts[binOf(lo)] += int64(len(values))
	} else {
		for _, v := range values {
			counts[binOf(v)]++
		}
	}
	if h.n == 0 {
		h.lo, h.hi = lo, hi
	}
	h.lo, h.hi, h.n = min(h.lo, lo), max(h.hi, hi), h.n+int64(len(values))
}

func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 {
		h.lo, h.hi = o.lo, o.hi
	}
	if len(o.counts) > len(h.counts) {
		h.counts = append(h.counts, make([]int64, len(o.counts)-len(h.counts))...)
	}
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.lo, h.hi, h.n = min(h.lo, o.lo), max(h.hi, o.hi), h.n+o.n
}

// reset empties a histogram and keeps its memory.
func (h *histogram) reset() {
	clear(h.counts)
	h.n = 0
}

// quantiles are the values at shares, which rise from 0 to 1. Within a bin
// values are taken as evenly spread; the least and the largest are known.
func (h *histogram) quantiles(shares []float64) []float64 {
	out := make([]float64, 0, len(shares))
	var before int64 // values in earlier bins
	bin := 0
	for _, p := range shares {
		rank := p * float64(h.n-1)
		for bin < len(h.counts)-1 && float64(before+h.counts[bin])-1 < rank {
			before += h.counts[bin]
			bin++
		}
		switch {
		case p <= 0:
			out = append(out, float64(h.lo))
		case p >= 1:
			out = append(out, float64(h.hi))
		default:
			out = append(out, h.place(bin, rank-float64(before)))
		}
	}
	return out
}

// place is the k-th value of a bin, from 0, never beyond what was seen.
func (h *histogram) place(bin int, k float64) float64 {
	from, wide := binFrom(bin), binFrom(bin+1)-binFrom(bin)
	v := float64(from)
	if wide > 1 && h.counts[bin] > 0 {
		v += float64(wide-1) * math.Min(math.Max((k+0.5)/float64(h.counts[bin]), 0), 1)
	}
	return math.Min(math.Max(v, float64(h.lo)), float64(h.hi))
}

// between is the share of the values that lie from lo to below hi; a bin that
// is cut counts in part.
func (h *histogram) between(lo, hi float64) float64 {
	first, last := binOf(int64(math.Max(lo, 0))), min(binOf(int64(math.Max(hi, 0))), len(h.counts)-1)
	sum := 0.0
	for b := first; b <= last; b++ {
		from, to := float64(binFrom(b)), float64(binFrom(b+1))
		if part := math.Min(hi, to) - math.Max(lo, from); part > 0 {
			sum += float64(h.counts[b]) * part / (to - from)
		}
	}
	return sum / float64(max(h.n, 1))
}
