package conform

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// What the strict relay takes from a stack is HTTP to everybody: net/http reads the same head and the same body. It
// passes on what it read and nothing else, and keeps no more than a head.
func FuzzLetter(f *testing.F) {
	for _, s := range []string{"Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\n{\r\n0\r\n\r\n",
		"Content-Length: +2\r\n\r\n{}", "content-length:\t0 \r\nX-Y: \xff\r\n\r\n", "A: b\r\n c\r\n\r\n",
		"Transfer-Encoding: Chunked\r\n\r\n00000000000000\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n1;\r=b\r\n{\r\n0\r\n\r\n",
		"Transfer-Encoding: Chunked\r\n\r\n000000000000000000\r\n\r\n", "Content-Length: 99999999999\r\n\r\n"} {
		f.Add([]byte("HTTP/1.1 200 OK\r\n" + s))
	}
	f.Add([]byte("\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := bufio.NewReader(bytes.NewReader(text))
		head, raw, err := readLetter(in)
		if len(raw) > mostHead+in.Size() || !bytes.HasPrefix(text, raw) {
			t.Fatalf("it keeps %d B of %d", len(raw), len(text))
		}
		if err != nil || !statusLine().MatchString(head.start) || head.start[9] == '1' ||
			strings.Contains("204 304", head.start[9:12]) {
			return // of those there is no body, whatever they say
		}
		var body bytes.Buffer
		if copyBody(&body, in, head) != nil {
			return
		}
		if rest := text[len(raw):]; !bytes.HasPrefix(rest, body.Bytes()) {
			t.Fatalf("of %q it passed on %q", rest, body.Bytes())
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			t.Fatalf("%q: net/http: %v", text, err)
		}
		b, err := io.ReadAll(r.Body)
		if err != nil || len(r.TransferEncoding) == 0 && !bytes.Equal(b, body.Bytes()) {
			t.Fatalf("%q: net/http has the body %q, the relay passed on %q: %v", text, b, body.Bytes(), err)
		}
		for name, values := range r.Header {
			if got := head.fields[strings.ToLower(name)]; !slices.Equal(got, values) {
				t.Fatalf("%q: net/http has %s %q, the relay %q", text, name, values, got)
			}
		}
	})
}
