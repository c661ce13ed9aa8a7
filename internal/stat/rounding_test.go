package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// What is an exact function of treatment and block leaves a residual of rounding alone: nothing is tested against it.
// Trials that vary by a millionth are tested.
func TestNoTestDividesByRounding(t *testing.T) {
	const tables = 600
	r := rand.New(rand.NewPCG(26, 1))
	tested, wrong := 0, 0
	for n := range tables {
		log, treatments, blocks := n%2 == 0, 2+n%8, 3+n%10
		own, noise := 0.0, 0.0
		if n%3 == 0 {
			own = 0.5 // treatments differ, by the same factor in each block
		}
		if n%4 == 3 {
			noise = 1e-6
		}
		scale := []float64{200, 3e-4, 1e-9, 1}[r.IntN(4)]
		var table Table
		table.Factors = []string{"stack"}
		for b := range blocks {
			size := scale * float64(1+r.IntN(50))
			for _, i := range r.Perm(treatments) {
				y := size * math.Exp(own*float64(i))
				if !log {
					y = size + own*scale*float64(i)
				}
				if y *= 1 + noise*r.NormFloat64(); log {
					y = math.Log(y)
				}
				table.Rows = append(table.Rows, Row{[]string{"s" + strconv.Itoa(i)}, strconv.Itoa(b + 1), y})
			}
		}
		place, before, err := OrderEffects(table, log)
		switch {
		case noise > 0 && errors.Is(err, ErrNoSpread):
			t.Errorf("table %d: %v, of trials that vary", n, err)
		case noise > 0 || errors.Is(err, ErrNoSpread) || errors.Is(err, ErrTooFew):
		default:
			if tested++; place.P < warnAt || before.P < warnAt {
				wrong++
			}
		}
		a, err := AnalyzeVariance(table, AnovaOptions{Log: log})
		if err != nil {
			t.Fatal(err)
		}
		exact, judged := noise == 0, a.Residual.SS != 0 || isFinite(float64(a.Terms[0].F))
		if exact != (len(a.Checks) == 0) || exact && judged {
			t.Errorf("table %d, exact: %v: residual %v, F %v, checks %v", n, exact, a.Residual.SS, a.Terms[0].F, a.Checks)
		}
	}
	if tested > 0 {
		t.Errorf("order effects were tested in %d of %d tables without any, and found in %d", tested, tables*3/4, wrong)
	}
}

// Means of blocks whose values are others with the same sum, and in another order, rise with nothing.
func TestNoDriftOfRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 2))
	for n := range 200 {
		values := []float64{0.1, 0.2, 0.3, 0.7, 1.1}
		table := Table{Factors: []string{"stack"}}
		for b := range 12 {
			d := r.Float64() // from one value to another, so that rounding alone parts the means
			values[0], values[1] = 0.1+d, 0.9-d
			for i, k := range r.Perm(len(values)) {
				table.Rows = append(table.Rows, Row{[]string{"s" + strconv.Itoa(i)}, strconv.Itoa(b + 1), values[k]})
			}
		}
		a, err := AnalyzeVariance(table, AnovaOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range a.Checks {
			if c.Name == "drift of the blocks' means" {
				t.Fatalf("table %d: %v, p = %v", n, c.Name, c.P)
			}
		}
	}
}

// Distances from medians that rounding alone parts, of residuals that are small beside the values, show no unequal
// variance; nor do benches whose blocks differ by rounding rank treatments differently.
func TestNoVarianceAndNoBenchOfRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 3))
	for range 300 {
		var groups, ys [][]float64
		var of []string
		for range 4 {
			var g, y []float64
			for b := range 8 {
				base := math.Exp(6 * r.Float64())
				g = append(g, base+map[bool]float64{true: 1e-7, false: -1e-7}[b%2 == 0]-base)
				y = append(y, math.Log(float64(100+7*(b/4)))+math.Log(3)-math.Log(float64(3*(1+b%3)))+math.Log(float64(1+b%3)))
			}
			groups, ys = append(groups, g), append(ys, y)
		}
		for b := range 8 {
			of = append(of, strconv.Itoa(b/4))
		}
		if got, err := brownForsythe(math.Exp(6), groups); !errors.Is(err, ErrNoSpread) {
			t.Fatalf("variance: %v, %v", got, err)
		}
		b, err := NewBenches(of)
		if err != nil {
			t.Fatal(err)
		}
		if m := b.Model(ys, 0.95); isFinite(float64(m.F)) || isFinite(float64(m.P)) {
			t.Fatalf("benches: F %v, p %v", m.F, m.P)
		}
		if o, ok := OrderOfBenches([][]float64{{1e-17, -1e-17, 0}, {3e-17, 2e-17, 2.5e-17}}, 1); ok {
			t.Fatalf("order of benches: %+v", o)
		}
	}
}
