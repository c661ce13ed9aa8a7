package lab

import (
	"net/url"
	"testing"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// What a model of energy takes from the wire includes the frames of requests that failed: they were sent.
func TestModelsTakeTheBytesOfFailedRequests(t *testing.T) {
	var captured packet.Capture
	for range 5 {
		captured.Exchanges = append(captured.Exchanges, packet.UDPCall{Call: packet.Call{Out: packet.Traffic{Bytes: 80}}})
	}
	r := &trialRunner{task: task{setup: &study.Setup{}}}
	r.course.warmUp.Client = 1
	r.records.sides[atClient] = accumulator{n: 4, failed: 2, lost: map[uint64]bool{1: true, 4: true}}
	c := &capture{trial: r, server: &url.URL{Scheme: "coap"}}
	c.noteOnWire(captured, []measure.Quantity{packet.Delay})
	if r.course.onWire != 0 {
		t.Errorf("got %d B where wire_bytes is not asked", r.course.onWire)
	}
	c.noteOnWire(captured, []measure.Quantity{packet.Delay, packet.WireBytes})
	if r.course.onWire != 4*80 {
		t.Errorf("got %d B on the wire, want %d", r.course.onWire, 4*80)
	}
}

// Of devices that give nothing that packets give, none are captured, unless they are to be kept.
func TestPacketsOfDevicesAreNotCapturedForNothing(t *testing.T) {
	for keep, captured := range map[bool]bool{false: false, true: true} {
		r := sound()
		r.lab.Plan.Study.Responses, r.lab.Plan.Study.Packets = []study.Word{{Text: "wire_bytes"}}, keep
		r.setup.Population.Devices, r.setup.LeaveOut = 10, []string{"wire_bytes"}
		c := &capture{trial: r}
		if err := c.before(t.Context()); (err != nil) != captured { // there is no URL whose port to capture
			t.Errorf("packets kept %v: %v", keep, err)
		}
	}
}
