package packet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/dtls/v3"
)

func certificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"lab"}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestTLSHandshakeAgreesWithTshark lets tshark decrypt what we may not: it
// knows which record is the last Finished.
func TestTLSHandshakeAgreesWithTshark(t *testing.T) {
	n := newNamespace(t)
	cert := certificate(t)
	for _, c := range []struct {
		name     string
		version  uint16
		auth     bool
		resume   bool
		requests int
		security string
	}{
		{"1.2", tls.VersionTLS12, false, false, 1, "TLS 1.2"},
		{"1.2 resumed", tls.VersionTLS12, false, true, 3, "TLS 1.2"},
		{"1.3", tls.VersionTLS13, false, false, 1, "TLS 1.3"},
		{"1.3 kept alive", tls.VersionTLS13, false, false, 20, "TLS 1.3"},
		{"1.3 resumed", tls.VersionTLS13, false, true, 2, "TLS 1.3"},
		{"1.3 with client certificate", tls.VersionTLS13, true, false, 2, "TLS 1.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := os.Create(filepath.Join(t.TempDir(), "keys"))
			if err != nil {
				t.Fatal(err)
			}
			defer keys.Close()
			server := &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: c.version}
			if c.auth {
				server.ClientAuth = tls.RequireAnyClientCert
			}
			client := &tls.Config{InsecureSkipVerify: true, KeyLogWriter: keys, MaxVersion: c.version,
				Certificates: []tls.Certificate{cert}}
			if c.resume {
				client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
			}
			l := n.listen("127.0.0.1:0")
			go serveTCP(tls.NewListener(l, server))
			port := uint16(l.Addr().(*net.TCPAddr).Port)
			got, file := capture(t, n, RecordOptions{Tap: TapOptions{Interface: "lo", Ports: []uint16{port}}}, func() {
				for range 3 {
					n.must(func() error { return askTLS(l.Addr().String(), client, c.requests) })
				}
			})
			if len(got.Connections) != 3 {
				t.Fatalf("%d connections, want 3", len(got.Connections))
			}
			for i, x := range got.Connections {
				if x.Security != c.security || len(x.Requests) != c.requests {
					t.Errorf("connection %d: %q, %d requests, want %q, %d: %+v", i+1, x.Security, len(x.Requests), c.security,
						c.requests, x.Requests)
				}
				if x.NoHandshake != "" {
					t.Errorf("connection %d: no handshake: %s", i+1, x.NoHandshake)
				}
			}
			compareHandshakes(t, file, keys.Name(), got.Connections)
			if _, err := got.Samples(Selection{Unit: PerRequest, Count: 3 * c.requests}); err != nil {
				t.Error(err)
			}
		})
	}
}

func askTLS(address string, config *tls.Config, requests int) error {
	raw, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	c := tls.Client(raw, config)
	defer c.Close()
	for range requests {
		if err := ask(c, 300, 20_000); err != nil {
			return err
		}
	}
	return nil
}

// compareHandshakes has tshark decrypt all connections of a file at once: its start takes longer than they do.
func compareHandshakes(t *testing.T, file, keys string, connections []Connection) {
	t.Helper()
	rows := map[string][][]string{} // by tshark's number of the connection
	for _, r := range tshark(t, file, "tcp", "tcp.stream", "frame.time_epoch", "frame.len", "tls.handshake.type",
		"tls.record.content_type",
		"-o", "tls.keylog_file:"+keys) {
		rows[r[0]] = append(rows[r[0]], r[1:])
	}
	for i := range connections {
		compareHandshake(t, rows[strconv.Itoa(i)], i, &connections[i])
	}
}

// compareHandshake sums up frames to the last one with a handshake message
// before the first application data, as tshark decrypts them.
func compareHandshake(t *testing.T, rows [][]string, index int, x *Connection) {
	t.Helper()
	var bytes, want int64
	var start, end time.Duration
	for i, r := range rows {
		if i == 0 {
			start = epoch(t, r[0])
		}
		bytes += number(t, r[1])
		kinds := "," + r[2] + ","
		// comes after the handshake
		ticket := strings.Contains(kinds, ",4,") && x.Security == "TLS 1.3"
		// not always decrypted
		finished := x.Security == "TLS 1.2" && (strings.Contains(r[3], "20") || strings.Contains(r[3], "22"))
		if r[2] != "" && !ticket || finished {
			end, want = epoch(t, r[0]), bytes
		}
	}
	// A busy kernel may put the first request into the frame of the last
	// handshake record; its record (308 B, a tag, in TLS 1.2 a nonce) is then no
	// part of the handshake.
	app := want - x.HandshakeBytes
	if want == 0 || x.HandshakeTime != end-start || app != 0 && app != 5+308+1+16 && app != 5+8+308+16 {
		t.Errorf("connection %d: handshake of %v and %d B, tshark has %v and %d B", index+1, x.HandshakeTime,
			x.HandshakeBytes, end-start, want)
	}
}

