package population

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

// Devices over TLS get their answers from Go's server, which counts requests and handshakes.
func TestDevicesOverTLS(t *testing.T) {
	const devices = 100
	for _, perRequest := range []bool{false, true} {
		t.Run(fmt.Sprint("per request ", perRequest), func(t *testing.T) {
			t.Parallel()
			var requests, handshakes atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, "ok")
			}))
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS13,
				GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
					handshakes.Add(1)
					return nil, nil
				}}
			server.StartTLS()
			defer server.Close()
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			s := sensors(devices, 500*time.Millisecond, Random)
			s.Server = netip.MustParseAddrPort(server.Listener.Addr().String())
			s.Timeout = 2 * time.Minute // on a machine that stands still most of the time some took more than 20 s
			s.Request = []byte("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n\r\ndata")
			s.Stream = &Stream{Protocol: HTTP, PerRequest: perRequest, TLS: &tls.Config{RootCAs: roots,
				ServerName: "127.0.0.1", NextProtos: []string{"http/1.1"}}}
			s.Judge = judgeOK
			p, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var answered, shaken int64
			for range 2 {
				r, err := p.Run(t.Context(), Load{For: time.Second, Record: true})
				if err != nil {
					t.Fatal(err)
				}
				if r.Answered != r.Requests || r.Requests+r.Skipped != 2*devices || r.Broken != 0 {
					t.Errorf("%+v", r.Counts)
				}
				answered += r.Answered
				shaken += r.Handshakes
			}
			want := int64(devices)
			if perRequest {
				want = answered
			}
			if requests.Load() != answered || handshakes.Load() != want || shaken != want {
				t.Errorf("the server counted %d requests and %d handshakes, the devices %d and %d; want %d handshakes",
					requests.Load(), handshakes.Load(), answered, shaken, want)
			}
		})
	}
}

func judgeOK(b []byte) error {
	if string(b) != "ok" {
		return fmt.Errorf("got %q", b)
	}
	return nil
}

// An answer in many records, and records that come byte by byte, are put together; an outage
// within handshakes and answers is got over.
func TestBareExchangesOverTLS(t *testing.T) {
	t.Parallel()
	certificate, roots := ownCertificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var served atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4)
				for {
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
					served.Add(1)
					for range 8 {
						if _, err := c.Write(b); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	s := sensors(40, 200*time.Millisecond, Random)
	s.Server = netip.MustParseAddrPort(l.Addr().(*net.TCPAddr).String())
	s.Timeout = 500 * time.Millisecond
	s.Retry = Backoff{First: 50 * time.Millisecond, Factor: 2, Most: time.Second, Jitter: Full}
	s.Request = []byte("data")
	s.Stream = &Stream{Protocol: TCP, Answer: 32, TLS: &tls.Config{RootCAs: roots, ServerName: "here"}}
	s.Outage = Outage{At: 30 * time.Millisecond, For: time.Second, Share: 1}
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Run(t.Context(), Load{For: 4 * time.Second, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	counted := served.Load()
	p.core.Outage = Outage{}
	down := failing(p)
	for range 20 { // a busy machine takes longer
		if down == 0 {
			break
		}
		if _, err := p.Run(t.Context(), Load{For: time.Second}); err != nil {
			t.Fatal(err)
		}
		down = failing(p)
	}
	if r.Answered == 0 || r.Withheld == 0 || down > 0 || counted < r.Answered {
		t.Errorf("%d devices are down, the server counted %d: %+v", down, counted, r.Counts)
	}
	// A server that nobody vouches for is refused.
	s.Outage, s.Stream = Outage{}, &Stream{Protocol: TCP, Answer: 32, TLS: &tls.Config{ServerName: "here"}}
	s.Retry.First = 0
	q, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if r, err = q.Run(t.Context(), Load{For: time.Second}); err != nil || r.Answered != 0 ||
		r.HandshakesFailed != r.Handshakes {
		t.Errorf("a stranger's server: %v, %+v", err, r.Counts)
	}
}

// ownCertificate vouches for "here".
func ownCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"here"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
