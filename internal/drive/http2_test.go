package drive

import (
	"bytes"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// http2Server is net/http's, on TCP with prior knowledge or on TLS.
// Before it starts, set changes it.
func http2Server(t *testing.T, secure bool, h http.HandlerFunc, set ...func(*http.Server)) (*httptest.Server,
	Credentials) {
	s := httptest.NewUnstartedServer(h)
	for _, f := range set {
		f(s.Config)
	}
	s.Config.Protocols = new(http.Protocols)
	var c Credentials
	if secure {
		s.EnableHTTP2 = true
		s.Config.Protocols.SetHTTP2(true)
		s.StartTLS()
		c.CA = filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(c.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
			0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, c
}

func TestHTTP2AgainstNetHTTP(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, connection := range []string{KeepAlive, PerRequest} {
			for _, concurrency := range []int{1, 4} {
				if testing.Short() && secure != (concurrency == 4) {
					continue
				}
				server, credentials := http2Server(t, secure, func(w http.ResponseWriter, r *http.Request) {
					if r.ProtoMajor != 2 || r.Header.Get("X-Note") != "seen" || r.Header.Get("Content-Type") != "text/plain" {
						http.Error(w, "not as sent", 400)
						return
					}
					w.WriteHeader(http.StatusEarlyHints)
					w.Header().Set("Long", strings.Repeat("h", 20_000)) // takes a CONTINUATION
					echo(w, r)
					w.Header().Set(http.TrailerPrefix+"After", "all")
				})
				d, err := Dial(t.Context(), Spec{URL: server.URL + "/x?chunked", Protocol: HTTP2, Connection: connection,
					Concurrency: concurrency,
					ContentType: "text/plain", Header: []string{"X-Note: seen"}, Credentials: credentials})
				if err != nil {
					t.Fatal(err)
				}
				for _, pad := range []int{0, 3, 7000} { // up to 210 kB, more than a window and many frames
					record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(30, 0), Record: true}, numbered{pad})
					if err != nil {
						t.Fatal(err)
					}
					for x := range record.Exchanges() {
						if x.Failure != "" || x.RTT() <= 0 {
							t.Errorf("secure %v, %s, %d connections, pad %d: %+v", secure, connection, concurrency, pad, x)
							break
						}
					}
					if connection == KeepAlive && record.Quality.Reconnects != 0 {
						t.Errorf("secure %v, %d connections: %d made anew", secure, concurrency, record.Quality.Reconnects)
					}
				}
				d.Close()
			}
		}
	}
}

func TestHTTP2RefusesHTTP1ByALPN(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, err := Dial(t.Context(), Spec{URL: s.URL, Protocol: HTTP2, Credentials: Credentials{Insecure: true}})
	if err == nil || !strings.Contains(err.Error(), "HTTP/2") &&
		!strings.Contains(err.Error(), "no application protocol") {
		t.Errorf("got %v", err)
	}
	if _, err := Dial(t.Context(), Spec{URL: s.URL, Protocol: "spdy"}); err == nil ||
		!strings.Contains(err.Error(), `protocol "spdy"; write http/1.1, h2, grpc or h3`) {
		t.Errorf("got %v", err)
	}
}

// An early answer stops the body; the connection goes on.
func TestHTTP2EarlyAnswer(t *testing.T) {
	var asked atomic.Int64
	server, _ := http2Server(t, false, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%2 == 1 {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		echo(w, r)
	})
	d, err := Dial(t.Context(), Spec{URL: server.URL, Protocol: HTTP2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(10, 0), Record: true}, numbered{pad: 400_000})
	if err != nil {
		t.Fatal(err)
	}
	for x := range record.Exchanges() {
		if refused := strings.HasPrefix(x.Failure, "status 413"); refused != (x.Seq%2 == 1) || !refused && x.Failure != "" {
			t.Errorf("request %d: %q", x.Seq, x.Failure)
		}
	}
	if record.Quality.Reconnects > 0 {
		t.Errorf("%d connections made anew", record.Quality.Reconnects)
	}
}

