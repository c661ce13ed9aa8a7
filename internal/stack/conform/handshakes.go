package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"

	"edgegauge.example/edgegauge/internal/stack"
)

// wholeHandshakes is the check of what a server says in the clear while TLS or DTLS begins.
const wholeHandshakes = "handshakes are whole and alike"

// A negotiated is what a server chose in a handshake, as the wire shows it.
type negotiated struct {
	suite   uint16
	group   uint16 // of the key exchange; 0: there is none, or it is not said in the clear
	resumed bool   // a session of before: no certificate, no key exchange of its own
	retried bool   // the client's first key was of a group that the server did not want
	asked   bool   // before TLS 1.3: for a certificate of the client's
}

// x25519 is the group that all stacks have (doc/method.md).
const x25519 = 29

// suites are what doc/method.md says of the security.
var suites = map[string]uint16{
	"tls":       0x1301,
	"tls12":     0xc02b,
	"dtls-psk":  0xc0a8, // RFC 7252, section 9.1.3
	"dtls-rpk":  0xc0ae,
	"dtls-x509": 0xc0ae,
}

// chacha20 is what the TLS 1.3 of Go takes on a CPU without instructions for AES: nobody can tell it otherwise.
const chacha20 = 0x1303

// quickAES says whether Go takes this CPU for one that has instructions for AES-GCM.
func quickAES() bool {
	x, arm := cpu.X86, cpu.ARM64
	return x.HasAES && x.HasPCLMULQDQ && x.HasSSE41 && x.HasSSSE3 || arm.HasAES && arm.HasPMULL
}

// handshaken says whether the wire shows handshakes: those of QUIC are encrypted.
func (c suite) handshaken() bool {
	return suites[c.wish.Security] != 0 && c.wish.Transport != "http3" && c.wish.Transport != "dpws" &&
		slices.Contains(c.offer.Connections, "per-request") && c.representative()
}

// judgeHandshake compares what was negotiated with what all stacks have. quick says that the CPU has instructions for
// AES.
func (c suite) judgeHandshake(n negotiated, quick bool) error {
	dtls, want := strings.HasPrefix(c.wish.Security, "dtls"), suites[c.wish.Security]
	gos := c.wish.Security == "tls" && c.d.Language == "Go" && !quick && n.suite == chacha20
	switch {
	case n.resumed:
		return errors.New("the session of a connection before was resumed: per-request means a whole handshake each time; " +
			"use no tickets and no cache of sessions")
	case n.asked:
		return errAsksForCertificate
	case n.retried:
		return errors.New("the server asked for another group, which takes one round trip more: offer X25519 alone")
	case n.suite != want && !gos:
		return fmt.Errorf("cipher suite %#04x, want %#04x: offer that alone, as all stacks do (doc/method.md)", n.suite, want)
	case !dtls && n.group != x25519:
		return fmt.Errorf("key exchange by group %d, want %d: offer X25519 alone, as all stacks do (doc/method.md)", n.group,
			x25519)
	}
	return nil
}

// shakesHands has a client of d make three requests, each over a connection of its own,
// and judges their handshakes.
func (c suite) shakesHands(srv *stack.Conn, d stack.Description, client *program, service, server string) error {
	const requests = 3
	e, through, err := c.eavesdrop(server)
	if err != nil {
		return err
	}
	asked := c.call(service, through, messageN)
	asked.Connection = "per-request"
	var all, served exchangesOf
	do := func(ctx context.Context, s *stack.Session) error {
		_, err := s.Measure(ctx, stack.Run{Requests: requests}, &all, &served)
		return err
	}
	if d.Name == c.d.Name {
		err = c.seated(client, asked, srv, do)
	} else {
		err = c.with(d, "call", func(ctx context.Context, cl *stack.Conn) error {
			if _, err := call(ctx, cl, asked); err != nil {
				return fmt.Errorf("call: %w", err)
			}
			return do(ctx, &stack.Session{Server: srv, Client: cl})
		})
	}
	e.link.close()
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.Failure != "" {
			return fmt.Errorf("request %d: %s", x.Seq, x.Failure)
		}
	}
	seen := 0
	for _, said := range e.said {
		if len(*said) == 0 {
			continue // a port may be tried before it is used
		}
		n, err := readHandshake(*said, strings.HasPrefix(c.wish.Security, "dtls"))
		if err == nil {
			err = c.judgeHandshake(n, quickAES())
		}
		if seen++; err != nil {
			return fmt.Errorf("connection %d: %w", seen, err)
		}
	}
	if seen < requests {
		return fmt.Errorf("%d handshakes for %d requests", seen, requests)
	}
	return nil
}

// An eavesdropper keeps the beginning of what a server says on each connection.
type eavesdropper struct {
	link interface {
		addr() string
		close()
	}
	mu   sync.Mutex
	said []*[]byte
}

const mostHeard = 32 << 10 // of each connection: more than any handshake here

// hear keeps what is not yet too much.
func (e *eavesdropper) hear(said *[]byte, b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(*said) < mostHeard {
		*said = append(*said, b...)
	}
}

func (e *eavesdropper) another() *[]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	said := new([]byte)
	e.said = append(e.said, said)
	return said
}

