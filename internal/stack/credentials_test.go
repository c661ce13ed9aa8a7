package stack

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// Every certificate fits its key, and the lab's authority vouches for it.
func TestCredentials(t *testing.T) {
	c, err := NewCredentials(t.TempDir(), nil)
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

// Each security has the credentials that its sides are told, if it is one of several or alone.
func TestCredentialsOfASecurity(t *testing.T) {
	all, err := NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, security := range []string{"tls", "tls12", "dtls-psk", "dtls-rpk", "dtls-x509", "oscore", "wss-username",
		"wss-hmac",
		"wss-rsa", "wss-rsa-encrypted"} {
		some, err := NewCredentials(t.TempDir(), []string{"none", security})
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			got, want := CredentialsFor(security, side, some), CredentialsFor(security, side, all)
			if len(want) == 0 || !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
				t.Errorf("%s, %s: got %v, want %v", security, side, got, want)
			}
			for name, value := range got {
				if _, err := os.Stat(value); err != nil && filepath.IsAbs(value) {
					t.Errorf("%s, %s: %s: %v", security, side, name, err)
				}
			}
		}
	}
	if few, err := NewCredentials(t.TempDir(), []string{"none", "tls"}); err != nil || few["rsa_key"] != "" {
		t.Errorf("TLS alone has the RSA key %q, which takes a second on a small machine (%v)", few["rsa_key"], err)
	}
}
