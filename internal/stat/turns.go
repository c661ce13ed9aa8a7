package stat

import (
	"math"
	"slices"
)

// A BenchOrder is how far two treatments differ on each of several benches.
type BenchOrder struct {
	Means []float64 // of the differences of each bench's blocks
	// Least and Most are the benches, by place, that are furthest from each other on the scale of their errors, and
	// Range is their difference over its error. Below and Above are surest to lie below 0 and above.
	Least, Most, Below, Above int
	Range                     float64
	// P is that of the answer that the order turns: above 0 on one bench and below 0 on another, a qualitative
	// interaction, by the range test (Piantadosi & Gail 1993, after Gail & Simon 1985). The error is pooled over benches.
	P float64
}

// OrderOfBenches takes the differences of two treatments, of each block of each bench, of values of a size; false: they
// have no error.
func OrderOfBenches(differences [][]float64, size float64) (BenchOrder, bool) {
	o := BenchOrder{P: 1}
	var squares, df float64
	for _, d := range differences {
		if len(d) == 0 {
			return o, false
		}
		m, v := moments(d)
		o.Means = append(o.Means, m)
		if len(d) > 1 {
			squares, df = squares+v*float64(len(d)-1), df+float64(len(d)-1)
		}
	}
	if len(differences) < 2 || isRounding(squares, df, size) {
		return o, false
	}
	sd := math.Sqrt(squares / df)
	error2 := func(i int) float64 { return sd * sd / float64(len(differences[i])) }
	var above, below []float64 // one-sided p of each bench's order
	for i, m := range o.Means {
		t := m / math.Sqrt(error2(i))
		above, below = append(above, tUpper(t, df)), append(below, tUpper(-t, df))
		for j, n := range o.Means {
			if r := (n - m) / math.Sqrt(error2(i)+error2(j)); r > o.Range {
				o.Least, o.Most, o.Range = i, j, r
			}
		}
	}
	least := func(ps []float64) (int, float64) { p := slices.Min(ps); return slices.Index(ps, p), p }
	var up, down float64
	o.Above, up = least(above)
	o.Below, down = least(below)
	o.P = min(1, float64(len(o.Means)-1)*max(up, down))
	return o, true
}