// eavesdrop puts itself before the server at url: the url through it.
func (c suite) eavesdrop(server string) (*eavesdropper, string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, "", err
	}
	e := &eavesdropper{}
	if slices.Contains(overTCP, c.wish.Transport) {
		e.link, err = newRelay(u.Host, e.forward)
	} else {
		var mu sync.Mutex
		clients := map[string]*[]byte{}
		e.link, err = newUDPRelay(u.Host, 0, func(client string, b []byte) {
			mu.Lock()
			defer mu.Unlock()
			if clients[client] == nil {
				clients[client] = e.another()
			}
			e.hear(clients[client], b)
		})
	}
	if err != nil {
		return nil, "", err
	}
	u.Host = e.link.addr()
	return e, u.String(), nil
}

func (e *eavesdropper) forward(client, server net.Conn) {
	said := e.another()
	var back sync.WaitGroup
	back.Go(func() {
		for b := make([]byte, 16<<10); ; {
			n, err := server.Read(b)
			e.hear(said, b[:n])
			if _, bad := client.Write(b[:n]); err != nil || bad != nil {
				break
			}
		}
		client.(*net.TCPConn).CloseWrite()
	})
	io.Copy(server, client)
	server.(*net.TCPConn).CloseWrite()
	back.Wait()
}

// readHandshake reads what a server said in the clear (RFC 8446, 5246 and 6347).
func readHandshake(said []byte, dtls bool) (n negotiated, err error) {
	greeted, done, modern := false, false, false
	for _, m := range messages(said, dtls) {
		switch m.kind {
		case 2: // ServerHello
			hello, retry, err := readHello(m.body)
			if err != nil {
				return n, err
			}
			if retry {
				n.retried = true
				continue
			}
			greeted, modern = true, hello.modern
			n.suite, n.group, n.resumed = hello.suite, hello.group, hello.resumed
		case 12: // ServerKeyExchange: RFC 8422, section 5.4
			if len(m.body) > 2 && m.body[0] == 3 {
				n.group = binary.BigEndian.Uint16(m.body[1:])
			}
		case 13: // CertificateRequest
			n.asked = true
		case 14: // ServerHelloDone
			done = true
		}
	}
	if !greeted {
		return n, errors.New("the server said no ServerHello")
	}
	if !modern { // before TLS 1.3 a resumed session goes on with ChangeCipherSpec
		n.resumed = !done
	}
	return n, nil
}

type message struct {
	kind byte
	body []byte
}

// messages are those of the handshake before encryption begins; a ServerHello is in one fragment.
func messages(said []byte, dtls bool) (all []message) {
	head, before := 5, 0 // of a record; what of it stands before the length
	if dtls {
		head, before = 13, 8
	}
	var plain []byte
	retried := func() bool { return len(plain) > 14 && string(plain[6:14]) == retryRandom }
	for again := true; len(said) >= head; {
		size := int(binary.BigEndian.Uint16(said[3+before:]))
		if len(said) < head+size {
			break
		}
		body := said[head : head+size]
		kind, epoch := said[0], dtls && binary.BigEndian.Uint16(said[3:]) > 0
		said = said[head+size:]
		switch {
		case !dtls && kind == 20 && again && retried(): // comes behind a HelloRetryRequest as well
			again = false
		case !dtls && (kind == 20 || kind == 23): // from here on nothing is in the clear
			said = nil
		case kind != 22 || epoch:
		case dtls:
			for len(body) >= 12 {
				part := int(body[9])<<16 | int(body[10])<<8 | int(body[11])
				if len(body) < 12+part {
					break
				}
				all = append(all, message{body[0], body[12 : 12+part]})
				body = body[12+part:]
			}
		default:
			plain = append(plain, body...)
		}
	}
	for len(plain) >= 4 {
		size := int(plain[1])<<16 | int(plain[2])<<8 | int(plain[3])
		if len(plain) < 4+size {
			break
		}
		all = append(all, message{plain[0], plain[4 : 4+size]})
		plain = plain[4+size:]
	}
	return all
}

type hello struct {
	suite, group    uint16
	resumed, modern bool
}

// retryRandom begins the random of a HelloRetryRequest (RFC 8446, section 4.1.3).
const retryRandom = "\xcf\x21\xad\x74\xe5\x9a\x61\x11"

func readHello(b []byte) (h hello, retry bool, err error) {
	cut := errors.New("the ServerHello is cut short")
	if len(b) < 35 || len(b) < 35+int(b[34])+3 {
		return h, false, cut
	}
	retry = strings.HasPrefix(string(b[2:]), retryRandom)
	b = b[35+int(b[34]):]
	h.suite = binary.BigEndian.Uint16(b)
	if b = b[3:]; len(b) < 2 {
		return h, retry, nil
	}
	for b = b[2:]; len(b) >= 4; {
		kind, size := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if len(b) < 4+size {
			return h, retry, cut
		}
		switch value := b[4 : 4+size]; {
		case kind == 43: // supported_versions
			h.modern = true
		case kind == 51 && size >= 2: // key_share
			h.group = binary.BigEndian.Uint16(value)
		case kind == 41: // pre_shared_key
			h.resumed = true
		}
		b = b[4+size:]
	}
	return h, retry, nil
}
