package report

import "testing"

// Round trips that lie near a timer are an alarm where their trials say that they gather there; results of earlier
// versions, which do not say, are judged as before.
func TestTimersAreNamedWhereRoundTripsGather(t *testing.T) {
	for _, tt := range []struct {
		timers []float64
		alarms int
	}{{nil, 1}, {[]float64{0, 0, 0}, 0}, {[]float64{38e-3, 0, 0}, 1}, {[]float64{38e-3, 38e-3, 38e-3}, 1},
		{[]float64{195e-3, 195e-3, 195e-3}, 0}} {
		r := reportOfRan(t, ran{"rest", 1, []float64{41e-3, 42e-3, 41.5e-3}})
		r.Treatments[0].timers = tt.timers
		if r.checkTimers(0); len(r.Alarms) != tt.alarms {
			t.Errorf("trials that gather at %v: %q", tt.timers, r.Alarms)
		}
	}
}
