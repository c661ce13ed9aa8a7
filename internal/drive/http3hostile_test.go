package drive

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// http3Peer is a server of QUIC that opens a control stream of HTTP/3 and leaves each request to serve; it is told how
// many connections there were before.
func http3Peer(t *testing.T, transport *quic.Transport, config *quic.Config,
	serve func(c *quic.Conn, s *quic.Stream, before int)) Spec {
	t.Helper()
	tlsServer, credentials := http2Server(t, true, nil)
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	transport.Conn = socket
	l, err := transport.Listen(http3.ConfigureTLSConfig(tlsServer.TLS), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); transport.Close(); socket.Close() })
	go func() {
		for before := 0; ; before++ {
			c, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			go func() {
				control, err := c.OpenUniStream()
				if err == nil {
					_, err = control.Write([]byte{0x00, 0x04, 0}) // a control stream, and no SETTINGS of ours
				}
				for err == nil {
					var s *quic.Stream
					if s, err = c.AcceptStream(t.Context()); err == nil {
						go serve(c, s, before)
					}
				}
			}()
		}
	}()
	return Spec{URL: "https://" + socket.LocalAddr().String(), Protocol: HTTP3, Credentials: credentials}
}

// http3Field is a field of a header that is in no table (RFC 9204, section 4.5.6).
func http3Field(name, value string) string {
	return "\x27" + string(rune(len(name)-7)) + name + string(rune(len(value))) + value
}

// http3Header is a frame with fields; http3OK is :status 200.
func http3Header(fields ...string) string {
	all := "\x00\x00" + strings.Join(fields, "")
	return "\x01" + string(rune(len(all))) + all
}

const http3OK = "\xd9"

// What a server of HTTP/3 answers counts as answered where it is a whole response, and else the reason is said in words
// of the protocol, without any of the server's own.
func TestHTTP3AnswersOfAHostileServer(t *testing.T) {
	ok, two := http3Header(http3OK), "\x00\x02ok"
	length := func(n string) string { return http3Field("content-length", n) }
	interim := http3Header(http3Field(":status", "103"))
	const before, mid = "HTTP/3: the stream ended before a response", "HTTP/3: the stream ended in mid-response"
	const unequal = "HTTP/3: the body is not as long as its content-length"
	const invalid, large = "HTTP/3: an invalid response: ", "response: header larger than 64 KiB"
	for want, tt := range map[string][]string{
		"": {
			ok + two, http3Header(http3OK, length("2")) + two,
			interim + interim + interim + ok + two,                       // RFC 9114, section 4.1
			ok + two + http3Header(http3Field("x-checksum", "1")),        // trailers: section 4.1
			ok + "\x21\x03abc" + two + "\x40\x21\x00",                    // frames of reserved types: section 7.2.8
			http3Header(http3Field(":status", "204"), length("0")),       // RFC 9110, section 6.4.1
			http3Header(http3Field(":status", "299")) + "\x00\x00" + two, // an empty frame of data
		},
		// A frame must end with the stream or before (RFC 9114, section 7.1).
		mid:    {ok + "\x00\x09ok", ok + two + "\x00\x02o", ok + "\x00\x02", ok + two + "\x01\x09\x00"},
		before: {"", interim, "\x01\x1e\x00\x00\xd9"},
		// Section 4.1.2.
		unequal: {http3Header(http3OK, length("9")) + two, http3Header(http3OK, length("1")) + two,
			http3Header(http3OK, length("9")) + "\x00\x09ok"},
		invalid + "contradicting content lengths":  {http3Header(http3OK, length("1"), length("2"))},
		invalid + "missing :status field":          {http3Header(length("0"))},
		invalid + "header field is not lower-case": {http3Header(http3OK, http3Field("X-Secretive", "s"))},
		invalid + "invalid header field name":      {http3Header(http3OK, http3Field("connection", "close"))},
		large:                                      {"\x01\x80\x02\x00\x00", "\x01\xc0\x00\x00\x02\x00\x00\x00\x00"},
		"status 413":                               {http3Header(http3Field(":status", "413")) + two},
		"status 421":                               {http3Header(http3Field(":status", "421"))},
		"HTTP/3: expected first frame to be a HEADERS frame": {two, "\x04\x00" + ok},
	} {
		for _, says := range tt {
			for _, connection := range []string{KeepAlive, Multiplexed} {
				s := http3Peer(t, &quic.Transport{}, nil, func(_ *quic.Conn, s *quic.Stream, _ int) {
					if strings.Contains(want, "status") {
						s.CancelRead(quic.StreamErrorCode(http3.ErrCodeNoError)) // early: RFC 9114, section 4.1
					} else {
						io.Copy(io.Discard, s)
					}
					io.WriteString(s, says)
					if !strings.Contains(want, "64 KiB") {
						s.Close()
					}
				})
				s.Connection = connection
				_, xs := drive(t, s, Load{Schedule: ClosedLoop(2, 0)}, Fixed("x"))
				for _, x := range xs {
					if x.Failure != want || want == "" && x.In != int64(strings.Count(says, "ok")*2) {
						t.Errorf("%s, %q: %q, %d B, want %q", connection, says, x.Failure, x.In, want)
					}
				}
			}
		}
	}
}

