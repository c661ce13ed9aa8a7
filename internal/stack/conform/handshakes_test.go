package conform

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

func certificateOf(t *testing.T) tls.Certificate {
	t.Helper()
	files, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.LoadX509KeyPair(files["cert"], files["key"])
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// What is read from the wire is what both ends of crypto/tls say of the same connection.
func TestHandshakesAreReadFromTheWire(t *testing.T) {
	certificate := certificateOf(t)
	for _, tt := range []struct {
		name           string
		security       string
		server, client *tls.Config
		want           string // of the second connection; empty: right
	}{
		{"one group", "tls", &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}}, &tls.Config{}, ""},
		{"Go's default", "tls", &tls.Config{}, &tls.Config{}, "group 4588"},
		{"another group", "tls", &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}}, &tls.Config{}, "another group"},
		{"resumed", "tls", &tls.Config{}, &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519},
			ClientSessionCache: tls.NewLRUClientSessionCache(1)}, "resumed"},
		{"TLS 1.2", "tls12", &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256}},
			&tls.Config{MaxVersion: tls.VersionTLS12}, ""},
		{"TLS 1.2, resumed", "tls12", &tls.Config{}, &tls.Config{MaxVersion: tls.VersionTLS12,
			ClientSessionCache: tls.NewLRUClientSessionCache(1)}, "resumed"},
		{"TLS 1.2, a client that is asked for its certificate", "tls12", &tls.Config{ClientAuth: tls.RequestClientCert,
			CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256}}, &tls.Config{MaxVersion: tls.VersionTLS12},
			"asks for the client's certificate"},
		{"TLS 1.2, another group", "tls12", &tls.Config{}, &tls.Config{MaxVersion: tls.VersionTLS12,
			CurvePreferences: []tls.CurveID{tls.CurveP256}}, "group 23"},
		{"TLS 1.2, another suite", "tls12", &tls.Config{}, &tls.Config{MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}}, "suite 0xc02c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.Certificates = []tls.Certificate{certificate}
			l, err := tls.Listen("tcp", "127.0.0.1:0", tt.server)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go func() { io.Copy(conn, conn); conn.Close() }()
				}
			}()
			c := suite{d: stack.Description{Language: "Go"}, wish: stack.Wish{Security: tt.security, Transport: "http"}}
			e, through, err := c.eavesdrop("https://" + l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			tt.client.InsecureSkipVerify, tt.client.ServerName = true, "localhost"
			for range 2 {
				echo(t, strings.TrimPrefix(through, "https://"), tt.client)
			}
			e.link.close()
			if len(e.said) != 2 {
				t.Fatalf("%d connections, want 2", len(e.said))
			}
			n, err := readHandshake(*e.said[1], false)
			if err == nil {
				err = c.judgeHandshake(n, quickAES())
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: got %v, want %q", n, err, tt.want)
			}
		})
	}
}

// All stacks have one suite. Only Go's TLS 1.3 takes another, and only where AES is slow.
func TestEachSecurityHasOneSuite(t *testing.T) {
	for _, tt := range []struct {
		security, language string
		suite              uint16
		quick, want        bool
	}{
		{"tls", "Java", 0x1301, true, true}, {"tls", "Go", 0x1301, false, true}, {"tls", "Java", 0x1302, true, false},
		{"tls", "Go", 0x1302, false, false}, {"tls", "C", 0x1303, true, false}, {"tls", "C", 0x1303, false, false},
		{"tls", "Go", 0x1303, true, false}, {"tls", "Go", 0x1303, false, true}, {"tls12", "C", 0xc02b, true, true},
		{"tls12", "Go", 0x1303, false, false}, {"tls12", "C#", 0xc02c, true, false}, {"dtls-psk", "C", 0xc0a8, true, true},
		{"dtls-psk", "C", 0x00a8, true, false},
	} {
		c := suite{d: stack.Description{Language: tt.language}, wish: stack.Wish{Security: tt.security}}
		err := c.judgeHandshake(negotiated{suite: tt.suite, group: x25519}, tt.quick)
		if (err == nil) != tt.want {
			t.Errorf("%s in %s, instructions for AES %v: %#04x: %v", tt.security, tt.language, tt.quick, tt.suite, err)
		}
	}
}

// This machine's Go says the same of its CPU as the kit.
func TestGoTakesTheSuiteOfItsCPU(t *testing.T) {
	certificate := certificateOf(t)
	near, far := net.Pipe()
	defer near.Close()
	go tls.Server(far, &tls.Config{Certificates: []tls.Certificate{certificate}}).Handshake()
	conn := tls.Client(near, &tls.Config{InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().CipherSuite; (got == chacha20) == quickAES() {
		t.Errorf("it takes %#04x, and the kit says instructions for AES: %v", got, quickAES())
	}
}

// echo sends some bytes through a new connection and back; a ticket comes with them.
func echo(t *testing.T, at string, c *tls.Config) {
	t.Helper()
	raw, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(raw, c)
	defer conn.Close()
	b := []byte("there and back")
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
}

// What is no handshake, or is cut anywhere, is an error and no panic.
func TestHandshakesThatAreCut(t *testing.T) {
	for _, said := range []string{"", "HTTP/1.1 400 Bad Request\r\n\r\n",
		"\x16\x03\x03\x00\x08\x02\x00\x00\x04\x03\x03\x00\x00"} {
		for _, dtls := range []bool{false, true} {
			if n, err := readHandshake([]byte(said), dtls); err == nil {
				t.Errorf("%q: %+v", said, n)
			}
		}
	}
}
