package stack

import (
	"bytes"
	"testing"

	"edgegauge/internal/measure"
)

// What is printed is read again, every field of it, by the fast reader and by the general one.
func TestExchangeLine(t *testing.T) {
	want := measure.Exchange{Seq: 1, Due: 2, Sent: 3, Done: 4, Serialization: 5, Processing: 6, Sensor: 7, Deserialization: 8, Total: 9, In: 10, Out: 11}
	line := bytes.TrimSpace(AppendExchange(nil, want))
	if got, ok := plainExchange(line); !ok || got != want {
		t.Errorf("%s reads as %+v", line, got)
	}
	spaced := bytes.ReplaceAll(line, []byte(","), []byte(", ")) // not the plain form
	if got, err := parseExchange(spaced); err != nil || got != want {
		t.Errorf("%s reads as %+v: %v", spaced, got, err)
	}
}
