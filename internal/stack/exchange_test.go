package stack

import (
	"bytes"
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// What is printed is read again, every field of it, by the fast reader and by the general one.
func TestExchangeLine(t *testing.T) {
	want := measure.Exchange{Seq: 1, Due: 2, Sent: 3, Done: 4, Serialization: 5, Processing: 6, Sensor: 7,
		Deserialization: 8, Total: 9, In: 10, Out: 11}
	line := bytes.TrimSpace(AppendExchange(nil, want))
	var got measure.Exchange
	if !plainExchange(line, &got) || got != want {
		t.Errorf("%s reads as %+v", line, got)
	}
	spaced := bytes.ReplaceAll(line, []byte(","), []byte(", ")) // not the plain form
	if err := parseExchange(spaced, &got); err != nil || got != want {
		t.Errorf("%s reads as %+v: %v", spaced, got, err)
	}
}

// A row added to the table of fields is printed and read, by both readers.
func TestAnAddedFieldIsSpoken(t *testing.T) {
	var queued int64
	defer func(was []measure.Field) { measure.Fields = was }(measure.Fields)
	measure.Fields = append(slices.Clone(measure.Fields), measure.Field{Name: "queue", Column: "queue_ns",
		Client: measure.Nonzero, Server: measure.Nonzero, At: func(*measure.Exchange) *int64 { return &queued }})
	queued = 7
	line := bytes.TrimSpace(AppendExchange(nil, measure.Exchange{Seq: 1}))
	for form, read := range map[string]func([]byte, *measure.Exchange) error{"any": anyExchange,
		"plain": func(b []byte, x *measure.Exchange) error {
			if !plainExchange(b, x) {
				return errNotProtocol
			}
			return nil
		}} {
		queued = 0
		if err := read(line, new(measure.Exchange)); err != nil || queued != 7 {
			t.Errorf("the %s reader takes %d from %s (%v), want 7", form, queued, line, err)
		}
	}
}
