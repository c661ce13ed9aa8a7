package study

import (
	"fmt"
	"net/url"
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
)

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
var secretPlace = lazy.Regexp(`(?:^|[ =:])((?:env:[A-Za-z_][A-Za-z0-9_]*)|(?:file:\S+))$`)

// SecretPlace finds the env:NAME or file:PATH that a value of a request ends in.
func SecretPlace(value string) (place string, ok bool) {
	m := secretPlace().FindStringSubmatch(value)
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
