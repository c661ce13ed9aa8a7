package conform

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quic-go/quic-go/http3"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/protocol/dpws"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// A badRequest is one that every server must refuse.
type badRequest struct {
	what        string
	contentType string // empty: the right one
	method      string // of HTTP; empty: POST
	path        string // behind the right one
	body        []byte
}

// refuses sends bad requests, each followed by a good one that must be
// answered rightly.
func (c suite) refuses(name, url string) error {
	return c.refusesEach(name, url, func(enc codec.Encoding, good []byte) []badRequest {
		all := badRequests(enc, good)
		rest := slices.Contains([]string{"http", "http2", "http3"}, c.wish.Transport) && !enc.SOAP()
		if rest || strings.HasPrefix(c.wish.Transport, "coap") {
			all = append(all, badRequest{what: "an unknown path", path: "/nothing-here", body: good})
		}
		if rest {
			all = append(all, badRequest{what: "another method", method: http.MethodPut, body: good})
		}
		return all
	})
}

// refusesRange sends numbers that sort has no place for.
func (c suite) refusesRange(name, url string) error {
	return c.refusesEach(name, url, func(_ codec.Encoding, good []byte) []badRequest {
		var all []badRequest
		for _, n := range []string{"2147483648", "4294967297", "-2147483649", "18446744073709551617"} {
			if body := firstNumber().ReplaceAll(good, []byte("${1}"+n+"${2}")); !bytes.Equal(body, good) {
				all = append(all, badRequest{what: "the number " + n, body: body})
			}
		}
		return all
	})
}

// firstNumber finds a number of sort in XML, SOAP and JSON.
var firstNumber = lazy.Regexp(`((?:[:<]n>|\[))\d+(</|[],])`)

// hasFirstNumber tells whether firstNumber can find a number in this encoding.
func (c suite) hasFirstNumber() bool {
	syntax := codec.Encoding(c.wish.Encoding).Syntax()
	return syntax == codec.XMLText || syntax == codec.JSONText
}

// askable tells whether bad requests can be made for this combination and sent:
// where not, the stack's README says how it is tested.
func (c suite) askable(name string) bool {
	_, err := codec.Parse(c.wish.Encoding)
	_, _, compact := c.compact(name)
	ask, unsent := c.asker()
	return !c.fixedSizes() && (err == nil || compact) && (ask != nil || unsent != nil)
}

// compact is the message that compactMessage has, if the encoding is one of the compact.
func (c suite) compact(name string) (packed []byte, text string, ok bool) {
	enc := codec.Encoding(c.wish.Encoding)
	packed, text, ok = compactMessage(enc, service.Name(name))
	return packed, text, ok && slices.Contains(codec.Compact(), enc)
}

func (c suite) refusesEach(name, url string, bads func(codec.Encoding, []byte) []badRequest) error {
	enc := codec.Encoding(c.wish.Encoding)
	packed, text, compact := c.compact(name)
	ask, err := c.asker()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Minute)
	defer cancel()
	var m service.Message
	service.Make(service.Name(name), messageSeed, 64, service.Width{}, &m)
	fresh := func() []byte {
		if compact {
			return packed
		}
		if c.wish.Transport == "dpws" {
			return addressed(service.Name(name), &m) // a message ID may be used once
		}
		return codec.Append(enc, nil, service.Name(name), false, &m)
	}
	all := bads(enc, fresh())
	if compact {
		all = compactBads(enc, packed, text)
		service.Make(service.Name(name), compactSeed, compactN, service.Width{}, &m)
	}
	right, err := service.NewChecker(service.Name(name), &m)
	if err != nil {
		return err
	}
	for _, b := range c.expected(reallyBad(all, fresh())) {
		r, err := ask(ctx, url, enc, service.Name(name), b)
		if err == nil && !r.refused {
			err = fmt.Errorf("it answered %s", r.status)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.what, err)
		}
		r, err = ask(ctx, url, enc, service.Name(name), badRequest{body: fresh()})
		if err == nil {
			err = r.right(enc, service.Name(name), right)
		}
		if err != nil {
			return fmt.Errorf("a valid request after %s was answered with %s: %w", b.what, r.status, err)
		}
	}
	return nil
}

