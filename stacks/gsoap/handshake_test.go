package gsoap_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// The client resumes no session, though the server gives it tickets, and offers one group and one suite.
func TestClientResumesNoSession(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	certificate, err := tls.LoadX509KeyPair(c["cert"], c["key"])
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		security string
		groups   []tls.CurveID
		suite    uint16
	}{
		{"tls", []tls.CurveID{tls.X25519}, tls.TLS_AES_128_GCM_SHA256},
		{"tls12", []tls.CurveID{tls.X25519, tls.CurveP256}, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	} {
		t.Run(tt.security, func(t *testing.T) {
			plain, err := url.Parse(serve(t, stack.Serve{Service: "echo", Encoding: "soap11", Security: "none"}))
			if err != nil {
				t.Fatal(err)
			}
			var seen []tls.ConnectionState // one request after the other
			front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = append(seen, *r.TLS)
				answer, err := http.Post(plain.String(), r.Header.Get("Content-Type"), r.Body)
				if err != nil {
					http.Error(w, err.Error(), http.StatusBadGateway)
					return
				}
				defer answer.Body.Close()
				w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
				io.Copy(w, answer.Body)
			}))
			var groups [][]tls.CurveID
			front.TLS = &tls.Config{Certificates: []tls.Certificate{certificate},
				GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
					groups = append(groups, h.SupportedCurves)
					return nil, nil
				}}
			front.StartTLS()
			defer front.Close()
			cl := stacktest.Start(t, "", "build/gsoap", "call")
			_, err = cl.Call(within(t), stack.Call{URL: front.URL + "/echo", Service: "echo", Encoding: "soap11",
				Security: tt.security, Message: stack.Message{Seed: 7, N: 5}, Connection: "per-request",
				Timeout: int64(5 * time.Second), Credentials: c})
			if err != nil {
				t.Fatal(err)
			}
			end, err := cl.Run(within(t), stack.Run{Requests: 3}, nil)
			if err != nil || end.Failed > 0 {
				t.Fatalf("%d requests failed: %s, %v", end.Failed, end.FirstFailure, err)
			}
			if len(seen) != 3 || len(groups) != 3 {
				t.Fatalf("%d requests and %d handshakes, want 3", len(seen), len(groups))
			}
			for i, s := range seen {
				if s.DidResume || s.CipherSuite != tt.suite {
					t.Errorf("connection %d: resumed %v, suite %s", i+1, s.DidResume, tls.CipherSuiteName(s.CipherSuite))
				}
				if !slices.Equal(groups[i], tt.groups) {
					t.Errorf("connection %d: groups %v offered, want %v", i+1, groups[i], tt.groups)
				}
			}
		})
	}
}

// The program ends well at the end of its input also in the middle of handshakes and requests, which go on beside it.
// It crashed in a third of such ends, and hung in some, in what OpenSSL does at exit.
func TestEndsInTheMiddleOfRequests(t *testing.T) {
	stacktest.Built(t, ".")
	c := credentials(t)
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			// t.Context() ends before the program does.
			ctx, cancel := context.WithCancel(context.Background())
			var asking sync.WaitGroup
			t.Cleanup(asking.Wait) // once the program has ended
			t.Cleanup(cancel)
			u, err := url.Parse(serve(t,
				stack.Serve{Service: "echo", Encoding: "soap11", Security: "tls12", Credentials: c}))
			if err != nil {
				t.Fatal(err)
			}
			dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
			answered := make(chan bool, 1)
			for range 4 {
				asking.Go(func() {
					for ctx.Err() == nil {
						conn, err := dialer.DialContext(ctx, "tcp", u.Host)
						if err != nil {
							time.Sleep(time.Millisecond) // it has ended, or a handshake with it
							continue
						}
						fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 1\r\n\r\nx", u.Host)
						conn.Read(make([]byte, 100))
						conn.Close()
						select {
						case answered <- true:
						default:
						}
					}
				})
			}
			select {
			case <-answered:
			case <-time.After(30 * time.Second):
				t.Error("no request was answered")
			}
		})
	}
}
