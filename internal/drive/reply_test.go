package drive

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

type parsed struct {
	status   int
	body     string
	whole    bool
	reusable bool
	err      string
}

// parseIn feeds a stream in pieces, as a connection does, and then closes it.
func parseIn(stream string, bodyless bool, piece func() int) parsed {
	w := &httpConn{buf: make([]byte, 16), most: MostBody}
	w.r.reset(bodyless, MostBody)
	for len(stream) > 0 {
		n := copy(w.space(), stream[:min(max(piece(), 1), len(stream))])
		stream = stream[n:]
		complete, err := w.got(n, 0)
		if err != nil {
			return parsed{err: err.Error()}
		}
		if complete {
			break
		}
	}
	p := parsed{whole: w.closed() == nil}
	if p.whole {
		var body []byte
		p.status, body = w.reply()
		p.body, p.reusable = string(body), w.r.reusable()
	}
	return p
}

func TestHTTPResponse(t *testing.T) {
	long := strings.Repeat("a", mostHead)
	for name, c := range map[string]struct {
		stream   string
		bodyless bool
		want     parsed
	}{
		"length": {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false,
			parsed{200, "hello", true, true, ""}},
		"header in any case": {"HTTP/1.1 200 OK\r\ncOnTeNt-LENGTH:5 \r\n\r\nhello", false,
			parsed{200, "hello", true, true, ""}},
		"empty reason":     {"HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n", false, parsed{200, "", true, true, ""}},
		"no reason at all": {"HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n", false, parsed{404, "", true, true, ""}},
		"lone line feeds":  {"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false, parsed{200, "hi", true, true, ""}},
		"chunked": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n " +
			"world\r\n0\r\n\r\n", false, parsed{200, "hello world", true, true, ""}},
		"chunk extensions, trailers": {"HTTP/1.1 200 OK\r\ntransfer-encoding: " +
			"Chunked\r\n\r\nA;x=\"y\"\r\n0123456789\r\n00 ; z\r\nContent-Length: 7\r\nX: y\r\n\r\n", false,
			parsed{200, "0123456789", true, true, ""}},
		"chunked wins over length": {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: gzip, " +
			"chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", false, parsed{200, "x", true, true, ""}},
		"body until close": {"HTTP/1.1 200 OK\r\n\r\nto the end", false,
			parsed{200, "to the end", true, false, ""}},
		"coding unknown, until close": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\nxyz", false,
			parsed{200, "xyz", true, false, ""}},
		"204 has no body": {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", false,
			parsed{204, "", true, true, ""}},
		"304 has no body": {"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", false,
			parsed{304, "", true, true, ""}},
		"answer to HEAD": {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", true,
			parsed{200, "", true, true, ""}},
		"answer to HEAD for a terabyte": {"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n", true,
			parsed{200, "", true, true, ""}},
		"304 of more than there is": {"HTTP/1.1 304 Not Modified\r\nContent-Length: 99999999999999999999\r\n\r\n", false,
			parsed{304, "", true, true, ""}},
		"chunked wins over any length": {"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", false, parsed{200, "x", true, true, ""}},
		"interim responses": {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: " +
			"9\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", false, parsed{201, "ok", true, true, ""}},
		"Connection: close": {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", false,
			parsed{200, "", true, false, ""}},
		"HTTP/1.0": {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false,
			parsed{200, "", true, false, ""}},
		"HTTP/1.0, kept alive": {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", false,
			parsed{200, "", true, true, ""}},
		"the same length twice": {"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi", false,
			parsed{200, "hi", true, true, ""}},

		"two lengths": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", false,
			parsed{err: "response: two different Content-Length"}},
		"negative length": {"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", false,
			parsed{err: "response: malformed Content-Length"}},
		"empty length": {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", false,
			parsed{err: "response: malformed Content-Length"}},
		"length beyond all": {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", false,
			parsed{err: tooLarge(MostBody).Error()}},
		"chunk beyond all": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", false,
			parsed{err: tooLarge(MostBody).Error()}},
		"chunk size not a size": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", false,
			parsed{err: "response: malformed chunk size"}},
		"chunk longer than said": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n", false,
			parsed{err: "response: chunk longer than its size"}},
		"folded header": {"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", false,
			parsed{200, "", true, true, ""}},
		"folded where it says nothing": {"HTTP/1.1 200 OK\r\nX: a,\r\n\tContent-Length: 9\r\n \r\nContent-Length: " +
			"2\n \n\nhi", false, parsed{200, "hi", true, true, ""}},
		"folded trailer": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n z\r\n\r\n", false,
			parsed{200, "", true, true, ""}},
		"folded length": {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n", false,
			parsed{err: "response: malformed Content-Length"}},
		"folded from the start": {"HTTP/1.1 200 OK\r\n X: y\r\n\r\n", false,
			parsed{err: "response: a header that begins with a folded line"}},
		"folds without end": {"HTTP/1.1 200 OK\r\nX: y" + strings.Repeat("\r\n z", mostHead/4), false,
			parsed{err: errHead.Error()}},
		"no colon": {"HTTP/1.1 200 OK\r\nwhat\r\n\r\n", false, parsed{err: "response: malformed header line"}},
		"space before the colon": {"HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\n", false,
			parsed{err: "response: malformed header line"}},
		"another protocol": {"SSH-2.0-OpenSSH_9.2p1\r\n", false, parsed{err: "response: no HTTP/1 status line"}},
		"header too large": {"HTTP/1.1 200 OK\r\nX: " + long + "\r\n\r\n", false, parsed{err: errHead.Error()}},
		"trailer too large": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + long, false,
			parsed{err: errHead.Error()}},
		"cut in the header":   {"HTTP/1.1 200 OK\r\nContent-Le", false, parsed{}},
		"cut in the body":     {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", false, parsed{}},
		"cut in a chunk":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell", false, parsed{}},
		"cut before the last": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false, parsed{}},
	} {
		for pieces, piece := range map[string]func() int{
			"at once": func() int { return 1 << 20 }, "byte by byte": func() int { return 1 },
			"by seven": func() int { return 7 },
		} {
			if got := parseIn(c.stream, c.bodyless, piece); got != c.want {
				t.Errorf("%s, %s: got %+v, want %+v", name, pieces, got, c.want)
			}
		}
	}
}