// expected are the bad requests without those that the stack is known not to refuse.
func (c suite) expected(all []badRequest) []badRequest {
	return slices.DeleteFunc(slices.Clone(all), func(b badRequest) bool {
		_, deviates := c.d.Deviates[b.what]
		return deviates
	})
}

// reallyBad are the bad requests without what is the good one again: of a message without a byte, such as the
// request for a temperature in Protocol Buffers, half is the whole.
func reallyBad(all []badRequest, good []byte) []badRequest {
	return slices.DeleteFunc(slices.Clone(all), func(b badRequest) bool {
		return b.contentType+b.method+b.path == "" && bytes.Equal(b.body, good)
	})
}

// addressed is m in an envelope with the headers that DPWS needs.
func addressed(name service.Name, m *service.Message) []byte {
	h := dpws.Header{Action: []byte(codec.Action(name)), MessageID: []byte(dpws.NewUUID()),
		ReplyTo: []byte(dpws.Anonymous)}
	return append(codec.Append(codec.XML, h.AppendStart(nil), name, false, m), dpws.End...)
}

// bodyOverLimit is the bad request that a stack deviates from whose framework has no limit.
const bodyOverLimit = "a body larger than the limit"

func badRequests(enc codec.Encoding, good []byte) []badRequest {
	half := bytes.TrimSuffix(good[:len(good)/2], []byte("\n")) // whole lines of text are a shorter message
	all := []badRequest{
		{what: "a body truncated to half", body: half},
		{what: "garbage", body: bytes.Repeat([]byte{0xff, 0x00, 0x9f, '<', '{'}, 20)},
		{what: "a wrong media type", contentType: "image/png", body: good},
		{what: bodyOverLimit, body: append(bytes.Repeat([]byte{' '}, bodyLimit+bodyLimit/4), good...)},
	}
	if enc.Syntax() == codec.XMLText {
		all = append(all,
			badRequest{what: "a billion laughs", body: bomb(good)},
			badRequest{what: "an external entity",
				body: append([]byte(`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>`),
					bytes.Replace(good, []byte("</"), []byte("&e;</"), 1)...)},
			badRequest{what: "unclosed elements, 100,000 deep", body: bytes.Repeat([]byte("<a>"), 100_000)},
		)
	}
	return all
}

func bomb(good []byte) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE x [<!ENTITY a0 \"ha\">")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, "<!ENTITY a%d \"&a%d;&a%d;&a%d;\">", i, i-1, i-1, i-1)
	}
	b.WriteString("]>")
	b.Write(bytes.Replace(good, []byte("</"), []byte("&a29;</"), 1))
	return []byte(b.String())
}

// A reply is what a server made of a raw request. What is neither answered nor
// refused is an error of the server's own, and no refusal.
type reply struct {
	status            string
	answered, refused bool
	body              []byte
	broken            bool // the connection ended within the body
	media             string
}

// right says in what an answer is wrong. What no codec of ours reads is right if
// it is there.
func (r reply) right(enc codec.Encoding, name service.Name, c *service.Checker) error {
	if !r.answered {
		return errors.New("which is not an answer")
	}
	read, body, ok := readable(enc, r.body)
	if !ok {
		if len(body) == 0 {
			return errors.New("which is empty")
		}
		return nil
	}
	var m service.Message
	if err := codec.Decode(read, body, name, true, &m); err != nil {
		return err
	}
	return c.Check(&m)
}

