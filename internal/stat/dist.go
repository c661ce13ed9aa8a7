package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Tails are computed from the incomplete beta and gamma functions directly:
// 1-CDF loses every digit of a small p.

// tUpper is P(T > t) with df degrees of freedom.
func tUpper(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return map[bool]float64{true: 0, false: 1}[t > 0]
	}
	half := mathext.RegIncBeta(df/2, 0.5, df/(df+t*t)) / 2
	if t < 0 {
		return 1 - half
	}
	return half
}

func tTwoSided(t, df float64) float64 { return min(1, 2*tUpper(math.Abs(t), df)) }

// tCritical is the t with P(|T| > t) = 1-confidence, by Halley's method on logarithms of both: P falls ever more
// steeply, so that it leads there from everywhere. (mathext.InvRegIncBeta takes three to ten times as long, and of many
// degrees of freedom and small P it is wrong: 82 in place of 5.3.)
func tCritical(confidence, df float64) float64 {
	p := 1 - confidence
	if p <= 0 || p >= 1 {
		return map[bool]float64{true: math.Inf(1), false: 0}[p <= 0]
	}
	t := tNearly(p, df)
	above, _ := math.Lgamma((df + 1) / 2)
	below, _ := math.Lgamma(df / 2)
	density := 2 * math.Exp(above-below) / math.Sqrt(math.Pi*df) // of |T| at 0
	for range 20 {                                               // one or two
		upper := tTwoSided(t, df)
		hazard := t * density * math.Pow(1+t*t/df, -(df+1)/2) / upper // by which P falls
		step := math.Log(upper/p) / hazard
		bends := 1 - (df+1)*t*t/(df+t*t) + hazard
		if t *= math.Exp(step / max(0.5, 1+step*bends/2)); math.Abs(step) < 1e-4 { // the next would be its cube
			break
		}
	}
	return t
}

// tNearly is tCritical to four digits and more (G. W. Hill, Algorithm 396, CACM 13, 1970).
func tNearly(p, df float64) float64 {
	z := math.Sqrt2 * math.Erfcinv(p)
	if df < 2 {
		return z * math.Exp((z*z+1)/(4*max(df, 3)))
	}
	a := 1 / (df - 0.5)
	b := 48 / (a * a)
	c := ((20700*a/b-98)*a-16)*a + 96.36
	d := ((94.5/(b+c)-3)/b + 1) * math.Sqrt(a*math.Pi/2) * df
	y := math.Pow(d*p, 2/df)
	if y <= 0.05+a {
		y = ((1/(((df+6)/(df*y)-0.089*d-0.822)*(df+2)*3)+0.5/(df+4))*y-1)*(df+1)/(df+2) + 1/y
		return math.Sqrt(df * y)
	}
	if y = z * z; df < 5 {
		c += 0.3 * (df - 4.5) * (0.6 - z)
	}
	c += (((0.05*d*z+5)*z-7)*z+2)*z + b
	y = (((((0.4*y+6.3)*y+36)*y+94.5)/c-y-3)/b + 1) * z
	return math.Sqrt(df * math.Expm1(a*y*y))
}

// fUpper is P(F > f) with d1 and d2 degrees of freedom; NaN of no F.
func fUpper(f, d1, d2 float64) float64 {
	if math.IsNaN(f) {
		return f
	}
	if f <= 0 {
		return 1
	}
	if math.IsInf(f, 1) {
		return 0
	}
	return mathext.RegIncBeta(d2/2, d1/2, d2/(d2+d1*f))
}

// chi2Upper is P(X > x) with df degrees of freedom.
func chi2Upper(x, df float64) float64 {
	if x <= 0 {
		return 1
	}
	return mathext.GammaIncRegComp(df/2, x/2)
}

// ArrivalsBeside is the two-sided p of so many random arrivals where so many are expected; either may have been fixed,
// and the other drawn.
func ArrivalsBeside(drawn, expected float64) float64 {
	if !(drawn > 0) {
		return math.Exp(-expected)
	}
	atMost, atLeast := mathext.GammaIncRegComp(drawn+1, expected), mathext.GammaIncReg(drawn, expected)
	return min(1, 2*min(atMost, atLeast))
}

func normalCDF(z float64) float64   { return math.Erfc(-z/math.Sqrt2) / 2 }
func normalUpper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// binomialLower is P(B <= k) for n throws of probability p.
func binomialLower(k, n int, p float64) float64 {
	if k < 0 {
		return 0
	}
	if k >= n {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

// AtLeast is the probability of k or more hits in n independent throws of probability p.
func AtLeast(k, n int, p float64) float64 { return binomialUpper(k, n, p) }

// binomialUpper is P(B >= k).
func binomialUpper(k, n int, p float64) float64 {
	if k <= 0 {
		return 1
	}
	if k > n {
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), min(p, 1)) // a probability may be rounded up
}
