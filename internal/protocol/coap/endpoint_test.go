package coap

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// desk is an endpoint without a socket, and peers to ask it.
type desk struct {
	t     testing.TB
	ep    *endpoint
	task  *task
	now   time.Duration
	id    uint16
	peer  netip.AddrPort
	bytes []byte // of the latest datagram asked
}

var someone = netip.MustParseAddrPort("192.0.2.1:5683")

func newDesk(t testing.TB, s *Server) *desk {
	return &desk{t: t, ep: s.endpoint(nil), task: newTask(2048), peer: someone}
}

// raw puts a datagram before the endpoint and returns its answer.
func (d *desk) raw(b []byte) []byte {
	d.bytes = append(d.bytes[:0], b...)
	d.task.from = d.ep.peerOf(d.peer, d.now)
	if d.ep.begin(d.task, b, d.now) {
		d.ep.handler(&d.task.req, &d.task.resp)
		d.ep.finish(d.task, d.now)
	}
	return d.task.wire
}

// ask makes a request of a notation like that of show, in which (n@k) is a
// payload of n bytes from byte k of the pattern, and returns the answer so.
func (d *desk) ask(s string) string {
	d.t.Helper()
	d.id++
	m := Message{ID: d.id, Token: []byte{byte(d.id), 7}}
	codes := map[string]Code{"GET": GET, "POST": POST, "PUT": PUT, "2.05": Content}
	types := map[string]Type{"CON": Confirmable, "NON": NonConfirmable, "ACK": Acknowledgement, "RST": Reset}
	for _, w := range strings.Fields(s) {
		var n, at, more, size int
		switch {
		case types[w] != 0 || w == "CON":
			m.Type = types[w]
		case codes[w] != 0:
			m.Code = codes[w]
		case w[0] == '/':
			m.AddParts(URIPath, w, '/')
		case scan(w, "1:%d/%d/%d", &n, &more, &size):
			m.AddBlock(Block1, Block{uint32(n), more == 1, szxOf(size)})
		case scan(w, "2:%d/%d/%d", &n, &more, &size):
			m.AddBlock(Block2, Block{uint32(n), more == 1, szxOf(size)})
		case scan(w, "(%d@%d)", &n, &at):
			m.Payload = pattern(5000)[at:][:n]
		case scan(w, "size1=%d", &n):
			m.AddUint(Size1, uint32(n))
		case scan(w, "size2=%d", &n):
			m.AddUint(Size2, uint32(n))
		case scan(w, "format=%d", &n):
			m.AddUint(ContentFormat, uint32(n))
		case scan(w, "option=%d", &n):
			m.Add(OptionNumber(n), []byte{1})
		default:
			d.t.Fatalf("cannot ask %q", w)
		}
	}
	if m.Code == Empty {
		m.Token = nil
	}
	b := d.raw(m.Append(nil))
	if len(b) == 0 {
		return ""
	}
	var a Message
	if err := a.Decode(b); err != nil {
		d.t.Fatalf("answer to %s: %v", s, err)
	}
	if m.Type == Confirmable && a.ID != m.ID || a.Code != Empty && !bytes.Equal(a.Token, m.Token) {
		d.t.Errorf("answer to %s: ID or token is not the request's", s)
	}
	return show(b)
}

// shop answers /n with that many bytes of the pattern, /sum with the length of
// the body if that is the pattern's, and counts what it was asked.
func shop(asked *int) Handler {
	return func(req *Request, resp *Response) {
		*asked++
		var n int
		switch {
		case string(req.Path) == "sum":
			if !bytes.Equal(req.Body, pattern(5000)[:len(req.Body)]) {
				resp.Code = BadRequest
				return
			}
			resp.Body = append(resp.Body, make([]byte, len(req.Body)/4)...)
		case scan(string(req.Path), "%d", &n) && n >= 0 && n <= 5000:
			resp.Format = OctetStream
			resp.Body = append(resp.Body, pattern(5000)[:n]...)
		default:
			resp.Code = NotFound
		}
	}
}

