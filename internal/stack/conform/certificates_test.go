package conform

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// A server that asks for a certificate is found, whether it insists on one or not.
func TestServersThatAskForACertificate(t *testing.T) {
	files, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.LoadX509KeyPair(files["cert"], files["key"])
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	believed := x509.NewCertPool()
	believed.AddCert(leaf)
	for _, tt := range []struct {
		name  string
		asks  tls.ClientAuthType
		names *x509.CertPool
		want  string
	}{
		{"asks for none", tls.NoClientCert, nil, ""},
		{"asks", tls.RequestClientCert, nil, "(it names 0)"},
		{"asks, and names an authority", tls.VerifyClientCertIfGiven, believed, "(it names 1)"},
		{"insists", tls.RequireAnyClientCert, nil, "(it names 0)"},
	} {
		for security, version := range map[string]uint16{"tls": tls.VersionTLS13, "tls12": tls.VersionTLS12} {
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate},
				MinVersion: version, MaxVersion: version, ClientAuth: tt.asks, ClientCAs: tt.names})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go acceptAll(l)
			c := suite{ctx: t.Context(), kit: Kit{Credentials: files}, wish: stack.Wish{Security: security, Transport: "http"}}
			err = c.asksForNoCertificate("https://" + l.Addr().String() + "/echo")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: got %v, want %q", security, tt.name, err, tt.want)
			}
		}
	}
}

// acceptAll shakes hands with whoever comes.
func acceptAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			conn.(*tls.Conn).Handshake()
			conn.Close()
		}()
	}
}

// What has no certificate of TLS, or shows it to nobody here, is not asked.
func TestWhoseCertificatesAreLookedAt(t *testing.T) {
	for _, tt := range []struct {
		security, transport string
		want                bool
	}{
		{"tls", "http", true}, {"tls12", "http", true}, {"tls", "http3", true}, {"tls", "mqtt5", true}, {"tls", "grpc", true},
		{"none", "http", false}, {"wss-rsa", "http", false}, {"dtls-psk", "coap", false}, {"dtls-x509", "coap", false},
	} {
		c := suite{wish: stack.Wish{Security: tt.security, Transport: tt.transport}}
		if c.certified() != tt.want {
			t.Errorf("%s over %s: %v", tt.security, tt.transport, !tt.want)
		}
	}
}
