package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a server does not speak is said by probe and by a study, with what to write instead.
func TestServersOfAnotherProtocol(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS() // without HTTP/2
	defer secure.Close()
	study := func(url, request string) string {
		return "study: s\nserver: {url: '" + url + "'}\ntransport: http2\nrequests: 2\nretries: 0\n" +
			"request: {method: GET" + request + "}\ndesign: {replications: 1}\n"
	}
	o.write(t, "plain.yaml", study(plain.URL, ""))
	o.write(t, "secure.yaml", study(secure.URL, ", insecure: true"))
	once := " --requests 2 --runs 1 --warmup 0"
	for line, want := range map[string]string{
		"probe http" + strings.TrimPrefix(secure.URL, "https") + once: "the server speaks TLS: ask it at an https URL",
		"probe https" + strings.TrimPrefix(plain.URL, "http") + once:  "what listens there speaks no TLS: write http://",
		"probe " + secure.URL + once + " --insecure --protocol h2":    "the server does not speak HTTP/2",
		"probe " + plain.URL + once + " --protocol h2":                "it takes no HTTP/2 without TLS; ask it by HTTP/1.1",
		"probe " + plain.URL + "/a.B/c" + once + " --protocol grpc":   "it takes no HTTP/2 without TLS; ask it by HTTP/1.1",
		"run plain.yaml --quiet":                                      "it takes no HTTP/2 without TLS; ask it by HTTP/1.1",
		"run secure.yaml --quiet":                                     "the server does not speak HTTP/2",
	} {
		out, code := o.run(t, strings.Fields(line)...)
		if got := strings.Join(strings.Fields(out), " "); code != exitUnmeasured || !strings.Contains(got, want) {
			t.Errorf("%s: exit code %d: %s", line, code, out)
		}
	}
}