func TestEndpoint(t *testing.T) {
	rows := []struct {
		name  string
		steps []string // request, answer, request, answer …
		asked int      // how often the handler ran
	}{
		{"RFC 7252 figure 16: piggybacked", []string{"CON GET /6", "ACK 2.05 (6)"}, 1},
		{"figure 22: non-confirmable", []string{"NON GET /6", "NON 2.05 (6)"}, 1},
		{"not found", []string{"CON GET /x", "ACK 4.04"}, 1},
		{"ping", []string{"CON", "RST"}, 0},
		{"a response nobody asked for", []string{"CON 2.05 (3@0)", "RST", "NON 2.05 (3@0)", "", "ACK 2.05 (3@0)", "",
			"RST", ""}, 0},
		{"critical option unknown", []string{"CON GET /6 option=9999", "ACK 4.02", "NON GET /6 option=9999", ""}, 0},
		{"elective option unknown", []string{"CON GET /6 option=9998", "ACK 2.05 (6)"}, 1},
		{"conditions are not passed over", []string{"CON GET /6 option=1", "ACK 4.02"}, 0},
		{"not a proxy", []string{"CON GET option=35", "ACK 5.05", "CON GET option=39", "ACK 5.05"}, 0},

		{"RFC 7959 figure 2: block-wise GET", []string{"CON GET /2500", "ACK 2.05 2:0/1/1024 (1024)",
			"CON GET /2500 2:1/0/1024", "ACK 2.05 2:1/1/1024 (1024)", "CON GET /2500 2:2/0/1024",
			"ACK 2.05 2:2/0/1024 (452)"}, 1},
		{"figure 3: early negotiation", []string{"CON GET /150 2:0/0/64", "ACK 2.05 2:0/1/64 (64)",
			"CON GET /150 2:1/0/64", "ACK 2.05 2:1/1/64 (64)", "CON GET /150 2:2/0/64", "ACK 2.05 2:2/0/64 (22)"}, 1},
		{"figure 4: late negotiation", []string{"CON GET /1100", "ACK 2.05 2:0/1/1024 (1024)",
			"CON GET /1100 2:16/0/64", "ACK 2.05 2:16/1/64 (64)", "CON GET /1100 2:17/0/64", "ACK 2.05 2:17/0/64 (12)"}, 1},
		{"blocks of a GET whose response is not kept", []string{"CON GET /2500 2:1/0/1024", "ACK 2.05 2:1/1/1024 (1024)"}, 1},
		{"blocks of a POST whose response is not kept", []string{"CON POST /2500 2:1/0/1024", "ACK 4.08"}, 0},
		{"a block behind the end", []string{"CON GET /2500", "ACK 2.05 2:0/1/1024 (1024)",
			"CON GET /2500 2:3/0/1024", "ACK 4.00",
			"CON GET /6 2:1/0/16", "ACK 4.00"}, 2},
		{"exactly one block", []string{"CON GET /1024", "ACK 2.05 (1024)", "CON GET /64 2:0/0/64",
			"ACK 2.05 2:0/0/64 (64)"}, 2},
		{"one byte more", []string{"CON GET /1025", "ACK 2.05 2:0/1/1024 (1024)", "CON GET /1025 2:1/0/1024",
			"ACK 2.05 2:1/0/1024 (1)"}, 1},

		{"figure 7: atomic PUT", []string{"CON PUT /sum 1:0/1/128 (128@0)", "ACK 2.31 1:0/1/128",
			"CON PUT /sum 1:1/1/128 (128@128)", "ACK 2.31 1:1/1/128", "CON PUT /sum 1:2/0/128 (44@256)",
			"ACK 2.04 1:2/0/128 (75)"}, 1},
		{"figure 9: sizes change on the way", []string{"CON PUT /sum 1:0/1/128 (128@0)", "ACK 2.31 1:0/1/128",
			"CON PUT /sum 1:4/1/32 (32@128)", "ACK 2.31 1:4/1/32", "CON PUT /sum 1:5/0/32 (8@160)",
			"ACK 2.04 1:5/0/32 (42)"}, 1},
		{"figure 11: both ways", []string{"CON POST /sum 1:0/1/1024 (1024@0)", "ACK 2.31 1:0/1/1024",
			"CON POST /sum 1:1/1/1024 (1024@1024)", "ACK 2.31 1:1/1/1024",
			"CON POST /sum 1:2/1/1024 (1024@2048)", "ACK 2.31 1:2/1/1024", "CON POST /sum 1:3/1/1024 (1024@3072)",
			"ACK 2.31 1:3/1/1024",
			"CON POST /sum 1:4/0/1024 (204@4096)", "ACK 2.04 1:4/0/1024 2:0/1/1024 (1024)", "CON POST /sum 2:1/0/1024",
			"ACK 2.04 2:1/0/1024 (51)"}, 1},
		{"figure 12: the response in smaller blocks", []string{"CON POST /sum 1:0/1/128 (128@0)", "ACK 2.31 1:0/1/128",
			"CON POST /sum 1:1/0/128 (128@128) 2:0/0/32", "ACK 2.04 1:1/0/128 2:0/1/32 (32)", "CON POST /sum 2:1/0/32",
			"ACK 2.04 2:1/0/32 (32)"}, 1},
		{"a body in one block", []string{"CON PUT /sum 1:0/0/128 (100@0)", "ACK 2.04 1:0/0/128 (25)"}, 1},
		{"the content format need not be repeated for the response",
			[]string{"CON POST /4000 format=60 (4@0)", "ACK 2.04 2:0/1/1024 (1024)",
				"CON POST /4000 2:1/0/1024", "ACK 2.04 2:1/1/1024 (1024)"}, 1},

		{"a block without its beginning", []string{"CON PUT /sum 1:1/1/128 (128@128)", "ACK 4.08"}, 0},
		{"a block left out", []string{"CON PUT /sum 1:0/1/128 (128@0)", "ACK 2.31 1:0/1/128",
			"CON PUT /sum 1:2/0/128 (10@256)", "ACK 4.08"}, 0},
		{"a block asked again under a new ID",
			[]string{"CON PUT /sum 1:0/1/128 (128@0)", "ACK 2.31 1:0/1/128", "CON PUT /sum 1:1/1/128 (128@128)",
				"ACK 2.31 1:1/1/128",
				"CON PUT /sum 1:1/1/128 (128@128)", "ACK 2.31 1:1/1/128", "CON PUT /sum 1:2/0/128 (4@256)",
				"ACK 2.04 1:2/0/128 (65)"}, 1},
		{"a block changed behind the server's back",
			[]string{"CON PUT /sum 1:0/1/128 (128@0)", "ACK 2.31 1:0/1/128", "CON PUT /sum 1:1/1/128 (128@128)",
				"ACK 2.31 1:1/1/128",
				"CON PUT /sum 1:1/1/128 (128@129)", "ACK 4.08"}, 0},
		{"begun anew", []string{"CON PUT /sum 1:0/1/128 (128@9)", "ACK 2.31 1:0/1/128", "CON PUT /sum 1:0/1/128 (128@0)",
			"ACK 2.31 1:0/1/128",
			"CON PUT /sum 1:1/0/128 (4@128)", "ACK 2.04 1:1/0/128 (33)"}, 1},
		{"two bodies at once are kept apart", []string{"CON PUT /sum 1:0/1/128 (128@0)", "ACK 2.31 1:0/1/128",
			"CON PUT /x 1:0/1/128 (128@5)", "ACK 2.31 1:0/1/128",
			"CON PUT /sum 1:1/0/128 (4@128)", "ACK 2.04 1:1/0/128 (33)", "CON PUT /x 1:1/0/128 (4@128)",
			"ACK 4.04 1:1/0/128"}, 2},
		{"a block shorter than it says, with more to come", []string{"CON PUT /sum 1:0/1/128 (127@0)", "ACK 4.00"}, 0},
		{"a block longer than it says", []string{"CON PUT /sum 1:0/0/16 (17@0)", "ACK 4.00"}, 0},
		{"a body announced above the limit", []string{"CON PUT /sum 1:0/1/128 (128@0) size1=5001", "ACK 4.13 size1=5000"}, 0},
		{"a body above the limit, not announced",
			[]string{"CON PUT /sum 1:0/1/1024 (1024@0)", "ACK 2.31 1:0/1/1024", "CON PUT /sum 1:1/1/1024 (1024@1024)",
				"ACK 2.31 1:1/1/1024",
				"CON PUT /sum 1:2/1/1024 (1024@2048)", "ACK 2.31 1:2/1/1024", "CON PUT /sum 1:3/1/1024 (1024@3072)",
				"ACK 2.31 1:3/1/1024",
				"CON PUT /sum 1:4/1/1024 (904@4096)", "ACK 4.00", "CON PUT /sum 1:4/1/1024 (904@4096) 2:0/0/16", "ACK 4.00"}, 0},
		{"a block number far out", []string{"CON PUT /sum 1:1048575/1/1024 (1024@0)", "ACK 4.13 size1=5000"}, 0},
	}
	for _, r := range rows {
		asked := 0
		d := newDesk(t, &Server{Handler: shop(&asked), MaxBody: 5000})
		for i := 0; i < len(r.steps); i += 2 {
			if got := d.ask(r.steps[i]); got != r.steps[i+1] {
				t.Errorf("%s: to %q got %q, want %q", r.name, r.steps[i], got, r.steps[i+1])
			}
		}
		if asked != r.asked {
			t.Errorf("%s: handler ran %d times, want %d", r.name, asked, r.asked)
		}
		d.books()
	}
}

