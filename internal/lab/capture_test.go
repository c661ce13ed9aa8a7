package lab

import (
	"net/url"
	"testing"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// What a model of energy takes from the wire includes the frames of requests that failed: they were sent.
func TestModelsTakeTheBytesOfFailedRequests(t *testing.T) {
	var captured packet.Capture
	for range 5 {
		captured.Exchanges = append(captured.Exchanges, packet.UDPCall{Call: packet.Call{Out: packet.Traffic{Bytes: 80}}})
	}
	r := &records{}
	r.sides[atClient] = accumulator{n: 4, failed: 2, lost: map[uint64]bool{1: true, 4: true}}
	c := &capture{task: task{setup: &study.Setup{}}, server: &url.URL{Scheme: "coap"}, records: r,
		conversation: &conversation{warmUp: stack.WarmUp{Client: 1}}}
	c.noteOnWire(captured, []measure.Quantity{packet.Delay})
	if c.onWire != 0 {
		t.Errorf("got %d B where wire_bytes is not asked", c.onWire)
	}
	c.noteOnWire(captured, []measure.Quantity{packet.Delay, packet.WireBytes})
	if c.onWire != 4*80 {
		t.Errorf("got %d B on the wire, want %d", c.onWire, 4*80)
	}
}

// Of devices that give nothing that packets give, none are captured, unless they are to be kept.
func TestPacketsOfDevicesAreNotCapturedForNothing(t *testing.T) {
	for keep, captured := range map[bool]bool{false: false, true: true} {
		r := newTrialRunner(&Lab{}, study.Trial{Setup: &study.Setup{}}, nil)
		r.lab.Plan.Study.Responses, r.lab.Plan.Study.Packets = []study.Word{{Text: "wire_bytes"}}, keep
		r.setup.Population.Devices, r.setup.LeaveOut = 10, []string{"wire_bytes"}
		c := r.attachments.capture
		if err := c.before(t.Context()); (err != nil) != captured { // there is no URL whose port to capture
			t.Errorf("packets kept %v: %v", keep, err)
		}
	}
}
