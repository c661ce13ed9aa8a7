package coap

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// startTCP serves on a free TCP port until the test ends.
func startTCP(t testing.TB, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.ServeStreams(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// The lengths at which the header of RFC 8323, section 3.2, changes its form.
func TestStreamFormBothWays(t *testing.T) {
	for _, n := range []int{0, 1, 11, 12, 13, 14, 267, 268, 269, 270, 65803, 65804, 65805, 200_000} {
		var m, got Message
		m.Code, m.Token, m.Payload = POST, []byte("token"), pattern(n)
		b := m.AppendStream(nil)
		if size, err := got.DecodeStream(append(bytes.Clone(b), "more"...), len(b)); err != nil || size != len(b) ||
			!bytes.Equal(got.Payload, m.Payload) || string(got.Token) != "token" || got.Code != POST {
			t.Errorf("%d bytes of payload: size %d of %d, %v", n, size, len(b), err)
		}
		for _, cut := range []int{0, 1, 2, len(b) - 1} {
			if size, err := got.DecodeStream(b[:cut], len(b)); size != 0 || err != nil {
				t.Errorf("%d of %d bytes: size %d, %v", cut, len(b), size, err)
			}
		}
		if _, err := got.DecodeStream(b[:min(6, len(b))], len(b)-1); err != ErrStream {
			t.Errorf("%d bytes are above the limit: %v", len(b), err)
		}
	}
	// The example of RFC 8323, section 5.3: a CSM with Max-Message-Size 1152 and Block-Wise-Transfer.
	var m Message
	if n, err := m.DecodeStream(unhex(t, "40e12204802080")[:0], 9); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestServeOverTCP(t *testing.T) {
	s := &Server{Handler: echo}
	at := startTCP(t, s)
	c, err := DialTCP(t.Context(), at, Params{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// the first large ones may go in blocks: the CSM is not there yet
	for _, n := range []int{0, 1, 1024, 1025, 100_000, 500_000, 500_000} {
		reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Format: CBOR, Body: pattern(n)})
		if err != nil || reply.Code != Changed || !bytes.Equal(reply.Body, pattern(n)) {
			t.Fatalf("%d bytes: got %v, %d bytes, %v", n, reply.Code, len(reply.Body), err)
		}
	}
	if !c.x.x.uploading && c.x.signal.most < 500_000 {
		t.Errorf("the server's CSM was not heard: it takes %d bytes", c.x.signal.most)
	}
	requests := s.Counts.Requests.Load()
	if requests != 7 {
		t.Errorf("the handler saw %d requests, want 7", requests)
	}
	if reply, err := c.Do(t.Context(), &Call{Method: GET, Path: "nowhere"}); err != nil || reply.Code != NotFound {
		t.Errorf("got %v, %v", reply.Code, err)
	}
	if reply, err := c.Do(t.Context(), &Call{Method: GET, Path: "slow"}); err != nil || string(reply.Body) != "at last" {
		t.Errorf("a slow answer: got %v, %v", reply.Code, err)
	}
	if reply, err := c.Do(t.Context(), &Call{Method: GET, Path: "echo", Options: []Option{{Number: 9999}}}); err != nil ||
		reply.Code != BadOption {
		t.Errorf("an unknown critical option: got %v, %v", reply.Code, err)
	}
}

// A peer that says nothing in a CSM takes 1152 bytes, so bodies go in blocks.
func TestStreamWithoutCSM(t *testing.T) {
	s := &Server{Handler: echo}
	conn, err := net.Dial("tcp", startTCP(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	x := NewStreamExchange(Params{}, new(Settings), 1)
	x.signal.out = nil // nor do we
	largest := 0
	took := func(n int) {
		b := x.Space()
		got, err := conn.Read(b[:min(n, len(b))])
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Took(got, 0); err != nil {
			t.Fatal(err)
		}
		x.signal.most = baseMessageSize // and what it said is not heard
		largest = max(largest, x.n)
	}
	for x.Start(&Call{Method: POST, Path: "echo", Body: pattern(10_000)}, 0); !x.Done(); took(100) {
		for b := x.Next(); b != nil; b = x.Next() {
			if len(b) > baseMessageSize {
				t.Errorf("%d bytes sent in one message", len(b))
			}
			conn.Write(b)
		}
	}
	if r, err := x.Result(); err != nil || !bytes.Equal(r.Body, pattern(10_000)) {
		t.Errorf("got %d bytes, %v", len(r.Body), err)
	}
	if largest > baseMessageSize {
		t.Errorf("%d bytes received in one message", largest)
	}
}

// A peer may take less than 1152 bytes (RFC 8323, section 5.3.1): then no message is longer, neither way.
func TestStreamOfSmallMessages(t *testing.T) {
	at := startTCP(t, &Server{Handler: echo})
	for _, most := range []int{100, 200, 600, 1151} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		x := NewStreamExchange(Params{}, &Settings{most: most}, 1)
		x.signal.greet(most) // a longer one is an error here
		for x.Start(&Call{Method: POST, Path: "echo", Body: pattern(3000)}, 0); !x.Done(); {
			for b := x.Next(); b != nil; b = x.Next() {
				if len(b) > most {
					t.Errorf("%d bytes sent in one message to a peer that takes %d", len(b), most)
				}
				conn.Write(b)
			}
			n, err := conn.Read(x.Space())
			if err == nil {
				err = x.Took(n, 0)
			}
			if err != nil {
				t.Fatalf("we take %d bytes: %v", most, err)
			}
		}
		if r, err := x.Result(); err != nil || !bytes.Equal(r.Body, pattern(3000)) {
			t.Errorf("we take %d bytes: got %d, %v", most, len(r.Body), err)
		}
		conn.Close()
	}
}

// Both ends say that they understand blocks, and several in one message (RFC 8323, section 5.3.2); and our client takes
// them so, each as large as the server makes it.
func TestStreamClientTakesBERT(t *testing.T) {
	x := NewStreamExchange(Params{}, new(Settings), 1)
	var csm Message
	if n, err := csm.DecodeStream(x.Next(), 100); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	most, _ := csm.Uint(maxMessageSize)
	if v, says := csm.Option(blockWise); !says || len(v) > 0 || most <= baseMessageSize {
		t.Errorf("says blocks: %v %x, and takes %d bytes", says, v, most)
	}
	body, asked := pattern(10_000), 0
	for x.Start(&Call{Method: GET, Path: "large"}, 0); !x.Done(); asked++ {
		var m, a Message
		if n, err := m.DecodeStream(x.Next(), 1000); err != nil || n == 0 {
			t.Fatal(n, err)
		}
		at := 0
		if b, ok := m.Block(Block2); ok != (asked > 0) || ok && b.SZX != bert {
			t.Fatalf("request %d asks for %+v, %v", asked, b, ok)
		} else if ok {
			at = b.Offset()
		}
		end := min(at+4096, len(body))
		a.Code, a.Token, a.Payload = Content, m.Token, body[at:end]
		a.AddBlock(Block2, Block{uint32(at / 1024), end < len(body), bert})
		for b := a.AppendStream(nil); len(b) > 0; {
			n := copy(x.Space(), b)
			if err := x.Took(n, 0); err != nil {
				t.Fatal(err)
			}
			b = b[n:]
		}
	}
	if r, err := x.Result(); err != nil || !bytes.Equal(r.Body, body) || asked != 3 {
		t.Errorf("got %d bytes by %d requests, %v", len(r.Body), asked, err)
	}
	y := NewClientExchange(Params{}, 1) // over UDP there are none
	y.Start(&Call{Method: GET, Path: "large"}, 0)
	y.in = Message{Type: Acknowledgement, Code: Content, ID: y.mid, Token: y.token[:], Payload: body[:2048]}
	y.in.AddBlock(Block2, Block{0, true, bert})
	y.Receive(y.in.Append(nil), 0)
	if _, err := y.Result(); err != ErrBlock {
		t.Errorf("over UDP: %v", err)
	}
}

// What a stranger may say on a connection, and what becomes of it.
func TestBadStreams(t *testing.T) {
	s := &Server{Handler: echo, MaxBody: 10_000}
	at := startTCP(t, s)
	csm := "e1" // code 7.01
	for _, tt := range []struct {
		name, bytes string
		closes      bool
	}{
		{"a message of 4 GiB announced", "f0ffffffff", true},
		{"just above what is taken", "e02ddd", true},
		{"token length 9", "0901", true},
		{"options out of order cannot be written, nor one beyond the end", "10" + "02" + "ff", true},
		{"a reserved option nibble", "10" + "02" + "f0", true},
		{"code of a reserved class", "0020", true},
		{"unknown signal", "00ff", true},
		{"unknown critical option in a CSM", "20" + csm + "9000", true},
		{"release", "00e4", true},
		{"abort", "00e5", true},
		{"an empty message", "0000", false},
		{"a response nobody asked for", "0045", false},
		{"unknown elective option in a CSM", "20" + csm + "8000", false},
	} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		conn.Write(unhex(t, tt.bytes))
		conn.Write(unhex(t, "02e20102")) // a Ping with token 0102
		got, pong := []byte(nil), unhex(t, "02e30102")
		for err = nil; err == nil && !bytes.HasSuffix(got, pong); {
			var b [64]byte
			var n int
			n, err = conn.Read(b[:])
			got = append(got, b[:n]...)
		}
		if closed := err != nil; closed != tt.closes || late(err) {
			t.Errorf("%s: got %x, %v; closed %v, want %v", tt.name, got, err, closed, tt.closes)
		}
		conn.Close()
	}
	c, err := DialTCP(t.Context(), at, Params{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Body: pattern(9000)}); err != nil ||
		len(r.Body) != 9000 {
		t.Errorf("after all that: %v, %v", r.Code, err)
	}
}

// Several blocks in one message, both ways (RFC 8323, section 6).
func TestBERT(t *testing.T) {
	s := &Server{Handler: echo}
	ep := s.endpoint(nil)
	out := &pipeEnd{}
	signal := signaler{limit: 1 << 20, most: 5000}
	tk := &task{from: &peer{conn: out}, stream: &signal}
	ask := func(b1, b2 *Block, body []byte) Message {
		m := Message{Code: POST, Token: []byte{1}, Payload: body}
		m.AddString(URIPath, "echo")
		if b1 != nil {
			m.AddBlock(Block1, *b1)
		}
		if b2 != nil {
			m.AddBlock(Block2, *b2)
		}
		out.b = nil
		if rest, err := ep.messages(tk, m.AppendStream(nil)); err != nil || len(rest) != 0 {
			t.Fatal(rest, err)
		}
		var a Message
		if n, err := a.DecodeStream(out.b, 1<<20); err != nil || n != len(out.b) {
			t.Fatal(n, err)
		}
		return a
	}
	body := pattern(10_000)
	if a := ask(&Block{0, true, bert}, nil, body[:4096]); a.Code != Continue {
		t.Fatal(a.Code)
	}
	if a := ask(&Block{4, true, bert}, nil, body[4096:4500]); a.Code != BadRequest {
		t.Error("a part that is no multiple of 1024 got", a.Code)
	}
	if a := ask(&Block{4, true, bert}, nil, body[4096:8192]); a.Code != Continue {
		t.Fatal(a.Code)
	}
	a := ask(&Block{8, false, bert}, &Block{0, false, bert}, body[8192:])
	got := bytes.Clone(a.Payload)
	for n := 0; ; {
		b, ok := a.Block(Block2)
		if !ok || b.SZX != bert || b.Offset() != n || len(a.Payload) > 5000 || b.More && len(a.Payload) != 4096 {
			t.Fatalf("block %+v of %d bytes at %d", b, len(a.Payload), n)
		}
		if !b.More {
			break
		}
		n = len(got)
		a = ask(nil, &Block{uint32(n / 1024), false, bert}, nil)
		got = append(got, a.Payload...)
	}
	if !bytes.Equal(got, body) {
		t.Errorf("got %d bytes", len(got))
	}
}

// pipeEnd keeps what is written.
type pipeEnd struct {
	net.Conn
	b []byte
}

func (p *pipeEnd) Write(b []byte) (int, error)    { p.b = append(p.b, b...); return len(b), nil }
func (p *pipeEnd) RemoteAddr() net.Addr           { return net.UDPAddrFromAddrPort(someone) }
func (*pipeEnd) SetWriteDeadline(time.Time) error { return nil }

// A peer that asks and reads nothing is given up in the end, wherever it stops reading: it holds a goroutine.
func TestStreamPeerThatNeverReads(t *testing.T) {
	ask := Message{Code: POST, Token: []byte{1}, Payload: pattern(100)}
	ask.AddString(URIPath, "echo")
	ping := Message{Code: Ping}
	for taken, request := range [][]byte{nil, ask.AppendStream(nil), ping.AppendStream(nil), unhex(t, "0901")} {
		c := &deaf{request: request, takes: min(taken, 1)} // our CSM
		(&Server{Handler: echo}).endpoint(nil).serveStream(t.Context(), c)
		if left := c.until.Sub(c.asked); left < ExchangeLifetime-time.Minute || left > ExchangeLifetime+time.Minute {
			t.Errorf("after %x: waits for %v to write", request, left)
		}
	}
}

// A deaf connection takes some writes. Behind them it waits for its deadline, which is over at once here.
type deaf struct {
	net.Conn
	request      []byte
	takes        int
	until, asked time.Time
}

func (c *deaf) Write(b []byte) (int, error) {
	if c.takes > 0 {
		c.takes--
		c.until = time.Time{}
		return len(b), nil
	}
	c.asked = time.Now()
	return 0, os.ErrDeadlineExceeded
}

func (c *deaf) Read(b []byte) (int, error) {
	n := copy(b, c.request)
	if c.request = c.request[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (c *deaf) SetWriteDeadline(at time.Time) error { c.until = at; return nil }
func (*deaf) SetReadDeadline(time.Time) error       { return nil }
func (*deaf) RemoteAddr() net.Addr                  { return nil }
func (*deaf) Close() error                          { return nil }
