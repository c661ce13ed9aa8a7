package drive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// httpConn speaks HTTP/1.1. Requests are framed without copying the body: the
// head is written right before it.
//
//	buf: | unused headroom | head | body |
type httpConn struct {
	prefix    []byte // head up to and with "Content-Length: "
	bare      []byte // whole head of a request without a body
	pending   []byte
	buf       []byte // what was received
	n         int
	r         httpReply
	head      bool
	sendsBody bool          // also an empty one has a Content-Length
	most      int           // B of a response's body
	heard     time.Duration // when bytes came last
	still     time.Duration // the longest time between two parts of the response
}

const firstBuffer = 16 << 10 // B

func newHTTPConn(s Spec, host, target string) *httpConn {
	var h strings.Builder
	h.WriteString(s.Method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n")
	if s.Connection == PerRequest {
		h.WriteString("Connection: close\r\n")
	}
	if s.Accept != "" {
		h.WriteString("Accept: " + s.Accept + "\r\n")
	}
	for _, line := range s.Header {
		h.WriteString(line + "\r\n")
	}
	bare := h.String() + "\r\n"
	if s.ContentType != "" {
		h.WriteString("Content-Type: " + s.ContentType + "\r\n")
	}
	h.WriteString("Content-Length: ")
	return &httpConn{
		prefix: []byte(h.String()), bare: []byte(bare), buf: make([]byte, firstBuffer),
		head: s.Method == "HEAD", sendsBody: s.Method == "POST" || s.Method == "PUT" || s.Method == "PATCH",
		most: s.MostBody,
	}
}

// headroom: the head, ten digits and CRLF CRLF.
func (w *httpConn) headroom() int { return len(w.prefix) + 14 }

func (w *httpConn) start(buf []byte, _ time.Duration) error {
	w.n, w.still = 0, 0
	w.r.reset(w.head, w.most)
	room := w.headroom()
	if len(buf) == room && !w.sendsBody {
		w.pending = w.bare
		return nil
	}
	var scratch [24]byte
	tail := strconv.AppendInt(scratch[:0], int64(len(buf)-room), 10)
	tail = append(tail, "\r\n\r\n"...)
	at := room - len(tail) - len(w.prefix)
	copy(buf[at:], w.prefix)
	copy(buf[at+len(w.prefix):], tail)
	w.pending = buf[at:]
	return nil
}

func (w *httpConn) next() []byte {
	b := w.pending
	w.pending = nil
	return b
}

func (w *httpConn) space() []byte {
	if w.n == len(w.buf) {
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	return w.buf[w.n:]
}

func (w *httpConn) got(n int, now time.Duration) (bool, error) {
	if w.n > 0 {
		w.still = max(w.still, now-w.heard)
	}
	w.heard = now
	w.n += n
	whole, err := w.r.parse(w.buf[:w.n])
	if !whole && err == nil {
		w.n, err = w.r.fit(w.buf[:w.n])
	}
	return whole, err
}

func (w *httpConn) closed() error {
	if w.n > 0 && w.r.eof() {
		return nil
	}
	return io.EOF
}

// fault: a server that is asked without TLS, and takes only that, has many pages for it.
func (w *httpConn) fault() error {
	if status, page := w.reply(); status/100 == 4 && saysTLS(page) {
		return fmt.Errorf("status %d: %w", status, errSpeaksTLS)
	}
	return nil
}

func (w *httpConn) reply() (int, []byte) { return w.r.status, w.buf[w.r.start:w.r.end] }

// reusable: bytes after the response are nothing that was asked for.
func (w *httpConn) reusable() bool { return w.r.reusable() && w.r.pos == w.n }

// surplus says whether there are such bytes, as where a body is longer than its Content-Length.
func (w *httpConn) surplus() bool { return w.r.part == whole && w.r.pos < w.n }

// names says whether one of these header lines has a name, written in lower case.
func names(header []string, name string) bool {
	return slices.ContainsFunc(header, func(line string) bool {
		before, _, _ := strings.Cut(line, ":")
		return strings.EqualFold(before, name)
	})
}

// checkHead refuses what would break the framing of a request.
func checkHead(s Spec) error {
	for _, line := range append([]string{s.Accept, s.ContentType, s.Method}, s.Header...) {
		if strings.ContainsAny(line, "\r\n\x00") {
			return errors.New("header " + strconv.Quote(line) + " has a line break; write one header per line")
		}
	}
	if strings.ContainsAny(s.Method, " \t\"(),/:;<=>?@[\\]{}") {
		return errors.New(strconv.Quote(s.Method) + " is not a method; write one such as GET or POST")
	}
	for _, line := range s.Header {
		name, _, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return errors.New("header " + strconv.Quote(line) + " is invalid; write \"Name: value\"")
		}
		switch strings.ToLower(name) {
		case "content-length", "transfer-encoding", "connection", "host":
			return errors.New("header " + strconv.Quote(name) + " is set by the driver; remove it")
		}
	}
	return nil
}
