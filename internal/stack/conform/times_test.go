package conform

import (
	"errors"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A delay of 50 ms is right in processing and in RTT alone: each other place is found, also if only some requests of a
// busy machine were slow everywhere.
func TestADelayElsewhereIsFound(t *testing.T) {
	const delay, ms = 50 * time.Millisecond, time.Millisecond
	for _, tt := range []struct {
		what      string
		spoil     func(client, server *measure.Exchange)
		right     bool
		misplaced bool // and so is tried again, longer
	}{
		{"as it should be", func(_, _ *measure.Exchange) {}, true, false},
		{"not in processing", func(_, s *measure.Exchange) { s.Processing = ms }, false, false},
		{"not in RTT", func(c, _ *measure.Exchange) { c.Done = c.Sent + ms }, false, false},
		{"in deserialization", func(_, s *measure.Exchange) { s.Deserialization += delay; s.Total += delay }, false, true},
		{"in serialization", func(_, s *measure.Exchange) { s.Serialization += delay; s.Total += delay }, false, true},
		{"in no phase of the server", func(_, s *measure.Exchange) { s.Total += delay }, false, true},
		{"twice in processing", func(_, s *measure.Exchange) { s.Processing += delay }, false, true},
		{"in the client's serialization", func(c, _ *measure.Exchange) { c.Serialization += delay }, false, true},
		{"in the client's deserialization", func(c, _ *measure.Exchange) { c.Deserialization += delay }, false, true},
		{"in the client's connecting", func(c, _ *measure.Exchange) { c.Connection += delay }, false, true},
		{"outside the server's total", func(_, s *measure.Exchange) { s.Total = ms }, false, true},
	} {
		var asked, answered exchangesOf
		for i := range 5 {
			c := measure.Exchange{Sent: ms, Done: 53 * ms, Serialization: ms, Deserialization: ms, Total: 56 * ms}
			s := measure.Exchange{Deserialization: ms / 4, Processing: delay, Serialization: ms / 4, Total: 51 * ms}
			tt.spoil(&c, &s)
			if i == 1 { // which waited for a CPU in every phase
				for _, d := range []*time.Duration{&c.Serialization, &c.Deserialization, &s.Deserialization, &s.Serialization} {
					*d += 2 * delay
				}
				s.Total += 6 * delay
				c.Done += 8 * delay
			}
			asked, answered = append(asked, c), append(answered, s)
		}
		err := delayShows(asked, answered, delay)
		if (err == nil) != tt.right || errors.Is(err, errMisplaced) != tt.misplaced {
			t.Errorf("%s: got %v", tt.what, err)
		}
	}
	if err := delayShows(make(exchangesOf, 5), make(exchangesOf, 4), delay); err == nil {
		t.Error("a record too few was not found")
	}
}
