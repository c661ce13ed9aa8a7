package drive

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/printable"
)

// A certificateError is what is wrong with a server's certificate that no authority of another can mend: equal faults
// have equal texts, whenever they are found.
type certificateError struct{ text, advice string }

func (c certificateError) Error() string { return c.text }

// orInsecure is how to go on with a certificate as it is.
const orInsecure = "take any certificate (probe --insecure, request: {insecure: true})"

// mostNames is how many hosts of a certificate are named.
const mostNames = 3

// handshakeWords says in words why a handshake of TLS failed; any other error stands for itself.
func handshakeWords(err error, protocol string) error {
	var invalid x509.CertificateInvalidError
	var other x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
		if c := invalid.Cert; time.Now().Before(c.NotBefore) {
			return certificateError{"the server's certificate is not valid before " + day(c.NotBefore),
				"; set this machine's clock if it is wrong, or " + orInsecure}
		}
		return certificateError{"the server's certificate expired on " + day(invalid.Cert.NotAfter),
			"; renew it, or " + orInsecure}
	case errors.As(err, &other):
		names := append([]string{}, other.Certificate.DNSNames...)
		for _, a := range other.Certificate.IPAddresses {
			names = append(names, a.String())
		}
		of := "names no host"
		if len(names) > mostNames {
			names = append(names[:mostNames], "…")
		}
		if len(names) > 0 {
			of = "is for " + printable.Line(strings.Join(names, ", "))
		}
		return certificateError{fmt.Sprintf("the server's certificate %s, not for %s", of, other.Host),
			"; ask it by a name that is in it, or " + orInsecure}
	case strings.Contains(err.Error(), "tls: no application protocol") && (protocol == HTTP2 || protocol == GRPC):
		return fmt.Errorf("%w: it takes none of what was offered by ALPN", errNoHTTP2)
	}
	return err
}

// errSpeaksTLS: a server answers what is not TLS in TLS.
var errSpeaksTLS = errors.New("the server speaks TLS: ask it at an https URL")

// speaksTLS says whether bytes begin an alert of TLS, which is what most servers answer to what is none (RFC 8446,
// section 6).
func speaksTLS(b []byte) bool { return len(b) >= 3 && b[0] == 21 && b[1] == 3 && b[2] <= 4 }

// saysTLS says whether a page tells that requests without TLS are not taken: that of Go, nginx, Apache or Jetty.
func saysTLS(page []byte) bool {
	for _, words := range []string{"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port",
		"speaking plain HTTP to an SSL-enabled server port", "requires TLS"} {
		if bytes.Contains(page, []byte(words)) {
			return true
		}
	}
	return false
}

// adviceOnTLS says what may help where a handshake failed; empty: it was no handshake.
func adviceOnTLS(scheme string, err error) string {
	var record tls.RecordHeaderError
	var certificate certificateError
	switch {
	case errors.As(err, &record):
		return "; what listens there speaks no TLS: write " + strings.TrimSuffix(scheme, "s") + "://"
	case errors.As(err, &certificate):
		return certificate.advice
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "; name who vouches for it (probe --ca FILE, request: {ca: FILE}), or " + orInsecure
	case errors.Is(err, errNoHTTP2):
		return "; ask it by HTTP/1.1"
	case strings.Contains(err.Error(), "tls: "):
		return "; a server listens there, but it may not speak TLS 1.3, or not this protocol over it"
	}
	return ""
}