// readable takes gzip off, if HTTP has not; ok is false if no codec of ours reads
// what is below.
func readable(enc codec.Encoding, body []byte) (_ codec.Encoding, _ []byte, ok bool) {
	if !enc.Gzipped() {
		_, err := codec.Parse(string(enc))
		return enc, body, err == nil
	}
	if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		body, _ = io.ReadAll(io.LimitReader(z, 1<<20))
	}
	return enc.Base(), body, true
}

// httpReply judges a response of HTTP: a request is refused with 4xx, or with
// SOAP's fault, which goes with 500 (SOAP 1.1, section 6.2; Metro's always does).
// In a form of SOAP that no codec of ours reads, any words with 5xx pass for one.
func httpReply(enc codec.Encoding, name service.Name, resp *http.Response) reply {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	r := reply{status: resp.Status, answered: resp.StatusCode/100 == 2, refused: resp.StatusCode/100 == 4, body: body,
		broken: err != nil, media: resp.Header.Get("Content-Type")}
	if resp.StatusCode < 500 || !enc.SOAP() {
		return r
	}
	read, plain, ok := readable(enc, body)
	// a fault may be plain text
	r.refused = !ok && len(body) > 0 || ok && isFault(read, plain, name) || isFault(enc.Base(), body, name)
	return r
}

func isFault(enc codec.Encoding, body []byte, name service.Name) bool {
	var fault *codec.Fault
	return errors.As(codec.Decode(enc, body, name, true, new(service.Message)), &fault)
}

type asker func(ctx context.Context, url string, enc codec.Encoding, name service.Name, b badRequest) (reply, error)

// asker is how raw requests are sent over this transport; nil: there is no way.
func (c suite) asker() (asker, error) {
	switch {
	case slices.Contains([]string{"http", "http2", "http3", "grpc"}, c.wish.Transport) &&
		(c.wish.Security == "none" || c.wish.Security == "tls"):
		return c.askHTTP(oneEach())
	case c.wish.Transport == "dpws":
		ask, err := c.askHTTP(oneEach())
		return func(ctx context.Context, url string, enc codec.Encoding, name service.Name, b badRequest) (reply, error) {
			url, _, _ = strings.Cut(url, "#") // the device's name; before it stands where its service is
			return ask(ctx, "http"+strings.TrimPrefix(url, "dpws"), enc, name, b)
		}, err
	case c.wish.Transport == "coap" && slices.Contains([]string{"none", "dtls-psk", "oscore"}, c.wish.Security):
		return c.askCoAP(), nil
	case slices.Contains([]string{"mqtt5", "mqtt311"}, c.wish.Transport):
		return c.askMQTT()
	case c.wish.Transport == "coap-tcp" && c.wish.Security == "none":
		return c.askCoAP(), nil
	}
	return nil, nil
}

// oneEach opens a connection for each request.
func oneEach() *http.Transport { return &http.Transport{DisableKeepAlives: true} }

