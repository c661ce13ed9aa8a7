package mqtt

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// The bytes were worked out by hand from the sections named.
func TestEncode(t *testing.T) {
	publish := func(v Version, id uint16, m Message) []byte {
		b, err := AppendPublish(nil, v, id, &m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tt := range []struct {
		what, want string
		got        []byte
	}{
		{"3.1.1 section 3.1, clean session", "100f 0004 4d515454 04 02 0000 0003 414243",
			AppendConnect(nil, V311, &Hello{ClientID: "ABC", Clean: true})},
		{"5.0 section 3.1, session of 10 s, packets to 256 B",
			"101a 0004 4d515454 05 00 0000 0a 11 0000000a 27 00000100 0003 414243",
			AppendConnect(nil, V5, &Hello{ClientID: "ABC", Expiry: 10, Packet: 256})},
		{"3.1.1 section 3.8, two filters", "820e 000a 0003 612f62 01 0003 632f64 01",
			AppendSubscribe(nil, V311, 10, 1, "a/b", "c/d")},
		{"5.0 section 3.8", "8209 000a 00 0003 612f62 02", AppendSubscribe(nil, V5, 10, 2, "a/b")},
		{"3.1.1 section 3.3, QoS 1", "320a 0003 612f62 000a 010203",
			publish(V311, 10, Message{Topic: []byte("a/b"), QoS: 1, Payload: []byte{1, 2, 3}})},
		{"5.0 section 3.3, request", "3013 0001 61 0e 03 0001 6a 08 0001 72 09 0003 010203 00",
			publish(V5, 0, Message{Topic: []byte("a"), ContentType: []byte("j"), ResponseTopic: []byte("r"),
				Correlation: []byte{1, 2, 3}, Payload: []byte{0}})},
		{"section 3.6: PUBREL has flag 2", "6202 0102", AppendAck(nil, Pubrel, 0x102, 0)},
		{"5.0 section 3.7, not found", "7003 0102 92", AppendAck(nil, Pubcomp, 0x102, 0x92)},
		{"section 3.14", "e000", AppendBare(nil, Disconnect)},
		{"section 2.1.4: a length of two digits", "30 c801 0001 61" + strings.Repeat(" 00", 197),
			publish(V311, 0, Message{Topic: []byte("a"), Payload: make([]byte, 197)})},
	} {
		if want := strings.ReplaceAll(tt.want, " ", ""); hex.EncodeToString(tt.got) != want {
			t.Errorf("%s: got %x, want %s", tt.what, tt.got, want)
		}
	}
	long := Message{Topic: make([]byte, 1<<16)}
	if _, err := AppendPublish(nil, V5, 0, &long); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a topic of 64 KiB: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		what, packet string
		version      Version
	}{
		{"a length of five digits", "30ffffffff01", V5},
		{"a length in more digits than it needs", "30800061", V5},
		{"QoS 3", "3605 0001 61 0001", V311},
		{"a duplicate of QoS 0", "3803 0001 61", V311},
		{"packet identifier 0", "3205 0001 61 0000", V311},
		{"a topic with a wildcard", "3003 0001 23", V311},
		{"an empty topic", "3002 0000", V311},
		{"an empty topic without an alias", "3003 0000 00", V5},
		{"a topic that is not UTF-8", "3003 0001 ff", V311},
		{"a topic with a NUL", "3003 0001 00", V311},
		{"a topic beyond the packet", "3003 0004 61", V311},
		{"properties beyond the packet", "3005 0001 61 05 01", V5},
		{"a property of another packet", "3006 0001 61 02 2401", V5},
		{"an unknown property", "3006 0001 61 02 7f01", V5},
		{"a repeated property", "3008 0001 61 04 0100 0100", V5},
		{"a format that is neither 0 nor 1", "3006 0001 61 02 0102", V5},
		{"a topic alias, none allowed", "3007 0001 61 03 230001", V5},
		{"a subscription identifier of 0", "3006 0001 61 02 0b00", V5},
		{"flags of PUBACK", "4102 0001", V311},
		{"PUBREL without its flag", "6002 0001", V311},
		{"bytes behind a PUBACK", "4003 0001 00", V311},
		{"CONNACK's reserved flags", "2002 0200", V311},
		{"a refusal with a session", "2002 0105", V311},
		{"a receive maximum of 0", "2006 0000 03 210000", V5},
		{"SUBACK of nothing", "9002 0001", V311},
		{"DISCONNECT from a broker, 3.1.1", "e000", V311},
		{"CONNECT from a broker", "1000", V5},
		{"AUTH that nobody asked for", "f000", V5},
		{"a reserved type", "0000", V5},
		{"exceeds the limit", "30ff7f", V5},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(tt.packet, " ", ""))
		if err != nil {
			t.Fatal(tt.what, err)
		}
		var p Packet
		if _, err := p.Decode(tt.version, b, 1000); err == nil {
			t.Errorf("%s was taken: %+v", tt.what, p)
		}
	}
}