func TestDTLSHandshakeAgreesWithTshark(t *testing.T) {
	n := newNamespace(t)
	psk := func([]byte) ([]byte, error) { return []byte("a secret"), nil }
	suites := []dtls.CipherSuiteID{dtls.TLS_PSK_WITH_AES_128_GCM_SHA256}
	var l net.Listener
	n.must(func() (err error) {
		l, err = dtls.ListenWithOptions("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)},
			dtls.WithPSK(psk), dtls.WithPSKIdentityHint([]byte("lab")), dtls.WithCipherSuites(suites...))
		return err
	})
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.Copy(c, c)
	}()
	port := uint16(l.Addr().(*net.UDPAddr).Port)
	const requests = 50
	got, file := capture(t, n, RecordOptions{Tap: TapOptions{Interface: "lo", Ports: []uint16{port}}}, func() {
		n.must(func() error {
			u, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			c, err := dtls.ClientWithOptions(u, l.Addr(),
				dtls.WithPSK(psk), dtls.WithPSKIdentityHint([]byte("lab")), dtls.WithCipherSuites(suites...))
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.HandshakeContext(context.Background()); err != nil {
				return err
			}
			for range requests {
				if _, err := c.Write([]byte("hello")); err != nil {
					return err
				}
				if _, err := c.Read(make([]byte, 100)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	samples, err := got.Samples(Selection{Unit: PerExchange, Count: requests})
	if err != nil {
		t.Fatal(err)
	}
	var start, end time.Duration
	var bytes, want int64
	var delays []time.Duration
	for i, r := range tshark(t, file, "dtls", "frame.time_epoch", "frame.len", "dtls.record.content_type", "udp.dstport") {
		at := epoch(t, r[0])
		bytes += number(t, r[1])
		switch {
		case i == 0:
			start = at
		case r[2] == "23" && r[3] == fmt.Sprint(port):
			delays = append(delays, -at)
		case r[2] == "23":
			delays[len(delays)-1] += at
		case len(delays) == 0:
			end, want = at, bytes
		}
	}
	x := got.Exchanges
	if len(delays) != requests || x[0].NoHandshake != "" || x[0].HandshakeTime != end-start ||
		x[0].HandshakeBytes != want {
		t.Errorf("handshake of %v and %d B (%s), tshark has %v and %d B, %d exchanges", x[0].HandshakeTime,
			x[0].HandshakeBytes, x[0].NoHandshake, end-start, want, len(delays))
	}
	for i, w := range delays {
		if x[i].Protocol != "dtls" || x[i].Delay != w {
			t.Errorf("exchange %d: %s, %d ns, tshark has %d", i+1, x[i].Protocol, x[i].Delay, w)
		}
	}
	hand := 0
	for _, s := range samples {
		if s.Quantity == HandshakeBytes && s.Seq == 1 && s.Value == float64(want) {
			hand++
		}
	}
	if hand != 1 {
		t.Errorf("%d samples of handshake_bytes, want 1", hand)
	}
}

// TestFinishedLength: a Finished is 4 bytes of header and a hash, in a record
// with one byte of type and the cipher's tag (RFC 8446, appendix B.4).
func TestFinishedLength(t *testing.T) {
	for suite, want := range map[uint16]int{0x1301: 53, 0x1302: 69, 0x1303: 53, 0x1304: 53, 0x1305: 45, 0x1399: 0} {
		hello := make([]byte, 39, 64)
		hello[0] = 2
		hello = append(hello, byte(suite>>8), byte(suite), 0, 0, 6, 0, 43, 0, 2, 3, 4)
		var w tlsWatch
		if w.serverHello(hello); w.finished != want || want == 0 && w.state != tlsFailed {
			t.Errorf("suite %#x: got %d, want %d", suite, w.finished, want)
		}
	}
}
