package report

import (
	"testing"

	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/radios"
)

// Of the radios that ship no part of a report is left out.
func TestForecastsOverRadiosThatShipAreWhole(t *testing.T) {
	all, err := battery.Load(battery.Radio, radios.Files)
	if err != nil || len(all) < 4 {
		t.Fatalf("%d radios: %v", len(all), err)
	}
	for name := range all {
		f := measuring([]reporter{{"coap", "keep-alive", "coap", 0.1, 0, 200}}, "none", "rtt").Forecast(
			lasting(t, name, "2xAA"), "")
		if got := f.Rows[0]; got.Err != nil || len(got.lacks()) > 0 {
			t.Errorf("%s: %v, left out: %v", name, got.Err, got.lacks())
		}
	}
}
