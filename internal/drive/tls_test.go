package drive

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	server.StartTLS()
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, connection := range []string{KeepAlive, PerRequest} {
		for _, concurrency := range []int{1, 3} {
			s := Spec{URL: server.URL, Connection: connection, Concurrency: concurrency, Credentials: Credentials{CA: ca}}
			r, xs := drive(t, s, Load{Schedule: ClosedLoop(30, 0)}, numbered{pad: 2000})
			sound(t, xs)
			if len(xs) != 30 || r.Quality.Reconnects != 0 {
				t.Errorf("%s, concurrency %d: %d exchanges, %d reconnects", connection, concurrency, len(xs), r.Quality.Reconnects)
			}
		}
	}
	if _, err := Dial(t.Context(), Spec{URL: server.URL}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server nobody vouches for: %v", err)
	}
	if _, err := Dial(t.Context(), Spec{URL: server.URL, Credentials: Credentials{CA: "/dev/null"}}); err == nil {
		t.Error("an authority without a certificate is taken")
	}
	old := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	old.StartTLS()
	defer old.Close()
	if _, err := Dial(t.Context(), Spec{URL: old.URL, Credentials: Credentials{Insecure: true}}); err == nil {
		t.Error("TLS 1.2 is taken for TLS 1.3")
	}
}

// The driver sends a key of X25519 and of nothing else, also where the server would take Go's hybrid.
func TestTLSExchangesKeysByX25519(t *testing.T) {
	var chosen, offered []tls.CurveID
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chosen = append(chosen, r.TLS.CurveID)
		echo(w, r)
	}))
	server.TLS = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		offered = append(offered, h.SupportedCurves...)
		return nil, nil
	}}
	server.StartTLS()
	defer server.Close()
	s := Spec{URL: server.URL, Connection: PerRequest, Concurrency: 1, Credentials: Credentials{Insecure: true}}
	_, xs := drive(t, s, Load{Schedule: ClosedLoop(3, 0)}, numbered{pad: 20})
	sound(t, xs)
	if len(chosen) != 3 || slices.ContainsFunc(chosen, func(g tls.CurveID) bool { return g != tls.X25519 }) ||
		slices.Contains(offered, tls.X25519MLKEM768) {
		t.Errorf("keys were exchanged by %v; %v were offered", chosen, offered)
	}
}

// A TLS server that stops answering, and one that closes between requests.
func TestTLSBadServers(t *testing.T) {
	slow := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // its client gave up
	}))
	defer slow.Close()
	closing := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.Header().Set("Connection", "close")
	}))
	defer closing.Close()
	for _, concurrency := range []int{1, 2} {
		d, err := Dial(t.Context(), Spec{URL: slow.URL, Concurrency: concurrency, Credentials: Credentials{Insecure: true}})
		if err != nil {
			t.Fatal(err)
		}
		d.Timeout = 100 * time.Millisecond // after the handshakes, which may be slow here
		r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(concurrency, 0), Record: true}, Fixed("x"))
		d.Close()
		if err != nil {
			t.Fatal(err)
		}
		for x := range r.Exchanges() {
			if x.Failure != "no response within 100ms" {
				t.Errorf("concurrency %d: %q", concurrency, x.Failure)
			}
		}
		r, xs := drive(t, Spec{URL: closing.URL, Concurrency: concurrency, Credentials: Credentials{Insecure: true}},
			Load{Schedule: ClosedLoop(6, 0)}, Fixed("x"))
		sound(t, xs)
		if r.Quality.Reconnects < 6-concurrency {
			t.Errorf("concurrency %d: %d reconnects", concurrency, r.Quality.Reconnects)
		}
	}
}

// A response that ends with its connection is whole only if TLS has been ended, too: else anybody may have cut it short
// (RFC 9112, section 9.8). One of a length needs no such end.
func TestTLSCutShort(t *testing.T) {
	const untilClose, ofALength = "HTTP/1.1 200 OK\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS() // for its certificate
	defer pair.Close()
	for _, c := range []struct {
		response string
		ends     bool
		want     string
	}{
		{untilClose, true, ""}, {untilClose, false, errCutShort.Error()}, {ofALength, true, ""}, {ofALength, false, ""},
	} {
		url := "https" + strings.TrimPrefix(hostile(t, func(raw net.Conn, _ int) {
			conn := tls.Server(raw, &tls.Config{Certificates: pair.TLS.Certificates})
			if answer(conn, bufio.NewReader(conn), c.response) && c.ends {
				conn.CloseWrite()
			}
		}), "http")
		for _, concurrency := range []int{1, 2} {
			_, xs := drive(t, Spec{URL: url, Concurrency: concurrency, Connection: PerRequest,
				Credentials: Credentials{Insecure: true}}, Load{Schedule: ClosedLoop(4, 0)}, Fixed("x"))
			for _, x := range xs {
				if x.Failure != c.want || x.In != 2 && c.want == "" {
					t.Errorf("%q, close_notify %v, concurrency %d: failure %q, want %q; %d bytes", c.response, c.ends, concurrency,
						x.Failure, c.want, x.In)
				}
			}
		}
	}
}

