package report

import (
	"math"
	"slices"
	"testing"
)

// Requests of two trials: the least of all, and the root of their squares around the means of their trials, by the
// degrees of freedom.
func TestWithin(t *testing.T) {
	few, many := []float64{2, 8, 11}, []float64{4, 4, 5, 5, 3, 3, 4, 4}
	c := Cell{}
	squares, freedom := 0.0, 0
	for _, trial := range [][]float64{few, many} {
		mean, all := sum64(trial)/float64(len(trial)), 0.0
		for _, v := range trial {
			all += (v - mean) * (v - mean)
		}
		squares, freedom = squares+all, freedom+len(trial)-1
		c.Points = append(c.Points, Point{Min: slices.Min(trial), SD: math.Sqrt(all / float64(len(trial)-1)),
			n: int64(len(trial))})
	}
	if c.within(); c.Min != 2 || math.Abs(c.RequestSD-math.Sqrt(squares/float64(freedom))) > 1e-12 {
		t.Errorf("got %v, %v; want %v", c.Min, c.RequestSD, math.Sqrt(squares/float64(freedom)))
	}
	c = Cell{Points: []Point{{Min: 3, SD: math.NaN(), n: 1}}}
	if c.within(); c.Min != 3 || !math.IsNaN(c.RequestSD) {
		t.Errorf("got %v, %v", c.Min, c.RequestSD)
	}
}
