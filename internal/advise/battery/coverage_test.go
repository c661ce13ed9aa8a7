package battery

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

var update = flag.Bool("update", false, "write the tables of doc/method.md anew")

// table holds what a test made against the page's, or writes it there.
func table(t *testing.T, made string) {
	t.Helper()
	old, write := kerneltest.Made(t, "../../../doc/method.md",
		"go test ./internal/advise/battery -run "+t.Name()+" -update")
	switch {
	case *update:
		write(made)
	case old != made:
		t.Errorf("doc/method.md has another table; run this test with -update:\n%s", made)
	}
}

// goTogether says of a row how the truths were drawn.
func goTogether(together bool) string {
	if together {
		return "powers, and coverage, go together"
	}
	return "each by itself"
}

// between is the value of a figure of a made-up device, of which u says how near it lies to its upper limit.
func between(g Figure, u float64) float64 {
	if u < 0.5 {
		return g.Low + (g.Value-g.Low)*2*u
	}
	return g.Value + (g.High-g.Value)*(2*u-1)
}

// thirsty and farAway are the figures that are high together where a chip takes more power than others, and where the
// mast is far away; of a rate it is low then.
var (
	thirsty = []string{"radio.sleep", "radio.idle", "radio.receive", "radio.send", "radio.setup_power"}
	farAway = []string{"radio.setup_time", "radio.wait", "radio.up_rate", "radio.down_rate"}
)

// madeUp is a device, whose powers and whose coverage go together or do not.
func madeUp(r *rand.Rand, figures []Figure, together bool) values {
	power, mast := r.Float64(), r.Float64()
	return at(figures, func(g Figure) float64 {
		u := r.Float64()
		switch {
		case together && slices.Contains(thirsty, g.Key):
			u = power
		case together && slices.Contains(farAway, g.Key):
			if u = mast; g.Unit == "bit/s" {
				u = 1 - mast
			}
		}
		return between(g, u)
	})
}

// Devices whose truth is made up: their figures lie anywhere between the limits that the files state, and the
// forecast knows only the files and four trials that scatter by 5 %. Its interval of 95 % holds the life that such
// a device has in 93 to 98 of 100, whatever the radio, and a need that the device just fails to meet is said to be met
// in at most 4 of 100, where a chip's powers are all high or all low together, and so is what depends on the distance
// to the mast. Where each figure lies anywhere by itself, it holds more, and so it does where the shelf life ends one
// life in forty. The truths are drawn here, apart from the code that is tested.
func TestIntervalsHoldMadeUpTruths(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	rs, cells := load(t)
	r := rand.New(rand.NewPCG(7, 7))
	rows := "\n| radio, battery, a report each | figures | lives | in their interval, % | a need for more wrongly met, % | " +
		"for less, % |\n|---|---|---:|---:|---:|---:|\n"
	for _, tt := range []struct {
		radio, cell string
		period      time.Duration
		together    bool
		least, most float64
	}{{"nb-iot", "5Wh", time.Hour, false, 93, 100}, {"ble", "CR2032", time.Minute, false, 93, 100},
		{"lte-m", "2xAA", 10 * time.Minute, false, 93, 100}, {"nb-iot", "5Wh", time.Hour, true, 93, 98},
		{"ble", "CR2032", time.Minute, true, 93, 99}, {"lte-m", "2xAA", 10 * time.Minute, true, 93, 98}} {
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
		const forecasts, devices, bytes = 20, 100, 200.0
		held, met := 0, map[bool]int{}
		for range forecasts {
			var trials []Traffic
			for range 4 {
				trials = append(trials, message(bytes*(1+0.05*r.NormFloat64()), 60))
			}
			f := predict(t, c, trials...)
			for range devices {
				truth := madeUp(r, figures, tt.together)
				life := truth.lifeOf([]Traffic{message(bytes, 60)}, tt.period.Seconds())
				if f.Lo <= life && life <= f.Hi {
					held++
				}
				for more, bound := range map[bool]float64{true: life * (1 + 1e-9), false: life * (1 - 1e-9)} {
					if (Need{More: more, Bound: bound}).Verdict(f) == stat.Confirmed {
						met[more]++
					}
				}
			}
		}
		// 2000 of each: a standard error of 0.5, and as much again since one forecast is asked 100 times.
		percent := func(n int) float64 { return 100 * float64(n) / (forecasts * devices) }
		rows += fmt.Sprintf("| %s, %s, %s | %s | %d | %.1f | %.1f | %.1f |\n", tt.radio, tt.cell,
			study.DurationText(tt.period), goTogether(tt.together), forecasts*devices, percent(held), percent(met[true]),
			percent(met[false]))
		if share := percent(held); share < tt.least || share > tt.most {
			t.Errorf("%s, together %v: %.1f %% of the lives lie in their intervals", tt.radio, tt.together, share)
		}
		if most := 4.0; max(percent(met[true]), percent(met[false])) > most {
			t.Errorf("%s: a need for more is wrongly met in %.1f %%, for less in %.1f %%", tt.radio, percent(met[true]),
				percent(met[false]))
		}
	}
	table(t, rows+"\n")
}
