package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every value lies in its bin, bins follow each other without gap, and none is
// wider than 1/128 of its values.
func TestBinsCoverAllNumbers(t *testing.T) {
	for bin := range 7000 {
		from, to := binFrom(bin), binFrom(bin+1)
		if to <= from {
			break // beyond int64
		}
		if binOf(from) != bin || binOf(to-1) != bin {
			t.Fatalf("bin %d from %d to %d: got %d and %d", bin, from, to, binOf(from), binOf(to-1))
		}
		if float64(to-from) > 1+float64(from)/binsOfTwo {
			t.Fatalf("bin %d from %d to %d is too wide", bin, from, to)
		}
	}
	if b := binOf(math.MaxInt64); binFrom(b) < 0 || b > 7500 {
		t.Errorf("the largest number is in bin %d", b)
	}
}

// The quantiles are those of the sorted values, but for a bin's width.
func TestHistogramQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	shares := []float64{0, 0.01, 0.25, 0.5, 0.9, 0.999, 1}
	for _, n := range []int{1, 2, 7, 1000, 30000} {
		var a, b histogram
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(math.Exp(r.NormFloat64()*2 + 10))
		}
		a.add(values[:n/2])
		b.add(values[n/2:])
		a.merge(&b)
		slices.Sort(values)
		for i, got := range a.quantiles(shares) {
			h := shares[i] * float64(n-1)
			lo, hi := float64(values[int(h)]), float64(values[min(int(math.Ceil(h)), n-1)])
			if got < lo*(1-1.0/128)-1 || got > hi*(1+1.0/128)+1 {
				t.Errorf("n %d, share %v: got %v, want %v to %v", n, shares[i], got, lo, hi)
			}
		}
		if ends := a.quantiles([]float64{0, 1}); ends[0] != float64(values[0]) || ends[1] != float64(values[n-1]) {
			t.Errorf("n %d: the least and the largest are %v, want %d and %d", n, ends, values[0], values[n-1])
		}
		if a.n != int64(n) || a.lo != values[0] || a.hi != values[n-1] {
			t.Errorf("n %d: got %d values from %d to %d, want %d to %d", n, a.n, a.lo, a.hi, values[0], values[n-1])
		}
		if all := a.between(0, float64(a.hi)*2); math.Abs(all-1) > 1e-9 {
			t.Errorf("n %d: %v of the values lie somewhere", n, all)
		}
	}
}

// Values that are all the same are counted as each by itself would be.
func TestHistogramOfOneValue(t *testing.T) {
	for _, v := range []int64{-3, 0, 64, 127, 128, 1 << 40} {
		var together, single histogram
		for _, n := range []int{1, 5, 200} {
			together.add(slices.Repeat([]int64{v}, n))
			for range n {
				single.add([]int64{v})
			}
		}
		together.add([]int64{v, 3*v + 1000})
		single.add([]int64{v})
		single.add([]int64{3*v + 1000})
		total := int64(0)
		for _, n := range single.counts {
			total += n
		}
		if !slices.Equal(together.counts, single.counts) || together.n != single.n || together.lo != single.lo ||
			together.hi != single.hi || total != 208 || single.counts[binOf(v)] != 207 {
			t.Errorf("%d: got %d values from %d to %d, %d in its bin; want %d from %d to %d, %d in it", v, together.n,
				together.lo, together.hi, together.counts[binOf(v)], single.n, single.lo, single.hi, single.counts[binOf(v)])
		}
	}
}

func TestHistogramOfNothing(t *testing.T) {
	var a, b histogram
	a.merge(&b)
	a.add(nil)
	if a.n != 0 || a.between(0, 10) != 0 {
		t.Errorf("got %+v", a)
	}
}