// A large chunked body survives the moves within a growing buffer.
func TestHTTPManyChunks(t *testing.T) {
	var stream, body strings.Builder
	stream.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	for i := range 3000 {
		part := strings.Repeat(string(rune('a'+i%26)), i%97+1)
		body.WriteString(part)
		fmt.Fprintf(&stream, "%x;n=%d\r\n%s\r\n", len(part), i, part)
	}
	stream.WriteString("0\r\n\r\n")
	got := parseIn(stream.String(), false, func() int { return 1500 })
	if got.body != body.String() || !got.reusable {
		t.Errorf("got %d bytes, reusable %v; want %d bytes", len(got.body), got.reusable, body.Len())
	}
}

// What chunks cost beside the body is no part of it.
func TestHTTPBodyOfSmallChunks(t *testing.T) {
	const most = 100_000
	w := &httpConn{buf: make([]byte, 16), most: most}
	w.r.reset(false, most)
	stream := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;padding\r\nx\r\n", most) +
		"0\r\nX: y\r\n\r\n"
	for len(stream) > 0 {
		n := copy(w.space(), stream[:min(1500, len(stream))])
		stream = stream[n:]
		if _, err := w.got(n, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, body := w.reply(); string(body) != strings.Repeat("x", most) || !w.reusable() {
		t.Errorf("%d bytes, reusable %v; want %d bytes", len(body), w.reusable(), most)
	}
}

// Wherever a stream is split, the same response is found in it.
func FuzzHTTPResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), uint64(1), false)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"),
		uint64(2), false)
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nuntil close"), uint64(3), false)
	f.Add([]byte("HTTP/1.1 204 No Content\n\nHTTP/1.1 200"), uint64(4), true)
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64, bodyless bool) {
		random := rand.New(rand.NewPCG(seed, 1))
		split := parseIn(string(stream), bodyless, func() int { return 1 + random.IntN(9) })
		if once := parseIn(string(stream), bodyless, func() int { return 1 << 20 }); once != split {
			t.Errorf("at once %+v, split %+v", once, split)
		}
	})
}
