package lab

import (
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A sensor's time is a response of the server where one was read, and nothing where none was.
func TestSensorTime(t *testing.T) {
	for _, sensor := range []time.Duration{0, 7 * time.Millisecond} {
		var y accumulator
		y.reserve(measure.Server, 2, new(spare))
		for i := range 2 {
			y.add(measure.Exchange{Seq: uint64(i) + 1, Processing: sensor + 1000, Sensor: sensor, Total: sensor + 2000})
		}
		var got float64
		for _, r := range y.results(measure.Server) {
			if r.Response == "sensor_time" {
				got = r.Mean
			}
		}
		if got != sensor.Seconds() {
			t.Errorf("a sensor of %v is told as %v s", sensor, got)
		}
	}
}
