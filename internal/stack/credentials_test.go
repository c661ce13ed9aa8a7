package stack

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

// Every certificate fits its key, and the lab's authority vouches for it.
func TestCredentials(t *testing.T) {
	c, err := NewCredentials(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(c["ca"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, pair := range []struct {
		cert, key string
		rsaBits   int // 0: not RSA
	}{{"cert", "key", 0}, {"client_cert", "client_key", 0}, {"rsa_cert", "rsa_key", 2048},
		{"client_rsa_cert", "client_rsa_key", 2048}} {
		p, err := tls.LoadX509KeyPair(c[pair.cert], c[pair.key])
		if err != nil {
			t.Errorf("%s: %v", pair.cert, err)
			continue
		}
		if _, err := p.Leaf.Verify(x509.VerifyOptions{Roots: roots,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", pair.cert, err)
		}
		bits := 0
		if k, ok := p.PrivateKey.(*rsa.PrivateKey); ok {
			bits = k.N.BitLen()
		}
		if bits != pair.rsaBits {
			t.Errorf("%s has an RSA key of %d bits, want %d", pair.key, bits, pair.rsaBits)
		}
	}
}
