package stat

import "math"

// A basis holds orthonormal columns: a QR decomposition grown a column at a
// time, by Gram-Schmidt done twice (Giraud et al. 2005: twice is enough).
type basis struct {
	q [][]float64
	r [][]float64 // r[j][i]: part of column j along q[i], i <= j
	// sweep takes out of a column what is spanned before q; nil: nothing is.
	sweep func([]float64)
}

// add takes a column in, or reports false if the columns before span it.
func (b *basis) add(column []float64) bool {
	v := append([]float64(nil), column...)
	r := make([]float64, len(b.q)+1)
	before := norm(v)
	for range 2 {
		if b.sweep != nil {
			b.sweep(v)
		}
		for i, q := range b.q {
			part := dot(q, v)
			r[i] += part
			for k := range v {
				v[k] -= part * q[k]
			}
		}
	}
	after := norm(v)
	if after <= 1e-9*before {
		return false
	}
	for k := range v {
		v[k] /= after
	}
	r[len(b.q)] = after
	b.q, b.r = append(b.q, v), append(b.r, r)
	return true
}

// rest is what of y the columns do not span.
func (b *basis) rest(y []float64) []float64 {
	v := append([]float64(nil), y...)
	for range 2 {
		if b.sweep != nil {
			b.sweep(v)
		}
		for _, q := range b.q {
			part := dot(q, v)
			for k := range v {
				v[k] -= part * q[k]
			}
		}
	}
	return v
}

// coefficients solves for the least squares fit of y.
func (b *basis) coefficients(y []float64) []float64 {
	beta := make([]float64, len(b.q))
	for j := len(b.q) - 1; j >= 0; j-- {
		beta[j] = dot(b.q[j], y)
		for k := j + 1; k < len(b.q); k++ {
			beta[j] -= b.r[k][j] * beta[k]
		}
		beta[j] /= b.r[j][j]
	}
	return beta
}

// spread is the standard error of the combination c of coefficients, in units
// of the residual standard deviation: the length of R⁻ᵀc.
func (b *basis) spread(c []float64) float64 {
	u := make([]float64, len(c))
	for j := range c {
		u[j] = c[j]
		for i := range j {
			u[j] -= b.r[j][i] * u[i]
		}
		u[j] /= b.r[j][j]
	}
	return norm(u)
}

func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }
