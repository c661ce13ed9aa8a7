package stat

import (
	"math"
	"slices"
)

// square is a matrix of zeros.
func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// withMean adds a constant to a matrix whose rows sum to 0, of the size of its diagonal.
func withMean(l [][]float64) [][]float64 {
	s := 0.0
	for i := range l {
		s += l[i][i] / float64(len(l)*len(l))
	}
	for i := range l {
		for j := range l {
			l[i][j] += s
		}
	}
	return l
}

// rootOf is the lower triangular root of a symmetric matrix that is not negative (Cholesky);
// a pivot that is 0 but for rounding gives a column of zeros.
func rootOf(m [][]float64) [][]float64 {
	g := square(len(m))
	for j := range m {
		p := m[j][j]
		for k := range j {
			p -= g[j][k] * g[j][k]
		}
		if !(p > 1e-12*m[j][j]) {
			continue
		}
		g[j][j] = math.Sqrt(p)
		for i := j + 1; i < len(m); i++ {
			s := m[i][j]
			for k := range j {
				s -= g[i][k] * g[j][k]
			}
			g[i][j] = s / g[j][j]
		}
	}
	return g
}

// solve finds the x for which g·gᵀ·x is the right side.
func solve(g [][]float64, right []float64) []float64 {
	y := slices.Clone(right)
	for i := range y {
		for k := range i {
			y[i] -= g[i][k] * y[k]
		}
		y[i] /= g[i][i]
	}
	for i := len(y) - 1; i >= 0; i-- {
		for k := i + 1; k < len(y); k++ {
			y[i] -= g[k][i] * y[k]
		}
		y[i] /= g[i][i]
	}
	return y
}
