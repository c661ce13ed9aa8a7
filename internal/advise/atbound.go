package advise

import (
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// exact reports whether equal values of a series are the truth itself.
func (s Series) exact() bool {
	r, _ := measure.FindResponse(s.Response)
	return r.Exact() && !s.Modelled && !(s.Resends && r.OnWire())
}

// atBound is the verdict on a figure that is exact, and in all trials the bound itself; empty: it is none.
func (c Condition) atBound(f Estimate) stat.Verdict {
	beside := func(x float64) bool { return !SameFigure(x, c.Bound) }
	switch {
	case !f.exact || len(f.Values) < 2 || slices.ContainsFunc(f.Values, beside):
		return ""
	case c.At:
		return stat.Confirmed
	}
	return stat.Contradicted
}

// exactlyAt reports whether a ratio of exact figures is the bound in all trials. A change that is looked for is met by
// any that is sure.
func (o *Outcome) exactlyAt(ratio stat.Comparison) bool {
	return o.Contrast.exact && !o.Condition.Detect && math.IsNaN(ratio.P) && ratio.Lo == ratio.Hi &&
		SameFigure(ratio.Estimate, o.Condition.Bound)
}
