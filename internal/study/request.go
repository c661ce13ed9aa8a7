package study

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/meant"
)

// A Request is what is asked of a service that is already running. Values may end in
// env:NAME or file:PATH, which stand for secrets: a study keeps none.
type Request struct {
	Method, Path  string   // empty: GET, or POST with a body; the path and query of the URL
	Headers       []string // HTTP: "Name: value", in the order of the file
	Body          string   // as it stands
	BodyFile      string   // or: the file with it; relative to the study's folder
	ContentType   string
	Accept        string
	Status        int    // that an answer must have; 0: any of success
	Match         string // regular expression that an answer's body must match; empty: any
	Topic         string // MQTT: to which requests are published
	ResponseTopic string // MQTT: on which answers come; {id} is the client's own name
	QoS           int    // MQTT
	Confirmable   string // CoAP: on or off; empty: on
	CA            string // file of the authorities that signed the server's certificate; empty: the system's
	Insecure      bool   // any certificate will do
	Identity, PSK string // of DTLS

	keys []string // that the study gives
}

// schemes are those of a service's URL, with the transports that speak them, the
// first taken where the study names none, and the security they imply.
var schemes = map[string]struct {
	transports []string
	security   string
}{
	"http":     {[]string{"http", "http2", "grpc"}, "none"},
	"https":    {[]string{"http", "http2", "http3", "grpc"}, "tls"},
	"coap":     {[]string{"coap"}, "none"},
	"coaps":    {[]string{"coap"}, "dtls-psk"},
	"coap+tcp": {[]string{"coap-tcp"}, "none"},
	"mqtt":     {[]string{"mqtt5", "mqtt311"}, "none"},
	"mqtts":    {[]string{"mqtt5", "mqtt311"}, "tls"},
}

const schemeNames = "http, https, coap, coaps, coap+tcp, mqtt or mqtts"

// secretName is in the names of headers and parameters whose values are secrets.
var secretName = newForm(`(?i)auth|cookie|token|secret|passw|api[-_]?key|session|signature|credential`, 200)

// secretPlace ends a value that stands elsewhere.
var secretPlace = regexp.MustCompile(`(?:^|[ =:])((?:env:[A-Za-z_][A-Za-z0-9_]*)|(?:file:\S+))$`)

// SecretPlace finds the env:NAME or file:PATH that a value of a request ends in.
func SecretPlace(value string) (place string, ok bool) {
	m := secretPlace.FindStringSubmatch(value)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// readURL reads the URL of a service that is already running.
func readURL(r *reader, what string, n *node) (Setting, bool) {
	if !r.scalar(what, n, "a URL such as http://192.0.2.1:8080/") {
		return Setting{}, false
	}
	bad := func(fault, advice string) (Setting, bool) {
		r.fail(n.pos, what+" "+fault, advice)
		return Setting{}, false
	}
	u, err := url.Parse(n.text)
	if err != nil || u.Host == "" || strings.ContainsAny(n.text, " \t\r\n") || u.Fragment != "" {
		return bad("is not the URL of a service", "write one such as http://192.0.2.1:8080/ or coap://[2001:db8::1]/sensor")
	}
	if _, ok := schemes[u.Scheme]; !ok {
		return bad(fmt.Sprintf("has the scheme %q", u.Scheme), "write one of "+schemeNames)
	}
	if u.User != nil { // what stands there is not repeated
		return bad("contains a user or a password, and the study is stored with results",
			`write request: {headers: {Authorization: "Basic env:NAME"}}`)
	}
	if name := secretParameter(u.RawQuery); name != "" {
		return bad(fmt.Sprintf("contains the secret parameter %s, and the study is stored with results", name),
			"send it in a header: request: {headers: {Authorization: env:NAME}}")
	}
	return fixed(n.text, n.pos, n.text, func(s *Setup) *string { return &s.URL }), true
}

// secretParameter names a parameter of a query that is a secret by its name.
func secretParameter(query string) string {
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if value != "" && secretName.MatchString(name) {
			return name
		}
	}
	return ""
}

// A requestKey is one key of a request.
type requestKey struct {
	name    string
	schemes string // that know it, by their beginnings; empty: all
	read    func(r *reader, what string, n *node, q *Request) bool
}

