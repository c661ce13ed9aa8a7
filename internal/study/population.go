package study

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A Population is a client that is many devices, each of which does little. Its zero
// value is none.
type Population struct {
	Devices   int
	Period    time.Duration // between two reports of a device; 0: Mix says it
	Jitter    float64       // each report is later by a random part of the period, up to this share
	Phase     string        // random or aligned
	Ramp      float64       // devices switched on per second; 0: all at once
	KeepAlive time.Duration // the longest silence; 0: no keep-alives
	Observe   time.Duration // devices hear of changes, and register again after so long without; 0: they do not
	NAT       time.Duration // after so long a silence of a device it forgets it; 0: there is none
	Sleep     Sleep
	Reconnect Reconnect
	Outage    Outage
	Lateness  time.Duration // of the driver, p99, above which a trial is invalid; of requests at a rate as well
	Mix       []Class       // in place of one class of devices
}

// A Class is a part of the devices. What it does not say is as for all.
type Class struct {
	Name                       string
	Share                      float64
	Period, KeepAlive, Observe time.Duration // Period of 0: it only observes
	Jitter                     float64
	Sleep                      Sleep
}

// A Reconnect says when a device whose report failed tries again. First of 0: with its next report.
type Reconnect struct {
	First, Most time.Duration
	Factor      float64
	Jitter      string // none, equal or full
}

// An Outage cuts a share of the devices off.
type Outage struct {
	At, For time.Duration
	Share   float64
}

// mostDevices is how many addresses 127.0.0.0/8 leaves to devices.
const mostDevices = 16_000_000

// defaultReconnect: full jitter is what Brooker, "Exponential Backoff And Jitter" (AWS
// Architecture Blog, 2015), found to finish first with least work; 1 s doubled up to
// 120 s are the defaults of Eclipse Paho's MQTT client.
var defaultReconnect = Reconnect{First: time.Second, Most: 120 * time.Second, Factor: 2, Jitter: "full"}

var reconnectJitters = []string{"none", "equal", "full"}

// PopulationSettings are the names of the settings that make a client many devices.
func PopulationSettings() []string { return append([]string{"devices"}, populationKeys...) }

// populationKeys are the settings that only devices have.
var populationKeys = []string{"period", "jitter", "phase", "ramp", "keepalive", "observe", "nat", "sleep",
	"reconnect", "outage", "lateness", "mix"}

func share(at func(*Setup) *float64) func(*reader, string, *node) (Setting, bool) {
	return func(r *reader, what string, n *node) (Setting, bool) {
		v, text, ok := r.ratio(what, n, "a share")
		return fixed(text, n.pos, v, at), ok
	}
}

// readRamp reads devices per second.
func readRamp(r *reader, what string, n *node) (Setting, bool) {
	if !r.scalar(what, n, "a number of devices per second, such as 500/s") {
		return Setting{}, false
	}
	v, text, advice := readRequestRate(n.text, 0)
	if advice != "" {
		r.fail(n.pos, fmt.Sprintf("%s %q is not a rate", what, n.text), "write devices per second, such as 500/s")
		return Setting{}, false
	}
	return fixed(text, n.pos, v, func(s *Setup) *float64 { return &s.Population.Ramp }), true
}

// readReconnect reads off, a jitter, or {first: 1s, factor: 2, most: 120s, jitter: full}.
func readReconnect(r *reader, what string, n *node) (Setting, bool) {
	v, text := defaultReconnect, n.text
	if n.kind != mapping {
		word, ok := r.choice(what, n, append([]string{"off"}, reconnectJitters...))
		if v.Jitter = word; word == "off" {
			v = Reconnect{}
		}
		return fixed(text, n.pos, v, func(s *Setup) *Reconnect { return &s.Population.Reconnect }), ok
	}
	good := true
	for _, p := range n.pairs {
		var ok bool
		name := what + " " + p.key.Text
		switch p.key.Text {
		case "first":
			v.First, ok = r.duration(name, p.value, time.Millisecond)
		case "most":
			v.Most, ok = r.duration(name, p.value, time.Millisecond)
		case "factor":
			v.Factor, ok = r.factorOf(name, p.value)
		case "jitter":
			v.Jitter, ok = r.choice(name, p.value, reconnectJitters)
		default:
			r.unknownKey(what, p.key, "first", "factor", "most", "jitter")
		}
		good = good && ok
	}
	if good && v.Most < v.First {
		r.fail(n.pos, fmt.Sprintf("%s begins with %s, above its most, %s", what, DurationText(v.First), DurationText(v.Most)),
			"raise most")
		good = false
	}
	text = fmt.Sprintf("%s %s×%g≤%s", v.Jitter, DurationText(v.First), v.Factor, DurationText(v.Most))
	return fixed(text, n.pos, v, func(s *Setup) *Reconnect { return &s.Population.Reconnect }), good
}

