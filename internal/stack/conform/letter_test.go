package conform

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// The relay forgives nothing that RFC 9112 forbids, and passes on what it allows.
func TestStrictRelayFindsWhatIsNotHTTP(t *testing.T) {
	const ask = "POST " + relayPrefix + "/echo HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n{}"
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	for _, tt := range []struct{ what, ask, answer, want string }{
		{"nothing", ask, answer, ""},
		{"chunks", ask, chunked + "1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n", ""},
		{"a reason left out", ask, "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}", ""},
		{"a request's lines without CR", strings.ReplaceAll(ask, "\r", ""), answer, "does not end with CR LF"},
		{"an answer's lines without CR", ask, strings.ReplaceAll(answer, "\r", ""), "does not end with CR LF"},
		{"another path", strings.Replace(ask, relayPrefix, "", 1), answer, "begins with"},
		{"another method", strings.Replace(ask, "POST", "PUT", 1), answer, "begins with"},
		{"another Host", strings.Replace(ask, "HOST", "localhost", 1), answer, "Host"},
		{"Expect", strings.Replace(ask, "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1), answer, "costs a round trip"},
		{"HTTP/1.0", ask, strings.Replace(answer, "1.1", "1.0", 1), "no status line"},
		{"two lengths", ask, strings.Replace(answer, "\r\n\r\n", "\r\nContent-Length: 2\r\n\r\n", 1), "2 times"},
		{"length and chunks", ask, strings.Replace(answer, "\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n", 1),
			"and Transfer-Encoding"},
		{"no length", ask, "HTTP/1.1 200 OK\r\n\r\n{}", "no Content-Length"},
		{"a space before a colon", ask, strings.Replace(answer, "Length:", "Length :", 1), "is no field"},
		{"a wrong size of a chunk", ask, chunked + "3\r\n{}\r\n0\r\n\r\n", "instead of CR LF"},
		{"an answer behind an empty line", ask, "\r\n" + answer, "begins with an empty line"},
		{"CR within the line of a chunk", ask, chunked + "2;a\r=b\r\n{}\r\n0\r\n\r\n", "does not end with CR LF"},
		{"a chunk in decimal words", ask, chunked + "two\r\n{}\r\n0\r\n\r\n", "no size"},
		{"a body that ends too soon", ask, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", "EOF"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, tt.answer)
			c.Close()
		}()
		r, err := newStrictRelay("http://"+l.Addr().String()+"/echo", 0)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", r.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		io.WriteString(c, strings.Replace(tt.ask, "HOST", r.listener.Addr().String(), 1))
		c.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(c)
		c.Close()
		l.Close()
		r.close()
		saw, fault := r.seen()
		switch {
		case tt.want == "" && (fault != nil || len(saw) != 1 || string(got) != tt.answer):
			t.Errorf("%s: %v, %d exchanges, got %q", tt.what, fault, len(saw), got)
		case tt.want != "" && !strings.Contains(fmt.Sprint(fault), tt.want):
			t.Errorf("%s: got %v, want %q", tt.what, fault, tt.want)
		}
	}
}

// A client that has its answer may ask at once what the relay saw: it has been seen by then.
func TestAnExchangeIsSeenBeforeItEnds(t *testing.T) {
	r := &strictRelay{relay: &relay{listener: listening(t)}, server: &url.URL{Path: "/echo"}, prefix: relayPrefix}
	ask := "POST " + relayPrefix + "/echo HTTP/1.1\r\nHost: " + r.addr() + "\r\nContent-Length: 2\r\n\r\n{}"
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	var got strings.Builder
	seen := -1
	client := writer(func(b []byte) {
		got.Write(b)
		all, _ := r.seen()
		seen = len(all)
	})
	err := r.exchange(client, writer(func([]byte) {}), bufio.NewReader(strings.NewReader(ask)),
		bufio.NewReader(strings.NewReader(answer)))
	if err != nil || got.String() != answer || seen != 1 {
		t.Errorf("%d exchanges were seen when the last byte of %q was written: %v", seen, got.String(), err)
	}
}

// A writer is a connection that is only written to.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

func listening(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// What is judged of pauses, repeated messages and sizes is so where it should be and nowhere else.
func TestTimesOfAServerAreJudged(t *testing.T) {
	at := func(deserialization ...time.Duration) (all exchangesOf) {
		for _, d := range deserialization {
			all = append(all, measure.Exchange{Deserialization: d, Total: d + 1000})
		}
		return all
	}
	if err := judgePauses(at(0, time.Millisecond, time.Second)); err != nil {
		t.Errorf("one request that a busy machine made slow: %v", err)
	}
	if err := judgePauses(at(0, requestPause-5*time.Millisecond, time.Second)); err == nil {
		t.Error("times that contain a pause are not found")
	}
	if err := judgeRepeats(at(20000, 9000, 21000, 8000, 19000, 9000)); err != nil {
		t.Errorf("a cache of the CPU: %v", err)
	}
	if err := judgeRepeats(at(20000, 900, 21000, 800, 19000, 22000)); err == nil {
		t.Error("a server that remembers is not found")
	}
	if err := judgeRepeats(at(900, 100, 800, 100)); err != nil {
		t.Errorf("less than a microsecond: %v", err)
	}
	for _, tt := range []struct {
		small, large time.Duration
		right        bool
	}{{100, 100, false}, {100, 40000, true}, {8, 90, false}, {1000, 1900, false},
		{1600, 2800, false}, {3000, 5100, true}} {
		err := judgeGrowth(map[string][]time.Duration{"server's serialization": {tt.small, tt.large}}, leastGrowth)
		if (err == nil) != tt.right {
			t.Errorf("%v and %v: got %v", tt.small, tt.large, err)
		}
	}
}
