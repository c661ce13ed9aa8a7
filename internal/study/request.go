package study

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// A requestKey is one key of a request.
type requestKey struct {
	name    string
	schemes string // that know it; empty: all
	read    func(r *reader, what string, n *node, q *Request) bool
}

const (
	overHTTP = "http https"
	overCoAP = "coap coaps coap+tcp"
	overMQTT = "mqtt mqtts"
)

var requestKeys = []requestKey{
	{"method", overHTTP + " " + overCoAP, requestText(func(q *Request) *string { return &q.Method }, methodFault)},
	{"path", overHTTP + " " + overCoAP, requestText(func(q *Request) *string { return &q.Path }, pathFault)},
	{"headers", overHTTP, readHeaders},
	{"body", "", requestBody},
	{"body_file", "", requestText(func(q *Request) *string { return &q.BodyFile }, nil)},
	{"content_type", "", requestText(func(q *Request) *string { return &q.ContentType }, nil)},
	{"accept", overHTTP + " " + overCoAP, requestText(func(q *Request) *string { return &q.Accept }, nil)},
	{"status", overHTTP + " " + overCoAP, readStatus},
	{"match", "", requestText(func(q *Request) *string { return &q.Match }, matchFault)},
	{"topic", overMQTT, requestText(func(q *Request) *string { return &q.Topic }, topicFault)},
	{"response_topic", overMQTT, requestText(func(q *Request) *string { return &q.ResponseTopic }, topicFault)},
	{"qos", overMQTT, func(r *reader, what string, n *node, q *Request) (ok bool) {
		q.QoS, ok = r.count(what, n, 0, 2)
		return ok
	}},
	{"confirmable", "coap coaps", func(r *reader, what string, n *node, q *Request) (ok bool) {
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
			r.fail(p.key.Pos, fmt.Sprintf("a request has no key %q", p.key.Text), r.adviceInside("request", p.key.Text,
				requestKeyNames(), manual))
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
