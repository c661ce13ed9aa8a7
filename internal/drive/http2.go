package drive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2/hpack"
)

// What an http connection speaks; Spec.Protocol.
const (
	HTTP1 = "http/1.1"
	HTTP2 = "h2"   // RFC 9113: with prior knowledge over TCP, by ALPN over TLS
	GRPC  = "grpc" // unary calls over HTTP/2, without compression
	HTTP3 = "h3"   // RFC 9114 over QUIC
)

// http2Conn speaks HTTP/2, one stream at a time. Its frames go into one buffer:
// a request up to the peer's window is one write.
type http2Conn struct {
	fields   []hpack.HeaderField // of every request, but content-length
	secrets  []string            // that no failure may repeat
	grpc     bool
	most     int  // B of a response's body
	bodyless bool // the request is HEAD, or of a method that sends no empty body
	http2Connection
	stream http2Stream
	body   []byte // of the request, not yet framed
	ended  bool   // the request was framed whole
}

// http2Connection is what outlives a request.
type http2Connection struct {
	begun      bool // the preface is framed
	settled    bool // the server's has come: it speaks HTTP/2
	goingAway  bool
	last       uint32 // stream
	out, spare []byte // frames to send; the buffer that next gave away
	in         []byte // received; n of it not yet parsed
	n          int
	encoder    *hpack.Encoder
	block      bytes.Buffer // what the encoder writes
	decoder    *hpack.Decoder
	window     int64 // B that may be sent on the connection
	perStream  int64 // B that may be sent on a new stream
	frame      int   // B of the peer's largest frame
	taken      int64 // B received since the connection's window was last opened
	headers    []byte
	headersOf  uint32 // stream whose header block is under way; 0: none
	headersEnd bool   // and it ends the stream
	blamed     uint32 // code of the last GOAWAY; 0: in peace, or none came
}

// http2Stream is the response under way.
type http2Stream struct {
	window      int64 // B that may be sent
	status      int
	body        []byte
	grpcStatus  string
	grpcMessage string
	sized       bool // there was a content-length
	size        uint64
	whole       bool
}

const (
	http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	http2Frame   = 16384 // B of payload, the initial SETTINGS_MAX_FRAME_SIZE
	http2Window  = 65535 // B, the initial windows
	http2Most    = 1<<31 - 1
	http2Refill  = 1 << 30 // B after which the connection's window is opened again
	grpcPrefix   = 5       // B: compressed flag, length
)

// Frame types and flags of RFC 9113, section 6.
const (
	frameData, frameHeaders, framePriority, frameReset               = 0, 1, 2, 3
	frameSettings, framePush, framePing, frameGoAway                 = 4, 5, 6, 7
	frameWindow, frameContinuation                                   = 8, 9
	flagEndStream, flagAck, flagEndHeaders, flagPadded, flagPriority = 1, 1, 4, 8, 32
	settingPush, settingWindow, settingFrame, settingTable           = 2, 4, 5, 1
	settingStreams                                                   = 3
	http2HeaderBytes                                                 = 9
	resetRefused, resetCancel                                        = 7, 8
)

func newHTTP2Conn(s Spec, scheme, host, target string) *http2Conn {
	w := &http2Conn{grpc: s.Protocol == GRPC, most: s.MostBody, bodyless: s.Method != "POST" && s.Method != "PUT" &&
		s.Method != "PATCH", secrets: secretsOf(s.Header)}
	w.fields = []hpack.HeaderField{{Name: ":method", Value: s.Method}, {Name: ":scheme", Value: scheme},
		{Name: ":authority", Value: host}, {Name: ":path", Value: target}}
	add := func(name, value string) {
		if value != "" {
			w.fields = append(w.fields, hpack.HeaderField{Name: strings.ToLower(name), Value: value})
		}
	}
	if w.grpc {
		add("te", "trailers")
	}
	add("content-type", s.ContentType)
	add("accept", s.Accept)
	for _, line := range s.Header {
		name, value, _ := strings.Cut(line, ":")
		add(name, strings.TrimSpace(value))
	}
	w.hungUp()
	return w
}

// hungUp: the next request finds a new connection.
func (w *http2Conn) hungUp() {
	in := w.in
	if in == nil {
		in = make([]byte, 4*firstBuffer)
	}
	w.http2Connection = http2Connection{in: in, window: http2Window, perStream: http2Window, frame: http2Frame}
	w.encoder = hpack.NewEncoder(&w.block)
	w.decoder = hpack.NewDecoder(4096, w.field)
}

func (w *http2Conn) headroom() int {
	if w.grpc {
		return grpcPrefix
	}
	return 0
}

