package battery

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Devices whose truth is made up: their figures lie anywhere between the limits that the files state, and the
// forecast knows only the files and four trials that scatter by 5 %. Its interval of 95 % holds the life that such
// a device has in 93 to 98 of 100, whatever the radio. The truths are drawn here, apart from the code that is tested.
func TestIntervalsHoldMadeUpTruths(t *testing.T) {
	rs, cells := load(t)
	r := rand.New(rand.NewPCG(7, 7))
	for _, tt := range []struct {
		radio, cell string
		period      time.Duration
	}{{"nb-iot", "5Wh", time.Hour}, {"ble", "CR2032", time.Minute}, {"lte-m", "2xAA", 10 * time.Minute}} {
		radio, ok := rs[tt.radio]
		cell, ok2 := cells[tt.cell]
		if !ok || !ok2 {
			t.Fatalf("no radio %s or no battery %s", tt.radio, tt.cell)
		}
		c := conditions(t, radio, cell, tt.period)
		figures, err := c.figures()
		if err != nil {
			t.Fatal(err)
		}
		const forecasts, devices, bytes = 40, 50, 200.0
		held := 0
		for range forecasts {
			var trials []Traffic
			for range 4 {
				trials = append(trials, message(bytes*(1+0.05*r.NormFloat64()), 60))
			}
			f := predict(t, c, trials...)
			for range devices {
				truth := at(figures, func(g Figure) float64 {
					if r.IntN(2) == 0 {
						return g.Low + (g.Value-g.Low)*r.Float64()
					}
					return g.Value + (g.High-g.Value)*r.Float64()
				})
				if life := truth.lifeOf([]Traffic{message(bytes, 60)}, tt.period.Seconds()); f.Lo <= life && life <= f.Hi {
					held++
				}
			}
		}
		// 2000 of each: a standard error of 0.5, and as much again since one forecast is asked 50 times.
		if share := 100 * float64(held) / (forecasts * devices); share < 93 || share > 98 {
			t.Errorf("%s: %.1f %% of the lives lie in their intervals", tt.radio, share)
		} else {
			t.Logf("%s: %.1f %%", tt.radio, share)
		}
	}
}
