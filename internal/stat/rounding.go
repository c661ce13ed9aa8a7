package stat

import "math"

// A spread that only rounding makes is none: sums, differences and logarithms of values are off in their last digits,
// and no test divides by that. What is the same in each treatment of a block leaves such residuals.

// roundingOf is how far apart values of a size may lie by rounding alone.
func roundingOf(size float64) float64 { return 1e-14 * size }

// isRounding reports whether a sum of n squares, of what is left of values of a size, is rounding alone.
func isRounding(squares, n, size float64) bool {
	off := roundingOf(size)
	return squares <= n*off*off
}

// sizeOf is the size of values: the largest absolute one. Logarithms are known to 1e-16 and no better, however small
// they are.
func sizeOf(log bool, rows ...[]float64) float64 {
	size := 0.0
	if log {
		size = 1
	}
	for _, xs := range rows {
		for _, x := range xs {
			size = max(size, math.Abs(x))
		}
	}
	return size
}