// books checks that the endpoint's accounts agree with what it holds.
func (d *desk) books() {
	d.t.Helper()
	n, held, peers := 0, 0, 0
	for tr := d.ep.transfers.first; tr != nil; tr = tr.next {
		n++
		held += cap(tr.body)
	}
	for p := d.ep.known.first; p != nil; p = p.next {
		peers++
	}
	if n != d.ep.transfers.n || held != d.ep.held || peers != len(d.ep.peers) || len(d.ep.running) != 0 {
		d.t.Errorf("holds %d transfers of %d bytes, %d peers, %d running; its books say %d, %d, %d, 0",
			n, held, peers, len(d.ep.running), d.ep.transfers.n, d.ep.held, len(d.ep.peers))
	}
}

func TestReservedBlockSizeIsRefused(t *testing.T) {
	asked := 0
	d := newDesk(t, &Server{Handler: shop(&asked)})
	for _, n := range []OptionNumber{Block1, Block2} {
		m := Message{Code: PUT, ID: uint16(n), Options: []Option{{n, []byte{7}}}}
		if got := show(d.raw(m.Append(nil))); got != "ACK 4.00" || asked != 0 {
			t.Errorf("option %d: got %q, handler ran %d times", n, got, asked)
		}
	}
}

func TestMalformedIsRejected(t *testing.T) {
	asked := 0
	d := newDesk(t, &Server{Handler: shop(&asked)})
	rows := []struct{ name, bytes, want string }{
		{"confirmable: reset", "49 01 1234 01", "70 00 1234"},
		{"confirmable with a marker and nothing: reset", "40 01 1234 ff", "70 00 1234"},
		{"confirmable, reserved class: reset", "40 20 1234", "70 00 1234"},
		{"non-confirmable: ignored", "59 01 1234 01", ""},
		{"acknowledgement: ignored", "69 00 1234 01", ""},
		{"other version: ignored", "80 01 1234", ""},
		{"short: ignored", "40 01 12", ""},
		{"nothing at all: ignored", "", ""},
	}
	for _, r := range rows {
		if got := d.raw(unhex(t, r.bytes)); !bytes.Equal(got, unhex(t, r.want)) {
			t.Errorf("%s: got %x, want %s", r.name, got, r.want)
		}
	}
	if got := d.ep.s.Counts.Malformed.Load(); got != int64(len(rows)) || asked != 0 {
		t.Errorf("counted %d malformed, want %d; handler ran %d times", got, len(rows), asked)
	}
}

