package conform

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
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

// Requests whose intervals are drawn are not taken for even ones, whatever generator a client has, and even ones are.
func TestPoissonRequestsAreNotEven(t *testing.T) {
	run := func(gap func() time.Duration) (all exchangesOf) {
		at := time.Duration(0)
		for range poissonRequests {
			at += gap()
			all = append(all, measure.Exchange{Due: at})
		}
		return all
	}
	const mean = 2 * time.Millisecond // at 500/s
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		if even(run(func() time.Duration { return time.Duration(float64(mean) * r.ExpFloat64()) }), time.Millisecond) {
			t.Errorf("seed %d: drawn intervals are taken for even ones", seed)
		}
	}
	if !even(run(func() time.Duration { return mean }), time.Millisecond) {
		t.Error("even intervals are not found")
	}
}

// A client that fails before its timeout is found: its timeout may be in another unit.
func TestGivingUpTooSoonIsFound(t *testing.T) {
	at := &fakeProgram{records: []measure.Exchange{{Seq: 1, Failure: "no answer within 300 µs"}}}
	conn := at.conn(t)
	c := suite{ctx: t.Context(), wish: stack.Wish{Encoding: "json", Security: "none", Transport: "http"}}
	c.kit.Start = func(context.Context, stack.Description, string) (Running, error) {
		return &running{conn, io.NopCloser(nil)}, nil
	}
	err := c.givesUp(&program{c: c, verb: "call"}, "echo")
	if err == nil || !strings.Contains(err.Error(), "no answer within 300 µs") {
		t.Errorf("got %v", err)
	}
}
