package conform

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

var faultText = lazy.Regexp(`(?s)<(?:faultstring|[\w-]+:Text)[^>]*>(.*?)<`)

// A spoiling makes a right message one that WS-Security must refuse.
type spoiling struct {
	what   string
	levels string // the securities it is one for
	spoil  func(f *forgery)
}

const (
	allLevels  = "wss-username wss-hmac wss-rsa wss-rsa-encrypt"
	tokened    = "wss-username wss-hmac"
	signed     = "wss-hmac wss-rsa wss-rsa-encrypt"
	signedRSA  = "wss-rsa wss-rsa-encrypt"
	plainBody  = "wss-hmac wss-rsa"
	cipherBody = "wss-rsa-encrypt"
)

// forgeries are made anew for each: stranger has credentials of another authority, other is a canonical message of
// another text.
func forgeries(stranger map[string]string, other string) []spoiling {
	return []spoiling{
		{"no security header", allLevels, func(f *forgery) { f.noHeader = true }},
		{"no Timestamp", allLevels, func(f *forgery) { f.noTimestamp = true }},
		{"a Timestamp that has expired", allLevels, func(f *forgery) { f.age = time.Hour }},
		{"a Timestamp in the future", allLevels, func(f *forgery) { f.age = -time.Hour }},
		{"a wrong password", tokened, func(f *forgery) { f.password = "guess" }},
		{"a password in cleartext", tokened, func(f *forgery) { f.clear = true }},
		{"a body changed after it was signed", plainBody, func(f *forgery) { f.altered = other }},
		{"a changed ciphertext", cipherBody, func(f *forgery) { f.spoiled = true }},
		{"a body replaced between signing and encryption", cipherBody, func(f *forgery) { f.altered = other }},
		{"a body in cleartext", cipherBody, func(f *forgery) { f.open = true }},
		{"a signature by HMAC with the public key", signedRSA, func(f *forgery) { f.algorithm = algHMAC }},
		{"a signature by RSA-SHA1", signedRSA, func(f *forgery) { f.algorithm = algRSASHA1 }},
		{"digests by SHA-1", signed, func(f *forgery) { f.sha1 = true }},
		{"a certificate of another authority", signedRSA, func(f *forgery) { f.signer = stranger }},
		{"an unsigned body", signed, func(f *forgery) { f.bare = true }},
		{"an unsigned Timestamp", signed, func(f *forgery) { f.bareStamp = true }},
		{"the signed body wrapped, another in its place", signed, func(f *forgery) { f.wrapped = other }},
		{"only a password instead of a signature", signed, func(f *forgery) { f.level = "wss-username" }},
		{"only a signature instead of a password", "wss-username wss-hmac", func(f *forgery) { f.level = "wss-rsa" }},
	}
}

// refusesForgeries sends what WS-Security must refuse, each with a fault, and after
// each a right message, which must pass: it shows too that only what was
// spoiled was wrong.
func (c suite) refusesForgeries(name, url string) error {
	enc, err := codec.Parse(c.wish.Encoding)
	if err != nil {
		return err
	}
	stranger, err := c.stranger()
	if err != nil {
		return err
	}
	message := func(seed uint64) string {
		var m service.Message
		service.Make(service.Name(name), seed, messageN, service.Width{}, &m)
		return string(codec.Append(codec.XML, nil, service.Name(name), false, &m))
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Minute)
	defer cancel()
	right := forgery{enc: enc, level: c.wish.Security, credentials: c.kit.Credentials, body: message(messageSeed)}
	var found []error
	passes := func(after string) error {
		b, err := right.bytes()
		if err != nil {
			return err
		}
		if status, answer, err := c.post(ctx, url, enc, name, b); err != nil || status != http.StatusOK {
			return fmt.Errorf("a valid message after %s was answered with %d %s: %w", after, status, fault(answer), orNot(err))
		}
		status, answer, err := c.post(ctx, url, enc, name, b)
		if err := refusal(status, answer, err); err != nil {
			found = append(found, fmt.Errorf("a repeated message after %s: %w", after, err))
		}
		return nil
	}
	if err := passes("nothing"); err != nil {
		return err
	}
	for _, s := range forgeries(stranger, message(messageSeed+1)) {
		if !slices.Contains(strings.Fields(s.levels), c.wish.Security) {
			continue
		}
		f := right
		s.spoil(&f)
		b, err := f.bytes()
		if err != nil {
			return err
		}
		status, answer, err := c.post(ctx, url, enc, name, b)
		if err := refusal(status, answer, err); err != nil {
			found = append(found, fmt.Errorf("%s: %w", s.what, err))
		}
		if err := passes(s.what); err != nil {
			return errors.Join(append(found, err)...)
		}
	}
	for _, b := range badRequests(enc, []byte(right.body)) {
		if b.contentType != "" {
			continue // is not a matter of security
		}
		if status, answer, err := c.post(ctx, url, enc, name, b.body); len(b.body) <= bodyLimit &&
			(err != nil || status < 400) {
			found = append(found, fmt.Errorf("%s: it answered %d %s: %w", b.what, status, fault(answer), orNot(err)))
		}
		if err := passes(b.what); err != nil {
			return errors.Join(append(found, err)...)
		}
	}
	return errors.Join(found...)
}

// fault is what a SOAP fault says; of an answer that is not a fault, its beginning.
func fault(answer []byte) string {
	if m := faultText().FindSubmatch(answer); m != nil {
		return string(m[1])
	}
	return fmt.Sprintf("%.100s", answer)
}

// refusal is nil if the answer is a SOAP fault.
func refusal(status int, answer []byte, err error) error {
	if err == nil && (status < 400 || !bytes.Contains(answer, []byte("Fault>"))) {
		err = fmt.Errorf("it answered %d %.100s, not a fault", status, answer)
	}
	return err
}

func (c suite) post(ctx context.Context, url string, enc codec.Encoding, name string, body []byte) (int,
	[]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", enc.MediaType(service.Name(name), false))
	if action := enc.SOAPAction(service.Name(name)); action != "" {
		req.Header.Set("SOAPAction", action)
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, answer, err
}

func parsePEM(b []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("no PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
