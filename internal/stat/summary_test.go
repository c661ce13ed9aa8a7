package stat

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSummariesAgreeWithScipy(t *testing.T) {
	for _, r := range oracle(t, "summary.csv") {
		xs, conf, q := r.fs(t, "values"), r.f(t, "confidence"), r.f(t, "q")
		var s Summary
		var err error
		switch r["figure"] {
		case "mean":
			s, err = Mean(xs, conf)
		case "median":
			s, err = Median(xs, conf)
		case "quantile":
			s, err = Quantile(xs, q, conf)
		}
		words := r["words"] + ", " + r["figure"] + " " + r["q"] + " at " + r["confidence"]
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		check(t, words, "center", s.Center, r.f(t, "center"))
		check(t, words, "lo", s.Lo, r.f(t, "lo"))
		check(t, words, "hi", s.Hi, r.f(t, "hi"))
		if s.HasInterval() == (len(s.Warnings) > 0) {
			t.Errorf("%s: interval %v to %v with warnings %v", words, s.Lo, s.Hi, s.Warnings)
		}
		if s.N != len(xs) || s.Confidence != conf || s.Method == "" {
			t.Errorf("%s: got %+v", words, s)
		}
	}
}

func TestMedianOfFewTrialsHasNoInterval(t *testing.T) {
	for n := 1; n <= 7; n++ {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(i)
		}
		s := must[Summary](t)(Median(xs, 0.95))
		if want := n >= 6; s.HasInterval() != want {
			t.Errorf("%d trials: interval %v to %v, want one: %v", n, s.Lo, s.Hi, want)
		}
		if n < 6 && (len(s.Warnings) != 1 || !errors.Is(s.Warnings[0], ErrTooFew) ||
			!strings.Contains(s.Warnings[0].Error(), "6 suffice")) {
			t.Errorf("%d trials: warnings %v, want one that says 6 are needed", n, s.Warnings)
		}
	}
}

func TestRefusals(t *testing.T) {
	fifty, hundred := make([]float64, 50), make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i)
		fifty[i/2] = float64(i)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		words string
		do    func() (Summary, error)
		want  error
	}{
		{"p99 of 50", func() (Summary, error) { return Quantile(fifty, 0.99, 0.95) }, ErrTooFew},
		{"p1 of 50", func() (Summary, error) { return Quantile(fifty, 0.01, 0.95) }, ErrTooFew},
		{"p95 of 19", func() (Summary, error) { return Quantile(fifty[:19], 0.95, 0.95) }, ErrTooFew},
		{"mean of nothing", func() (Summary, error) { return Mean(nil, 0.95) }, ErrNoData},
		{"median of nothing", func() (Summary, error) { return Median(nil, 0.95) }, ErrNoData},
		{"mean with NaN", func() (Summary, error) { return Mean([]float64{1, nan, 2}, 0.95) }, ErrNotFinite},
		{"mean with Inf", func() (Summary, error) { return Mean([]float64{1, inf, 2}, 0.95) }, ErrNotFinite},
		{"median with -Inf", func() (Summary, error) { return Median([]float64{1, -inf, 2}, 0.95) }, ErrNotFinite},
		{"mean that overflows", func() (Summary, error) { return Mean([]float64{1e308, -1e308, 1e308}, 0.95) }, ErrNotFinite},
	} {
		if s, err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %+v, %v; want %v", c.words, s, err, c.want)
		}
	}
	for _, confidence := range []float64{0, 1, 95, -1, nan} {
		if _, err := Mean(fifty, confidence); err == nil {
			t.Errorf("confidence %v was taken", confidence)
		}
		if _, err := Quantile(fifty, confidence, 0.95); err == nil {
			t.Errorf("quantile %v was taken", confidence)
		}
	}
	// 100 values show a p99 but no interval of it: 368 do.
	s := must[Summary](t)(Quantile(hundred, 0.99, 0.95))
	if s.HasInterval() || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Error(), "368") {
		t.Errorf("p99 of 100: got %+v", s)
	}
}