// A server may close a connection at any time, and says why (RFC 9114, section 5.3). What is idempotent goes again over
// another one, as over HTTP/1.1 and HTTP/2 (RFC 9110, section 9.2.2), unless the connection was made for it.
func TestHTTP3ConnectionsThatTheServerCloses(t *testing.T) {
	for _, tt := range []struct {
		method, connection string
		again              int
		want               []string
	}{
		{"POST", KeepAlive, 0, []string{"", "connection closed before a response, with H3_EXCESSIVE_LOAD", ""}},
		{"POST", Multiplexed, 0, []string{"", "connection closed before a response, with H3_EXCESSIVE_LOAD", ""}},
		{"GET", KeepAlive, 1, []string{"", "", ""}},
		{"GET", Multiplexed, 1, []string{"", "", ""}},
	} {
		s := http3Peer(t, &quic.Transport{}, nil, func(c *quic.Conn, s *quic.Stream, before int) {
			if s.StreamID() > 0 && before == 0 { // the second request
				c.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeExcessiveLoad), "secret")
				return
			}
			io.Copy(io.Discard, s)
			io.WriteString(s, http3Header(http3OK)+"\x00\x02ok")
			s.Close()
		})
		s.Method, s.Connection = tt.method, tt.connection
		r, xs := drive(t, s, Load{Schedule: ClosedLoop(3, 0)}, Fixed("x"))
		for i, x := range xs {
			if x.Failure != tt.want[i] {
				t.Errorf("%s, %s: request %d: %q, want %q", tt.method, tt.connection, x.Seq, x.Failure, tt.want[i])
			}
		}
		if q := r.Quality; q.Repetitions != tt.again || q.Reconnects != 1 {
			t.Errorf("%s, %s: %d sent again, want %d; %d connections made anew", tt.method, tt.connection, q.Repetitions,
				tt.again, q.Reconnects)
		}
	}
}

// The ends of a connection of QUIC (RFC 9000, section 10) in words, and those of a handshake, without numbers and
// without what the server has written.
func TestHTTP3EndsInWords(t *testing.T) {
	for want, err := range map[string]error{
		"connection closed before a response: nothing had come for its idle timeout": &quic.IdleTimeoutError{},
		"connection reset before a response":                                         &quic.StatelessResetError{},
		"connection closed before a response, with FLOW_CONTROL_ERROR": &quic.TransportError{Remote: true,
			ErrorCode: quic.FlowControlError, FrameType: 8, ErrorMessage: "secret"},
		"CRYPTO_ERROR 0x128 (remote): tls: handshake failure": &quic.TransportError{Remote: true, ErrorCode: 0x128,
			ErrorMessage: "secret"},
		"the server speaks no version of QUIC that edgegauge speaks": &quic.VersionNegotiationError{
			Theirs: []quic.Version{0x0a0a0a0a}},
		"HTTP/3: connection closed for a fault of the server: H3_FRAME_UNEXPECTED": &quic.ApplicationError{
			ErrorCode: quic.ApplicationErrorCode(http3.ErrCodeFrameUnexpected)},
		"HTTP/3: the stream was reset by the server with H3_INTERNAL_ERROR": &http3.Error{Remote: true,
			ErrorCode: http3.ErrCodeInternalError},
	} {
		d := &Driver{target: &target{Spec: Spec{Timeout: time.Second}}}
		r, w := &run{d: d}, &http3Stream{d: d}
		l := newLane(w, 0)
		if got := r.reason(l, w.told(r, l, t.Context(), err)); got != want {
			t.Errorf("%T: %q, want %q", err, got, want)
		}
	}
}

// A connection outlasts each answer that is waited for (RFC 9000, section 10.1), and no server begins a stream on it
// (RFC 9114, section 6.1).
func TestHTTP3LimitsOfItsOwn(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, time.Minute, time.Hour} {
		if c := quicConfig(timeout); c.MaxIdleTimeout <= timeout || c.MaxIdleTimeout < 30*time.Second {
			t.Errorf("a request may take %v, and its connection be idle for %v", timeout, c.MaxIdleTimeout)
		}
	}
	s := http3Peer(t, &quic.Transport{}, nil, func(c *quic.Conn, s *quic.Stream, _ int) {
		status := "200"
		if _, err := c.OpenStream(); err == nil {
			status = "500"
		}
		io.WriteString(s, http3Header(http3Field(":status", status)))
		s.Close()
	})
	_, xs := drive(t, s, Load{Schedule: ClosedLoop(1, 0)}, Fixed("x"))
	sound(t, xs)
}