func (w *http2Conn) start(buf []byte, _ time.Duration) error {
	if !w.begun {
		w.begin()
	}
	if w.last == 0 { // a client's streams have odd numbers (RFC 9113, section 5.1.1)
		w.last = 1
	} else {
		w.last += 2
	}
	w.stream = http2Stream{window: w.perStream, body: w.stream.body[:0]}
	w.block.Reset()
	for _, f := range w.fields {
		_ = w.encoder.WriteField(f) // into memory
	}
	w.body = buf
	if w.grpc {
		buf[0] = 0
		binary.BigEndian.PutUint32(buf[1:], uint32(len(buf)-grpcPrefix))
	} else if len(buf) > 0 || !w.bodyless {
		_ = w.encoder.WriteField(hpack.HeaderField{Name: "content-length", Value: strconv.Itoa(len(buf))})
	}
	w.ended = len(buf) == 0
	w.header(w.block.Bytes(), w.ended)
	w.fill()
	return nil
}

// begin frames the preface: no pushes, and windows so large that a response
// never waits for them.
func (w *http2Conn) begin() {
	w.begun = true
	w.out = append(w.out, http2Preface...)
	w.out = appendFrame(w.out, 12, frameSettings, 0, 0)
	w.out = binary.BigEndian.AppendUint16(w.out, settingPush)
	w.out = binary.BigEndian.AppendUint32(w.out, 0)
	w.out = binary.BigEndian.AppendUint16(w.out, settingWindow)
	w.out = binary.BigEndian.AppendUint32(w.out, http2Most)
	w.out = appendFrame(w.out, 4, frameWindow, 0, 0)
	w.out = binary.BigEndian.AppendUint32(w.out, http2Most-http2Window)
}

// header frames a header block, which may need CONTINUATION frames.
func (w *http2Conn) header(block []byte, end bool) {
	kind, flags := byte(frameHeaders), byte(0)
	if end {
		flags = flagEndStream
	}
	for {
		n := min(len(block), w.frame)
		if n == len(block) {
			flags |= flagEndHeaders
		}
		w.out = append(appendFrame(w.out, n, kind, flags, w.last), block[:n]...)
		if block = block[n:]; len(block) == 0 {
			return
		}
		kind, flags = frameContinuation, 0
	}
}

// fill frames as much of the body as the windows let through.
func (w *http2Conn) fill() {
	for !w.ended {
		n := int(min(int64(len(w.body)), int64(w.frame), w.window, w.stream.window))
		if n <= 0 {
			return
		}
		w.ended = n == len(w.body)
		flags := byte(0)
		if w.ended {
			flags = flagEndStream
		}
		w.out = append(appendFrame(w.out, n, frameData, flags, w.last), w.body[:n]...)
		w.body = w.body[n:]
		w.window -= int64(n)
		w.stream.window -= int64(n)
	}
}

func appendFrame(b []byte, length int, kind, flags byte, stream uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(b, stream)
}

// next keeps back what is not asked for any more until the next request: half
// a frame must never be lost.
func (w *http2Conn) next() []byte {
	if len(w.out) == 0 || w.stream.whole {
		return nil
	}
	b := w.out
	w.out, w.spare = w.spare[:0], b
	return b
}

func (w *http2Conn) space() []byte {
	if w.n == len(w.in) {
		w.in = append(w.in, make([]byte, len(w.in))...)
	}
	return w.in[w.n:]
}

// otherProtocol says what a server speaks that begins with what is no HTTP/2.
func (w *http2Conn) otherProtocol() error {
	if b := w.in[:w.n]; !w.settled && speaksTLS(b) {
		return errSpeaksTLS
	}
	return nil
}

// frameFault says what is wrong with a frame that is too long: HTTP/1 is one of 4.7 MB.
func (w *http2Conn) frameFault(h []byte, size int) error {
	if bytes.HasPrefix(h, []byte("HTTP/1.")) {
		return errors.New("the server answers in HTTP/1: it takes no HTTP/2 without TLS; ask it by HTTP/1.1, or at an " +
			"https URL")
	}
	if !w.settled {
		return fmt.Errorf("%w: what it says first is none; ask it by HTTP/1.1", errNoHTTP2)
	}
	return fmt.Errorf("a frame of %d bytes exceeds the limit of %d", size, http2Frame)
}