func TestNoSpreadIsWarnedAbout(t *testing.T) {
	same := []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}
	for words, f := range map[string]func() (Summary, error){
		"mean":   func() (Summary, error) { return Mean(same, 0.95) },
		"median": func() (Summary, error) { return Median(same, 0.95) },
	} {
		s := must[Summary](t)(f())
		if s.Lo != s.Hi || len(s.Warnings) != 1 || !errors.Is(s.Warnings[0], ErrNoSpread) {
			t.Errorf("%s: got %+v", words, s)
		}
		if !near(s.Center, 0.1) {
			t.Errorf("%s: center %v", words, s.Center)
		}
	}
	one := must[Summary](t)(Mean([]float64{3}, 0.95))
	if one.HasInterval() || len(one.Warnings) != 1 || one.Precise(1) {
		t.Errorf("one trial: got %+v", one)
	}
}

func TestSummaryShiftsAndScales(t *testing.T) {
	for _, r := range oracle(t, "summary.csv") {
		if r["words"] != "fifty with ties" || r["confidence"] != "0.95" {
			continue
		}
		xs := r.fs(t, "values")
		for _, f := range []func([]float64) (Summary, error){
			func(xs []float64) (Summary, error) { return Mean(xs, 0.95) },
			func(xs []float64) (Summary, error) { return Median(xs, 0.95) },
			func(xs []float64) (Summary, error) { return Quantile(xs, 0.75, 0.9) },
		} {
			base := must[Summary](t)(f(xs))
			moved := must[Summary](t)(f(each(xs, func(x float64) float64 { return -2*x + 7 })))
			if q := base.Method[0] == 'p'; !q { // a lower quantile is not an upper one
				check(t, base.Method, "lo under -2x+7", moved.Lo, -2*base.Hi+7)
				check(t, base.Method, "center under -2x+7", moved.Center, -2*base.Center+7)
			}
			backwards := append([]float64(nil), xs...)
			for i, j := 0, len(xs)-1; i < j; i, j = i+1, j-1 {
				backwards[i], backwards[j] = backwards[j], backwards[i]
			}
			turned := must[Summary](t)(f(backwards))
			check(t, base.Method, "lo of the same values in another order", turned.Lo, base.Lo)
		}
	}
}

func TestSummaryAsJSON(t *testing.T) {
	s := must[Summary](t)(Median([]float64{1, 2, 3}, 0.95))
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"ci":null`) || !strings.Contains(string(b), `"center":2`) ||
		!strings.Contains(string(b), "too few") {
		t.Errorf("got %s", b)
	}
}

func TestReplicationsAgreeWithScipy(t *testing.T) {
	for _, r := range oracle(t, "replications.csv") {
		got := must[int](t)(Replications(r.f(t, "sd"), r.f(t, "half_width"), r.f(t, "confidence")))
		if got != r.n(t, "n") {
			t.Errorf("%v: got %d", r, got)
		}
	}
	if n, err := Replications(1, 0, 0.95); err == nil {
		t.Errorf("a half-width of 0: got %d trials, want a refusal", n)
	}
}

func TestPrecise(t *testing.T) {
	s := Summary{Center: -100, Lo: -102, Hi: -98}
	if !s.Precise(0.02) || s.Precise(0.019) {
		t.Errorf("half-width 2 %% of the centre: Precise(0.02) %v, Precise(0.019) %v", s.Precise(0.02), s.Precise(0.019))
	}
}

func each(xs []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = f(x)
	}
	return out
}

// A clock that ticks makes medians equal that are not: an interval between two of them has no width, and a warning says
// what that is worth. It has width as soon as the order statistics differ.
func TestMedianOfTicks(t *testing.T) {
	for _, x := range []struct {
		values []float64
		warns  bool
	}{{[]float64{31, 31, 31, 31, 31, 31, 31, 31, 31, 32}, true},
		{[]float64{31, 31, 32, 32, 31, 32, 31, 32, 31, 32}, false}, {[]float64{31, 31, 31, 31, 31, 31}, false}} {
		s := must[Summary](t)(Median(x.values, 0.95))
		if got := slices.ContainsFunc(s.Warnings, func(w error) bool { return errors.Is(w, ErrTies) }); got != x.warns ||
			got && (s.Lo != 31 || s.Hi != 31) {
			t.Errorf("%v: got %+v", x.values, s)
		}
	}
}
