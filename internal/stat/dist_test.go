package stat

import "testing"

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
