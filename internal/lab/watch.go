package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// watchEvery is how often a side's power is told while it is measured.
const watchEvery = 500 * time.Millisecond

// A thinner makes of a meter's samples, as they come, the mean power of each half a
// second. It wakes nobody: it works when a sample is there anyway.
type thinner struct {
	tell  func(watts float64)
	from  time.Duration // when this stretch began
	sum   float64       // of the powers in it, in W
	n     int
	count float64 // of a counter when the stretch began, in J
	begun bool
}

func (t *thinner) add(x measure.Sample) {
	switch x.Quantity {
	case energy.Power:
		t.sum += x.Value
		t.n++
	case energy.Counter:
	default:
		return
	}
	if !t.begun {
		t.begun, t.from, t.count = true, x.At, x.Value
		return
	}
	length := x.At - t.from
	if length < watchEvery {
		return
	}
	if t.n > 0 {
		t.tell(t.sum / float64(t.n))
	} else if rise := x.Value - t.count; rise >= 0 { // a counter may begin anew
		t.tell(rise / length.Seconds())
	}
	t.from, t.count, t.sum, t.n = x.At, x.Value, 0, 0
}