func TestDuplicates(t *testing.T) {
	asked := 0
	d := newDesk(t, &Server{Handler: shop(&asked)})
	d.ask("CON POST /6")
	first, datagram := bytes.Clone(d.task.wire), bytes.Clone(d.bytes)
	if again := d.raw(datagram); !bytes.Equal(again, first) || asked != 1 {
		t.Errorf("confirmable: got %x, want %x; handler ran %d times", again, first, asked)
	}
	d.peer = netip.MustParseAddrPort("192.0.2.2:5683")
	if d.raw(datagram); asked != 2 {
		t.Error("another peer's message is no duplicate")
	}
	d.peer = someone
	other := bytes.Clone(datagram)
	other[4]++ // another token under the same ID: a client that wrapped around
	if d.raw(other); asked != 3 {
		t.Error("other bytes under the same message ID are no duplicate")
	}
	d.now += ExchangeLifetime
	if d.raw(datagram); asked != 4 {
		t.Error("after EXCHANGE_LIFETIME it is no duplicate")
	}
	d.ask("NON POST /6")
	if got := d.raw(bytes.Clone(d.bytes)); len(got) != 0 || asked != 5 {
		t.Errorf("non-confirmable: got %x; handler ran %d times", got, asked)
	}
	if got := d.ep.s.Counts.Duplicates.Load(); got != 2 {
		t.Errorf("counted %d duplicates, want 2", got)
	}
}

