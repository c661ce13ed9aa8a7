package stack

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// NewCredentials makes what programs with these securities need (nil: with any): below dir a certificate
// authority, a certificate for a server on this machine or at one of the addresses and one for a client (ECDSA
// P-256, good for a year; for WS-Security by RSA also RSA-2048 ones to sign messages with), a pre-shared key,
// OSCORE's master secret and salt, and a password. It returns the map the protocol passes on. They are the lab's
// own: secrets of nothing else.
func NewCredentials(dir string, securities []string, addresses ...netip.Addr) (map[string]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ips := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, a := range addresses {
		ips = append(ips, a.AsSlice())
	}
	m := authority{dir: dir}
	ca, caKey, err := m.issue("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "edgegauge lab CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil, nil)
	if err != nil {
		return nil, err
	}
	_, _, err = m.issue("server", &x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: ips,
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, caKey)
	if err != nil {
		return nil, err
	}
	_, _, err = m.issue("client", &x509.Certificate{
		Subject:  pkix.Name{CommonName: "client"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca, caKey)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, file := range map[string]string{"server": "", "client": "client_"} {
		if securities != nil && !slices.ContainsFunc(securities, signsByRSA) {
			break // to find an RSA key takes as long as a small trial
		}
		out[file+"rsa_cert"], out[file+"rsa_key"] = m.path(name+"-rsa.pem"), m.path(name+"-rsa.key")
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		if _, err := m.sign(name+"-rsa", &x509.Certificate{
			Subject: pkix.Name{CommonName: name + " signs"}, KeyUsage: x509.KeyUsageDigitalSignature,
		}, ca, key, caKey); err != nil {
			return nil, err
		}
	}
	secret := make([]byte, 56)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	maps.Copy(out, map[string]string{
		"ca": m.path("ca.pem"), "cert": m.path("server.pem"), "key": m.path("server.key"),
		"client_cert": m.path("client.pem"), "client_key": m.path("client.key"),
		"psk_identity": "edgegauge", "psk": hex.EncodeToString(secret[:16]),
		"oscore_secret": hex.EncodeToString(secret[32:48]), "oscore_salt": hex.EncodeToString(secret[48:]),
		"user": "edgegauge", "password": hex.EncodeToString(secret[16:32]),
	})
	return out, nil
}

func signsByRSA(security string) bool { return strings.HasPrefix(security, "wss-rsa") }

type authority struct {
	dir    string
	serial int64
}

func (m *authority) path(name string) string { return filepath.Join(m.dir, name) }

// issue makes a key and a certificate, signed by the parent or by itself.
func (m *authority) issue(name string, c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate,
	*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, parentKey = c, key
	}
	made, err := m.sign(name, c, parent, key, parentKey)
	return made, key, err
}

// sign makes key's certificate and writes both.
func (m *authority) sign(name string, c, parent *x509.Certificate, key crypto.Signer,
	parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	m.serial++
	c.SerialNumber = big.NewInt(m.serial)
	// valid since 2020 also for emulated machines, whose clock begins there
	c.NotBefore, c.NotAfter = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Now().AddDate(1, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(m.path(name+".pem"), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	if err := writePEM(m.path(name+".key"), "PRIVATE KEY", pk); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// CredentialsFor returns those of all that one side of a stack needs for a
// security, and no more: nobody has another's private key. Signatures of
// WS-Security are verified by the certificate in the message, so a side has the
// authority's and its own; a client that encrypts also has the server's.
func CredentialsFor(security string, side measure.Side, all map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range credentialNames(security, side) {
		if v, ok := all[name]; ok {
			out[name] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func credentialNames(security string, side measure.Side) []string {
	server := side == measure.Server
	switch {
	case security == "none" || security == "":
		return nil
	case security == "dtls-psk":
		return []string{"psk_identity", "psk"}
	case security == "oscore":
		return []string{"oscore_secret", "oscore_salt"}
	case security == "wss-username":
		return []string{"user", "password"}
	case security == "wss-hmac":
		return []string{"user", "password", "psk"}
	case signsByRSA(security) && server:
		return []string{"ca", "rsa_cert", "rsa_key"}
	case signsByRSA(security):
		return []string{"ca", "client_rsa_cert", "client_rsa_key", "rsa_cert"}
	case server:
		return []string{"ca", "cert", "key"}
	case security == "dtls-rpk": // the server's public key, known beforehand
		return []string{"ca", "cert"}
	}
	return []string{"ca"}
}
