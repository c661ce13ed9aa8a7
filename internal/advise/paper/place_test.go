package paper

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// ratioOf is a ratio of blocks that differ by 1 %.
func ratioOf(t *testing.T, r *rand.Rand, center float64) Evidence {
	t.Helper()
	var a, b []float64
	for range 10 {
		a, b = append(a, center*math.Exp(0.01*r.NormFloat64())), append(b, math.Exp(0.01*r.NormFloat64()))
	}
	c, err := stat.RatioPaired(a, b, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return Evidence{Kind: "ratio", Comparison: c}
}

// Where a size lies is said by the tests that decided it: what waiting for a CPU may explain is on no side of the
// bounds, and one comparison among many is not by a p that chance makes among so many.
func TestASizeLiesWhereItsTestsSay(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 17))
	for _, tt := range []struct {
		what   string
		ratios []float64 // of neighbours, all published as 2, which confirms 1.6 to 2.5
		wide   float64   // what waiting may explain
		want   string
	}{
		{"one above", []float64{4, 2}, 1, Above},
		{"one below", []float64{2, 1.2}, 1, Below},
		{"one above, one below", []float64{4, 1.2}, 1, Astray},
		{"one above, one below by what waiting may explain", []float64{4.5, 1.3}, 1.5, Above},
		{"one below, one above by what waiting may explain", []float64{3, 0.8}, 1.5, Below},
		{"all within what waiting may explain", []float64{3, 1.3}, 1.5, ""},
	} {
		j := Judged{Claim: Claim{Less: []string{"a", "b", "c"}, Pairs: []span{{2, 2}, {2, 2}}}, wide: tt.wide}
		for _, x := range tt.ratios {
			j.Parts = append(j.Parts, Part{Ours: ratioOf(t, r, x), Published: []float64{2, 2}})
		}
		j.joinSize()
		if got := j.place(stat.Contradicted, j.SizeP, j.SizeP, 0.05); got != tt.want {
			t.Errorf("%s: got %q, want %q (p %g, %s)", tt.what, got, tt.want, j.SizeP, j.Size)
		}
	}
	// Two comparisons that lie above, one by far and one by chance below: among forty claims the latter says nothing.
	j := Judged{Claim: Claim{Less: []string{"a", "b", "c"}, Pairs: []span{{2, 2}, {2, 2}}}}
	below := ratioOf(t, r, 1.6)
	lo, _, _ := j.boundsOf(Part{Published: []float64{2, 2}})
	for p := 1.0; !(p > 0.002 && p < 0.02); _, p = below.Beyond(lo) {
		below = ratioOf(t, r, 1.59)
	}
	j.Parts = []Part{{Ours: ratioOf(t, r, 4), Published: []float64{2, 2}}, {Ours: below, Published: []float64{2, 2}}}
	j.joinSize()
	if got := j.place(stat.Contradicted, j.SizeP, j.SizeP, 0.05); got != Astray {
		t.Errorf("alone: got %q", got)
	}
	if got := j.place(stat.Contradicted, j.SizeP, 40*j.SizeP, 0.05); got != Above {
		t.Errorf("among forty claims: got %q", got)
	}
}

// A claim that fails if any of its ten comparisons does is decided by as many blocks as are named, at a level that ten
// of them share.
func TestBlocksThatDecideAgainstOneOfTen(t *testing.T) {
	const alpha = 0.05
	r := rand.New(rand.NewPCG(29, 18))
	part := func(center float64) Part {
		var a, b []float64
		for range 12 {
			a, b = append(a, center*math.Exp(0.1*r.NormFloat64())), append(b, math.Exp(0.1*r.NormFloat64()))
		}
		c, err := stat.RatioPaired(a, b, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		p := Part{Ours: Evidence{Kind: "ratio", Comparison: c}, bounds: []float64{1}}
		p.Fails, p.Holds = c.Beyond(1)
		return p
	}
	j := Judged{Parts: []Part{part(1.05)}}
	for j.Parts[0].Fails > 0.5 { // above, where below is claimed
		j.Parts[0] = part(1.05)
	}
	alone, _ := j.trials(alpha)
	for range 9 {
		p := part(0.2)
		j.Parts = append(j.Parts, p)
	}
	among, _ := j.trials(alpha)
	f := j.Parts[0].Ours
	want, err := stat.Blocks(f.SD(), f.DF, math.Log(f.Estimate), alpha/10, power)
	if err != nil {
		t.Fatal(err)
	}
	if among != max(twoDigits(want), 13) || !(among > alone) {
		t.Errorf("%d blocks, and %d with nine comparisons beside it, want %d", alone, among, want)
	}
}