// RFC 7959, section 2.4: a block of another representation must be told apart.
func TestRepresentationChanges(t *testing.T) {
	version := byte(0)
	d := newDesk(t, &Server{Handler: func(_ *Request, resp *Response) {
		version++
		resp.Body = append(resp.Body, bytes.Repeat([]byte{version}, 3000)...)
	}})
	for _, forgets := range []bool{false, true} {
		x := NewClientExchange(Params{}, 1)
		x.Start(&Call{Method: GET}, 0)
		for b := x.Next(); b != nil; b = x.Next() {
			x.Receive(d.raw(b), 0)
			if forgets {
				d.ep.forgetOldest()
			}
		}
		reply, err := x.Result()
		if forgets && err != ErrChanged || !forgets && !bytes.Equal(reply.Body, bytes.Repeat([]byte{1}, 3000)) {
			t.Errorf("server forgets %v: got %d bytes, %v", forgets, len(reply.Body), err)
		}
	}
}

func TestServerAllocatesNothing(t *testing.T) {
	d := newDesk(t, &Server{Handler: echo})
	x := NewClientExchange(Params{}, 1)
	small := &Call{Method: POST, Path: "echo", Format: CBOR, Accept: CBOR, Body: pattern(100)}
	large := &Call{Method: POST, Path: "echo", Body: pattern(5000)}
	for _, call := range []*Call{small, large} {
		n := testing.AllocsPerRun(100, func() {
			x.Start(call, 0)
			for b := x.Next(); b != nil; b = x.Next() {
				x.Receive(d.raw(b), 0)
			}
			if r, err := x.Result(); err != nil || r.Code != Changed {
				t.Fatal(r.Code, err)
			}
		})
		if n > 0 {
			t.Errorf("%d bytes: %v allocations an exchange, want none", len(call.Body), n)
		}
	}
}
