package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestStudentizedRangeAgainstScipy(t *testing.T) {
	for _, r := range oracle(t, "range.csv") {
		k, df := r.n(t, "k"), r.f(t, "df")
		if got, want := rangeUpper(r.f(t, "q"), k, df), r.f(t, "upper"); math.Abs(got-want) > 1e-8 {
			t.Errorf("k %d, df %g, q %g: got %.9f, scipy %.9f", k, df, r.f(t, "q"), got, want)
		}
		for confidence, column := range map[float64]string{0.95: "limit95", 0.99: "limit99"} {
			if got, want := rangeCritical(confidence, k, df), r.f(t, column); math.Abs(got-want) > 1e-6*want {
				t.Errorf("k %d, df %g, %g: got %.6f, scipy %.6f", k, df, confidence, got, want)
			}
		}
	}
}

// A limit is passed as often as it says, however many treatments and blocks there are.
func TestRangeIsPassedAsOftenAsItsLimitSays(t *testing.T) {
	for _, k := range []int{2, 3, 4, 11, 100, 400} {
		for _, df := range []float64{1, 2, 3, 3.7, 9, 14.618, 29, 1000} {
			for _, p := range []float64{0.2, 0.05, 0.01, 0.0001} {
				if got := rangeUpper(rangeRoot(p, k, df), k, df); !(math.Abs(got/p-1) < 1e-6) {
					t.Errorf("k %d, df %g: passed in %g, want %g", k, df, got, p)
				}
			}
		}
	}
}

// The polynomials are the integral that they stand for, also where pieces meet and beyond the last.
func TestNormalRangesAreTheirIntegral(t *testing.T) {
	for k, wrong := range map[int]float64{3: 1e-13, 4: 1e-13, 11: 1e-13, 100: 1e-12, 400: 1e-10} {
		of := normalRangeOf(k)
		for w := -0.5; w < 20; w += 1.0 / 16 {
			for _, w := range []float64{w, math.Nextafter(w, 0), w + 0.003} {
				if got, want := of.upper(w), normalRangeUpper(w, k); !(math.Abs(got-want) < wrong) {
					t.Fatalf("range of %d beyond %g: got %g, want %g", k, w, got, want)
				}
			}
		}
	}
	// By Bonferroni, and the table of the normal distribution: 80,000 pairs, each beyond 15 in one of 4e25.
	if got := normalRangeUpper(15, 400); got > 1e-13 {
		t.Errorf("range of 400 beyond 15: got %g", got)
	}
}

// Where the integral contradicts that one pair alone passes its own limit as often as p, or all their own no more
// often, the limit is Bonferroni's, which is never too narrow.
func TestRangeIsBonferronisWhereTheIntegralFails(t *testing.T) {
	failed := 0
	for _, k := range []int{3, 10, 60, 100_000} {
		for _, df := range []float64{1, 1.5, 2, 5, 30, 1000} {
			for _, p := range []float64{1e-5, 1e-7, 1e-9} {
				one, all := math.Sqrt2*tCritical(1-p, df), math.Sqrt2*tCritical(1-p/float64(k*(k-1)/2), df)
				fails := rangeUpper(one, k, df) <= p || rangeUpper(all, k, df) >= p
				if q := rangeRoot(p, k, df); !(q >= one && q <= all) || fails && q != all {
					t.Errorf("k %d, df %g, p %g: got %g, want %g to %g", k, df, p, q, one, all)
				}
				if fails {
					failed++
				}
			}
		}
	}
	if failed == 0 {
		t.Error("the integral does not fail anywhere here")
	}
}

func TestClusterLimitsAreTheOracles(t *testing.T) {
	for _, r := range oracle(t, "clusters.csv") {
		if got, want := clusterLimit(r.n(t, "n")), r.f(t, "limit"); got != want {
			t.Errorf("n %d: got %v, want %v", r.n(t, "n"), got, want)
		}
	}
}