// factorOf reads by what each delay is longer than the one before.
func (r *reader) factorOf(what string, n *node) (float64, bool) {
	if !r.scalar(what, n, "a number such as 2") {
		return 0, false
	}
	v, ok := readDecimal(n.text)
	f := 0.0
	if ok {
		f, _ = v.Float64()
	}
	if f < 1 || f > 100 {
		r.fail(n.pos, fmt.Sprintf("%s %q is no factor", what, n.text), "write a number from 1 to 100")
		return 0, false
	}
	return f, true
}

func (r *reader) unknownKey(what string, key Word, known ...string) {
	r.fail(key.Pos, fmt.Sprintf("%s has no key %q", what, key.Text), r.adviceInside(what, key.Text, known, manual))
}

// readOutage reads {at: 30s, for: 30s, share: 100%}.
func readOutage(r *reader, what string, n *node) (Setting, bool) {
	if !r.kind(what, n, mapping, "a mapping such as {at: 30s, for: 30s, share: 50%}") {
		return Setting{}, false
	}
	v, share, good := Outage{Share: 1}, "100%", true
	for _, p := range n.pairs {
		var ok bool
		name := what + " " + p.key.Text
		switch p.key.Text {
		case "at":
			v.At, ok = r.duration(name, p.value, 0)
		case "for":
			v.For, ok = r.duration(name, p.value, time.Millisecond)
		case "share":
			v.Share, share, ok = r.ratio(name, p.value, "a share")
		default:
			r.unknownKey(what, p.key, "at", "for", "share")
		}
		good = good && ok
	}
	if good && (v.For == 0 || v.Share == 0) {
		r.fail(n.pos, what+" cuts nobody off",
			"write how long, and for which share of the devices: {at: 30s, for: 30s, share: 50%}")
		good = false
	}
	text := fmt.Sprintf("%s at %s for %s", DurationText(v.For), DurationText(v.At), share)
	return fixed(text, n.pos, v, func(s *Setup) *Outage { return &s.Population.Outage }), good
}

// readMix reads {sensor: {share: 90%, period: 1m}, tracker: {share: 10%, period: 10s}}.
func readMix(r *reader, what string, n *node) (Setting, bool) {
	const example = "classes such as {sensor: {share: 90%, period: 1m}, tracker: {share: 10%, period: 10s}}"
	if !r.kind(what, n, mapping, example) {
		return Setting{}, false
	}
	var all []Class
	var text []string
	good, sum := true, 0.0
	for _, p := range n.pairs {
		c, share := Class{Name: p.key.Text}, "0%"
		if !r.kind(what+" "+c.Name, p.value, mapping, "{share: 10%, period: 10s}") {
			return Setting{}, false
		}
		for _, q := range p.value.pairs {
			var ok bool
			name := what + " " + c.Name + " " + q.key.Text
			switch q.key.Text {
			case "share":
				c.Share, share, ok = r.ratio(name, q.value, "a share")
			case "period":
				c.Period, ok = r.duration(name, q.value, time.Millisecond)
			case "jitter":
				c.Jitter, _, ok = r.ratio(name, q.value, "a share")
			case "keepalive":
				c.KeepAlive, ok = r.duration(name, q.value, time.Millisecond)
			case "observe":
				c.Observe, ok = r.observe(name, q.value)
			case "sleep":
				c.Sleep, ok = r.sleep(name, q.value)
			default:
				r.unknownKey(what+" "+c.Name, q.key, "share", "period", "jitter", "keepalive", "observe", "sleep")
			}
			good = good && ok
		}
		if good && (c.Period == 0 && c.Observe == 0 || c.Share == 0) {
			r.fail(p.key.Pos, fmt.Sprintf("%s %s lacks its share, or both period and observe", what, c.Name),
				"write {share: 10%, period: 10s}")
			good = false
		}
		sum += c.Share
		all = append(all, c)
		text = append(text, fmt.Sprintf("%s=%s/%s", c.Name, share, c.does()))
	}
	if good && math.Abs(sum-1) > 1e-9 {
		r.fail(n.pos, fmt.Sprintf("the shares of %s add up to %.6g%%", what, sum*100), "make them 100%")
		good = false
	}
	s := fixed(strings.Join(text, " "), n.pos, all, func(s *Setup) *[]Class { return &s.Population.Mix })
	s.id = fmt.Sprintf("%+v", all) // the text has not all that classes may differ in
	return s, good
}

