package conform

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// noCertificate is the check that a server asks its clients for none. TLS 1.3 encrypts the request.
const noCertificate = "asks for no certificate"

// errAsksForCertificate is what is wrong with a handshake that is longer for nothing.
var errAsksForCertificate = errors.New("the server asks for the client's certificate, and no security here has one: " +
	"that is one message more each way, and names each authority that the server believes; tell it to ask for none")

// certified says whether a server has a certificate that a client over TCP or QUIC can see.
func (c suite) certified() bool {
	return slices.Contains([]string{"tls", "tls12"}, c.wish.Security) &&
		(c.wish.Transport == "http3" || slices.Contains(overTCP, c.wish.Transport))
}

// asksForNoCertificate shakes hands with the server as a client that would show one.
func (c suite) asksForNoCertificate(at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	roots, err := c.roots()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	var asked error
	config := &tls.Config{RootCAs: roots, ServerName: u.Hostname(),
		GetClientCertificate: func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) { // only if it is asked for
			asked = fmt.Errorf("%w (it names %d)", errAsksForCertificate, len(r.AcceptableCAs))
			return new(tls.Certificate), nil
		}}
	conn, err := c.shakeHands(ctx, u.Host, config)
	if err != nil {
		return errors.Join(asked, fmt.Errorf("a handshake of TLS: %w", err))
	}
	conn.Close()
	return asked
}

// shakeHands opens a connection with TLS.
func (c suite) shakeHands(ctx context.Context, at string, config *tls.Config) (io.Closer, error) {
	if c.wish.Transport != "http3" {
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", at)
	}
	config.NextProtos = []string{http3.NextProtoH3}
	conn, err := quic.DialAddr(ctx, at, config, nil)
	if err != nil {
		return nil, err
	}
	return closer(func() error { return conn.CloseWithError(0, "") }), nil
}

// closer is an io.Closer.
type closer func() error

func (c closer) Close() error { return c() }
