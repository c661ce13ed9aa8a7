package coap

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// unhex reads hexadecimal with spaces; 'text' in quotes stands for itself.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var out []byte
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			out = append(out, part...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func TestMessageBothWays(t *testing.T) {
	rows := []struct {
		name, bytes string
		m           Message
	}{
		{"figure 16, request", "40 01 7d34 bb 'temperature'",
			Message{Code: GET, ID: 0x7d34, Options: []Option{{URIPath, []byte("temperature")}}}},
		{"figure 16, response", "60 45 7d34 ff '22.3 C'",
			Message{Type: Acknowledgement, Code: Content, ID: 0x7d34, Payload: []byte("22.3 C")}},
		{"figure 17, request with a token", "41 01 7d35 20 bb 'temperature'",
			Message{Code: GET, ID: 0x7d35, Token: []byte{0x20}, Options: []Option{{URIPath, []byte("temperature")}}}},
		{"figure 17, response", "61 45 7d35 20 ff '22.3 C'",
			Message{Type: Acknowledgement, Code: Content, ID: 0x7d35, Token: []byte{0x20}, Payload: []byte("22.3 C")}},
		{"empty acknowledgement", "60 00 1234", Message{Type: Acknowledgement, ID: 0x1234}},
		{"reset", "70 00 ffff", Message{Type: Reset, ID: 0xffff}},
		{"ping", "40 00 0001", Message{ID: 1}},
		{"token of 8 bytes, non-confirmable", "58 02 0000 0102030405060708",
			Message{Type: NonConfirmable, Code: POST, Token: []byte{1, 2, 3, 4, 5, 6, 7, 8}}},
		{"delta 12 in the nibble, then 0", "40 01 0001 c0 00",
			Message{Code: GET, ID: 1, Options: []Option{{12, nil}, {12, nil}}}},
		{"delta 13 and 268 in one byte", "40 01 0001 d0 00 d0 ff",
			Message{Code: GET, ID: 1, Options: []Option{{13, nil}, {281, nil}}}},
		{"delta 269 in two bytes", "40 01 0001 e0 0000", Message{Code: GET, ID: 1, Options: []Option{{269, nil}}}},
		{"the last option number", "40 01 0001 e1 fef2 07", Message{Code: GET, ID: 1, Options: []Option{{65535, []byte{7}}}}},
		{"length 13", "40 01 0001 bd 00 '0123456789abc'",
			Message{Code: GET, ID: 1, Options: []Option{{11, []byte("0123456789abc")}}}},
		{"length 269", "40 01 0001 de 16 0000 '" + strings.Repeat("x", 269) + "'",
			Message{Code: GET, ID: 1, Options: []Option{{35, bytes.Repeat([]byte("x"), 269)}}}},
		{"payload that looks like a marker", "40 02 0001 ff ff", Message{Code: POST, ID: 1, Payload: []byte{0xff}}},
	}
	for _, r := range rows {
		raw := unhex(t, r.bytes)
		if got := r.m.Append(nil); !bytes.Equal(got, raw) {
			t.Errorf("%s: encoded %x, want %x", r.name, got, raw)
		}
		var m Message
		if err := m.Decode(raw); err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		same := m.Type == r.m.Type && m.Code == r.m.Code && m.ID == r.m.ID && bytes.Equal(m.Token, r.m.Token) &&
			bytes.Equal(m.Payload, r.m.Payload) && len(m.Options) == len(r.m.Options)
		for i := range r.m.Options {
			same = same && m.Options[i].Number == r.m.Options[i].Number && bytes.Equal(m.Options[i].Value, r.m.Options[i].Value)
		}
		if !same {
			t.Errorf("%s: decoded %+v, want %+v", r.name, m, r.m)
		}
	}
}

func TestMessageRefused(t *testing.T) {
	rows := []struct {
		name, bytes string
		want        error
	}{
		{"nothing", "", ErrShort},
		{"half a header", "40 01 00", ErrShort},
		{"version 0", "00 01 0001", ErrVersion},
		{"version 2", "80 01 0001", ErrVersion},
		{"token length 9", "49 01 0001 010203040506070809", ErrTokenLength},
		{"token length 15", "4f 01 0001", ErrTokenLength},
		{"token cut off", "44 01 0001 0102", ErrTokenLength},
		{"empty with a token", "41 00 0001 01", ErrNotEmpty},
		{"empty that announces a token", "41 00 0001", ErrNotEmpty},
		{"empty with an option", "40 00 0001 b0", ErrNotEmpty},
		{"empty with payload", "60 00 0001 ff 01", ErrNotEmpty},
		{"class 1", "40 20 0001", ErrCode},
		{"class 3", "40 60 0001", ErrCode},
		{"class 6", "40 c0 0001", ErrCode},
		{"class 7", "40 e1 0001", ErrCode},
		{"request in an acknowledgement", "60 01 0001", ErrCode},
		{"request in a reset", "70 01 0001", ErrCode},
		{"response in a reset", "70 45 0001", ErrCode},
		{"delta 15 that is no marker", "40 01 0001 f0", ErrOption},
		{"length 15", "40 01 0001 0f", ErrOption},
		{"delta byte cut off", "40 01 0001 d0", ErrOption},
		{"delta bytes cut off", "40 01 0001 e0 00", ErrOption},
		{"length byte cut off", "40 01 0001 0d", ErrOption},
		{"value cut off", "40 01 0001 b4 'abc'", ErrOption},
		{"number above 65535", "40 01 0001 e0 ffff", ErrOption},
		{"numbers that add up above 65535", "40 01 0001 e0 fe00 e0 fe00", ErrOption},
		{"marker and nothing", "40 01 0001 ff", ErrNoPayload},
		{"marker and nothing behind an option", "40 01 0001 b1 'a' ff", ErrNoPayload},
	}
	for _, r := range rows {
		var m Message
		if err := m.Decode(unhex(t, r.bytes)); !errors.Is(err, r.want) {
			t.Errorf("%s: got %v, want %v", r.name, err, r.want)
		}
	}
}

func TestOptionsKeepTheirOrder(t *testing.T) {
	var m Message
	for range 2 { // the second time in used room
		m.Clear()
		m.AddUint(Accept, 0)
		m.AddParts(URIQuery, "a=1&b=2", '&')
		m.AddParts(URIPath, "/one//two", '/')
		m.AddUint(ContentFormat, 60)
		m.AddBlock(Block1, Block{Num: MaxBlockNum, More: true, SZX: 6})
		m.AddUint(Size1, 1<<32-1)
	}
	want := unhex(t, "40 00 0000 b3 'one' 00 03 'two' 11 3c 33 'a=1' 03 'b=2' 20 a3 fffffe d4 14 ffffffff")
	if got := m.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	if got := string(m.AppendParts(nil, URIPath, '/')); got != "one//two" {
		t.Errorf("path: got %q", got)
	}
	b, ok := m.Block(Block1)
	if !ok || b != (Block{MaxBlockNum, true, 6}) || b.Offset() != MaxBlockNum*1024 {
		t.Errorf("block: got %+v at %d", b, b.Offset())
	}
	if m.Format(Accept) != Text || m.Format(ContentFormat) != CBOR {
		t.Errorf("formats: got %d, %d", m.Format(Accept), m.Format(ContentFormat))
	}
}

func TestBlockValues(t *testing.T) {
	rows := []struct {
		value string
		want  Block
		valid bool
	}{
		{"", Block{0, false, 0}, true}, // RFC 7959, section 2.2: zero length is 0/0/16
		{"06", Block{0, false, 6}, true},
		{"0e", Block{0, true, 6}, true},
		{"1a", Block{1, true, 2}, true},
		{"f7", Block{15, false, 7}, false},
		{"0100", Block{16, false, 0}, true},
		{"ffffff", Block{MaxBlockNum, true, 7}, false},
		{"fffffe", Block{MaxBlockNum, true, 6}, true},
	}
	for _, r := range rows {
		m := Message{Options: []Option{{Block2, unhex(t, r.value)}}}
		got, ok := m.Block(Block2)
		if !ok || got != r.want || got.Valid() != r.valid {
			t.Errorf("%q: got %+v, %v, valid %v", r.value, got, ok, got.Valid())
		}
		var back Message
		back.AddBlock(Block2, got)
		if !bytes.Equal(back.Options[0].Value, unhex(t, r.value)) {
			t.Errorf("%q: written as %x", r.value, back.Options[0].Value)
		}
	}
	for size, want := range map[int]uint8{0: 6, 1: 0, 16: 0, 31: 0, 32: 1, 1023: 5, 1024: 6, 5000: 6} {
		if got := szxOf(size); got != want {
			t.Errorf("exponent for %d bytes: got %d, want %d", size, got, want)
		}
	}
}

func TestSift(t *testing.T) {
	rows := []struct {
		name    string
		options []Option
		bad     OptionNumber
		left    int
	}{
		{"all known", []Option{{URIPath, []byte("a")}, {URIPath, []byte("b")}, {ContentFormat, nil}}, 0, 3},
		{"elective unknown is ignored", []Option{{URIPath, nil}, {65000, []byte("x")}}, 0, 1},
		{"critical unknown is not", []Option{{URIPath, nil}, {65001, []byte("x")}}, 65001, 0},
		{"elective of a wrong length is ignored", []Option{{ETag, nil}, {ContentFormat, []byte{1, 2, 3}}}, 0, 0},
		{"critical of a wrong length is not", []Option{{Accept, []byte{1, 2, 3}}}, Accept, 0},
		{"empty host", []Option{{URIHost, nil}}, URIHost, 0},
		{"path segment of 256 bytes", []Option{{URIPath, make([]byte, 256)}}, URIPath, 0},
		{"block of 4 bytes", []Option{{Block1, make([]byte, 4)}}, Block1, 0},
		{"critical twice", []Option{{Accept, nil}, {Accept, nil}}, Accept, 0},
		{"elective twice: the first counts", []Option{{ContentFormat, []byte{1}}, {ContentFormat, []byte{2}}}, 0, 1},
		{"an unknown one between does not hide a repetition",
			[]Option{{ContentFormat, []byte{1}}, {ContentFormat, []byte{2}}, {ContentFormat, []byte{3}}}, 0, 1},
	}
	for _, r := range rows {
		m := Message{Options: r.options}
		n, bad := m.Sift()
		if n != r.bad || bad != (r.bad != 0) || !bad && len(m.Options) != r.left {
			t.Errorf("%s: got option %d, %v, %d left", r.name, n, bad, len(m.Options))
		}
	}
}

func TestMessageAllocatesNothing(t *testing.T) {
	raw := unhex(t, "44 02 0001 01020304 b4 'echo' 11 3c 61 06 ff '0123456789'")
	var m, out Message
	var buf []byte
	work := func() {
		if err := m.Decode(raw); err != nil {
			t.Fatal(err)
		}
		out.Clear()
		out.AddParts(URIPath, "echo", '/')
		out.AddUint(ContentFormat, 60)
		buf = out.Append(buf[:0])
	}
	work()
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"40 01 7d34 bb 'temperature'", "61 45 7d35 20 ff '22.3 C'", "70 00 ffff",
		"48 02 0001 0102030405060708 b4 'echo' d1 03 0e ff 00", "40 01 0001 e1 fef2 07", "40 01 0001 de 16 0000"} {
		f.Add(unhex(f, s))
	}
	var m Message
	f.Fuzz(func(t *testing.T, b []byte) {
		if m.Decode(b) != nil {
			return
		}
		// Every part of the format has one encoding only, so this holds for any valid datagram.
		if got := m.Append(nil); !bytes.Equal(got, b) {
			t.Fatalf("decoded and encoded %x, want %x", got, b)
		}
		if _, bad := m.Sift(); bad {
			return
		}
		for i := 1; i < len(m.Options); i++ {
			if m.Options[i].Number < m.Options[i-1].Number {
				t.Fatalf("options out of order in %x", b)
			}
		}
	})
}
