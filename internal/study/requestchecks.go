package study

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// useless are the settings that change nothing for a service that is already
// there: another program answers there, at a place of its own.
var useless = []string{"service", "n", "size", "stack", "client.stack", "server.stack", "server.device", "encoding",
	"security", "link", "heap", "sensor", "io_dir", "placement", "at_once"}

// existing checks what goes with a service that is already running, and fills in
// the rest of its setup. It reports whether the treatment has one.
func (t *candidate) existing() bool {
	s := t.setup
	if s.URL == "" {
		if p, has := t.sets["request"]; has && (p.factor >= 0 || !t.anyURL()) {
			t.complain("request describes what to send to a service that is already running, but the study names none",
				"write server: {url: http://…}, or remove request", "request")
		}
		s.Request = nil
		return false
	}
	u, _ := url.Parse(s.URL)
	kind := schemes[u.Scheme]
	for _, key := range append(slices.Clone(useless), t.optionKeys()...) {
		if key == "link" && s.Population.Devices > 0 { // the driver emulates theirs
			continue
		}
		at := t.sets["server.url"]
		// What stands at the top is for the treatments that have no URL.
		if p, given := t.sets[key]; given && !(at.factor >= 0 && p.factor < 0 && t.someWithoutURL()) {
			t.complain(fmt.Sprintf("with server.url, %s has no effect: edgegauge does not start that service", key),
				"remove one of the two", "server.url", key)
		}
	}
	linked := Link{Text: "none"}
	if s.Population.Devices > 0 {
		linked = s.Link
		t.link()
	}
	*s = Setup{URL: s.URL, Request: s.Request, Transport: s.Transport, Connection: s.Connection, IP: s.IP,
		Client: s.Client, Server: Side{Meter: s.Server.Meter}, Link: linked, Requests: s.Requests,
		Duration: s.Duration, MinDuration: s.MinDuration, Concurrency: s.Concurrency, Rate: s.Rate, Arrival: s.Arrival,
		Security: kind.security, Population: s.Population, DrivenFrom: s.DrivenFrom, Capture: s.Capture,
		LeaveOut: s.LeaveOut}
	s.Client.Stack = Requester
	if !t.has("ip") {
		s.IP = "" // as the URL's host resolves
	}
	if s.Connection == "" {
		s.Connection = usual["connection"]
	}
	if s.Transport == "" {
		s.Transport = kind.transports[0]
	}
	if !slices.Contains(kind.transports, s.Transport) {
		t.complain(fmt.Sprintf("transport %s cannot be used with %s://", s.Transport, u.Scheme),
			"write "+strings.Join(kind.transports, " or "), "transport", "server.url")
	}
	if s.Request == nil {
		s.Request = &Request{}
	}
	t.requested(u)
	t.askedByDevices(u)
	if t.study.Time == Instructions {
		t.complain("time: instructions counts in an emulated device, but a service that is already running is outside it",
			"write time: clock", "server.url")
	}
	return true
}

// Requester is the stack whose client asks what a study describes. It is no stack
// that a study may name.
const Requester = "reference/request"

// requested checks that the protocol can say what the request says.
func (t *candidate) requested(u *url.URL) {
	s, q := t.setup, t.setup.Request
	for _, k := range requestKeys {
		speaks := k.schemes == "" || slices.Contains(strings.Fields(k.schemes), u.Scheme)
		if !speaks && slices.Contains(q.keys, k.name) {
			t.complain(fmt.Sprintf("request has %s, which %s:// does not support", k.name, u.Scheme), "remove it", "request",
				"server.url")
		}
	}
	switch {
	case strings.HasPrefix(u.Scheme, "mqtt") && q.Topic == "" && strings.Trim(u.Path, "/") == "":
		t.complain("the request names no topic",
			"write request: {topic: sensor/request, response_topic: sensor/response}", "request", "server.url")
	case (q.Topic == "") != (q.ResponseTopic == ""):
		t.complain("the request names one of topic and response_topic",
			"name both: requests go to one, answers come on the other", "request")
	case s.Transport == "mqtt311" && q.ContentType != "":
		t.complain("request has content_type, which MQTT 3.1.1 cannot say", "remove it, or write transport: mqtt5", "request",
			"transport")
	case s.Transport == "mqtt311" && s.Concurrency > 1 && q.ResponseTopic != "" &&
		!strings.Contains(q.ResponseTopic, "{id}"):
		t.complain(fmt.Sprintf("with MQTT 3.1.1 the %d connections would get each other's answers", s.Concurrency),
			"write concurrency: 1, transport: mqtt5, or {id} in the response topic", "concurrency", "request")
	case u.Scheme == "coaps" && q.PSK == "":
		t.complain("coaps needs a pre-shared key", "write request: {psk_identity: NAME, psk: env:VARIABLE}", "request",
			"server.url")
	}
}

// askedByDevices checks what many devices can ask of a service that is already running.
func (t *candidate) askedByDevices(u *url.URL) {
	s := t.setup
	if s.Population.Devices == 0 {
		return
	}
	defer t.asSaid()
	switch host := u.Hostname(); {
	case s.Transport != "http" && s.Transport != "coap":
		t.complain("many devices ask a service that is already running over http or coap, not over "+s.Transport,
			"write server: {url: http://127.0.0.1:8080/}", "devices", "transport", "server.url")
	case !strings.HasPrefix(host, "127.") && host != "localhost":
		t.complain("devices have addresses of 127.0.0.0/8 and reach only a service of this machine",
			"write its URL with 127.0.0.1", "devices", "server.url")
	case s.Request.Status != 0 && s.Request.Status/100 != 2:
		t.complain(fmt.Sprintf("devices take an answer of another class than 2 for failed, and the request wants status %d",
			s.Request.Status), "remove status", "devices", "request")
	case s.Transport == "http":
		t.reach()
		t.streams()
	default:
		if t.reach(); s.Population.Observes() {
			t.joinSlowly()
		}
	}
}

// anyURL reports whether any treatment of the study has a URL.
func (t *candidate) anyURL() bool {
	_, fixed := t.fixed["server.url"]
	return fixed || t.levels(func(l Level, sets bool) bool { return sets })
}

// someWithoutURL reports whether a level of the factor with URLs sets none.
func (t *candidate) someWithoutURL() bool {
	return t.levels(func(l Level, sets bool) bool { return !sets })
}

// levels reports whether a level of the factors that set server.url is as wanted.
func (t *candidate) levels(want func(l Level, sets bool) bool) bool {
	sets := func(l Level) bool {
		return slices.ContainsFunc(l.Sets, func(s Setting) bool { return s.Key == "server.url" })
	}
	for _, f := range t.study.Factors {
		if slices.ContainsFunc(f.Levels, sets) {
			return slices.ContainsFunc(f.Levels, func(l Level) bool { return want(l, sets(l)) })
		}
	}
	return false
}

func (t *candidate) optionKeys() []string {
	var keys []string
	for k := range t.sets {
		if strings.HasPrefix(k, "options.") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
