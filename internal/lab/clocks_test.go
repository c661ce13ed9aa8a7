package lab

import (
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
)

// A client that counts in µs, or reads its clock when the answer is there, is noted; one that is only late is not.
func TestClocksThatCannotBe(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		what                  string
		took, told            time.Duration // the run, by the lab and by the client
		waited, handled, busy time.Duration
		worked                time.Duration // by the CPU time of the client
		transport             string
		spoil                 func(*evidence)
		untold, beyond        time.Duration
	}{
		{what: "sound", took: 30 * ms, told: 28 * ms, handled: 5 * ms, busy: 27 * ms, transport: "http"},
		{what: "in µs", took: 28 * ms, told: 28 * time.Microsecond, transport: "http", untold: 28*ms - 28*time.Microsecond},
		{what: "in µs, beside others", took: 68 * ms, told: 28 * time.Microsecond, waited: 40 * ms,
			untold: 68*ms - 28*time.Microsecond},
		{what: "few requests on a busy machine", took: 60 * ms, told: ms / 2, waited: 45 * ms},
		{what: "few requests", took: 9 * ms, told: ms / 10},
		{what: "seldom sent", took: 10_000 * ms, told: 100 * ms, spoil: func(e *evidence) {
			e.setup.Rate, e.setup.Arrival, e.setup.Requests, e.setup.Duration = 0.3, "poisson", 0, 10*time.Second
		}},
		{what: "failed", took: 5000 * ms, told: 28 * ms, spoil: func(e *evidence) { e.sides[atClient].failed = 1 }},
		{what: "many devices", took: 5000 * ms, told: 28 * ms, spoil: func(e *evidence) { e.devices = new(devices) }},
		{what: "from several benches", took: 5000 * ms, told: 28 * ms, spoil: func(e *evidence) { e.setup.DrivenFrom = 2 }},
		{what: "elsewhere", took: 5000 * ms, told: 28 * ms, spoil: func(e *evidence) { e.clientCPUs = 0 }},
		{what: "counted", took: 5000 * ms, told: 28 * ms,
			spoil: func(e *evidence) { e.usage.of[atServer][behindRun].Instructions = 1 }},
		{what: "of half the speed", took: 5992 * ms, told: 2995 * ms, worked: 500 * ms, untold: 2997 * ms},
		{what: "of 0.9 of the speed", took: 2222 * ms, told: 2000 * ms, untold: 222 * ms},
		{what: "of 0.99 of the speed", took: 2020 * ms, told: 2000 * ms},
		{what: "writes for long what it remembers", took: 5992 * ms, told: 2995 * ms, worked: 2900 * ms},
		{what: "had no CPU at its end", took: 5992 * ms, told: 2995 * ms, waited: 2900 * ms},
		{what: "connects through a link", took: 5992 * ms, told: 2995 * ms, spoil: func(e *evidence) { e.link.Name = "gsm" }},
		{what: "connects to another machine", took: 5992 * ms, told: 2995 * ms,
			spoil: func(e *evidence) { e.setup.Server.Device = "board" }},
		{what: "connects to a service", took: 5992 * ms, told: 2995 * ms,
			spoil: func(e *evidence) { e.setup.URL = "http://host/" }},
		{what: "read too late", took: 30 * ms, told: 28 * ms, handled: 20 * ms, busy: 4 * ms, transport: "http",
			beyond: 8 * ms},
		{what: "read too late over CoAP", took: 30 * ms, told: 28 * ms, handled: 20 * ms, busy: 4 * ms, transport: "coap",
			beyond: 8 * ms},
		{what: "written while it serializes", took: 30 * ms, told: 28 * ms, handled: 20 * ms, busy: 15 * ms,
			transport: "http"},
		{what: "no answers", took: 30 * ms, told: 28 * ms, handled: 20 * ms, busy: 4 * ms, transport: "mqtt"},
	} {
		e := sound()
		e.setup.Transport, e.clientCPUs = tt.transport, 1
		e.setup.Client.Device, e.setup.Server.Device = "local", "local"
		e.conversation.run = stack.Span{Began: time.Unix(9, 0), Ended: time.Unix(9, 0).Add(tt.took)}
		e.usage.of[atClient][behindRun] = device.Usage{Waiting: tt.waited, CPU: tt.worked}
		e.sides[atClient].last, e.sides[atClient].busy = int64(tt.told), int64(tt.busy)
		e.sides[atServer].handled = int64(tt.handled)
		if tt.spoil != nil {
			tt.spoil(e)
		}
		e.noteClocks()
		got := map[string]float64{}
		for _, q := range e.findings.quality {
			got[q.Key] = q.Value
		}
		if got["untold"] != tt.untold.Seconds() || got["handled_beyond_rtt"] != tt.beyond.Seconds() {
			t.Errorf("%s: %v, want %v untold and %v beyond", tt.what, got, tt.untold, tt.beyond)
		}
	}
}
