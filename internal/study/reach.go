package study

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What devices hear besides answers, and when they can be reached: observe, nat and sleep.

// A Sleep is how a device's radio sleeps. Mode of "": it does not.
type Sleep struct {
	Mode          string        // psm or edrx
	Active, Cycle time.Duration // reachable after a message; between two pagings
}

const (
	// maxAge is how long a notification is fresh that says nothing of it (RFC 7641, section
	// 3.3.1; RFC 7252, section 5.10.5).
	maxAge = 60 * time.Second
	// What a NAT keeps a silent binding for at the least: RFC 4787, section 4.3, REQ-5, and RFC
	// 5382, section 5, REQ-5.
	udpBinding = 2 * time.Minute
	tcpBinding = 2*time.Hour + 4*time.Minute
	leastNAT   = -1 // of a study: one of the two above
	// The shortest eDRX cycle of NB-IoT: 3GPP TS 24.008, table 10.5.5.32, value 0010 in NB-S1 mode.
	edrxCycle = 20480 * time.Millisecond
	// How long a device is connected, and so reachable, after its last message: inactivity of
	// radios/nb-iot.yaml, whose source it says. PSM adds T3324, of which 2 s is the unit
	// (3GPP TS 24.008, 10.5.7.4).
	connected  = 20 * time.Second
	activeTime = 2 * time.Second
)

// observe reads off, on, or after how long without a notification a device registers again.
func (r *reader) observe(what string, n *node) (time.Duration, bool) {
	switch n.text {
	case "on", "true":
		return maxAge, n.kind == scalar
	case "off", "false":
		return 0, n.kind == scalar
	}
	return r.duration(what, n, time.Second)
}

func readObserve(r *reader, what string, n *node) (Setting, bool) {
	v, ok := r.observe(what, n)
	return fixed(onText(v), n.pos, v, func(s *Setup) *time.Duration { return &s.Population.Observe }), ok
}

func onText(v time.Duration) string {
	switch v {
	case 0:
		return "off"
	case leastNAT:
		return "on"
	}
	return DurationText(v)
}

// Given is what no protocol decides: without how devices try again and a bound of the driver, which are chosen, and
// without the defaults that differ from one protocol to the other.
func (p Population) Given() Population {
	p.Reconnect, p.Lateness, p.Ramp = Reconnect{}, 0, 0
	if p.NAT == udpBinding || p.NAT == tcpBinding {
		p.NAT = leastNAT
	}
	return p
}

// readNAT reads off, on, or after what silence of a device the NAT forgets it.
func readNAT(r *reader, what string, n *node) (Setting, bool) {
	v, ok := time.Duration(0), n.kind == scalar
	switch n.text {
	case "on", "true":
		v = leastNAT
	case "off", "false":
	default:
		v, ok = r.duration(what, n, time.Second)
	}
	return fixed(onText(v), n.pos, v, func(s *Setup) *time.Duration { return &s.Population.NAT }), ok
}

// sleep reads off, psm, edrx, or {mode: edrx, active: 20s, cycle: 20.48s}.
func (r *reader) sleep(what string, n *node) (Sleep, bool) {
	modes := []string{"off", "psm", "edrx"}
	v, mode, good := Sleep{}, "", true
	active, cycle := time.Duration(-1), time.Duration(0)
	if n.kind != mapping {
		if n.text == "false" {
			return v, true
		}
		mode, good = r.choice(what, n, modes)
	} else {
		for _, p := range n.pairs {
			var ok bool
			name := what + " " + p.key.Text
			switch p.key.Text {
			case "mode":
				mode, ok = r.choice(name, p.value, modes[1:])
			case "active":
				active, ok = r.duration(name, p.value, 0)
			case "cycle":
				cycle, ok = r.duration(name, p.value, time.Millisecond)
			default:
				r.unknownKey(what, p.key, "mode", "active", "cycle")
			}
			good = good && ok
		}
		if good && (mode == "" || mode == "psm" && cycle > 0) {
			r.fail(n.pos, what+" has no mode, or a cycle without edrx", "write {mode: edrx, cycle: 20.48s}, or psm")
			return v, false
		}
	}
	switch mode {
	case "psm":
		v = Sleep{Mode: mode, Active: connected + activeTime}
	case "edrx":
		v = Sleep{Mode: mode, Active: connected, Cycle: edrxCycle}
	}
	if active >= 0 {
		v.Active = active
	}
	if cycle > 0 {
		v.Cycle = cycle
	}
	return v, good
}

func readSleep(r *reader, what string, n *node) (Setting, bool) {
	v, ok := r.sleep(what, n)
	return fixed(v.String(), n.pos, v, func(s *Setup) *Sleep { return &s.Population.Sleep }), ok
}

func (s Sleep) String() string {
	switch s.Mode {
	case "":
		return "off"
	case "psm":
		return fmt.Sprintf("psm after %s", DurationText(s.Active))
	}
	return fmt.Sprintf("edrx %s after %s", DurationText(s.Cycle), DurationText(s.Active))
}

// Observes says whether any device does.
func (p *Population) Observes() bool {
	for _, c := range p.Mix {
		if c.Observe > 0 {
			return true
		}
	}
	return p.Observe > 0
}

// reach completes and checks what devices hear, and when they are reached.
func (t *candidate) reach() {
	s, p := t.setup, &t.setup.Population
	udp, mqtt := s.Transport == "coap", strings.HasPrefix(s.Transport, "mqtt")
	if s.Transport == "" {
		return // no stack is known: the study is read for a report
	}
	if p.NAT == leastNAT {
		if p.NAT = tcpBinding; udp {
			p.NAT = udpBinding
		}
	}
	if p.NAT > 0 && s.Connection == "per-request" {
		t.complain("nat with a connection for each request, which lasts for no silence", "remove nat", "nat", "connection")
	}
	if l := s.Link; !udp && (l.Profile != "" || l.Up != Shape{} || l.Down != Shape{}) {
		t.complain("devices over "+s.Transport+" with a link: TCP on top of one is not emulated",
			"write link: none, or take CoAP over UDP", "devices", "link", "transport")
	}
	if !p.Observes() {
		return
	}
	facts, _ := t.stack(s.Server.Stack)
	option := udp && s.URL == "" && t.vocabulary.Stacks != nil
	switch {
	case !udp && !mqtt:
		t.complain("observe over "+s.Transport+", which has no notifications",
			"remove observe, or take CoAP over UDP or MQTT",
			"observe", "mix", "transport")
	case s.Security == "oscore":
		t.complain("observe with OSCORE is not available for devices", "take security: none or dtls-psk", "observe", "mix",
			"security")
	case option && !slices.Contains(facts.Options, "observe"):
		t.complain(fmt.Sprintf("devices observe, and stack %q notifies nobody: it has no option observe", s.Server.Stack),
			"take server: {stack: reference/coap-json} or californium", "observe", "mix", "server.stack", "stack")
	case option && s.Options["observe"] != "on":
		t.complain("devices observe, and the server notifies only if it is told to", `write options: {observe: "on"}`,
			"observe", "mix")
	}
}
