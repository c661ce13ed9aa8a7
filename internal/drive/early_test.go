package drive

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// overTLS is a server whose connections are of TLS.
func overTLS(t *testing.T, serve func(c net.Conn, before int)) func(net.Conn, int) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS()
	t.Cleanup(s.Close)
	config := &tls.Config{Certificates: s.TLS.Certificates}
	return func(c net.Conn, before int) { serve(tls.Server(c, config), before) }
}

// striped sends so many bytes, each eight of them others, and wants them back.
type striped int

func (s striped) Encode(_ uint64, buf []byte) ([]byte, error) {
	for i := range int(s) / 8 {
		buf = binary.BigEndian.AppendUint64(buf, uint64(i))
	}
	return buf, nil
}

func (s striped) Decode(seq uint64, status int, body []byte) error {
	if status != 200 {
		return statusError{got: status}
	}
	if want, _ := s.Encode(seq, nil); !bytes.Equal(body, want) {
		return fmt.Errorf("%d bytes, which are others than those sent", len(body))
	}
	return nil
}

// A server may answer before it has read the whole request: it sends back what comes as it comes, and so reads no more
// than it is heard, or it refuses a body that is too large for it. None of these is a request without a response.
func TestAnswersBeforeTheRequestIsSent(t *testing.T) {
	const size = 12 << 20 // more than all buffers of a connection
	asked := func(c net.Conn) (*bufio.Reader, *http.Request) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return in, nil
		}
		return in, r
	}
	refusal := "HTTP/1.1 413 Too large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
	for name, tt := range map[string]struct {
		serve func(c net.Conn, before int)
		want  string
	}{
		"sends back": {func(c net.Conn, _ int) {
			if _, r := asked(c); r != nil {
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", r.ContentLength)
				io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r.Body}, make([]byte, 1<<16))
			}
		}, ""},
		"refuses and waits": {func(c net.Conn, _ int) {
			if _, r := asked(c); r != nil {
				io.WriteString(c, refusal)
				time.Sleep(30 * time.Second) // until the test is over
			}
		}, "status 413"},
		"refuses and closes": {func(c net.Conn, _ int) {
			if _, r := asked(c); r != nil {
				io.WriteString(c, refusal)
			}
		}, "status 413"},
	} {
		for _, spec := range []Spec{{}, {Concurrency: 2}, {Connection: Pipelined}, {URL: "https"},
			{URL: "https", Concurrency: 2}} {
			secure := spec.URL != ""
			if name == "refuses and waits" && secure && spec.Concurrency > 1 {
				continue // crypto/tls cannot stop in the midst of a write
			}
			serve := tt.serve
			if secure {
				serve = overTLS(t, serve)
			}
			spec.URL = hostile(t, serve)
			if secure {
				spec.URL, spec.Credentials.Insecure = strings.Replace(spec.URL, "http", "https", 1), true
			}
			_, xs := driveWithin(t, 20*time.Second, spec, Load{Schedule: ClosedLoop(2, 0)}, striped(size))
			for _, x := range xs {
				if x.Failure != tt.want || x.Out != size || tt.want == "" && x.In != size {
					t.Errorf("%s, %+v: request %d of %d bytes: %q", name, spec, x.Seq, x.Out, x.Failure)
				}
			}
		}
	}
}

// A request that waits for a stream is on no connection: a reset of the one that was to carry it is none of its.
func TestResetConcernsOnlyWhatIsInFlight(t *testing.T) {
	var asked atomic.Int64
	one := append(appendFrame(nil, 6, frameSettings, 0, 0), 0, settingStreams, 0, 0, 0, 1)
	url := http2Peer(t, func(conn net.Conn, _ int, stream uint32) {
		switch asked.Add(1) {
		case 1:
			conn.Write(append(one, http2OK(stream)...))
		case 2:
			time.Sleep(20 * time.Millisecond) // so that others wait
			reset(conn)
			conn.Close()
		default:
			conn.Write(http2OK(stream))
		}
	})
	d, err := Dial(t.Context(), Spec{URL: url, Protocol: HTTP2, Connection: Multiplexed, Concurrency: 8,
		Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(1, 0)}, Fixed("x")); err != nil {
		t.Fatal(err)
	}
	r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(8, 0), Record: true}, Fixed("x"))
	if err != nil {
		t.Fatal(err)
	}
	if n := failures(r); n != 1 {
		t.Errorf("%d of 8 requests failed; one was in flight when the connection was reset", n)
	}
}