func (w *http2Conn) got(n int, _ time.Duration) (bool, error) {
	w.n += n
	at := 0
	var failed error // the stream, alone
	if err := w.otherProtocol(); err != nil {
		return false, err
	}
	for w.n-at >= http2HeaderBytes {
		h := w.in[at:]
		size := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
		var err error
		if size > http2Frame {
			err = w.frameFault(h, size)
		} else if w.n-at < http2HeaderBytes+size {
			break
		} else {
			err = w.take(h[3], h[4], binary.BigEndian.Uint32(h[5:])&http2Most, h[http2HeaderBytes:http2HeaderBytes+size])
		}
		if ofStream(err) {
			w.abandon(err)
			failed, err = cmp.Or(failed, err), nil // a body that is not read to its end lacks bytes in its trailer
		}
		if err != nil && w.stream.whole { // what follows a response is no fault of it
			w.goingAway = true
			return failed == nil, failed
		}
		if err != nil {
			return false, fmt.Errorf("HTTP/2: %w", err)
		}
		at += http2HeaderBytes + size
	}
	w.n = copy(w.in, w.in[at:w.n])
	if w.stream.whole && !w.ended { // answered before it was all sent: the rest is not wanted
		w.out = binary.BigEndian.AppendUint32(appendFrame(w.out, 4, frameReset, 0, w.last), resetCancel)
		w.ended, w.body = true, nil
	}
	if failed != nil {
		return false, fmt.Errorf("HTTP/2: %w", failed)
	}
	return w.stream.whole, nil
}

// ofStream says of an error whether it is of one stream, and its connection goes on.
func ofStream(err error) bool {
	return errors.Is(err, errReset) || errors.Is(err, errLength) || errors.As(err, new(tooLargeError))
}

// abandon has nothing more come of the stream under way, which failed by err. The server has ended those that it reset.
func (w *http2Conn) abandon(err error) {
	w.stream.whole = true
	switch {
	case errors.Is(err, errReset):
		w.ended, w.body = true, nil
	case errors.As(err, new(tooLargeError)):
		w.ended = false // the server has not ended it: it is reset
	}
}

func (w *http2Conn) outlives(err error) bool { return ofStream(err) && w.reusable() }

// unasked takes what came between requests; before the first one it is the
// server's preface, which ours goes ahead of.
func (w *http2Conn) unasked(n int) error {
	if !w.begun {
		w.begin()
	}
	_, err := w.got(n, 0)
	if err == nil && w.goingAway {
		return io.EOF
	}
	return err
}

func (w *http2Conn) closed() error { return io.EOF }

// reusable: a connection has no stream numbers left one day (RFC 9113, section 5.1.1).
func (w *http2Conn) reusable() bool { return w.stream.whole && !w.goingAway && w.last <= http2Most-2 }

// reply: a gRPC status that is not OK is shown as a 500 with its name as body.
func (w *http2Conn) reply() (int, []byte) { return w.stream.reply(w.grpc) }

func (s *http2Stream) reply(grpc bool) (int, []byte) {
	switch {
	case !grpc || s.status != 200:
		return s.status, s.body
	case s.grpcStatus != "0":
		return 500, fmt.Appendf(nil, "grpc-status %s: %s", s.grpcStatus, s.grpcMessage)
	case len(s.body) < grpcPrefix || s.body[0] != 0 || int(binary.BigEndian.Uint32(s.body[1:])) != len(s.body)-grpcPrefix:
		return 500, errGRPC
	}
	return 200, s.body[grpcPrefix:]
}

var errGRPC = []byte("the response is not one uncompressed gRPC message")

// answering: what comes besides a response are settings, pings, windows.
func (w *http2Conn) answering() bool { return w.stream.status != 0 }

// leaving: a server that ends a connection for a fault says which.
func (w *http2Conn) leaving() string {
	switch {
	case !w.settled:
		return silentOfHTTP2
	case w.blamed == 0:
		return ""
	}
	return ", after GOAWAY with " + codeText(w.blamed)
}

// silentOfHTTP2 is of a server that has not said its part of the preface, which does not wait for a request.
const silentOfHTTP2 = ": the server may not speak HTTP/2, of which it has said nothing"

// guess is why no response may have come.
func (w *http2Conn) guess() string {
	if w.settled {
		return ""
	}
	return silentOfHTTP2
}

// codeText is an error code of RFC 9113, section 7.
func codeText(code uint32) string {
	names := [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
		"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR",
		"ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}
	if code < uint32(len(names)) {
		return fmt.Sprintf("code %d (%s)", code, names[code])
	}
	return fmt.Sprintf("code %d", code)
}

// errUnprocessed: the server closed the connection (GOAWAY) and says that it did not take the request up.
var errUnprocessed = errors.New("the server closed the connection (GOAWAY)")

func untaken(code uint32) error { return fmt.Errorf("%w with %s", errUnprocessed, codeText(code)) }

// What a reset says. With code 7 the server has not taken the request up (RFC 9113, section 8.7).
var (
	errReset   = errors.New("the stream was reset")
	errRefused = fmt.Errorf("%w by the server with code %d (refused)", errReset, resetRefused)
)

// errRejected is the same of HTTP/3 (RFC 9114, section 4.1.1).
var errRejected = fmt.Errorf("HTTP/3: %w by the server with H3_REQUEST_REJECTED", errReset)

// errLength: the response is malformed, its stream only (RFC 9113, section 8.1.1).
var errLength = errors.New("the body is not as long as its content-length")

var errPadding = errors.New("a frame shorter than its padding")
