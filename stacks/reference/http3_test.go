package reference

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/stack"
)

func http3Serve(t *testing.T) (server, drive.Spec) {
	t.Helper()
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := find("http3")
	srv, err := k.serve(&program{kind: k, log: log.New(io.Discard, "", 0)},
		stack.Serve{Service: "echo", Encoding: "json", Host: "127.0.0.1",
			Security: "tls", Credentials: credentials, Limits: stack.Limits{Body: 100_000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.close)
	return srv, drive.Spec{URL: srv.url(), Protocol: drive.HTTP3, ContentType: "application/json",
		Credentials: drive.Credentials{CA: credentials["ca"]}}
}

func TestHTTP3(t *testing.T) {
	srv, spec := http3Serve(t)
	for _, connection := range []string{drive.KeepAlive, drive.PerRequest, drive.Multiplexed} {
		for _, concurrency := range []int{1, 4} {
			spec.Connection, spec.Concurrency = connection, concurrency
			record := mqttDrive(t, spec, 20, 30_000)
			if n := srv.take().n; n != 20 || record.Quality.Reconnects > 0 {
				t.Errorf("%s, %d at once: %d served, %d connections made anew", connection, concurrency, n,
					record.Quality.Reconnects)
			}
		}
	}
}

// Frames that no client may send, on raw QUIC streams (RFC 9114, section 7.2)
// end the stream or the connection, and the next request is answered.
func TestHTTP3Refuses(t *testing.T) {
	srv, spec := http3Serve(t)
	u, err := url.Parse(srv.url())
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(spec.Credentials.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, tt := range []struct {
		what    string
		control bool
		bytes   string
	}{
		{"DATA before HEADERS", false, "\x00\x02{}"},
		{"SETTINGS on a request stream", false, "\x04\x00"},
		{"a frame of HTTP/2", false, "\x02\x01\x00"},
		{"HEADERS of garbage", false, "\x01\x04\xff\xff\xff\xff"},
		{"HEADERS that never end", false, "\x01\xbf\xff\xff\xff" + "\x00\x00"},
		{"HEADERS of 4 MB, announced", false, "\x01\x80\x40\x00\x00"},
		{"HEADERS without a method", false, "\x01\x02\x00\x00"},
		{"a frame cut short", false, "\x01\x20\x00"},
		{"a control stream without SETTINGS", true, "\x00\x07\x01\x00"},
		{"SETTINGS twice", true, "\x00\x04\x00\x04\x00"},
		{"DATA on the control stream", true, "\x00\x04\x00\x00\x01x"},
		{"a push from a client", true, "\x01\x00"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		conn, err := quic.DialAddr(ctx, u.Host,
			&tls.Config{RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"h3"}}, nil)
		if err != nil {
			t.Fatal(tt.what, err)
		}
		if g := conn.ConnectionState().TLS.CurveID; g != tls.X25519 { // though a client of Go's own prefers another
			t.Errorf("keys were exchanged by %v", g)
		}
		if tt.control {
			s, err := conn.OpenUniStream()
			if err != nil {
				t.Fatal(tt.what, err)
			}
			s.Write([]byte(tt.bytes))
			select {
			case <-conn.Context().Done():
			case <-ctx.Done():
				t.Errorf("%s: the connection stands", tt.what)
			}
		} else {
			s, err := conn.OpenStreamSync(ctx)
			if err != nil {
				t.Fatal(tt.what, err)
			}
			s.Write([]byte(tt.bytes))
			s.Close()
			s.SetReadDeadline(time.Now().Add(5 * time.Second))
			heard, err := io.ReadAll(s)
			if err == nil && !refusedHTTP3(heard) || os.IsTimeout(err) {
				t.Errorf("%s: heard %x, %v", tt.what, heard, err)
			}
		}
		conn.CloseWithError(0x100, "")
		cancel()
		spec.Connection, spec.Concurrency = drive.KeepAlive, 1
		mqttDrive(t, spec, 1, 10)
	}
	if n := srv.take().n; n != 12 {
		t.Errorf("%d requests recorded, want the 12 good ones", n)
	}
}

// refusedHTTP3 says whether a stream holds a HEADERS frame with a status of 400
// or 431: in QPACK's static table 67 is 400, others are spelled out.
func refusedHTTP3(b []byte) bool {
	return len(b) > 4 && b[0] == 1 && (b[4] == 0xff && b[5] == 67-63 || b[4]&0xf0 == 0x50)
}
