package javatest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// withTLS are the Java stacks that speak TLS.
var withTLS = []struct{ name, encoding string }{{"cxf", "xml"}, {"cxf4", "xml"}, {"cxf-jaxws", "soap11"}}

// credentials are the lab's, below a folder of the test's own.
func credentials(t *testing.T) map[string]string {
	t.Helper()
	c, err := stack.NewCredentials(t.TempDir(), []string{"tls"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tickets counts those that a server sends to its client, which takes them.
type tickets struct{ sent int }

func (*tickets) Get(string) (*tls.ClientSessionState, bool) { return nil, false }
func (n *tickets) Put(string, *tls.ClientSessionState)      { n.sent++ }

// A server and a client are asked for both: to start them takes longer than they do. The client is a new one for the
// first: one that has read its files once may not show when it reads them.
func TestTLS(t *testing.T) {
	for _, f := range withTLS {
		t.Run(f.name, func(t *testing.T) {
			cpu := ownCPU(t)
			d, c := stacktest.Built(t, filepath.Join("..", f.name)), credentials(t)
			call := stack.Call{Service: "echo", Encoding: f.encoding, Security: "tls", Transport: "http",
				Message: stack.Message{Seed: 7, N: 4}, Timeout: int64(30 * time.Second), Limits: stack.Limits{Body: 1e6},
				Connection: "per-request", Credentials: c}
			call.URL = serve(t, lightly(t, cpu, d, d.Serve), call)
			client := lightly(t, cpu, d, d.Call)
			t.Run("the client reads no file between requests", func(t *testing.T) { readsNoFile(t, client, call) })
			t.Run("the handshake is the same", func(t *testing.T) { handshakeIsTheSame(t, client, call) })
		})
	}
}

// Stacks are compared with the same handshake: clients offer one group and one
// suite, and servers take no other. Servers send no ticket: nobody uses it, and one
// behind an answer had java.net.http close the connection that was to be kept. Nor
// do they ask for a certificate: CXF named all authorities of the JDK, in 15 kB.
func handshakeIsTheSame(t *testing.T, client *stack.Conn, call stack.Call) {
	const group, suite = tls.X25519, tls.TLS_AES_128_GCM_SHA256
	ca, err := os.ReadFile(call.Credentials["ca"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	u, err := url.Parse(call.URL)
	if err != nil {
		t.Fatal(err)
	}
	var got tickets
	conn, err := tls.Dial("tcp", u.Host, &tls.Config{RootCAs: roots, ClientSessionCache: &got,
		GetClientCertificate: func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			t.Errorf("the server asks for a certificate by one of %d authorities", len(r.AcceptableCAs))
			return &tls.Certificate{}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if s := conn.ConnectionState(); s.CurveID != group || s.CipherSuite != suite {
		t.Errorf("the server takes %v and %s", s.CurveID, tls.CipherSuiteName(s.CipherSuite))
	}
	conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", u.Host)
	if said, err := io.ReadAll(conn); err != nil || len(said) == 0 || got.sent > 0 {
		t.Errorf("until it closed after an answer, %d B, the server sent %d session tickets: %v", len(said), got.sent, err)
	}
	conn.Close()
	if conn, err := tls.Dial("tcp", u.Host, &tls.Config{RootCAs: roots,
		CurvePreferences: []tls.CurveID{tls.CurveP256}}); err == nil {
		t.Error("the server takes P-256")
		conn.Close()
	}

	hello := offered(t, client, call)
	curves, suites := slices.DeleteFunc(hello.SupportedCurves, grease[tls.CurveID]),
		slices.DeleteFunc(hello.CipherSuites, signalling)
	if !slices.Equal(curves, []tls.CurveID{group}) || !slices.Equal(suites, []uint16{suite}) {
		t.Errorf("the client offers groups %v and suites %#x", curves, suites)
	}
}

// grease is a value that clients offer for servers to pass over (RFC 8701).
func grease[T ~uint16](v T) bool { return v&0x0f0f == 0x0a0a && v>>8 == v&0xff }

// signalling is a suite that says something else: TLS_EMPTY_RENEGOTIATION_INFO_SCSV (RFC 5746).
func signalling(suite uint16) bool { return suite == 0x00ff || grease(suite) }

// offered is what a client says first.
func offered(t *testing.T, client *stack.Conn, call stack.Call) *tls.ClientHelloInfo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	hellos := make(chan *tls.ClientHelloInfo, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			tls.Server(conn, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				hellos <- h
				return nil, os.ErrInvalid // it has said all that is to be known
			}}).Handshake()
			conn.Close()
		}
	}()
	call.URL = "https://" + listener.Addr().String() + "/echo"
	if _, err := client.Call(within(t), call); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Run(within(t), stack.Run{Requests: 1}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case h := <-hellos:
		return h
	default:
		t.Fatal("the client did not begin a handshake")
		return nil
	}
}

// What a client believes it reads before its first request: between requests
// there is no other I/O than the protocol's.
func readsNoFile(t *testing.T, client *stack.Conn, call stack.Call) {
	if _, err := client.Call(within(t), call); err != nil {
		t.Fatal(err)
	}
	ca := call.Credentials["ca"]
	if err := os.Rename(ca, ca+".away"); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(ca+".away", ca)
	var failures []string
	_, err := client.Run(within(t), stack.Run{Requests: 3, Record: true}, func(x measure.Exchange) {
		if x.Failure != "" {
			failures = append(failures, x.Failure)
		}
	})
	if err != nil || len(failures) > 0 {
		t.Errorf("without the file: %v, %s", err, strings.Join(failures, "; "))
	}
}