var requestKeys = []requestKey{
	{"method", "http coap", requestText(func(q *Request) *string { return &q.Method }, methodFault)},
	{"path", "http coap", requestText(func(q *Request) *string { return &q.Path }, pathFault)},
	{"headers", "http", readHeaders},
	{"body", "", requestBody},
	{"body_file", "", requestText(func(q *Request) *string { return &q.BodyFile }, nil)},
	{"content_type", "", requestText(func(q *Request) *string { return &q.ContentType }, nil)},
	{"accept", "http coap", requestText(func(q *Request) *string { return &q.Accept }, nil)},
	{"status", "http coap", readStatus},
	{"match", "", requestText(func(q *Request) *string { return &q.Match }, matchFault)},
	{"topic", "mqtt", requestText(func(q *Request) *string { return &q.Topic }, topicFault)},
	{"response_topic", "mqtt", requestText(func(q *Request) *string { return &q.ResponseTopic }, topicFault)},
	{"qos", "mqtt", func(r *reader, what string, n *node, q *Request) (ok bool) {
		q.QoS, ok = r.count(what, n, 0, 2)
		return ok
	}},
	{"confirmable", "coap", func(r *reader, what string, n *node, q *Request) (ok bool) {
		q.Confirmable, ok = r.choice(what, n, []string{"on", "off"})
		return ok
	}},
	{"ca", "https mqtts", requestText(func(q *Request) *string { return &q.CA }, nil)},
	{"insecure", "https mqtts", func(r *reader, what string, n *node, q *Request) bool {
		v, ok := r.choice(what, n, []string{"true", "false"})
		q.Insecure = v == "true"
		return ok
	}},
	{"psk_identity", "coaps", requestText(func(q *Request) *string { return &q.Identity }, nil)},
	{"psk", "coaps", requestText(func(q *Request) *string { return &q.PSK }, placeFault)},
}

func requestKeyNames() []string {
	var names []string
	for _, k := range requestKeys {
		names = append(names, k.name)
	}
	return append(names, "name")
}

// readRequest reads what is asked of a service. Like a link it is one value,
// which a name may stand for in the plan and the report.
func readRequest(r *reader, what string, n *node) (Setting, bool) {
	if n.kind == scalar && n.tag == "!!int" {
		r.fail(n.pos, what+" is a number", fmt.Sprintf("did you mean requests: %s?", n.text))
		return Setting{}, false
	}
	if !r.kind(what, n, mapping, "a mapping such as {method: POST, path: /sensor, body: '21.5'}") {
		return Setting{}, false
	}
	var q Request
	label, good := "", len(n.pairs) > 0
	if !good {
		r.fail(n.pos, what+" says nothing", "write {path: /sensor}, or remove it")
	}
	for _, p := range n.pairs {
		if p.key.Text == "name" {
			v, ok := r.name("the name of a request", p.value)
			label, good = v, good && ok
			continue
		}
		i := slices.IndexFunc(requestKeys, func(k requestKey) bool { return k.name == p.key.Text })
		if i < 0 {
			r.fail(p.key.Pos, fmt.Sprintf("a request has no key %q", p.key.Text), meant.Advice(p.key.Text, requestKeyNames(),
				manual))
			good = false
			continue
		}
		q.keys = append(q.keys, p.key.Text)
		good = requestKeys[i].read(r, what+" "+p.key.Text, p.value, &q) && good
	}
	if q.Body != "" && q.BodyFile != "" {
		r.fail(n.pos, what+" has a body and a body_file", "keep one")
		good = false
	}
	canonical := q.String()
	if label == "" {
		label = q.short()
	}
	s := fixed(label, n.pos, &q, func(s *Setup) **Request { return &s.Request })
	s.id = canonical
	return s, good
}

// String is equal for equal requests. It holds no secret.
func (q *Request) String() string {
	if q == nil {
		return ""
	}
	text, _ := json.Marshal(q) // plain fields never fail
	return string(text)
}

// short names a request that the study does not.
func (q *Request) short() string {
	var parts []string
	for _, p := range []string{q.Method, q.Path, q.Topic, q.BodyFile} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return "request"
	}
	return strings.Join(parts, " ")
}

// requestText reads a text; fault says what is wrong with it and what to write, if anything.
func requestText(at func(*Request) *string, fault func(string) (what, advice string)) func(*reader, string, *node,
	*Request) bool {
	return func(r *reader, what string, n *node, q *Request) bool {
		if !r.scalar(what, n, "a text") {
			return false
		}
		if strings.ContainsAny(n.text, "\n\r\x00") {
			r.fail(n.pos, what+" has a line break", "write it on one line")
			return false
		}
		if fault != nil {
			if wrong, advice := fault(n.text); wrong != "" {
				r.fail(n.pos, what+" "+wrong, advice)
				return false
			}
		}
		*at(q) = n.text
		return true
	}
}

func requestBody(r *reader, what string, n *node, q *Request) bool {
	if !r.kind(what, n, scalar, `a text between quotes, such as '{"value": 21.5}'`) {
		return false
	}
	q.Body = n.text
	return true
}

var methodName = newForm(`^[A-Z]+$`, 20)

func methodFault(text string) (what, advice string) {
	if methodName.MatchString(text) {
		return "", ""
	}
	return fmt.Sprintf("%q is not a method", text), "write it in capitals, such as GET or POST"
}

func pathFault(text string) (what, advice string) {
	_, query, _ := strings.Cut(text, "?")
	switch name := secretParameter(query); {
	case name != "":
		return fmt.Sprintf("contains the secret parameter %s, and the study is stored with results", name),
			"send it in a header: request: {headers: {Authorization: env:NAME}}"
	case !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " #"):
		return fmt.Sprintf("%q is not the path of a URL", text), "begin it with /, such as /sensor?unit=C"
	}
	return "", ""
}