// What a broker says of its limits, the silence that it bears among them (5.0, section 3.2.2.3.14).
func TestBrokersLimits(t *testing.T) {
	var p Packet
	b := []byte("\x20\x0b\x00\x00\x08\x13\x00\x2d\x27\x00\x00\x10\x00")
	if n, err := p.Decode(V5, b, 0); n != len(b) || err != nil {
		t.Fatal(n, err)
	}
	if want := (Limits{Receive: 65535, QoS: 2, Silence: 45, Packet: 4096}); p.Limits != want {
		t.Errorf("got %+v, want %+v", p.Limits, want)
	}
	if _, err := p.Decode(V5, []byte("\x20\x03\x00\x00\x00"), 0); err != nil || p.Limits.Silence != 0 {
		t.Errorf("the next connection: got %+v, %v", p.Limits, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range []Version{V311, V5} {
		m := Message{Topic: []byte("a/b"), Payload: []byte("xyz"), QoS: 2, ResponseTopic: []byte("r"), Correlation: []byte{1},
			ContentType: []byte("text/plain"), Failure: []byte("no")}
		b, _ := AppendPublish(nil, v, 9, &m)
		f.Add(v == V5, b)
		f.Add(v == V5, AppendAck(nil, Pubrel, 7, 0))
	}
	f.Add(true, []byte("\x20\x0e\x00\x00\x0b\x22\x00\x0a\x27\x00\x00\x10\x00\x24\x01\x2a")) // CONNACK as brokers send it
	f.Add(true, []byte("\x90\x04\x00\x01\x00\x01"))
	f.Add(true, []byte("\xe0\x02\x95\x00"))
	f.Fuzz(func(t *testing.T, five bool, b []byte) {
		v := V311
		if five {
			v = V5
		}
		var p Packet
		n, err := p.Decode(v, b, 1<<20)
		if n > len(b) {
			t.Fatalf("%d bytes of %d", n, len(b))
		}
		if err != nil || n == 0 || p.Kind != Publish {
			return
		}
		again, err := AppendPublish(nil, v, p.ID, &p.Message)
		var q Packet
		if m, err2 := q.Decode(v, again, 0); err != nil || err2 != nil || m != len(again) ||
			!reflect.DeepEqual(p.Message, q.Message) || p.ID != q.ID {
			t.Fatalf("%x: %+v, %x: %+v, %v, %v", b[:n], p.Message, again, q.Message, err, err2)
		}
	})
}

// FuzzSession: whatever a broker sends, nothing panics, nothing is delivered
// twice under one packet identifier that is held, and what is kept is bounded by what came.
func FuzzSession(f *testing.F) {
	hello := []byte("\x20\x02\x00\x00\x90\x03\x00\x01\x02")
	f.Add(append(bytes.Clone(hello),
		"\x34\x05\x00\x01a\x00\x05\x34\x05\x00\x01a\x00\x05\x62\x02\x00\x05\x62\x02\x00\x05"...))
	f.Add(append(bytes.Clone(hello), "\x50\x02\x00\x02\x70\x02\x00\x02\x40\x02\x00\x03"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewSession(Params{Version: V311, ClientID: "c", QoS: 2, Filters: []string{"a"}, Resume: true,
			MaxPacket: 1 << 16})
		for _, qos := range []byte{2, 1, 0} {
			if err := s.Publish(&Message{Topic: []byte("a"), QoS: qos}); err != nil {
				t.Fatal(err)
			}
		}
		s.Connected()
		for delivered := 0; len(b) > 0; {
			n := copy(s.Space(), b)
			b = b[n:]
			s.Took(n)
			for {
				m, more, err := s.Step()
				if err != nil {
					return
				}
				if m != nil {
					delivered++
				}
				if !more {
					break
				}
			}
			for out := s.Next(); out != nil; out = s.Next() {
			}
		}
		if len(s.held) > 1<<16 {
			t.Fatalf("%d messages held", len(s.held))
		}
	})
}
