package stat

import (
	"math"
	"testing"
)

func TestDistributionsAgreeWithScipy(t *testing.T) {
	for _, r := range oracle(t, "dist.csv") {
		x, a, b := r.f(t, "x"), r.f(t, "a"), r.f(t, "b")
		got := map[string]func() float64{
			"t_critical":  func() float64 { return tCritical(x, a) },
			"t_upper":     func() float64 { return tUpper(x, a) },
			"f_upper":     func() float64 { return fUpper(x, a, b) },
			"chi2_upper":  func() float64 { return chi2Upper(x, a) },
			"binom_lower": func() float64 { return binomialLower(int(x), int(a), b) },
		}[r["function"]]()
		want := r.f(t, "want")
		if want < 1e-290 { // below, the libraries' own digits end
			if got > 1e-280 {
				t.Errorf("%v: got %g, want nearly 0", r, got)
			}
			continue
		}
		if a >= 1e6 { // gonum's incomplete beta keeps 6 to 9 digits here: enough to choose a rank
			if !within(got, want, 1e-6) {
				t.Errorf("%v: got %g", r, got)
			}
			continue
		}
		check(t, r["function"]+"("+r["x"]+", "+r["a"]+", "+r["b"]+")", "value", got, want)
	}
}

// P of a limit is what the limit was asked for; of many degrees of freedom it is the normal distribution's.
func TestLimitsOfTLeaveTheirP(t *testing.T) {
	for _, df := range []float64{0.5, 1, 1.5, 2, 3, 9.7, 29, 1000, 1e5, 1e7} {
		for _, p := range []float64{0.99, 0.5, 0.05, 0.001, 1e-7, 1e-11} {
			confidence := 1 - p
			got := tTwoSided(tCritical(confidence, df), df)
			if want := 1 - confidence; !(math.Abs(got/want-1) < 1e-7) {
				t.Errorf("df %g: %g is passed in %g", df, want, got)
			}
		}
	}
	if got := tCritical(0.9999999, 1e9); math.Abs(got-5.326723886) > 1e-6 {
		t.Errorf("1e9 degrees of freedom: got %g", got)
	}
	if got, none := tCritical(1, 3), tCritical(0, 3); !math.IsInf(got, 1) || none != 0 {
		t.Errorf("all and none: got %g and %g", got, none)
	}
}

// A probability that is a sum may be a little more than 1: it is 1.
func TestAtLeastOfARoundedProbability(t *testing.T) {
	if got := AtLeast(2, 20, 1+1e-15); got != 1 {
		t.Errorf("got %v, want 1", got)
	}
}