func matchFault(text string) (what, advice string) {
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Sprintf("%q is not a regular expression", text), err.Error()
	}
	return "", ""
}

func topicFault(text string) (what, advice string) {
	if strings.ContainsAny(text, "+#") {
		return fmt.Sprintf("%q has a wildcard", text), "write one topic, such as sensor/request"
	}
	return "", ""
}

func placeFault(text string) (what, advice string) {
	if place, ok := SecretPlace(text); ok && place == text {
		return "", ""
	}
	return "is a secret, and the study is stored with results", "write env:NAME or file:PATH"
}

var headerName = newForm("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", 100)

// readHeaders reads {Name: value}. The value of a header that is a secret by its
// name must stand elsewhere.
func readHeaders(r *reader, what string, n *node, q *Request) bool {
	if !r.kind(what, n, mapping, "a mapping such as {Accept: application/json}") {
		return false
	}
	good := true
	bad := func(pos Pos, fault, advice string) {
		r.fail(pos, what+": "+fault, advice)
		good = false
	}
	for _, p := range n.pairs {
		name, v := p.key.Text, p.value
		switch lower := strings.ToLower(name); {
		case !headerName.MatchString(name):
			bad(p.key.Pos, fmt.Sprintf("%q is not the name of a header", name), "write letters, digits and -")
		case lower == "content-type":
			bad(p.key.Pos, "Content-Type has a key of its own", "write request: {content_type: …}")
		case slices.Contains([]string{"content-length", "transfer-encoding", "connection", "host"}, lower):
			bad(p.key.Pos, fmt.Sprintf("%s is set by the client itself", name), "remove it")
		case !r.scalar(what+" "+name, v, "a value"):
			good = false
		case strings.ContainsAny(v.text, "\n\r\x00"):
			bad(v.pos, name+" has a line break", "write it on one line")
		default:
			if _, elsewhere := SecretPlace(v.text); secretName.MatchString(name) && !elsewhere {
				bad(v.pos, fmt.Sprintf("%s is a secret, and the study is stored with results", name),
					fmt.Sprintf("write %s: env:NAME or file:PATH; words may stand before it: \"Bearer env:NAME\"", name))
				continue
			}
			q.Headers = append(q.Headers, name+": "+v.text)
		}
	}
	return good
}

// readStatus reads 200, or CoAP's 2.05 as 205.
func readStatus(r *reader, what string, n *node, q *Request) bool {
	if !r.scalar(what, n, "a status such as 200, or 2.05 for CoAP") {
		return false
	}
	class, detail, dotted := strings.Cut(n.text, ".")
	text := n.text
	if dotted && len(class) == 1 && len(detail) == 2 {
		text = class + detail
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 100 || v > 599 {
		r.fail(n.pos, fmt.Sprintf("%s %q is not a status", what, n.text), "write one such as 200, or 2.05 for CoAP")
		return false
	}
	q.Status = v
	return true
}

// useless are the settings that change nothing for a service that is already
// there: another program answers there, at a place of its own.
var useless = []string{"service", "n", "size", "stack", "client.stack", "server.stack", "server.device", "encoding",
	"security", "link", "heap", "sensor", "io_dir"}

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
		at := t.sets["server.url"]
		// What stands at the top is for the treatments that have no URL.
		if p, given := t.sets[key]; given && !(at.factor >= 0 && p.factor < 0 && t.someWithoutURL()) {
			t.complain(fmt.Sprintf("with server.url, %s has no effect: edgegauge does not start that service", key),
				"remove one of the two", "server.url", key)
		}
	}
	*s = Setup{URL: s.URL, Request: s.Request, Transport: s.Transport, Connection: s.Connection, IP: s.IP,
		Client: s.Client, Server: Side{Meter: s.Server.Meter}, Link: Link{Text: "none"}, Requests: s.Requests,
		Duration: s.Duration, Concurrency: s.Concurrency, Rate: s.Rate, Arrival: s.Arrival, Security: kind.security}
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
		speaks := k.schemes == "" || slices.ContainsFunc(strings.Fields(k.schemes),
			func(scheme string) bool { return strings.HasPrefix(u.Scheme, scheme) })
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
	case s.Transport == "mqtt311" && s.Concurrency > 1 && q.ResponseTopic != "" &&
		!strings.Contains(q.ResponseTopic, "{id}"):
		t.complain(fmt.Sprintf("with MQTT 3.1.1 the %d connections would get each other's answers", s.Concurrency),
			"write concurrency: 1, transport: mqtt5, or {id} in the response topic", "concurrency", "request")
	case u.Scheme == "coaps" && q.PSK == "":
		t.complain("coaps needs a pre-shared key", "write request: {psk_identity: NAME, psk: env:VARIABLE}", "request",
			"server.url")
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
