package coap

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// show writes a message the way RFC 7959 does: CON PUT /a/b 1:0/1/128 2:0/0/64 (128).
func show(b []byte) string {
	var m Message
	if err := m.Decode(b); err != nil {
		return err.Error()
	}
	s := m.Type.String()
	if m.Code != Empty {
		s += " " + m.Code.String()
	}
	if path := m.AppendParts(nil, URIPath, '/'); len(path) > 0 {
		s += " /" + string(path)
	}
	for _, n := range []OptionNumber{Block1, Block2} {
		if b, ok := m.Block(n); ok {
			more := 0
			if b.More {
				more = 1
			}
			s += fmt.Sprintf(" %d:%d/%d/%d", map[OptionNumber]int{Block1: 1, Block2: 2}[n], b.Num, more, b.Size())
		}
	}
	for _, o := range []struct {
		n    OptionNumber
		name string
	}{{Size1, "size1"}, {Echo, "echo"}} {
		if v, ok := m.Uint(o.n); ok {
			s += fmt.Sprintf(" %s=%d", o.name, v)
		}
	}
	if len(m.Payload) > 0 {
		s += fmt.Sprintf(" (%d)", len(m.Payload))
	}
	return s
}

// said makes the datagram that a peer says, in the notation of show. Token and
// ID are those of the request shown last, unless id= stands there.
func said(t *testing.T, s string, request []byte) []byte {
	t.Helper()
	var req, m Message
	req.Decode(request)
	m.ID, m.Token = req.ID, req.Token
	codes := map[string]Code{"2.04": Changed, "2.05": Content, "2.31": Continue, "4.01": Unauthorized,
		"4.08": RequestEntityIncomplete, "4.13": RequestEntityTooLarge, "4.04": NotFound, "5.03": ServiceUnavailable}
	types := map[string]Type{"CON": Confirmable, "NON": NonConfirmable, "ACK": Acknowledgement, "RST": Reset}
	for _, w := range strings.Fields(s) {
		var n, more, size, id int
		switch {
		case types[w] != 0 || w == "CON":
			m.Type = types[w]
		case codes[w] != 0:
			m.Code = codes[w]
		case scan(w, "1:%d/%d/%d", &n, &more, &size):
			m.AddBlock(Block1, Block{uint32(n), more == 1, szxOf(size)})
		case scan(w, "2:%d/%d/%d", &n, &more, &size):
			m.AddBlock(Block2, Block{uint32(n), more == 1, szxOf(size)})
		case scan(w, "(%d)", &n):
			m.Payload = pattern(n)
		case scan(w, "id=%d", &id):
			m.ID = uint16(id)
		case scan(w, "etag=%d", &n):
			m.AddUint(ETag, uint32(n))
		case scan(w, "echo=%d", &n):
			m.AddUint(Echo, uint32(n))
		case scan(w, "option=%d", &n):
			m.Add(OptionNumber(n), []byte{1})
		case w == "othertoken":
			m.Token = []byte("other")
		default:
			t.Fatalf("cannot say %q", w)
		}
	}
	if m.Code == Empty {
		m.Token = nil
	}
	return m.Append(nil)
}

func scan(s, format string, into ...any) bool {
	n, err := fmt.Sscanf(s, format, into...)
	return err == nil && n == len(into)
}

// A step is what the client must send, then what it is told. Both may be
// several, separated by semicolons. "wait" lets the deadline pass.
type step struct{ want, told string }

