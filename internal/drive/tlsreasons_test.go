package drive

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// certified is a server with a certificate of its own making, which its credentials vouch for.
func certified(t *testing.T, c x509.Certificate, h http.Handler) (*httptest.Server, Credentials) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.IsCA, c.BasicConstraintsValid = big.NewInt(1), true, true
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, Credentials{PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// What is wrong with a certificate is told with its date or its names, and nobody is sent for another authority. The
// words do not depend on when it is found.
func TestCertificatesThatDoNotHold(t *testing.T) {
	past, future := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2099, 1, 2, 3, 4, 5, 0, time.UTC)
	here := []net.IP{net.IPv4(127, 0, 0, 1)}
	const insecure = "or take any certificate (probe --insecure, request: {insecure: true})"
	for want, c := range map[string]x509.Certificate{
		"the server's certificate expired on 2020-01-02; renew it, " + insecure: {NotBefore: past.AddDate(-1, 0, 0),
			NotAfter: past, IPAddresses: here},
		"the server's certificate is not valid before 2099-01-02; set this machine's clock if it is wrong, " + insecure: {
			NotBefore: future, NotAfter: future.AddDate(1, 0, 0), IPAddresses: here},
		"the server's certificate is for a.example, b.example, c.example, …, not for 127.0.0.1; ask it by a name that " +
			"is in it, " + insecure: {NotBefore: past, NotAfter: future,
			DNSNames: []string{"a.example", "b.example", "c.example", "d.example"}},
		"the server's certificate is for 192.0.2.1, not for 127.0.0.1; ": {NotBefore: past, NotAfter: future,
			IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}},
	} {
		s, credentials := certified(t, c, http.NotFoundHandler())
		for _, spec := range []Spec{{}, {Concurrency: 2}, {Protocol: HTTP2}} {
			spec.URL, spec.Credentials = s.URL, credentials
			got := saidOf(t, spec)
			if !strings.Contains(got, want) || strings.Contains(got, "--ca") || strings.Contains(got, "x509") {
				t.Errorf("%d connections, %q: got %q, want %q", spec.Concurrency, spec.Protocol, got, want)
			}
			spec.Connection = PerRequest
			before, _, _ := strings.Cut(want, ";")
			if got := saidOf(t, spec); got != "connect: "+before {
				t.Errorf("a connection for each request: got %q, want %q", got, before)
			}
		}
		url, credentials := http3Of(t, s, credentials)
		if got := saidOf(t, Spec{URL: url, Protocol: HTTP3, Credentials: credentials}); !strings.Contains(got, want) {
			t.Errorf("HTTP/3: got %q, want %q", got, want)
		}
	}
}

// A server that takes TLS only is told from one that is at fault: by its alert, or by the page that Go, nginx and
// others have for it.
func TestServersThatTakeTLSOnly(t *testing.T) {
	s, _ := certified(t, x509.Certificate{NotAfter: time.Now().Add(time.Hour)}, http.NotFoundHandler())
	alerts := map[string]string{}
	for name, alert := range map[string]string{"unexpected message": "\x15\x03\x03\x00\x02\x02\x0a",
		"version": "\x15\x03\x01\x00\x02\x02\x46"} {
		alerts[name] = hostile(t, func(c net.Conn, _ int) {
			c.Read(make([]byte, 1000))
			c.Write([]byte(alert))
		})
	}
	page := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, text, http.StatusBadRequest)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	nginx := page("<center>The plain HTTP request was sent to HTTPS port</center>")
	for _, tt := range []struct {
		s    Spec
		want string
	}{
		{Spec{URL: "http" + strings.TrimPrefix(s.URL, "https")}, "status 400: the server speaks TLS: ask it at an https URL"},
		{Spec{URL: nginx}, "status 400: the server speaks TLS: ask it at an https URL"},
		{Spec{URL: nginx, Connection: Pipelined}, "status 400: the server speaks TLS: ask it at an https URL"},
		{Spec{URL: page("no such sensor")}, "status 400"},
		{Spec{URL: alerts["version"]}, errSpeaksTLS.Error()},
		{Spec{URL: alerts["unexpected message"]}, errSpeaksTLS.Error()},
		{Spec{URL: alerts["version"], Concurrency: 2}, errSpeaksTLS.Error()},
		{Spec{URL: alerts["version"], Connection: Pipelined}, errSpeaksTLS.Error()},
		{Spec{URL: alerts["version"], Protocol: HTTP2}, errSpeaksTLS.Error()},
		{Spec{URL: alerts["version"], Protocol: HTTP2, Concurrency: 2}, errSpeaksTLS.Error()},
		{Spec{URL: alerts["version"], Protocol: GRPC, Connection: Multiplexed}, errSpeaksTLS.Error()},
	} {
		if got := saidOf(t, tt.s); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.s, got, tt.want)
		}
	}
}

// A server that does not speak HTTP/2 is told from one that does and fails, whatever it makes of the preface.
func TestServersWithoutHTTP2(t *testing.T) {
	says := func(text string, closes bool) string {
		return hostile(t, func(c net.Conn, _ int) {
			c.Read(make([]byte, 1000))
			c.Write([]byte(text))
			if !closes {
				io.Copy(io.Discard, c)
			}
		})
	}
	for want, url := range map[string]string{
		"the server answers in HTTP/1: it takes no HTTP/2 without TLS": says("HTTP/1.1 505 no\r\n\r\n", true),
		"HTTP/2: the server does not speak HTTP/2: what it says first is none; ask it by HTTP/1.1": says(
			"<!DOCTYPE HTML PUBLIC>", true),
		"connection closed before a response: the server may not speak HTTP/2, of which it has said nothing": says("", true),
		"no response within 300ms: the server may not speak HTTP/2, of which it has said nothing":            says("", false),
	} {
		for _, s := range []Spec{{}, {Concurrency: 2}, {Connection: Multiplexed, Concurrency: 2}} {
			s.URL, s.Protocol = url, HTTP2
			if s.Timeout = time.Minute; strings.HasPrefix(want, "no response") {
				s.Timeout = 300 * time.Millisecond
			}
			// Of what it did not read, the kernel makes a reset of the end.
			if got := strings.Replace(saidOf(t, s), "reset before", "closed before", 1); !strings.Contains(got, want) {
				t.Errorf("%s, %d: got %q, want %q", s.Connection, s.Concurrency, got, want)
			}
		}
	}
}
