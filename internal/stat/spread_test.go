package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func sets(t *testing.T, text string) (out [][]float64) {
	t.Helper()
	for s := range strings.SplitSeq(text, "|") {
		var xs []float64
		for _, w := range strings.Fields(s) {
			x, err := strconv.ParseFloat(w, 64)
			if err != nil {
				t.Fatal(err)
			}
			xs = append(xs, x)
		}
		out = append(out, xs)
	}
	return out
}

func TestSpreadRatioAgainstItsDefinition(t *testing.T) {
	for _, r := range oracle(t, "spread.csv") {
		c := must[Comparison](t)(SpreadRatio(sets(t, r["a"]), sets(t, r["b"]), 0.95))
		for what, got := range map[string]float64{"ratio": c.Estimate, "lo": c.Lo, "hi": c.Hi, "p": c.P} {
			if !within(got, r.f(t, what), 1e-8) { // log variances far from 0 lose digits in either program
				t.Errorf("%s: %s: got %v, want %v", r["words"], what, got, r.f(t, what))
			}
		}
	}
	for words, c := range map[string]struct {
		a, b []float64
		want error
	}{
		"three values":                {[]float64{1, 2, 3}, []float64{1, 2, 3, 4}, ErrTooFew},
		"no spread":                   {[]float64{1, 1, 1, 1}, []float64{1, 2, 3, 4}, ErrNoSpread},
		"one value holds all of it":   {[]float64{1, 1, 1, 9}, []float64{1, 2, 3, 4}, ErrNoSpread},
		"a value that is not a value": {[]float64{1, 2, 3, math.NaN()}, []float64{1, 2, 3, 4}, ErrNotFinite},
	} {
		if _, err := SpreadRatio([][]float64{c.a}, [][]float64{c.b}, 0.95); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", words, err, c.want)
		}
	}
}

func TestOneAgainstScipy(t *testing.T) {
	for _, r := range oracle(t, "one.csv") {
		c := must[Comparison](t)(One(r.fs(t, "x"), 0.95))
		check(t, r["x"], "mean", c.Estimate, r.f(t, "mean"))
		check(t, r["x"], "lo", c.Lo, r.f(t, "lo"))
		check(t, r["x"], "hi", c.Hi, r.f(t, "hi"))
		check(t, r["x"], "p", c.P, r.f(t, "p"))
	}
	if _, err := One([]float64{1}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("one value: got %v", err)
	}
}

// Equal spreads of 12 normal trials are told apart in about 5 % of studies, of
// markedly skewed ones in some 9 %: doc/method.md says so.
func TestSimulatedSpreadRatio(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for _, x := range []struct {
		words       string
		draw        func() float64
		least, most float64
	}{{"normal", r.NormFloat64, 0.035, 0.06},
		{"log-normal", func() float64 { return math.Exp(0.5 * r.NormFloat64()) }, 0.06, 0.11}} {
		const studies = 4000
		wrong := 0
		for range studies {
			a, b := make([]float64, 12), make([]float64, 12)
			for i := range a {
				a[i], b[i] = x.draw(), x.draw()
			}
			if c, err := SpreadRatio([][]float64{a}, [][]float64{b}, 0.95); err == nil && c.P < 0.05 {
				wrong++
			}
		}
		share := float64(wrong) / studies
		if share < x.least || share > x.most {
			t.Errorf("%s: %.3f of equal spreads are told apart, want %v to %v", x.words, share, x.least, x.most)
		}
	}
}

// Beyond and Between answer both ways, and by value where nothing varies.
func TestBeyondAndBetween(t *testing.T) {
	up := must[Comparison](t)(DifferencePaired([]float64{3, 3.1, 2.9, 3.2}, []float64{1, 1.2, 0.9, 1.1}, 0.95))
	flat := must[Comparison](t)(RatioPaired([]float64{4, 4}, []float64{2, 2}, 0.95))
	for _, c := range []struct {
		words        string
		c            Comparison
		bound        float64
		above, below float64 // 2: significant and not 0
	}{
		{"above", up, 0, 2, 1}, {"below", up, 5, 1, 2}, {"no spread, above", flat, 1, 0, 1},
		{"no spread, below", flat, 3, 1, 0}, {"no spread, at it", flat, 2, 1, 1},
		{"no figure", Comparison{Estimate: math.NaN(), Confidence: 0.95}, 1, 1, 1},
	} {
		above, below := c.c.Beyond(c.bound)
		for i, got := range []float64{above, below} {
			want := []float64{c.above, c.below}[i]
			if want == 2 && !(got > 0 && got < 0.01) || want != 2 && got != want {
				t.Errorf("%s: got %v above and %v below", c.words, above, below)
			}
		}
	}
	if in, out, err := up.Between(1, 3); err != nil || in > 0.01 || out != 1 {
		t.Errorf("inside: %v, %v, %v", in, out, err)
	}
	if in, out, err := up.Between(3, 4); err != nil || in < 0.5 || out > 0.01 {
		t.Errorf("outside: %v, %v, %v", in, out, err)
	}
	if _, out, err := up.Between(2.2, 2.21); err != nil || out != (up.Against(2.2)+up.Against(2.21))/2 {
		t.Errorf("beyond a narrow range: %v, %v; both tails of the nearer bound", out, err)
	}
	if _, out, err := up.Between(2.2, 1e9); err != nil || out > 0.51*up.Against(2.2) {
		t.Errorf("beyond a wide range: %v, %v; hardly more than the tail of the nearer bound", out, err)
	}
	if in, out, err := flat.Between(1.9, 2.1); err != nil || in != 0 || out != 1 {
		t.Errorf("no spread, inside: %v, %v, %v", in, out, err)
	}
	if in, out, err := flat.Between(3, 4); err != nil || in != 1 || out != 0 {
		t.Errorf("no spread, outside: %v, %v, %v", in, out, err)
	}
}
