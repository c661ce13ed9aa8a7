package lab

import (
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// A row added to the table of fields is summarized for each trial.
func TestAnAddedFieldIsSummarized(t *testing.T) {
	defer func(was []measure.Field) { measure.Fields = was }(measure.Fields)
	measure.Fields = append(slices.Clone(measure.Fields),
		measure.Field{Name: "queue", Column: "queue_ns", Client: measure.Nonzero,
			Server: measure.Nonzero, At: func(x *measure.Exchange) *int64 { return (*int64)(&x.Sensor) }, Place: 11,
			Response: measure.Response{Quantity: measure.Quantity{Name: "queue_time", Unit: "s"},
				Sides: []measure.Side{measure.Client}}})
	var y accumulator
	y.reserve(measure.Client, 2, new(spare))
	for i := range 2 {
		y.add(measure.Exchange{Seq: uint64(i) + 1, Sent: 1, Done: 2, Processing: 3e9, Sensor: 3e9, Total: 7e9})
	}
	for _, r := range y.results(measure.Client) {
		if r.Response == "queue_time" && r.Mean == 3 && r.Unit == "s" && r.N == 2 {
			return
		}
	}
	t.Errorf("got %+v, want a queue_time of 3 s", y.results(measure.Client))
}