// does says what devices of a class do, as far as it is told beside their share.
func (c *Class) does() string {
	if c.Period == 0 {
		return "observe"
	}
	return DurationText(c.Period)
}

// shortest and longest are the periods of the devices; 0: none reports.
func (p *Population) periods() (shortest, longest time.Duration) {
	if len(p.Mix) == 0 {
		return p.Period, p.Period
	}
	for _, c := range p.Mix {
		if c.Period > 0 && (shortest == 0 || c.Period < shortest) {
			shortest = c.Period
		}
		longest = max(longest, c.Period)
	}
	return shortest, longest
}

// notWithDevices are settings that say how one client paces requests: each device has
// a period for that.
var notWithDevices = []string{"concurrency", "rate", "arrival", "requests", "min_duration"}

// ofPackets are responses for which each request is looked for in captured packets.
var ofPackets = []string{"delay", "delay_to_data", "jitter", "jitter_rfc3550", "wire_bytes", "packets",
	"retransmissions", "handshake_bytes", "handshake_time"}

// joinRamp is how many devices with a connection of their own are switched on per second: a
// server's queue of connections that it has not accepted is often 100 long (listen(2)).
const joinRamp = 500

// ofClasses are the settings that the classes of a mix have in place of all devices.
var ofClasses = []string{"period", "jitter", "keepalive", "observe", "sleep"}

// mostLateness is the largest default bound of the driver's lateness.
const mostLateness = 50 * time.Millisecond

// population completes and checks what many devices do. It is false where nothing more
// can be said of the treatment.
func (t *candidate) population() bool {
	p := &t.setup.Population
	if p.Devices == 0 {
		for _, k := range populationKeys {
			switch {
			case !t.has(k):
			case k != "lateness":
				t.complain(k+" without devices", "write devices: 1000, or remove "+k, k)
				return false
			case t.setup.Rate == 0:
				t.complain("lateness without devices or a rate: only requests that are due can be late",
					"write rate: 100 or devices: 1000, or remove lateness", k, "rate")
				return false
			}
		}
		return true
	}
	for _, k := range notWithDevices {
		if t.has(k) {
			t.complain(fmt.Sprintf("devices send once per period, so %s cannot be given", k), "remove "+k, "devices", k)
			return false
		}
	}
	shortest, longest := p.periods()
	switch {
	case len(p.Mix) == 0 && p.Period == 0 && p.Observe == 0:
		t.complain("devices without a period", "write period: 60s, how often each reports", "devices")
		return false
	case len(p.Mix) > 0 && slices.ContainsFunc(ofClasses, t.has):
		t.complain("mix with "+strings.Join(ofClasses, ", ")+", which each class has of its own",
			"move them into the classes of mix", append([]string{"mix"}, ofClasses...)...)
		return false
	case p.Observes() && !t.has("duration") && longest == 0:
		t.complain("devices that only observe, without a duration", "write duration: 5m", "devices")
		return false
	case t.study.Time == Instructions:
		t.complain("devices are not available with time: instructions", "write time: clock", "devices")
		return false
	case !t.setup.Local():
		t.complain("devices reach only a server on this machine", "write client: local and server: local", "devices",
			"client.device", "server.device")
		return false
	case t.setup.Link.Shaper != "" || max(t.setup.Link.Up.Burst, t.setup.Link.Down.Burst) > 0:
		t.complain("devices have a link each, which the driver emulates: without netem and without bursts of losses",
			"remove shaper or loss_burst", "devices", "link")
		return false
	case t.vocabulary.Stacks != nil && max(t.setup.Link.Up.Queue, t.setup.Link.Down.Queue) > 0: // earlier versions took it
		t.complain("devices have a link each, which the driver emulates, with a queue without limit", "remove queue",
			"devices", "link")
		return false
	case t.setup.IP != "ipv4":
		t.complain("devices have addresses of 127.0.0.0/8", "write ip: ipv4", "devices", "ip")
		return false
	}
	for _, w := range t.study.Responses {
		if slices.Contains(ofPackets, w.Text) && t.setup.Capture != "off" && !t.setup.LeavesOut("client", w.Text) {
			t.complain(fmt.Sprintf("response %s is not available with devices: their packets are not taken apart", w.Text),
				fmt.Sprintf("take datagram_bytes or resent, or give this level leave_out: [%s]", w.Text), "devices")
			return false
		}
	}
	if !t.has("phase") {
		p.Phase = "random"
	}
	if !t.has("reconnect") {
		p.Reconnect = defaultReconnect
	}
	if !t.has("lateness") {
		if p.Lateness = mostLateness; shortest > 0 {
			p.Lateness = min(shortest/100, mostLateness)
		}
	}
	if !t.has("duration") {
		t.setup.Duration = sum(longest, p.switchingOn())
	}
	return true
}

