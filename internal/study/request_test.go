package study

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A study without a stack: what is asked of a service that is already running,
// with every key that a protocol has.
func TestRequest(t *testing.T) {
	for text, want := range map[string]Setup{
		`server: {url: "https://h:8443/a", meter: rapl}
request: {method: PUT, path: /b?c=1, headers: {X-A: b, Authorization: "Bearer env:TOKEN"}, body: x,
  content_type: text/plain, accept: text/html, status: 204, match: ok, ca: ca.pem, insecure: false}
transport: http2
ip: ipv6`: {URL: "https://h:8443/a", Transport: "http2", Security: "tls", IP: "ipv6", Server: Side{Meter: "rapl"},
			Request: &Request{Method: "PUT", Path: "/b?c=1", Headers: []string{"X-A: b", "Authorization: Bearer env:TOKEN"},
				Body: "x", ContentType: "text/plain", Accept: "text/html", Status: 204, Match: "ok", CA: "ca.pem"}},
		`server: {url: "coap://h/s"}
request: {status: 2.05, confirmable: off, body_file: b}`: {URL: "coap://h/s", Transport: "coap", Security: "none",
			Request: &Request{Status: 205, Confirmable: "off", BodyFile: "b"}},
		`server: {url: "coaps://h/s"}
request: {psk_identity: i, psk: env:KEY}`: {URL: "coaps://h/s", Transport: "coap", Security: "dtls-psk",
			Request: &Request{Identity: "i", PSK: "env:KEY"}},
		`server.url: mqtt://h
request: {topic: a, response_topic: "b/{id}", qos: 1}
transport: mqtt311`: {URL: "mqtt://h", Transport: "mqtt311", Security: "none",
			Request: &Request{Topic: "a", ResponseTopic: "b/{id}", QoS: 1}},
		`server.url: http://h`: {URL: "http://h", Transport: "http", Security: "none", Request: &Request{}},
	} {
		s := parse(t, "study: s\n"+text+"\n")
		got := *s.treatments[0].setup
		got.Request.keys = nil
		want.Connection, want.Arrival, want.Concurrency, want.Requests = "keep-alive", "constant", 1, 1000
		want.Capture = "on"
		want.Client, want.Link = Side{Device: "local", Stack: Requester}, Link{Text: "none"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v %+v\nwant %+v %+v", text, got, *got.Request, want, *want.Request)
		}
		if err := schema(t).Validate(asJSON(t, []byte("study: s\n"+text+"\n"))); err != nil {
			t.Errorf("%s: the schema refuses it: %v", text, err)
		}
	}
}