func TestExchange(t *testing.T) {
	rows := []struct {
		name   string
		call   Call
		size   int // preferred block size
		steps  []step
		code   Code
		length int // of the reply's body
		err    error
	}{
		{"RFC 7252 figure 16: piggybacked", Call{Method: GET, Path: "temperature"}, 0,
			[]step{{"CON GET /temperature", "ACK 2.05 (6)"}}, Content, 6, nil},
		{"figure 18: request lost", Call{Method: GET, Path: "temperature"}, 0,
			[]step{{"CON GET /temperature", "wait"}, {"CON GET /temperature", "ACK 2.05 (6)"}}, Content, 6, nil},
		{"figure 20: separate response", Call{Method: GET, Path: "temperature"}, 0,
			[]step{{"CON GET /temperature", "ACK"}, {"", "CON 2.05 id=7 (6)"}, {"ACK", ""}}, Content, 6, nil},
		{"figure 21: the acknowledgement of the request is lost", Call{Method: GET, Path: "temperature"}, 0,
			[]step{{"CON GET /temperature", "CON 2.05 id=7 (6)"}, {"ACK", ""}}, Content, 6, nil},
		{"separate response comes twice, as our acknowledgement is lost", Call{Method: GET, Path: "temperature"}, 0,
			[]step{{"CON GET /temperature", "ACK"}, {"", "CON 2.05 id=7 (6)"}, {"ACK", "CON 2.05 id=7 (6)"}, {"ACK", ""}},
			Content, 6, nil},
		{"figure 22: non-confirmable", Call{Method: GET, Path: "temperature", NON: true}, 0,
			[]step{{"NON GET /temperature", "NON 2.05 id=9 (6)"}}, Content, 6, nil},
		{"non-confirmable response to a confirmable request", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK"}, {"", "NON 2.05 id=9 (6)"}}, Content, 6, nil},
		{"nobody answers: four retransmissions, then the end", Call{Method: GET}, 0,
			[]step{{"CON GET", "wait"}, {"CON GET", "wait"}, {"CON GET", "wait"}, {"CON GET", "wait"}, {"CON GET", "wait"}}, 0,
			0, ErrTimeout},
		{"acknowledged, but no response", Call{Method: GET}, 0, []step{{"CON GET", "ACK"}, {"", "wait"}}, 0, 0, ErrTimeout},
		{"non-confirmable is not sent again", Call{Method: GET, NON: true}, 0, []step{{"NON GET", "wait"}}, 0, 0, ErrTimeout},
		{"reset", Call{Method: GET}, 0, []step{{"CON GET", "RST"}}, 0, 0, ErrReset},
		{"what does not belong here: stale ACK, stale RST, other tokens, ping", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 id=1; RST id=1; ACK 2.05 othertoken; NON 2.05 othertoken"},
				{"", "CON 2.05 othertoken id=3"},
				{"RST", "CON id=4"}, {"RST", "ACK 2.05 (1)"}}, Content, 1, nil},
		{"critical option in a response that must be acknowledged", Call{Method: GET}, 0,
			[]step{{"CON GET", "CON 2.05 id=7 option=9999"}, {"RST", ""}}, 0, 0, ErrCritical},
		{"critical option in a piggybacked response", Call{Method: GET}, 0, []step{{"CON GET", "ACK 2.05 option=9999"}}, 0,
			0, ErrCritical},
		{"elective option is ignored", Call{Method: GET}, 0, []step{{"CON GET", "ACK 2.05 option=9998 (3)"}},
			Content, 3, nil},

		{"RFC 7959 figure 2: block-wise GET", Call{Method: GET, Path: "status"}, 0,
			[]step{{"CON GET /status", "ACK 2.05 2:0/1/128 (128)"}, {"CON GET /status 2:1/0/128", "ACK 2.05 2:1/1/128 (128)"},
				{"CON GET /status 2:2/0/128", "ACK 2.05 2:2/0/128 (10)"}}, Content, 266, nil},
		{"figure 3: early negotiation", Call{Method: GET, Path: "status"}, 64,
			[]step{{"CON GET /status 2:0/0/64", "ACK 2.05 2:0/1/64 (64)"},
				{"CON GET /status 2:1/0/64", "ACK 2.05 2:1/0/64 (64)"}}, Content, 128, nil},
		{"figure 5: a block's request lost", Call{Method: GET, Path: "status"}, 64,
			[]step{{"CON GET /status 2:0/0/64", "ACK 2.05 2:0/1/64 (64)"}, {"CON GET /status 2:1/0/64", "wait"},
				{"CON GET /status 2:1/0/64", "ACK 2.05 2:1/0/64 (5)"}}, Content, 69, nil},
		{"figure 7: atomic PUT", Call{Method: PUT, Path: "options", Body: pattern(300)}, 128,
			[]step{{"CON PUT /options 1:0/1/128 size1=300 (128)", "ACK 2.31 1:0/1/128"},
				{"CON PUT /options 1:1/1/128 (128)", "ACK 2.31 1:1/1/128"},
				{"CON PUT /options 1:2/0/128 2:0/0/128 (44)", "ACK 2.04 1:2/0/128"}}, Changed, 0, nil},
		{"figure 8: each block is a success of its own", Call{Method: PUT, Path: "options", Body: pattern(200)}, 128,
			[]step{{"CON PUT /options 1:0/1/128 size1=200 (128)", "ACK 2.04 1:0/0/128"},
				{"CON PUT /options 1:1/0/128 2:0/0/128 (72)", "ACK 2.04 1:1/0/128"}}, Changed, 0, nil},
		{"figure 9: the server wants smaller blocks", Call{Method: PUT, Path: "options", Body: pattern(200)}, 128,
			[]step{{"CON PUT /options 1:0/1/128 size1=200 (128)", "ACK 2.31 1:0/1/32"},
				{"CON PUT /options 1:4/1/32 (32)", "ACK 2.31 1:4/1/32"},
				{"CON PUT /options 1:5/1/32 (32)", "ACK 2.31 1:5/1/32"},
				{"CON PUT /options 1:6/0/32 2:0/0/128 (8)", "ACK 2.04 1:6/0/32"}}, Changed, 0, nil},
		{"figure 11: both ways", Call{Method: POST, Path: "soap", Body: pattern(1500)}, 1024,
			[]step{{"CON POST /soap 1:0/1/1024 size1=1500 (1024)", "ACK 2.31 1:0/1/1024"},
				{"CON POST /soap 1:1/0/1024 (476)", "ACK 2.04 1:1/0/1024 2:0/1/1024 (1024)"},
				{"CON POST /soap 2:1/0/1024", "ACK 2.04 2:1/0/1024 (1)"}}, Changed, 1025, nil},
		{"figure 12: both ways, the response in smaller blocks", Call{Method: POST, Path: "soap", Body: pattern(1500)}, 0,
			[]step{{"CON POST /soap 1:0/1/1024 size1=1500 (1024)", "ACK 2.31 1:0/1/1024"},
				{"CON POST /soap 1:1/0/1024 (476)", "ACK"}, {"", "CON 2.04 id=5 1:1/0/1024 2:0/1/64 (64)"},
				{"ACK; CON POST /soap 2:1/0/64", "ACK 2.04 2:1/0/64 (64)"}}, Changed, 128, nil},
		{"4.13 asks for smaller blocks: from the start again", Call{Method: PUT, Body: pattern(100)}, 0,
			[]step{{"CON PUT (100)", "ACK 4.13 1:0/0/64"}, {"CON PUT 1:0/1/64 size1=100 (64)", "ACK 2.31 1:0/1/64"},
				{"CON PUT 1:1/0/64 (36)", "ACK 2.04 1:1/0/64"}}, Changed, 0, nil},
		{"4.13 that asks for the same size is an answer", Call{Method: PUT, Body: pattern(100)}, 64,
			[]step{{"CON PUT 1:0/1/64 size1=100 (64)", "ACK 4.13 1:0/0/64"}}, RequestEntityTooLarge, 0, nil},
		{"4.08 in the midst is an answer", Call{Method: PUT, Body: pattern(100)}, 64,
			[]step{{"CON PUT 1:0/1/64 size1=100 (64)", "ACK 4.08 (3)"}}, RequestEntityIncomplete, 3, nil},
		{"an error between blocks of a response is the answer", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 2:0/1/64 (64)"}, {"CON GET 2:1/0/64", "ACK 4.04 (9)"}}, NotFound, 9, nil},

		{"RFC 7959 section 2.4: of an error in blocks the first one is the answer, and nothing that follows", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 4.04 2:0/1/64 (64)"}}, NotFound, 64, nil},
		{"section 2.4: ETags differ that the first block does not have", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 2:0/1/64 (64)"}, {"CON GET 2:1/0/64", "ACK 2.05 etag=1 2:1/1/64 (64)"},
				{"CON GET 2:2/0/64", "ACK 2.05 etag=2 2:2/0/64 (64)"}}, 0, 0, ErrChanged},
		{"the server sends smaller blocks from the second one on", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 etag=1 2:0/1/128 (128)"}, {"CON GET 2:1/0/128", "ACK 2.05 etag=1 2:2/1/64 (64)"},
				{"CON GET 2:3/0/64", "ACK 2.05 etag=1 2:3/0/64 (1)"}}, Content, 193, nil},
		{"4.13 in the midst asks for smaller blocks: from the start again", Call{Method: PUT, Body: pattern(200)}, 128,
			[]step{{"CON PUT 1:0/1/128 size1=200 (128)", "ACK 2.31 1:0/1/128"},
				{"CON PUT 1:1/0/128 2:0/0/128 (72)", "ACK 4.13 1:1/0/64"},
				{"CON PUT 1:0/1/64 size1=200 (64)", "ACK 4.13 1:0/0/64"}}, RequestEntityTooLarge, 0, nil},

		{"RFC 9175 figure 2: the server asks for its Echo option", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 4.01 echo=7"}, {"CON GET echo=7", "ACK 2.05 (3)"}}, Content, 3, nil},
		{"section 2.3: in the midst of a body; the blocks behind have it, too", Call{Method: PUT, Body: pattern(150)}, 64,
			[]step{{"CON PUT 1:0/1/64 size1=150 (64)", "ACK 2.31 1:0/1/64"},
				{"CON PUT 1:1/1/64 (64)", "ACK 4.01 echo=7"}, {"CON PUT 1:1/1/64 echo=7 (64)", "ACK 2.31 1:1/1/64"},
				{"CON PUT 1:2/0/64 2:0/0/64 echo=7 (22)", "ACK 2.04 1:2/0/64"}}, Changed, 0, nil},
		{"a server that never has enough of it", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 4.01 echo=7"}, {"CON GET echo=7", "ACK 4.01 echo=8 (2)"}}, Unauthorized, 2, nil},
		{"4.01 without it is an answer", Call{Method: GET}, 0, []step{{"CON GET", "ACK 4.01 (2)"}}, Unauthorized, 2, nil},

		{"continue where nothing is to follow", Call{Method: PUT, Body: pattern(10)}, 0, []step{{"CON PUT (10)", "ACK 2.31"}},
			0, 0, ErrBlock},
		{"continue with another number", Call{Method: PUT, Body: pattern(100)}, 64,
			[]step{{"CON PUT 1:0/1/64 size1=100 (64)", "ACK 2.31 1:1/1/64"}}, 0, 0, ErrBlock},
		{"success after a part of the body", Call{Method: PUT, Body: pattern(100)}, 64,
			[]step{{"CON PUT 1:0/1/64 size1=100 (64)", "ACK 2.04"}}, 0, 0, ErrBlock},
		{"response begins with block 1", Call{Method: GET}, 0, []step{{"CON GET", "ACK 2.05 2:1/1/64 (64)"}}, 0, 0, ErrBlock},
		{"block shorter than its size", Call{Method: GET}, 0, []step{{"CON GET", "ACK 2.05 2:0/1/64 (63)"}}, 0, 0, ErrBlock},
		{"last block longer than its size", Call{Method: GET}, 0, []step{{"CON GET", "ACK 2.05 2:0/0/64 (65)"}},
			0, 0, ErrBlock},
		{"the same block again", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 2:0/1/64 (64)"}, {"CON GET 2:1/0/64", "ACK 2.05 2:0/1/64 (64)"}}, 0, 0, ErrBlock},
		{"blocks larger than asked for", Call{Method: GET}, 64, []step{{"CON GET 2:0/0/64", "ACK 2.05 2:0/1/128 (128)"}},
			0, 0, ErrBlock},
		{"no block where one was asked for", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 2:0/1/64 (64)"}, {"CON GET 2:1/0/64", "ACK 2.05 (64)"}}, 0, 0, ErrBlock},
		{"another representation between blocks", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 etag=1 2:0/1/64 (64)"}, {"CON GET 2:1/0/64", "ACK 2.05 etag=2 2:1/0/64 (64)"}}, 0,
			0, ErrChanged},
		{"only the first block has an ETag", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 etag=1 2:0/1/64 (64)"}, {"CON GET 2:1/0/64", "ACK 2.05 2:1/0/64 (64)"}}, Content,
			128, nil},
		{"body above the limit", Call{Method: GET}, 0,
			[]step{{"CON GET", "ACK 2.05 2:0/1/1024 (1024)"}, {"CON GET 2:1/0/1024", "ACK 2.05 2:1/1/1024 (1024)"},
				{"CON GET 2:2/0/1024", "ACK 2.05 2:2/1/1024 (1024)"}}, 0, 0, ErrTooLarge},
	}
	for _, r := range rows {
		x := NewClientExchange(Params{BlockSize: r.size, MaxBody: 2500}, 1)
		now, request := time.Duration(0), []byte(nil)
		x.Start(&r.call, now)
		for i, s := range r.steps {
			var sent []string
			for b := x.Next(); b != nil; b = x.Next() {
				sent = append(sent, show(b))
				if Code(b[1]) != Empty {
					request = bytes.Clone(b)
				}
			}
			if got := strings.Join(sent, "; "); got != s.want {
				t.Errorf("%s, step %d: sent %q, want %q", r.name, i, got, s.want)
			}
			if s.told == "wait" {
				now, _ = x.Deadline()
				x.Expire(now)
			} else if s.told != "" {
				for _, what := range strings.Split(s.told, ";") {
					x.Receive(said(t, what, request), now)
				}
			}
		}
		reply, err := x.Result()
		if !x.Done() || x.Next() != nil || reply.Code != r.code || len(reply.Body) != r.length || !errors.Is(err, r.err) {
			t.Errorf("%s: got done %v, %v, %d bytes, %v; want %v, %d bytes, %v", r.name, x.Done(), reply.Code, len(reply.Body),
				err, r.code, r.length, r.err)
		}
	}
}

// RFC 7252, section 4.8: the first timeout lies between 2 and 3 s, each later
// one is twice as long, and MAX_TRANSMIT_WAIT, 93 s, bounds it all.
func TestRetransmissionTimes(t *testing.T) {
	lo, hi := time.Hour, time.Duration(0)
	for seed := range uint64(200) {
		x := NewClientExchange(Params{}, seed)
		x.Start(&Call{Method: GET}, time.Minute)
		first, now := time.Duration(0), time.Minute
		for n := range 5 {
			at, ok := x.Deadline()
			if !ok {
				t.Fatal("over too early")
			}
			if n == 0 {
				first = at - now
			} else if at-now != first<<n {
				t.Errorf("seed %d: timeout %d is %v, want %v", seed, n, at-now, first<<n)
			}
			x.Expire(at - 1)
			if x.Retransmissions() != n {
				t.Fatalf("sent again before the deadline")
			}
			now = at
			x.Expire(now)
		}
		if _, err := x.Result(); err != ErrTimeout || now-time.Minute > 93*time.Second {
			t.Errorf("seed %d: %v after %v", seed, err, now-time.Minute)
		}
		lo, hi = min(lo, first), max(hi, first)
	}
	if lo < 2*time.Second || lo > 2100*time.Millisecond || hi > 3*time.Second || hi < 2900*time.Millisecond {
		t.Errorf("first timeouts from %v to %v, want 2 s to 3 s", lo, hi)
	}
}

// A separate response that comes once more, since its acknowledgement was lost, is no strange answer to the next
// request (RFC 7252, section 4.2).
func TestSeparateResponseOnceMoreIsNotStrange(t *testing.T) {
	x := NewClientExchange(Params{}, 1)
	x.Start(&Call{Method: GET}, 0)
	again := said(t, "CON 2.05 id=7 (6)", x.Next())
	x.Receive(again, 0)
	for _, tt := range []struct {
		says    []byte
		answer  string
		strange bool
	}{{again, "ACK", false}, {said(t, "CON 2.05 id=8 othertoken", again), "RST", true}} {
		for x.Next() != nil {
		}
		x.Start(&Call{Method: GET}, 0)
		x.Next()
		x.Receive(tt.says, 0)
		if got := show(x.Next()); got != tt.answer || x.Strange() != tt.strange || x.Done() {
			t.Errorf("%s: answered %s, strange %v, over %v", show(tt.says), got, x.Strange(), x.Done())
		}
	}
}