// http2Peer serves one connection after the other with a script for frames.
func http2Peer(t *testing.T, answer func(conn net.Conn, number int, stream uint32)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for number := 0; ; number++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := io.ReadFull(conn, make([]byte, len(http2Preface))); err != nil {
					return
				}
				conn.Write(appendFrame(nil, 0, frameSettings, 0, 0))
				for {
					var h [http2HeaderBytes]byte
					if _, err := io.ReadFull(conn, h[:]); err != nil {
						return
					}
					io.CopyN(io.Discard, conn, int64(h[0])<<16|int64(h[1])<<8|int64(h[2]))
					if h[4]&flagEndStream != 0 && (h[3] == frameData || h[3] == frameHeaders) {
						answer(conn, number, binary.BigEndian.Uint32(h[5:]))
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func http2OK(stream uint32) []byte {
	return append(appendFrame(nil, 1, frameHeaders, flagEndHeaders|flagEndStream, stream), 0x88) // :status 200
}

// A server that goes away without having taken a request up gets it on a new connection.
func TestHTTP2GoAway(t *testing.T) {
	url := http2Peer(t, func(conn net.Conn, number int, stream uint32) {
		if stream < 5 {
			conn.Write(append(appendFrame(nil, 8, framePing, 0, 0), "12345678"...))
			conn.Write(http2OK(stream))
			return
		}
		b := appendFrame(nil, 8, frameGoAway, 0, 0)
		b = binary.BigEndian.AppendUint32(b, 3)
		conn.Write(binary.BigEndian.AppendUint32(b, 0))
	})
	for _, concurrency := range []int{1, 2} {
		d, err := Dial(t.Context(), Spec{URL: url, Protocol: HTTP2, Concurrency: concurrency, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(20, 0), Record: true}, Fixed("x"))
		if err != nil {
			t.Fatal(err)
		}
		for x := range record.Exchanges() {
			if x.Failure != "" {
				t.Errorf("%d connections, request %d: %s", concurrency, x.Seq, x.Failure)
			}
		}
		if record.Quality.Reconnects == 0 {
			t.Error("no connection was made anew")
		}
		d.Close()
	}
}

func TestHTTP2BadServers(t *testing.T) {
	window := binary.BigEndian.AppendUint32(appendFrame(nil, 4, frameWindow, 0, 0), http2Most)
	for want, frames := range map[string]func(stream uint32) []byte{
		"data before a response's header": func(s uint32) []byte {
			return append(appendFrame(nil, 1, frameData,
				flagEndStream, s), 'x')
		},
		"reset by the server with code 7": func(s uint32) []byte {
			return append(appendFrame(nil, 4, frameReset, 0, s),
				0, 0, 0, 7)
		},
		"16385 bytes exceeds the limit of 16384": func(s uint32) []byte { return appendFrame(nil, 16385, frameData, 0, s) },
		"a push, although disabled":              func(s uint32) []byte { return appendFrame(nil, 0, framePush, 0, s) },
		"an incomplete header block": func(s uint32) []byte {
			return append(appendFrame(nil, 0, frameHeaders, 0, s),
				http2OK(s)...)
		},
		"a window over 2^31-1": func(uint32) []byte { return bytes.Repeat(window, 3) },
		"a frame shorter than its padding": func(s uint32) []byte {
			return append(appendFrame(nil, 1, frameHeaders, flagPadded|flagEndHeaders, s), 9)
		},
		"a response without a status": func(s uint32) []byte {
			return appendFrame(nil, 0, frameHeaders,
				flagEndHeaders|flagEndStream, s)
		},
		"settings whose length": func(uint32) []byte {
			return append(appendFrame(nil, 1,
				frameSettings, 0, 0), 0)
		},
		"invalid indexed representation index": func(s uint32) []byte {
			return append(appendFrame(nil, 1, frameHeaders,
				flagEndHeaders, s), 0xfe)
		},
	} {
		url := http2Peer(t, func(conn net.Conn, _ int, stream uint32) { conn.Write(frames(stream)) })
		d, err := Dial(t.Context(), Spec{URL: url, Protocol: HTTP2})
		if err != nil {
			t.Fatal(err)
		}
		record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(1, 0), Record: true}, Fixed("x"))
		if err != nil {
			t.Fatal(err)
		}
		for x := range record.Exchanges() {
			if !strings.Contains(x.Failure, want) {
				t.Errorf("got %q, want %q", x.Failure, want)
			}
		}
		d.Close()
	}
}

// A response that is shorter or longer than it says is a failure, of its stream only.
func TestHTTP2ContentLength(t *testing.T) {
	header := func(stream uint32, flags byte, status byte, length string) []byte {
		block := append([]byte{status, 0x0f, 0x0d, byte(len(length))}, length...) // :status, content-length
		return append(appendFrame(nil, len(block), frameHeaders, flagEndHeaders|flags, stream), block...)
	}
	body := func(stream uint32, n int) []byte {
		return append(appendFrame(nil, n, frameData, flagEndStream, stream), make([]byte, n)...)
	}
	const ok, notModified = 0x88, 0x8b // 200, 304
	for _, tt := range []struct {
		what, method string
		answer       func(stream uint32) []byte
		want         string
	}{
		{"as long", "POST", func(s uint32) []byte { return append(header(s, 0, ok, "10"), body(s, 10)...) }, ""},
		{"shorter", "POST", func(s uint32) []byte { return append(header(s, 0, ok, "1000"), body(s, 10)...) },
			"not as long as its content-length: 10 bytes instead of 1000"},
		{"longer", "POST", func(s uint32) []byte { return append(header(s, 0, ok, "9"), body(s, 10)...) },
			"10 bytes instead of 9"},
		{"none at all", "POST", func(s uint32) []byte { return header(s, flagEndStream, ok, "5") }, "0 bytes instead of 5"},
		{"HEAD", "HEAD", func(s uint32) []byte { return header(s, flagEndStream, ok, "5") }, ""},
		{"not modified", "GET", func(s uint32) []byte { return header(s, flagEndStream, notModified, "5") }, "status 304"},
	} {
		for _, connection := range []string{KeepAlive, Multiplexed} {
			url := http2Peer(t, func(conn net.Conn, number int, stream uint32) {
				if stream%4 == 1 || tt.want == "status 304" { // every other one
					conn.Write(tt.answer(stream))
				} else {
					conn.Write(http2OK(stream))
				}
			})
			d, err := Dial(t.Context(), Spec{URL: url, Protocol: HTTP2, Method: tt.method, Connection: connection,
				Concurrency: map[string]int{KeepAlive: 1, Multiplexed: 3}[connection], Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			var message Fixed
			if tt.method == "POST" {
				message = Fixed("x")
			}
			record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(20, 0), Record: true}, message)
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for x := range record.Exchanges() {
				if x.Failure != "" {
					failed++
				}
				if x.Failure != "" && (tt.want == "" || !strings.Contains(x.Failure, tt.want)) {
					t.Errorf("%s, %s, request %d: got %q, want %q", tt.what, connection, x.Seq, x.Failure, tt.want)
				}
			}
			if tt.want == "" && failed != 0 || tt.want != "" && failed == 0 ||
				connection == Multiplexed && failed != 0 && failed != 10 && tt.want != "status 304" {
				t.Errorf("%s, %s: %d of 20 requests failed", tt.what, connection, failed)
			}
			d.Close()
		}
	}
}

func TestGRPCStatus(t *testing.T) {
	server, _ := http2Server(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		status := "0"
		switch {
		case r.Header.Get("Te") != "trailers" || len(body) < 5 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-5:
			status = "3"
		case string(body[5:]) == "fail":
			status = "13"
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", "boom")
		case string(body[5:]) == "half":
			w.Write(body[:len(body)-1])
		default:
			w.Write(body)
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
	})
	d, err := Dial(t.Context(), Spec{URL: server.URL, Protocol: GRPC, ContentType: "application/grpc"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for body, want := range map[string]error{"": nil, "hello": nil, "fail": errors.New("500 grpc-status 13: boom"),
		"half": errors.New("500 the response is not one uncompressed gRPC message")} {
		record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(2, 0), Record: true}, same(body))
		if err != nil {
			t.Fatal(err)
		}
		for x := range record.Exchanges() {
			if got := x.Failure; got != "" && want == nil || want != nil && got != want.Error() {
				t.Errorf("%q: got %q, want %v", body, got, want)
			}
		}
	}
}

// same wants back what it sends.
type same string

func (s same) Encode(_ uint64, buf []byte) ([]byte, error) { return append(buf, s...), nil }

func (s same) Decode(_ uint64, status int, body []byte) error {
	if status != 200 || string(body) != string(s) {
		return fmt.Errorf("%d %s", status, body)
	}
	return nil
}

// The seeds captured-* in testdata/fuzz are of real exchanges with other makes, as
// stacks/reference/testdata/capture.py takes them.
func FuzzHTTP2Frames(f *testing.F) {
	f.Add(http2OK(1), uint64(1))
	f.Add(append(appendFrame(nil, 0, frameSettings, 0, 0),
		append(append(appendFrame(nil, 1, frameHeaders, flagEndHeaders, 1), 0x88),
			append(appendFrame(nil, 4, frameData, flagPadded|flagEndStream, 1), 1, 'h', 'i', 0)...)...), uint64(2))
	f.Add(append(appendFrame(nil, 6, frameSettings, 0, 0), 0, 4, 0, 1, 0, 0), uint64(3))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		split := http2In(stream, func() int { return 1 + random.IntN(9) })
		if once := http2In(stream, func() int { return 1 << 20 }); once != split {
			t.Errorf("at once %s, split %s", once, split)
		}
	})
}

// http2In is what a wire makes of a stream that comes in pieces.
func http2In(stream []byte, piece func() int) string {
	w := newHTTP2Conn(Spec{Method: "POST", MostBody: MostBody}, "http", "h", "/")
	if err := w.start([]byte("body"), 0); err != nil {
		return err.Error()
	}
	w.next()
	for len(stream) > 0 {
		n := min(piece(), len(stream))
		if n = copy(w.space(), stream[:n]); n == 0 {
			panic("no space")
		}
		whole, err := w.got(n, 0)
		if err != nil {
			return err.Error()
		}
		if stream = stream[n:]; whole {
			status, body := w.reply()
			return fmt.Sprint(status, string(body), len(w.out) > 1<<20)
		}
	}
	return "more"
}