// Several services, or a service and a stack, are levels of a factor; several
// requests too, named by themselves.
func TestServicesAndRequestsAreLevels(t *testing.T) {
	s := parse(t, `study: s
factors:
  server.url: [http://a, http://b]
  request: [{path: /x}, {name: large, path: /x, body_file: big}]
`)
	var got []string
	for _, x := range s.treatments {
		got = append(got, x.words[0].Text+" "+x.words[1].Text+" "+x.setup.URL+x.setup.Request.Path)
	}
	if want := []string{"http://a /x http://a/x", "http://a large http://a/x", "http://b /x http://b/x",
		"http://b large http://b/x"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	s = parse(t, `study: s
service: monitor
request: {path: /x}
factors:
  way: [{name: mine, server.url: http://a}, {name: theirs, stack: reference/rest-json}]
`)
	mine, theirs := s.treatments[0].setup, s.treatments[1].setup
	if mine.Service != "" || mine.Request == nil || theirs.Service != "monitor" || theirs.Request != nil {
		t.Errorf("got %+v and %+v", mine, theirs)
	}
}

// Beside server.url each setting has an effect or is refused: none is dropped without a word.
func TestEverySettingBesideAServiceIsReadOrRefused(t *testing.T) {
	values := map[string]string{ // that differ from what stands there without them
		"service": "monitor", "n": "3", "size": "1kB", "stack": "many", "encoding": "xml", "security": "tls",
		"transport":  "http2",
		"connection": "per-request", "ip": "ipv6", "client.device": "other", "server.device": "other", "client.stack": "many",
		"server.stack": "many", "client.meter": "rapl", "server.meter": "rapl", "request": "{path: /b}", "link": "nb-iot",
		"concurrency": "2", "rate": "10", "arrival": "poisson", "requests": "7", "duration": "3s", "min_duration": "3s",
		"placement": "apart", "at_once": "2", "driven_from": "2", "capture": "off", "leave_out": "[rtt]",
		"heap": "16MB", "sensor": "fixed:20",
		"io_dir": "/tmp", "server.url": "http://other",
	}
	v := vocabulary()
	v.Devices = append(v.Devices, "other")
	const text = "study: s\nserver.url: http://h\ndesign: {warmup: 5}\n"
	setup := func(set string) *Setup {
		sets := []string{"server.url=http://h"}
		if set != "" {
			sets = append(sets, set)
		}
		if strings.HasPrefix(set, "arrival") {
			sets = append(sets, "rate=10")
		}
		s, err := Parse("s.yaml", []byte(text), v, sets...)
		if err != nil {
			return nil
		}
		got := s.treatments[0].setup
		got.Request.keys = nil
		return got
	}
	without := setup("")
	for _, name := range SettingNames() {
		if slices.Contains(PopulationSettings(), name) {
			continue // of devices alone, and Population is kept whole
		}
		value, ok := values[name]
		if !ok {
			t.Errorf("no value of the setting %s: say one that makes a difference", name)
			continue
		}
		if reflect.DeepEqual(setup(name+"="+value), without) {
			t.Errorf("%s: %s changes nothing and is not refused", name, value)
		}
	}
}

// What a request cannot say is an error with its place, and no error repeats a secret.
func TestRequestsThatCannotBe(t *testing.T) {
	for _, c := range [][2]string{
		{"server: {url: ftp://h}", `2:15: server.url has the scheme "ftp"; write one of http, https, coap`},
		{"server: {url: h}", "2:15: server.url is not the URL of a service"},
		{"server: {url: http://me:s3cret@h/}", "2:15: server.url contains a user or a password"},
		{"server: {url: 'http://h/?token=s3cret'}", "contains the secret parameter token"},
		{"server: {url: http://h}\nrequest: {path: x}", `3:17: request path "x" is not the path of a URL`},
		{"server: {url: http://h}\nrequest: {}", "3:10: request says nothing"},
		{"server: {url: http://h}\nrequest: {paht: /}", `a request has no key "paht"; did you mean path?`},
		{"server: {url: http://h}\nrequest: {match: '('}", "is not a regular expression"},
		{"server: {url: http://h}\nrequest: {headers: {Authorization: Bearer s3cret}}",
			"Authorization is a secret, and the study is stored with results; write Authorization: env:NAME"},
		{"server: {url: http://h}\nrequest: {headers: {X-Api-Key: s3cret}}", "X-Api-Key is a secret"},
		{"server: {url: http://h}\nrequest: {path: '/?api_key=s3cret'}", "contains the secret parameter api_key"},
		{"server: {url: coaps://h}\nrequest: {psk: s3cret}", "request psk is a secret"},
		{"server: {url: http://h}\nrequest: {topic: a, response_topic: b}",
			"request has topic, which http:// does not support"},
		{"server: {url: coap+tcp://h}\nrequest: {confirmable: off}",
			"request has confirmable, which coap+tcp:// does not support"},
		{"server: {url: mqtt://h}\ntransport: mqtt311\nrequest: {topic: a, response_topic: b, content_type: text/plain}",
			"request has content_type, which MQTT 3.1.1 cannot say"},
		{"server: {url: mqtt://h}\nrequest: {topic: a}", "names one of topic and response_topic"},
		{"server: {url: mqtt://h}", "the request names no topic"},
		{"server: {url: mqtt://h}\nrequest: {topic: a, response_topic: b}\ntransport: mqtt311\nconcurrency: 2",
			"get each other's answers"},
		{"server: {url: coaps://h}", "coaps needs a pre-shared key"},
		{"server: {url: http://h}\ntransport: coap", "transport coap cannot be used with http://"},
		{"server: {url: http://h}\nservice: monitor", "3:10: with server.url, service has no effect"},
		{"server: {url: http://h}\nlink: nb-iot", "with server.url, link has no effect"},
		{"server: {url: http://h}\noptions: {a: b}", "with server.url, options.a has no effect"},
		{"server: {url: http://h}\ntime: instructions", "a service that is already running is outside"},
		{"service: monitor\nstack: many\nrequest: {path: /}", "but the study names none"},
		{"server: {url: http://h}\nrequest: {body: a, body_file: b}", "has a body and a body_file"},
		{"server: {url: http://h}\nrequest: {status: ok}", `request status "ok" is not a status`},
	} {
		text, want := c[0], c[1]
		_, err := Parse("s.yaml", []byte("study: s\n"+text+"\n"), vocabulary())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