func TestAllPairs(t *testing.T) {
	nan := math.NaN()
	p, err := NewAllPairs([][]float64{{1, 1.02, 0.99, 1.01, nan}, {2, 2.03, 1.99, nan, 2.01}, {1, 1, 1, nan, nan}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Compare(1, 0)
	if err != nil || !p.Log || c.N != [2]int{3, 3} || c.P > 0.05 || c.Lo <= 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	back, err := p.Compare(0, 1) // swapping turns it round
	if err != nil || math.Abs(back.Lo*c.Hi-1) > 1e-12 || math.Abs(back.P-c.P) > 1e-12 {
		t.Errorf("got %+v after %+v, %v", back, c, err)
	}
	// With two treatments it is the paired t.
	xs, ys := []float64{1, 1.2, 0.9, 1.1}, []float64{1.3, 1.25, 1.2, 1.4}
	two, err := NewAllPairs([][]float64{xs, ys}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	got, err := two.Compare(0, 1)
	want, err2 := RatioPaired(xs, ys, 0.95)
	if err != nil || err2 != nil || math.Abs(got.P-want.P) > 1e-12 || math.Abs(got.Lo-want.Lo) > 1e-9 ||
		math.Abs(got.Hi-want.Hi) > 1e-9 {
		t.Errorf("two treatments: got %+v, want %+v", got, want)
	}
	// The verdict and the interval are one: P is below 0.05 where the interval excludes 1.
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var rows [][]float64
		for i := range 4 {
			row := make([]float64, 6)
			for b := range row {
				row[b] = math.Exp(0.1*float64(i) + 0.1*r.NormFloat64())
			}
			rows = append(rows, row)
		}
		p, err := NewAllPairs(rows, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := p.Compare(0, 3); err != nil || (c.P < 0.05) != (c.Lo > 1 || c.Hi < 1) {
			t.Errorf("p %v with %v to %v (%v)", c.P, c.Lo, c.Hi, err)
		}
	}
	if d, err := NewAllPairs([][]float64{{-1, 2}, {1, 3}}, 0.95); err != nil || d.Log {
		t.Errorf("values below 0 have no ratio: %+v, %v", d, err)
	}
	if _, err := p.Compare(0, 2); err != nil {
		t.Error(err)
	}
	if _, err := NewAllPairs([][]float64{{1, 2}}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("got %v", err)
	}
	if _, err := NewAllPairs([][]float64{{1, 2}, {1, math.Inf(1)}}, 0.95); !errors.Is(err, ErrNotFinite) {
		t.Errorf("got %v", err)
	}
}

func TestFindClusters(t *testing.T) {
	for _, tt := range []struct {
		what string
		xs   []float64
		want bool
	}{
		{"two CPUs or one", []float64{13, 60, 13.5, 13.1, 61}, true},
		{"one far out", []float64{13, 13.2, 13.5, 13.1, 61}, false},
		{"evenly spread", []float64{10, 11, 12, 13, 14}, false},
		{"two, but 2 % apart", []float64{100, 102, 100.01, 102.01, 100}, false},
		{"too few", []float64{1, 2, 1, 2}, false},
		{"no spread", []float64{1, 1, 1, 1, 1}, false},
		{"30 %, at twelve", []float64{1, 1.31, 1.01, 1.3, 0.99, 1.29, 1, 1.32, 1, 1, 1.02, 0.98}, true},
	} {
		if c, got := FindClusters(tt.xs); got != tt.want {
			t.Errorf("%s: got %v (%+v)", tt.what, got, c)
		}
	}
	c, _ := FindClusters([]float64{13, 60, 13.5, 13.1, 61})
	if c != (Clusters{13.1, 60.5, 3, 2}) {
		t.Errorf("got %+v", c)
	}
}

func TestPositiveMean(t *testing.T) {
	plain, _ := Mean([]float64{10, 11, 12}, 0.95)
	if s, err := PositiveMean([]float64{10, 11, 12}, 0.95); err != nil || s.Lo != plain.Lo || s.Hi != plain.Hi {
		t.Errorf("an interval above 0 is Mean's: got %+v, %v", s, err)
	}
	for _, xs := range [][]float64{{24e-6, 66e-6}, {1, 1, 1, 50}, {1e-9, 1}} {
		s, err := PositiveMean(xs, 0.95)
		if err != nil || !(s.Lo > 0 && s.Lo < s.Center && s.Center < s.Hi) ||
			!strings.Contains(fmt.Sprint(s.Warnings), "do not tell the mean: its interval says little") {
			t.Errorf("%v: got %+v, %v", xs, s, err)
		}
	}
	// Of two that are near each other, t with one degree of freedom is what is wide.
	if s, err := PositiveMean([]float64{8.1, 10.9}, 0.95); err != nil || !(s.Lo > 0) || !strings.Contains(
		fmt.Sprint(s.Warnings), "2 trials are too few") || strings.Contains(fmt.Sprint(s.Warnings), "as widely as") {
		t.Errorf("got %+v, %v", s, err)
	}
	if s, err := PositiveMean([]float64{0, 0, 5}, 0.95); err != nil || s.Lo != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := PositiveMean([]float64{-1, 0, 5}, 0.95); !errors.Is(err, ErrSign) {
		t.Errorf("got %v", err)
	}
}
