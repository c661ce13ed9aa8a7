package reference

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// What a server dropped or refused stands in its log, which the lab keeps with
// the trial; a server that was spared says nothing.
func TestServersTellWhatTheyDropped(t *testing.T) {
	for _, tt := range []struct {
		stack     string
		serve     stack.Serve
		datagrams []string
		want      string
	}{
		{"coap-protobuf", stack.Serve{Security: "none", Encoding: "protobuf", Transport: "coap"}, nil, ""},
		{"coap-protobuf", stack.Serve{Security: "none", Encoding: "protobuf", Transport: "coap"},
			[]string{"\x49\x02\x00\x01", "\x40\x02\x00\x02\xff", "\x40\x00\x00\x03", "\x60\x00\x00\x04",
				"\x40\x02\x00\x05\xd1\x18\x01"}, "dropped or refused: 2 malformed, 1 refused, 2 ignored"},
		{"coap-protobuf", stack.Serve{Security: "oscore", Encoding: "protobuf", Transport: "coap",
			Credentials: map[string]string{"oscore_secret": "00112233", "oscore_salt": "00"}},
			[]string{"\x40\x02\x00\x01\x9c\x19\x00\x08contexts\x01\xff0123456789abcdef"},
			"dropped or refused: 2 refused, 1 not decrypted under OSCORE"},
	} {
		in, stdin := io.Pipe()
		out, stdout := net.Pipe()
		var said bytes.Buffer
		done := make(chan int, 1)
		go func() { done <- Main([]string{Prefix + tt.stack, "serve"}, in, stdout, &said) }()
		s := tt.serve
		s.Service, s.Host, s.Limits.Body = "echo", "127.0.0.1", 1000
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ready, err := stack.NewConn(stdin, out).Serve(ctx, s)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(ready.URL)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("udp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tt.datagrams {
			io.WriteString(conn, d)
		}
		io.WriteString(conn, "\x40\x01\x00\x77\xb1x") // GET x, which is answered when all before is done
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		for b := make([]byte, 100); ; {
			n, err := conn.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if n >= 4 && b[3] == 0x77 {
				break
			}
		}
		conn.Close()
		stdin.Close()
		if status := <-done; status != 0 {
			t.Errorf("ended with %d", status)
		}
		if got := said.String(); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s with %d bad datagrams said %q, want %q", tt.stack, len(tt.datagrams), got, tt.want)
		}
	}
}
