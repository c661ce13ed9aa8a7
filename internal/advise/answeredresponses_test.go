package advise

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// What a response says of itself decides whether requests that failed lack it and would have had much of it: each time
// of a request from its beginning, or its connection's, to something that comes from the server. Every response is
// decided here, so a new one is, too.
func TestEveryTimeThatAwaitsAnAnswerIsOfAnsweredRequests(t *testing.T) {
	awaits := []string{" to last byte of the response", "as RTT, ", "opening a connection", "to after deserialization",
		"to the client's last ACK", "to the last data of the response", "difference of successive delays", "RFC 3550",
		"to the end of the handshakes"}
	not := []string{"object to bytes", "bytes to object", "own work", "spent on the sensor", "body of",
		"requests answered", "requests sent", "share of the", "sent again", "payload per request",
		"notifications received", "later than due", "end of the outage", "CPU time", "instructions", "frames",
		"data seen before", "once: ", "very first request", "energy", "power", "memory"}
	for _, r := range measure.Responses() {
		has := func(words []string) bool {
			for _, w := range words {
				if strings.Contains(r.Says, w) {
					return true
				}
			}
			return false
		}
		if has(awaits) == has(not) {
			t.Errorf("%s: %q: decide whether it is of answered requests alone", r.Name, r.Says)
		}
		if got := OfAnswered(r.Name); got != has(awaits) {
			t.Errorf("%s: of answered requests %v, it says %q", r.Name, got, r.Says)
		}
		if r.OfAnswered() && (r.Unit != "s" || r.Better() != measure.Less || !r.OfRequests() || !r.Waits()) {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
	if OfAnswered("no such") {
		t.Error("what is no response is of answered requests")
	}
	for _, r := range measure.Responses() { // a server's times are of all requests that it served
		for _, side := range r.Sides {
			s, f := Series{Failed: 0.1, Side: side, Response: r.Name}, Estimate{Failed: 0.1}
			f.Side, f.Response = side, r.Name
			want := side == measure.Client && r.OfAnswered()
			if s.OfAnswered() != want || f.OfAnswered() != want {
				t.Errorf("%s of the %s: %v and %v, want %v", r.Name, side, s.OfAnswered(), f.OfAnswered(), want)
			}
		}
	}
}
