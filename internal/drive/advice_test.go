package drive

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a stranger's service does otherwise than asked is told with what to do about it, and never as a server that is
// down.
func TestAdviceOnServersThatAreUp(t *testing.T) {
	start := func(most uint16) string {
		s := httptest.NewUnstartedServer(http.RedirectHandler("/elsewhere", http.StatusFound))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		if s.TLS = (&tls.Config{MaxVersion: most}); most != 0 {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return s.URL
	}
	plain, today, old := start(0), start(tls.VersionTLS13), start(tls.VersionTLS12)
	silent := "https" + strings.TrimPrefix(hostile(t, overTLS(t, func(c net.Conn, _ int) {
		c.Read(make([]byte, 1)) // a handshake, by which nothing is chosen
	})), "http")
	hangsUp := "mqtt" + strings.TrimPrefix(hostile(t, func(net.Conn, int) {}), "http") + "x"
	for _, tt := range []struct {
		s    Spec
		want string
	}{
		{Spec{URL: today}, "; name who vouches for it (probe --ca FILE, request: {ca: FILE}), or take any certificate (probe " +
			"--insecure, request: {insecure: true})"},
		{Spec{URL: old}, "; a server listens there, but it may not speak TLS 1.3"},
		{Spec{URL: today, Protocol: HTTP2, Credentials: Credentials{Insecure: true}},
			"the server does not speak HTTP/2: it takes none of what was offered by ALPN; ask it by HTTP/1.1"},
		{Spec{URL: silent, Protocol: HTTP2, Credentials: Credentials{Insecure: true}},
			`the server does not speak HTTP/2: it chose "" by ALPN; ask it by HTTP/1.1`},
		{Spec{URL: hangsUp}, "; it listens there, but may not speak mqtt"}, // closed, or reset if it read nothing
		{Spec{URL: plain, Protocol: HTTP2}, "the server answers in HTTP/1: it takes no HTTP/2 without TLS"},
		{Spec{URL: plain, Protocol: HTTP2, Connection: Multiplexed, Concurrency: 2},
			"the server answers in HTTP/1: it takes no HTTP/2 without TLS"},
		{Spec{URL: plain, Protocol: GRPC}, "the server answers in HTTP/1: it takes no HTTP/2 without TLS"},
		{Spec{URL: plain}, "status 302: redirects are not followed; ask the URL that it leads to, or expect 302"},
		{Spec{URL: plain, Method: "GET /"}, `"GET /" is not a method; write one such as GET or POST`},
	} {
		if got := saidOf(t, tt.s); !strings.Contains(got, tt.want) || strings.Contains(got, "is the server up") {
			t.Errorf("%+v: got %q, want %q", tt.s, got, tt.want)
		}
	}
}

// saidOf is why a server cannot be asked: when it is dialed, or of its first request.
func saidOf(t *testing.T, s Spec) string {
	d, err := Dial(t.Context(), s)
	if err != nil {
		return err.Error()
	}
	defer d.Close()
	r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(2, 0), Record: true}, Fixed("x"))
	if err != nil {
		return err.Error()
	}
	for x := range r.Exchanges() {
		return x.Failure
	}
	return ""
}
