package battery

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// What is not known of the radio and concerns both alike cancels; where it concerns them differently the order may
// turn.
func TestCompareByHand(t *testing.T) {
	cell := profile(t, Battery, "capacity=1Ah", "voltage=1V")
	of := func(sets ...string) Conditions {
		radio := profile(t, Radio, "sleep=0W", "idle=1W", "receive=1W", "send=1W", "up_rate=8bit", "down_rate=8bit")
		return conditions(t, radio, cell, 1000*time.Second, sets...)
	}
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 0.03 }
	// Three times the limits of sending: each life spans a factor of 3, their ratio is that of the bytes.
	c := of("radio.send=0.5W..1.5W")
	r, err := Compare([]Traffic{message(10, 0)}, []Traffic{message(20, 0)}, c)
	if err != nil || math.Abs(r.Estimate-2) > 1e-12 || math.Abs(r.Lo-2) > 1e-12 || math.Abs(r.Hi-2) > 1e-12 {
		t.Errorf("half of the bytes: got %+v, %v", r, err)
	}
	if f := predict(t, c, message(10, 0)); f.Hi < 2.5*f.Lo {
		t.Errorf("the life itself: %g to %g s", f.Lo, f.Hi)
	}
	// 10 s of sending beside 10 s of receiving: the ratio is the power of sending, 0.525 to 1.475 W.
	r, err = Compare([]Traffic{message(0, 10)}, []Traffic{message(10, 0)}, c)
	if err != nil || math.Abs(r.Estimate-1) > 1e-12 || !near(r.Lo, 0.525) || !near(r.Hi, 1.475) {
		t.Errorf("receiving beside sending: got %+v, %v", r, err)
	}
	// A device that works with one of them only lasts for ever as long with it.
	c = of("radio.up_rate=0.08bit..8bit") // 200 B take longer than 1000 s at the lower fifth
	if r, err = Compare([]Traffic{message(1, 0)}, []Traffic{message(200, 0)}, c); err != nil || !math.IsInf(r.Hi, 1) {
		t.Errorf("a device that works with one: got %+v, %v", r, err)
	}
	if _, err = Compare([]Traffic{message(1, 0)}, []Traffic{message(2000, 0)}, c); !errors.Is(err, ErrBusy) {
		t.Errorf("a report that takes longer than the period: %v", err)
	}
	if _, err = Compare(nil, []Traffic{message(1, 0)}, c); err == nil {
		t.Error("no trial was compared")
	}
}

// Of devices whose truth is made up, the interval of the ratio holds the ratio that such a device has in 92 of 100 or
// more, and of reports that are equal in truth one is said to last longer in at most 8 of 100.
func TestComparisonsHoldMadeUpTruths(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	rs, cells := load(t)
	r := rand.New(rand.NewPCG(17, 18))
	rows := "\n| radio, battery, a report each | bytes of the others | figures | ratios | in their interval, % | comparisons | " +
		"an order is said, % |\n|---|---|---|---:|---:|---:|---:|\n"
	for _, tt := range []struct {
		radio, cell string
		period      time.Duration
		more        float64
		together    bool
	}{{"nb-iot", "2xAA", time.Hour, 1, false}, {"nb-iot", "2xAA", time.Hour, 2, false},
		{"nb-iot", "2xAA", time.Hour, 2, true}, {"nb-iot", "2xAA", time.Hour, 1, true},
		{"lte-m", "2xAA", 10 * time.Minute, 1, true}, {"lte-m", "2xAA", 10 * time.Minute, 2, true},
		{"ble", "CR2032", time.Minute, 1, true}, {"ble", "CR2032", time.Minute, 2, true}} {
		c := conditions(t, rs[tt.radio], cells[tt.cell], tt.period)
		figures, err := c.figures()
		if err != nil {
			t.Fatal(err)
		}
		const comparisons, devices, bytes = 25, 50, 200.0
		held, told := 0, 0
		for range comparisons {
			var a, b []Traffic
			for range 4 {
				a = append(a, message(bytes*(1+0.05*r.NormFloat64()), 60))
				b = append(b, message(tt.more*bytes*(1+0.05*r.NormFloat64()), 60))
			}
			got, err := Compare(a, b, c)
			if err != nil {
				t.Fatal(err)
			}
			if got.Lo > 1 || got.Hi < 1 {
				told++
			}
			for range devices {
				truth := madeUp(r, figures, tt.together)
				x := truth.lifeOf([]Traffic{message(bytes, 60)}, tt.period.Seconds()) /
					truth.lifeOf([]Traffic{message(tt.more*bytes, 60)}, tt.period.Seconds())
				if got.Lo <= x && x <= got.Hi {
					held++
				}
			}
		}
		share, order := 100*float64(held)/(comparisons*devices), 100*float64(told)/comparisons
		rows += fmt.Sprintf("| %s, %s, %s | %g times | %s | %d | %.1f | %d | %.0f |\n", tt.radio, tt.cell,
			study.DurationText(tt.period), tt.more, goTogether(tt.together), comparisons*devices, share, comparisons, order)
		if share < 92 || tt.more == 1 && order > 8 || tt.radio == "nb-iot" && tt.more == 2 && order < 95 {
			t.Errorf("%+v: %.1f %% of the ratios are held; an order is said of %.0f %%", tt, share, order)
		}
	}
	table(t, rows+"\n")
}
