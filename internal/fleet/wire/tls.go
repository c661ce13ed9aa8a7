package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/nats-io/nats.go"
)

// rootCA trusts the certificates that the maker of credentials signed, and none else.
func rootCA(pem string) nats.Option {
	return func(o *nats.Options) error {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(pem)) {
			return errors.New("the certificate in the credentials cannot be read; recreate them with edgegauge benches add")
		}
		o.Secure = true
		o.TLSConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}
		return nil
	}
}