// askHTTP opens a connection for each request unless the transport keeps one.
func (c suite) askHTTP(transport *http.Transport) (asker, error) {
	if c.wish.Security == "tls" {
		roots, err := c.roots()
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	if c.wish.Transport != "http" && c.wish.Transport != "dpws" {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	return func(ctx context.Context, url string, enc codec.Encoding, name service.Name, b badRequest) (reply, error) {
		body, media := b.body, enc.MediaType(name, false)
		if c.wish.Transport == "grpc" {
			body, media = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b.body))), b.body...),
				"application/grpc+proto"
		}
		req, err := http.NewRequestWithContext(ctx, cmp.Or(b.method, http.MethodPost), url+b.path, bytes.NewReader(body))
		if err != nil {
			return reply{}, err
		}
		req.Header.Set("Content-Type", media)
		if enc.Gzipped() {
			req.Header.Set("Content-Encoding", "gzip")
		}
		if b.contentType != "" {
			req.Header.Set("Content-Type", b.contentType)
		}
		if action := enc.SOAPAction(name); action != "" {
			req.Header.Set("SOAPAction", action)
		}
		client := http.Client{Transport: transport, Timeout: 20 * time.Second}
		if c.wish.Transport == "http3" {
			quic := &http3.Transport{TLSClientConfig: transport.TLSClientConfig}
			defer quic.Close() // it keeps a socket and a connection
			client.Transport = quic
		}
		resp, err := client.Do(req)
		if err != nil {
			var ue interface{ Timeout() bool }
			if len(b.body) > bodyLimit && !(errors.As(err, &ue) && ue.Timeout()) {
				return reply{status: "connection closed", refused: true}, nil // it would not read the rest, which is a refusal too
			}
			return reply{}, err
		}
		defer resp.Body.Close()
		r := httpReply(enc, name, resp)
		if status := resp.Trailer.Get("Grpc-Status"); c.wish.Transport == "grpc" && resp.StatusCode == http.StatusOK {
			r.status, r.answered, r.refused = "grpc-status "+status, status == "0", status != "0"
			r.body, r.media = r.body[min(len(r.body), grpcHead):], ""
		}
		return r, nil
	}, nil
}

const grpcHead = 5 // a flag and the length of a message

// roots are whom a client trusts.
func (c suite) roots() (*x509.CertPool, error) {
	pem, err := os.ReadFile(c.kit.Credentials["ca"])
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return roots, nil
}

// dialOSCORE is a client with a security context of its own.
func (c suite) dialOSCORE(host string) (*coap.Client, error) {
	secret, err := hex.DecodeString(c.kit.Credentials["oscore_secret"])
	salt, err2 := hex.DecodeString(c.kit.Credentials["oscore_salt"])
	id := make([]byte, 8)
	rand.Read(id)
	s, err3 := coap.NewSecurity(coap.Keys{Secret: secret, Salt: salt, SenderID: []byte{1}, RecipientID: []byte{2},
		IDContext: id})
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	conn, err := net.Dial("udp", host)
	if err != nil {
		return nil, err
	}
	return coap.NewClient(conn, coap.Params{Security: s}), nil
}

func (c suite) askCoAP() asker {
	return func(ctx context.Context, at string, enc codec.Encoding, name service.Name, b badRequest) (reply, error) {
		u, err := url.Parse(at)
		if err != nil {
			return reply{}, err
		}
		var client interface {
			Do(context.Context, *coap.Call) (coap.Reply, error)
			Close() error
		}
		if c.wish.Transport == "coap-tcp" {
			if client, err = coap.DialTCP(ctx, u.Host, coap.Params{}); err != nil {
				return reply{}, err
			}
		} else if c.wish.Security == "dtls-psk" {
			key, err := hex.DecodeString(c.kit.Credentials["psk"])
			if err != nil {
				return reply{}, err
			}
			client, err = coap.DialDTLS(ctx, u.Host, coap.PSK{Identity: c.kit.Credentials["psk_identity"], Key: key},
				coap.Params{})
			if err != nil {
				return reply{}, err
			}
		} else if c.wish.Security == "oscore" {
			if client, err = c.dialOSCORE(u.Host); err != nil {
				return reply{}, err
			}
		} else if client, err = coap.Dial(u.Host); err != nil {
			return reply{}, err
		}
		defer client.Close()
		number, _ := enc.ContentFormat()
		format := coap.FormatOf(number)
		if b.contentType != "" {
			format = coap.FormatOf(22) // image/jpeg
		}
		answer, err := client.Do(ctx, &coap.Call{Method: coap.POST, Path: u.Path + b.path, Format: format, Body: b.body})
		if err != nil {
			return reply{}, err
		}
		class := answer.Code >> 5 // RFC 7252, section 5.9: 2 is success, 4 the client's error, 5 the server's
		return reply{status: fmt.Sprint(answer.Code), answered: class == 2, refused: class == 4, body: answer.Body}, nil
	}
}
