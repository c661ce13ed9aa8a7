package conform

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A strictRelay stands between a client and a server that speak plain HTTP/1.1. It reads what both write by RFC
// 9112, forgives nothing, and keeps the last byte of each answer back for a while.
type strictRelay struct {
	*relay
	server *url.URL
	prefix string        // of the path that the client is told; the server is asked without it
	hold   time.Duration // between an answer and its last byte

	mu        sync.Mutex
	exchanges []relayed
	fault     error // the first
}

// A relayed exchange: how long it took from the request's first byte to the answer's last.
type relayed struct {
	took           time.Duration
	request, reply letter
}

// A letter is the head of a message of HTTP/1.1.
type letter struct {
	start  string
	fields map[string][]string // by names in lower case
}

func (l letter) field(name string) string { return strings.Join(l.fields[name], ", ") }

const relayPrefix = "/behind/a/proxy"

func newStrictRelay(server string, hold time.Duration) (*strictRelay, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	r := &strictRelay{server: u, prefix: relayPrefix, hold: hold}
	r.relay, err = newRelay(u.Host, r.forward)
	return r, err
}

// url is what the client is told to ask.
func (r *strictRelay) url() string {
	return "http://" + r.addr() + r.prefix + r.server.RequestURI()
}

// seen are the exchanges so far, and the first fault of their form.
func (r *strictRelay) seen() ([]relayed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.exchanges, r.fault
}

func (r *strictRelay) forward(client, server net.Conn) {
	fromClient, fromServer := bufio.NewReader(client), bufio.NewReader(server)
	for {
		if _, err := fromClient.Peek(1); err != nil {
			return // the client has no more to ask
		}
		if err := r.exchange(client, server, fromClient, fromServer); err != nil {
			var end net.Error
			r.mu.Lock()
			if r.fault == nil && !errors.Is(err, net.ErrClosed) && !errors.As(err, &end) {
				r.fault = err
			}
			r.mu.Unlock()
			return
		}
	}
}

func (r *strictRelay) exchange(client, server io.Writer, fromClient, fromServer *bufio.Reader) error {
	began := time.Now()
	request, asked, err := readLetter(fromClient)
	if err != nil {
		return fmt.Errorf("the client's request: %w", err)
	}
	want := "POST " + r.prefix + r.server.RequestURI() + " HTTP/1.1"
	if request.start != want {
		return fmt.Errorf("the client's request begins with %.100q, not %q", request.start, want)
	}
	if host := request.field("host"); host != r.addr() {
		return fmt.Errorf("the client's request has the Host %.100q, not %q", host, r.listener.Addr())
	}
	if expects := request.field("expect"); expects != "" {
		return fmt.Errorf("the client's request has \"Expect: %.100s\", which costs a round trip", expects)
	}
	asked = bytes.Replace(asked, []byte(r.prefix), nil, 1)
	if _, err := server.Write(asked); err != nil {
		return err
	}
	if err := copyBody(server, fromClient, request); err != nil {
		return fmt.Errorf("the client's request: %w", err)
	}
	reply, answered, err := readLetter(fromServer)
	if err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	if !statusLine().MatchString(reply.start) {
		return fmt.Errorf("the server's answer begins with %.100q, which is no status line of HTTP/1.1", reply.start)
	}
	late := &lastByteLate{to: client}
	late.Write(answered)
	if err := copyBody(late, fromServer, reply); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	time.Sleep(r.hold)
	r.mu.Lock() // before the client has the last byte: it may end its run then, and ask what was seen
	r.exchanges = append(r.exchanges, relayed{time.Since(began), request, reply})
	r.mu.Unlock()
	return late.flush()
}

// lastByteLate writes all but the last byte of an answer, and that when it is flushed.
type lastByteLate struct {
	to   io.Writer
	kept []byte
}

func (w *lastByteLate) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	_, err := w.to.Write(append(w.kept, b[:len(b)-1]...))
	w.kept = []byte{b[len(b)-1]}
	return len(b), err
}

func (w *lastByteLate) flush() error {
	_, err := w.to.Write(w.kept)
	return err
}

var (
	statusLine = lazy.Regexp(`^HTTP/1\.1 [1-5][0-9][0-9] [^\x00-\x08\x0a-\x1f\x7f]*$`)
	fieldLine  = lazy.Regexp("^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\\x00-\\x08\\x0a-\\x1f\\x7f]*?)[ \t]*$")
)

// mostHead is how long a head may be.
const mostHead = 64 << 10 // B

// readLetter reads a head and returns it in parts and as it came.
func readLetter(from *bufio.Reader) (letter, []byte, error) {
	var raw []byte
	out := letter{fields: map[string][]string{}}
	for {
		line, err := from.ReadSlice('\n')
		raw = append(raw, line...)
		if err != nil {
			return out, raw, fmt.Errorf("the head ends after %.200q: %w", raw, err)
		}
		if len(raw) > mostHead {
			return out, raw, fmt.Errorf("the head is longer than %d B; it begins with %.100q", mostHead, raw)
		}
		text, ended := strings.CutSuffix(string(line), "\r\n")
		if !ended || strings.Contains(text, "\r") {
			return out, raw, fmt.Errorf("the line %.100q does not end with CR LF", line)
		}
		switch m := fieldLine().FindStringSubmatch(text); {
		case out.start == "" && text == "":
			return out, raw, errors.New("it begins with an empty line")
		case out.start == "":
			out.start = text
		case text == "":
			return out, raw, out.framed()
		case m == nil:
			return out, raw, fmt.Errorf("%.100q is no field of a head", text)
		default:
			name := strings.ToLower(m[1])
			out.fields[name] = append(out.fields[name], m[2])
		}
	}
}