// populated refuses a client that cannot be many devices.
func (t *candidate) populated() {
	if t.setup.Population.Devices == 0 {
		return
	}
	s := t.setup
	facts, _ := t.stack(s.Client.Stack)
	if t.vocabulary.Stacks != nil && !facts.Populations {
		t.complain(fmt.Sprintf("stack %q cannot be many devices", s.Client.Stack),
			"write client: {stack: reference/coap-json}, or another of reference/coap-…, mqtt…, rest-…, soap… and floor-tcp",
			"devices", "stack", "client.stack")
		return
	}
	defer t.asSaid()
	t.reach()
	if facts.Streams {
		t.streams()
		return
	}
	if s.Population.Observes() {
		t.joinSlowly()
	}
	if t.vocabulary.Stacks != nil && t.has("connection") {
		t.complain("devices with connection: CoAP over UDP has none", "remove connection", "devices", "connection")
	}
}

// streams completes and checks devices that have a connection each.
func (t *candidate) streams() {
	s, p := t.setup, &t.setup.Population
	http := s.Transport == "http"
	switch {
	case s.Connection == "per-request" && http && p.alive():
		t.complain("keepalive with a connection for each request, which is never silent", "remove keepalive", "keepalive",
			"connection")
	case s.Connection != "" && s.Connection != "keep-alive" && !(s.Connection == "per-request" && http):
		t.complain(fmt.Sprintf("devices with connection %s over %s", s.Connection, s.Transport),
			"write connection: keep-alive; devices that speak HTTP may have per-request", "devices", "connection")
	case s.Options["qos"] == "2":
		t.complain("devices with QoS 2", "write options.qos: 0 or 1", "devices", "options.qos")
	case !strings.HasPrefix(s.Transport, "mqtt") && !p.wholeSeconds():
		t.complain("keepalive over "+s.Transport+" is the kernel's, in whole seconds", "write keepalive: 10s, for example",
			"keepalive", "mix")
	}
	for _, w := range t.study.Responses {
		if w.Text == "datagram_bytes" && !s.LeavesOut("client", w.Text) {
			t.complain("response datagram_bytes is not available with devices that have connections: TCP makes its "+
				"segments unseen", "remove it, or give this level leave_out: [datagram_bytes]", "devices", "stack", "client.stack")
		}
	}
	if !http {
		t.joinSlowly()
	}
}

// joinSlowly has devices switched on one after the other, since each has something to do then.
func (t *candidate) joinSlowly() {
	s, p := t.setup, &t.setup.Population
	if !t.has("ramp") && p.Phase == "random" {
		p.Ramp = joinRamp
		if !t.has("duration") {
			s.Duration = sum(s.Duration, p.switchingOn())
		}
	}
}

// alive says whether devices send pings.
func (p *Population) alive() bool {
	return p.KeepAlive > 0 || slices.ContainsFunc(p.Mix, func(c Class) bool { return c.KeepAlive > 0 })
}

func (p *Population) wholeSeconds() bool {
	return p.KeepAlive%time.Second == 0 &&
		!slices.ContainsFunc(p.Mix, func(c Class) bool { return c.KeepAlive%time.Second != 0 })
}
