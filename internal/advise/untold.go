package advise

// Untold stands for the limits of an interval that says nothing.
const Untold = "the trials do not tell"

// SaysNothing reports whether the interval of a ratio is so wide, as that of two trials often is, that its limits would
// only seem to say something.
func SaysNothing(lo, hi float64) bool { return lo < 0.01 && hi > 100 }

// TellsNothing is SaysNothing of the interval of a figure that is not negative, whose limits are held against it.
func TellsNothing(center, lo, hi float64) bool {
	return center > 0 && lo >= 0 && SaysNothing(lo/center, hi/center)
}