// framed says whether the head tells where its body ends, in one way.
func (l letter) framed() error {
	length, coding := l.fields["content-length"], l.field("transfer-encoding")
	switch {
	case coding != "" && !strings.EqualFold(coding, "chunked"):
		return fmt.Errorf("Transfer-Encoding %.100q is not \"chunked\"", coding)
	case coding != "" && len(length) > 0:
		return errors.New("it has Content-Length and Transfer-Encoding")
	case coding == "" && len(length) == 0:
		return errors.New("it has no Content-Length and no Transfer-Encoding")
	case len(length) > 1:
		return fmt.Errorf("it has %d times Content-Length", len(length))
	}
	return nil
}

// copyBody copies the body behind a head. Chunks are read strictly.
func copyBody(to io.Writer, from *bufio.Reader, head letter) error {
	if head.field("transfer-encoding") == "" {
		n, err := strconv.ParseUint(head.field("content-length"), 10, 32)
		if err == nil {
			_, err = io.CopyN(to, from, int64(n))
		}
		if err != nil {
			return fmt.Errorf("a body of %.30q B: %w", head.field("content-length"), err)
		}
		return nil
	}
	for {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("the body ends where a chunk should begin: %w", err)
		}
		size, ended := strings.CutSuffix(string(line), "\r\n")
		if !ended || strings.Contains(size, "\r") {
			return fmt.Errorf("a chunk begins with %.30q, which does not end with CR LF", line)
		}
		size, _, _ = strings.Cut(size, ";")
		n, err := strconv.ParseUint(size, 16, 32)
		if err != nil || len(size) > 16 { // zeros before it are allowed, and not everybody takes more
			return fmt.Errorf("a chunk begins with %.30q, which is no size", line)
		}
		if _, err := to.Write(bytes.Clone(line)); err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if _, err := io.CopyN(to, from, int64(n)); err != nil {
			return fmt.Errorf("within a chunk of %d B: %w", n, err)
		}
		if err := copyLineEnd(to, from); err != nil {
			return fmt.Errorf("behind a chunk of %d B: %w", n, err)
		}
	}
	return copyLineEnd(to, from) // no trailers are used here
}

func copyLineEnd(to io.Writer, from *bufio.Reader) error {
	end := make([]byte, 2)
	if _, err := io.ReadFull(from, end); err != nil {
		return err
	}
	if string(end) != "\r\n" {
		return fmt.Errorf("%q instead of CR LF", end)
	}
	_, err := to.Write(end)
	return err
}

// relayedRequests are how many are asked through a strict relay.
const relayedRequests = 4

// throughRelay has a client ask the server at the url through a strict relay: what it saw, and what the
// client recorded. There are no records if nobody can ask.
func (c suite) throughRelay(srv *stack.Conn, client *program, s, server string, hold time.Duration) (
	saw []relayed, asked exchangesOf, err error,
) {
	relay, err := newStrictRelay(server, hold)
	if err != nil {
		return nil, nil, err
	}
	defer relay.close()
	var answered exchangesOf
	call := c.call(s, relay.url(), messageN)
	_, err = c.session(srv, client, call, func(ctx context.Context, both *stack.Session) error {
		_, err := both.Measure(ctx, stack.Run{Requests: relayedRequests}, &asked, &answered)
		return err
	})
	saw, fault := relay.seen()
	if fault != nil {
		return nil, nil, fault // more telling than what the client makes of it
	}
	for _, x := range asked {
		if x.Failure != "" {
			err = errors.Join(err, fmt.Errorf("request %d: %s", x.Seq, x.Failure))
		}
	}
	return saw, asked, err
}

// writesHTTP checks that both sides write HTTP/1.1 as RFC 9112 defines it, and one message for each request.
func (c suite) writesHTTP(srv *stack.Conn, client *program, s, server string) error {
	saw, asked, err := c.throughRelay(srv, client, s, server, 0)
	if err != nil || len(asked) == 0 {
		return err
	}
	if len(saw) != len(asked) {
		return fmt.Errorf("%d requests took %d exchanges of HTTP", len(asked), len(saw))
	}
	enc := codec.Encoding(c.wish.Encoding)
	for _, x := range saw {
		for who, media := range map[string]string{"client's request": x.request.field("content-type"),
			"server's answer": x.reply.field("content-type")} {
			if !enc.Takes(media) {
				return fmt.Errorf("the Content-Type of the %s is %q, not %q", who, media, enc.MediaType(service.Name(s), true))
			}
		}
	}
	return nil
}

// lastByteHold is how long the last byte of an answer is kept back.
const lastByteHold = 50 * time.Millisecond

// endsWithTheLastByte checks that done is after the last byte of an answer, not after its first.
func (c suite) endsWithTheLastByte(srv *stack.Conn, client *program, s, server string) error {
	saw, asked, err := c.throughRelay(srv, client, s, server, lastByteHold)
	if err != nil {
		return err
	}
	for i, x := range asked {
		if i < len(saw) && x.RTT() < saw[i].took-time.Millisecond {
			return fmt.Errorf("request %d: RTT %v, but from its first byte to the last of its answer took %v", x.Seq, x.RTT(),
				saw[i].took)
		}
	}
	return nil
}