// coapEcho answers with the request's body, over DTLS if there is a key.
func coapEcho(t *testing.T, psk *coap.PSK, delay time.Duration) string {
	t.Helper()
	s := &coap.Server{Handler: func(req *coap.Request, resp *coap.Response) {
		time.Sleep(delay)
		resp.Format = req.Format
		resp.Body = append(resp.Body, req.Body...)
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	local := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	var at string
	if psk != nil {
		l, err := coap.ListenDTLS("udp", local, *psk)
		if err != nil {
			t.Fatal(err)
		}
		at = "coaps://" + l.Addr().String()
		go func() { done <- s.ServeListener(ctx, l) }()
	} else {
		conn, err := net.ListenUDP("udp", local)
		if err != nil {
			t.Fatal(err)
		}
		at = "coap://" + conn.LocalAddr().String()
		go func() { done <- s.Serve(ctx, conn) }()
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return at
}

// created is numbered over CoAP, whose answer to a POST is 2.04 or 2.05.
type created struct{ numbered }

func (c created) Decode(seq uint64, status int, body []byte) error {
	if status/100 != 2 {
		return fmt.Errorf("status %d", status)
	}
	return c.numbered.Decode(seq, 200, body)
}

func TestCoAP(t *testing.T) {
	psk := coap.PSK{Identity: "meter", Key: []byte("0123456789abcdef")}
	plain, secure := coapEcho(t, nil, 0), coapEcho(t, &psk, 0)
	for _, c := range []struct {
		url         string
		concurrency int
		connection  string
		pad         int // 200 × 30: several blocks
	}{
		{plain, 1, KeepAlive, 1}, {plain, 1, KeepAlive, 200}, {plain, 4, KeepAlive, 200}, {plain, 2, PerRequest, 50},
		{secure, 1, KeepAlive, 200}, {secure, 2, KeepAlive, 1}, {secure, 1, PerRequest, 1},
	} {
		s := Spec{URL: c.url + "/echo", ContentType: "application/octet-stream", Concurrency: c.concurrency,
			Connection:  c.connection,
			Credentials: Credentials{Identity: psk.Identity, Key: psk.Key}}
		_, xs := drive(t, s, Load{Schedule: ClosedLoop(30, 0)}, created{numbered{c.pad}})
		sound(t, xs)
		if want := int64(3 + 30*c.pad); len(xs) != 30 || xs[29].In != want || xs[29].Out != want {
			t.Errorf("%+v: %d exchanges, the last %d B out, %d B in; want %d B", c, len(xs), xs[29].Out, xs[29].In, want)
		}
	}
	d, err := Dial(t.Context(), Spec{URL: secure, Timeout: 300 * time.Millisecond,
		Credentials: Credentials{Identity: "meter", Key: []byte("wrong key, 16 B.")}})
	if err == nil {
		d.Close()
		t.Error("a wrong key opens the door")
	}
}

// A wait is looked at every longestWait; an answer may take longer than that.
func TestSlowAnswerOverDTLS(t *testing.T) {
	psk := coap.PSK{Identity: "meter", Key: []byte("0123456789abcdef")}
	url := coapEcho(t, &psk, 5*longestWait/2)
	s := Spec{URL: url + "/echo", ContentType: "application/octet-stream",
		Credentials: Credentials{Identity: psk.Identity, Key: psk.Key}}
	_, xs := drive(t, s, Load{Schedule: ClosedLoop(2, 0)}, created{numbered{1}})
	sound(t, xs)
}

// A faltering call has no bytes for one request.
type faltering struct {
	Fixed
	at uint64
}

func (f faltering) Encode(seq uint64, buf []byte) ([]byte, error) {
	if seq == f.at {
		return nil, errors.New("no request")
	}
	return f.Fixed.Encode(seq, buf)
}

// A lost request is sent again after ACK_TIMEOUT, 2 s or more; it is counted. A busy machine makes it more than one.
func TestCoAPRetransmission(t *testing.T) {
	t.Parallel()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var heard atomic.Int64
	go func() {
		buf := make([]byte, 100)
		for seen := map[string]bool{}; ; {
			n, from, err := l.ReadFrom(buf)
			if err != nil {
				return
			}
			heard.Add(1)
			if !seen[from.String()] { // the first of each client is lost
				seen[from.String()] = true
				continue
			}
			token := int(buf[0] & 15)
			buf[0], buf[1] = 0x60|byte(token), 0x44 // ACK, 2.04
			l.WriteTo(buf[:min(n, 4+token)], from)
		}
	}()
	// again says how many came beyond that many requests; those sent last may still be on their way.
	again := func(requests, told int) int {
		for end := time.Now().Add(20 * time.Second); int(heard.Load()) < requests+told && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		return int(heard.Swap(0)) - requests
	}
	for _, concurrency := range []int{1, 2} {
		r, xs := drive(t, Spec{URL: "coap://" + l.LocalAddr().String(), Concurrency: concurrency, Timeout: time.Minute},
			Load{Schedule: ClosedLoop(concurrency+1, 0)}, Fixed("x"))
		sound(t, xs)
		told := r.Quality.Retransmissions
		if came := again(concurrency+1, told); told < concurrency || told != came || xs[0].RTT() < 2*time.Second {
			t.Errorf("concurrency %d: %d retransmissions, and %d came; RTT %v", concurrency, told, came, xs[0].RTT())
		}
	}
	r, xs := drive(t, Spec{URL: "coap://" + l.LocalAddr().String(), Timeout: time.Minute},
		Load{Schedule: ClosedLoop(2, 0)}, faltering{Fixed("x"), 2})
	told := r.Quality.Retransmissions
	if came := again(1, told); told < 1 || told != came || xs[0].Failure != "" || xs[1].Failure != "no request" {
		t.Errorf("before a request that is none: %d retransmissions, and %d came; %q, %q", told, came, xs[0].Failure,
			xs[1].Failure)
	}
}
