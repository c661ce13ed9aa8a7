package instrument

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// A Point is a stretch of known load and measured gross energy.
type Point struct {
	Load
	Joules float64
}

// FitPowerModel fits idle power, busy power a core and, where the points differ in
// bytes, J a byte, by least squares of relative errors. It states its error, and
// what the points could not show.
//
// Equation, for each point: E = idle·length + busy·CPU + J/B·bytes.
func FitPowerModel(points []Point, cores int) (PowerModel, error) {
	p := PowerModel{Cores: cores}
	columns := []struct {
		name string
		of   func(Load) float64
		into *float64
	}{
		{"idle power", func(l Load) float64 { return l.Length.Seconds() }, &p.IdleW},
		{"busy power", func(l Load) float64 { return l.CPU.Seconds() }, &p.BusyWPerCore},
		{"energy per byte", func(l Load) float64 { return float64(l.Bytes) }, &p.RadioJPerB},
	}
	lacks := []string{"wakes of the radio"}
	if !differ(points, columns[2].of) {
		columns = columns[:2]
		lacks = append([]string{"traffic"}, lacks...)
	}
	if len(points) < len(columns)+1 {
		return p, fmt.Errorf("%d points are too few for %d constants; measure more loads", len(points), len(columns))
	}
	a := make([][]float64, len(columns)) // normal equations, the last column being the right-hand side
	for i := range a {
		a[i] = make([]float64, len(columns)+1)
		for _, q := range points {
			if !(q.Joules > 0) {
				return p, fmt.Errorf("invalid point of %g J", q.Joules)
			}
			x := columns[i].of(q.Load) / q.Joules
			for j := range columns {
				a[i][j] += x * columns[j].of(q.Load) / q.Joules
			}
			a[i][len(columns)] += x
		}
	}
	x, err := solve(a)
	if err != nil {
		return p, err
	}
	for i, c := range columns {
		if x[i] < 0 {
			return p,
				fmt.Errorf("the fit gives %s %.3g, below 0: the load had no visible effect on the power; increase it, or measure "+
					"longer",
					c.name, x[i])
		}
		*c.into = x[i]
	}
	p.Fit.Points, p.Fit.Lacks = len(points), strings.Join(lacks, ", ")
	p.Fit.Typical, p.Fit.Worst = p.errors(points)
	return p, nil
}

// differ says whether a column's rates differ enough to tell it from idle power.
func differ(points []Point, of func(Load) float64) bool {
	lo, hi := math.Inf(1), 0.0
	for _, q := range points {
		rate := of(q.Load) / q.Length.Seconds()
		lo, hi = min(lo, rate), max(hi, rate)
	}
	return hi > 2*lo && hi > 1000 // B/s: less is chatter
}

// errors are the relative errors of the profile at the points: root mean square,
// and the largest.
func (p PowerModel) errors(points []Point) (typical, worst float64) {
	for _, q := range points {
		gross, _ := p.Energy(q.Load)
		e := math.Abs(gross/q.Joules - 1)
		typical += e * e
		worst = max(worst, e)
	}
	return math.Sqrt(typical / float64(len(points))), worst
}

// solve does Gaussian elimination with pivoting.
func solve(a [][]float64) ([]float64, error) {
	n := len(a)
	for c := range n {
		pivot := c
		for r := c; r < n; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[pivot][c]) {
				pivot = r
			}
		}
		a[c], a[pivot] = a[pivot], a[c]
		if math.Abs(a[c][c]) < 1e-9 {
			return nil, errors.New("the points do not differ in load; measure the device idle and busy")
		}
		for r := range n {
			if r == c {
				continue
			}
			k := a[r][c] / a[c][c]
			for j := c; j <= n; j++ {
				a[r][j] -= k * a[c][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = a[i][n] / a[i][i]
	}
	return x, nil
}
