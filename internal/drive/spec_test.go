package drive

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// Where a server listens needs neither its credentials nor the length of its answer.
func TestAddressNeedsTheURLOnly(t *testing.T) {
	for _, tt := range []struct {
		url, want string
		tcp       bool
	}{
		{"coaps://127.0.0.1:7/x", "127.0.0.1:7", false},
		{"udp://127.0.0.1:7", "127.0.0.1:7", false},
		{"tcp://[::1]:7", "[::1]:7", true},
		{"mqtts://127.0.0.1", "127.0.0.1:8883", true},
		{"coap://127.0.0.1", "127.0.0.1:5683", false},
	} {
		if got, tcp, err := (Spec{URL: tt.url}).Address(); got != tt.want || tcp != tt.tcp || err != nil {
			t.Errorf("%s: got %s %v %v", tt.url, got, tcp, err)
		}
	}
	for _, url := range []string{"http://", "udp://127.0.0.1", "http://127.0.0.1:0", "http://[::1"} {
		if got, _, err := (Spec{URL: url}).Address(); err == nil {
			t.Errorf("%s: got %s", url, got)
		}
	}
}

// The zone of a link-local address is not the server's business: neither its Host header nor its certificate has it.
func TestZonesStayHere(t *testing.T) {
	for url, want := range map[string][2]string{
		"https://[fe80::1%25lo]:8443/a": {"[fe80::1]:8443", "fe80::1"}, "https://[fe80::1%25lo]/a": {"[fe80::1]", "fe80::1"},
		"https://[::1]:8443/": {"[::1]:8443", "::1"}, "https://h:8443/": {"h:8443", "h"}, "https://h": {"h", "h"},
	} {
		x, _, err := Spec{URL: url}.target()
		if err != nil {
			t.Fatal(err)
		}
		secret, err := newSecret(x)
		if err != nil || x.host != want[0] || secret.tls.ServerName != want[1] {
			t.Errorf("%s: host %s, name %s, %v; want %v", url, x.host, secret.tls.ServerName, err, want)
		}
	}
	if at, err := (Spec{URL: "http://[fe80::1%25lo]:80/"}).Resolve(t.Context()); err != nil || at.Addr().Zone() != "lo" {
		t.Errorf("%v, %v: the zone is needed here", at, err)
	}
}

// Each protocol asks for the same resource, whatever is escaped in its address.
func TestAddressesAsWritten(t *testing.T) {
	const want = "/a%20b/c%2Fd?x=%26y&z=1"
	for _, protocol := range []string{HTTP1, HTTP2, HTTP3} {
		asked := make(chan string, 1)
		h := func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI }
		spec := Spec{Protocol: protocol}
		switch protocol {
		case HTTP1:
			server := httptest.NewServer(http.HandlerFunc(h))
			t.Cleanup(server.Close)
			spec.URL = server.URL
		case HTTP2:
			server, _ := http2Server(t, false, h)
			spec.URL = server.URL
		case HTTP3:
			spec.URL, spec.Credentials = http3Server(t, h)
		}
		spec.URL += want
		if _, xs := drive(t, spec, Load{Schedule: ClosedLoop(1, 0)}, Fixed("x")); len(xs) != 1 || xs[0].Failure != "" {
			t.Fatalf("%s: %+v", protocol, xs)
		}
		if got := <-asked; got != want {
			t.Errorf("%s asked for %s, want %s", protocol, got, want)
		}
	}
}

// A request without a body says so: its header ends the stream, and a POST has a length of 0, as over HTTP/1.1 and
// HTTP/2.
func TestEmptyBodiesOverEachProtocol(t *testing.T) {
	for _, protocol := range []string{HTTP1, HTTP2, HTTP3} {
		for method, want := range map[string]string{"GET": "0 []", "POST": "0 [0]"} {
			asked := make(chan string, 1)
			h := func(_ http.ResponseWriter, r *http.Request) {
				asked <- fmt.Sprint(r.ContentLength, r.Header["Content-Length"])
			}
			spec := Spec{Protocol: protocol, Method: method}
			switch protocol {
			case HTTP1:
				server := httptest.NewServer(http.HandlerFunc(h))
				t.Cleanup(server.Close)
				spec.URL = server.URL
			case HTTP2:
				server, _ := http2Server(t, false, h)
				spec.URL = server.URL
			case HTTP3:
				spec.URL, spec.Credentials = http3Server(t, h)
				want = strings.Replace(want, "0 []", "-1 []", 1) // quic-go reads no end of the stream before a body
			}
			if _, xs := drive(t, spec, Load{Schedule: ClosedLoop(1, 0)}, Fixed("")); len(xs) != 1 || xs[0].Failure != "" {
				t.Fatalf("%s %s: %+v", protocol, method, xs)
			}
			if got := <-asked; got != want {
				t.Errorf("%s %s: length and header %s, want %s", protocol, method, got, want)
			}
		}
	}
}

// OSCORE is not spoken over TCP: its keys would be dropped without a word.
func TestKeysOfOSCOREAreNotDroppedOverTCP(t *testing.T) {
	keys := Credentials{OSCORE: coap.Keys{Secret: []byte("sixteen bytes or"), SenderID: []byte{1}}}
	for url, refused := range map[string]bool{"coap+tcp://127.0.0.1:1/x": true, "coap://127.0.0.1:1/x": false} {
		err := Spec{URL: url, Credentials: keys}.Check()
		if got := err != nil && strings.Contains(err.Error(), "OSCORE is supported only over UDP"); got != refused {
			t.Errorf("%s: got %v, refused for OSCORE: %v", url, err, refused)
		}
	}
}
