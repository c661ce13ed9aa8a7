package study

import (
	"fmt"
	"slices"
	"time"
)

// outside are the responses that only packets give, and energy's: nobody is
// outside to see them where time is counted instructions.
var outside = []string{"delay", "delay_to_data", "jitter", "jitter_rfc3550", "wire_bytes", "packets", "retransmissions",
	"handshake_bytes", "handshake_time", "energy", "energy_gross", "trial_energy", "power"}

// readyOnJVM is how much of an emulated machine's time a stack on a JVM has to be ready, unless the study says it: such
// starts take 10 s and more there.
const readyOnJVM = 5 * time.Minute

// java says that one of the stacks that the study names runs on a JVM.
func (r *reader) java() bool {
	for _, f := range r.facts {
		if f != nil && f.Java {
			return true
		}
	}
	return false
}

// counted checks what goes with time in counted instructions: both sides in one
// emulated device, and nobody outside who takes part or looks on.
func (t *candidate) counted() {
	if t.study.Time != Instructions {
		return
	}
	s := t.setup
	can := t.vocabulary.Emulated
	one := "one emulated device"
	if len(can) > 0 {
		one = "one of " + join(can)
	}
	for _, side := range []struct{ key, device, meter string }{{"client", s.Client.Device, s.Client.Meter},
		{"server", s.Server.Device, s.Server.Meter}} {
		switch {
		case can != nil && !slices.Contains(can, side.device):
			t.complain(fmt.Sprintf("device %s cannot count instructions, but time is instructions", side.device),
				fmt.Sprintf("write client: {device: NAME} and server: {device: NAME} with %s, or time: clock", one),
				side.key+".device")
			return
		case side.meter != "":
			t.complain("a meter cannot measure with time: instructions", "remove it, or write time: clock", side.key+".meter")
		}
	}
	if s.Client.Device != s.Server.Device {
		t.complain(fmt.Sprintf("client on %s and server on %s: with time: instructions both sides must be in the same device",
			s.Client.Device, s.Server.Device),
			"name the same emulated device for both, or write time: clock", "client.device", "server.device")
	}
	if s.Link.Profile != "" || s.Link.Up != (Shape{}) || s.Link.Down != (Shape{}) {
		t.complain(fmt.Sprintf("link %s with time: instructions, but both sides are in one device", s.Link.Text),
			"remove the link, or write time: clock", "link")
	}
	if t.study.Packets || len(t.study.Pin.Client)+len(t.study.Pin.Server) > 0 {
		t.complain("packets and pin are not available with time: instructions", "remove them, or write time: clock")
	}
	for _, w := range t.study.Responses {
		if slices.Contains(outside, w.Text) {
			t.complain(fmt.Sprintf("response %s is not available with time: instructions", w.Text),
				"remove it, or write time: clock")
			return
		}
	}
}
