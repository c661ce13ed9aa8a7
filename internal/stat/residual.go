package stat

import (
	"fmt"
	"math"
	"slices"
)

// check looks at the residuals, which stand in row order, of values of a size.
func (a *Anova) check(residuals []float64, t Table, size float64) {
	if a.Residual.DF == 0 || a.Residual.SS == 0 {
		return
	}
	if got, err := Normality(residuals); err == nil {
		a.Checks = append(a.Checks, got)
		if got.P < warnAt {
			a.Warnings = append(a.Warnings,
				fmt.Errorf("residuals are not normal (%s, p = %.2g): look at the trials; medians and rank tests do not assume "+
					"normality",
					got.Name, got.P))
		}
	}
	moved := Table{Factors: t.Factors, Rows: slices.Clone(t.Rows)}
	for i := range moved.Rows {
		moved.Rows[i].Y = residuals[i]
	}
	var groups [][]float64
	for _, g := range moved.treatments() {
		groups = append(groups, g.ys)
	}
	if got, err := brownForsythe(size, groups); err == nil {
		a.Checks = append(a.Checks, got)
		if got.P < warnAt {
			a.Warnings = append(a.Warnings,
				fmt.Errorf("treatments differ in variance (%s, p = %.2g): rely on the contrasts, which have their own "+
					"variances, rather than on the F tests", got.Name, got.P))
		}
	}
	a.drift("drift of the residuals with the order of the rows", "look at the time course")(trendWithin(residuals, t))
	if t.Blocked() && newDesign(t).crossed() {
		drift := a.drift("drift of the blocks' means", "comparisons within blocks hold, the means may not")
		drift(trendOfBlocks(t, size))
	}
}

func (a *Anova) drift(name, advice string) func(Test, error) {
	return func(got Test, err error) {
		if err != nil {
			return // too few rows to tell
		}
		got.Name = name
		a.Checks = append(a.Checks, got)
		if got.P < warnAt {
			a.Warnings = append(a.Warnings, fmt.Errorf("%s (tau = %.2f, p = %.2g): something changed during the measurement; %s",
				name, got.Statistic, got.P, advice))
		}
	}
}

// Normality is the Anderson-Darling test with mean and variance estimated
// (D'Agostino & Stephens 1986, table 4.9). It needs 8 values.
func Normality(xs []float64) (Test, error) {
	if err := finite(xs); err != nil {
		return Test{}, err
	}
	if len(xs) < 8 {
		return Test{}, fmt.Errorf("%w: %d values are too few to test for normality; 8 suffice", ErrTooFew, len(xs))
	}
	if allEqual(xs) {
		return Test{}, noSpread(len(xs), xs[0])
	}
	z := slices.Sorted(slices.Values(xs))
	n, least := float64(len(z)), z[0]
	for i := range z {
		z[i] -= least // or a large mean takes the spread's digits
	}
	m, v := moments(z)
	for i := range z {
		z[i] = (z[i] - m) / math.Sqrt(v)
	}
	var sum float64
	for i := range z {
		sum += (2*float64(i) + 1) / n * (math.Log(normalCDF(z[i])) + math.Log(normalUpper(z[len(z)-1-i])))
	}
	a2 := -n - sum
	a := a2 * (1 + 0.75/n + 2.25/(n*n))
	t := Test{Name: "Anderson-Darling", Statistic: a2, Method: "approximation of Stephens for estimated mean and variance"}
	switch {
	case a < 0.2:
		t.P = 1 - math.Exp(-13.436+101.14*a-223.73*a*a)
	case a < 0.34:
		t.P = 1 - math.Exp(-8.318+42.796*a-59.938*a*a)
	case a < 0.6:
		t.P = math.Exp(0.9177 - 4.279*a - 1.38*a*a)
	case a <= 13:
		t.P = math.Exp(1.2937 - 5.709*a + 0.0186*a*a)
	}
	return t, nil
}

// BrownForsythe tests whether groups have equal variance: the F test on
// distances from the group's median (Brown & Forsythe 1974). It rejects too
// seldom in groups of 3 to 6.
func BrownForsythe(groups ...[]float64) (Test, error) {
	return brownForsythe(sizeOf(false, groups...), groups)
}

// brownForsythe is BrownForsythe of what is left of values of a size.
func brownForsythe(size float64, groups [][]float64) (Test, error) {
	if len(groups) < 2 {
		return Test{}, fmt.Errorf("%w: %d groups are too few to compare variances; give at least 2", ErrTooFew, len(groups))
	}
	var n, grand float64
	away := make([][]float64, len(groups))
	for i, g := range groups {
		if err := finite(g); err != nil {
			return Test{}, fmt.Errorf("group %d: %w", i+1, err)
		}
		mid := Middle(g)
		for _, x := range g {
			away[i] = append(away[i], math.Abs(x-mid))
			grand += math.Abs(x - mid)
			n++
		}
	}
	grand /= n
	var between, within float64
	for _, g := range away {
		m := meanOf(g)
		between += float64(len(g)) * (m - grand) * (m - grand)
		for _, x := range g {
			within += (x - m) * (x - m)
		}
	}
	d1, d2 := float64(len(groups)-1), n-float64(len(groups))
	if d2 == 0 || isRounding(within, n, 100*size) {
		return Test{}, fmt.Errorf("%w: the groups' values are equally far from their medians; equal variance cannot be "+
			"tested",
			ErrNoSpread)
	}
	f := between / d1 / (within / d2)
	return Test{Name: "Brown-Forsythe", Statistic: f, P: fUpper(f, d1, d2),
		Method: "F of distances from the group's median"}, nil
}
