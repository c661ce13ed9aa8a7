package lab

import (
	"math"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// Ten seconds at 1 kHz, of a power and of a counter, are twenty figures, the means of their stretches.
func TestThinnerTellsMeans(t *testing.T) {
	power := func(at time.Duration) float64 { return 2 + math.Sin(at.Seconds()) }
	joules := func(at time.Duration) float64 { return 2*at.Seconds() + 1 - math.Cos(at.Seconds()) } // its integral
	for name, of := range map[measure.Quantity]func(time.Duration) float64{energy.Power: power, energy.Counter: joules} {
		var got []float64
		x := thinner{tell: func(w float64) { got = append(got, w) }}
		for at := time.Duration(0); at <= 10*time.Second; at += time.Millisecond {
			x.add(measure.Sample{Quantity: energy.Voltage, At: at, Value: 5})
			x.add(measure.Sample{Quantity: name, At: at, Value: of(at)})
		}
		if len(got) != 20 {
			t.Fatalf("%v: told %d times", name, len(got))
		}
		for i, w := range got {
			from, to := time.Duration(i)*watchEvery, time.Duration(i+1)*watchEvery
			if want := (joules(to) - joules(from)) / watchEvery.Seconds(); math.Abs(w-want) > 0.002 {
				t.Errorf("%v: stretch %d has %v W, want %v", name, i, w, want)
			}
		}
	}
	var got []float64
	x := thinner{tell: func(w float64) { got = append(got, w) }}
	for i, count := range []float64{5, 6, 0.5, 1.5} { // a counter that begins anew
		x.add(measure.Sample{Quantity: energy.Counter, At: time.Duration(i) * time.Second, Value: count})
	}
	if !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("got %v", got)
	}
}
