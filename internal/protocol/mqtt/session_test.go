package mqtt

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// A script plays a broker against a session.
type script struct {
	t *testing.T
	s *Session
}

// hears feeds the session and returns the payloads it delivers.
func (s script) hears(packets string) (delivered []string, err error) {
	s.t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(packets, " ", ""))
	if err != nil {
		s.t.Fatal(err)
	}
	s.s.Took(copy(s.s.Space(), b))
	for {
		m, more, err := s.s.Step()
		if err != nil || !more {
			return delivered, err
		}
		if m != nil {
			delivered = append(delivered, string(m.Payload))
		}
	}
}

// says checks what the session wants to send.
func (s script) says(what, want string) {
	s.t.Helper()
	var got []byte
	for b := s.s.Next(); b != nil; b = s.s.Next() {
		got = append(got, b...)
	}
	if want = strings.ReplaceAll(want, " ", ""); hex.EncodeToString(got) != want {
		s.t.Fatalf("%s: said %x, want %s", what, got, want)
	}
}

// begun is a session that was let in; its CONNECT is not looked at.
func begun(t *testing.T, p Params) script {
	t.Helper()
	s := script{t, NewSession(p)}
	s.s.Connected()
	s.s.Next()
	if _, err := s.hears("2002 0000"); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExactlyOnce(t *testing.T) {
	s := begun(t, Params{Version: V311, ClientID: "c"})
	s.s.Publish(&Message{Topic: []byte("a"), Payload: []byte("x"), QoS: 2})
	s.says("a message of QoS 2", "3406 0001 61 0001 78")
	s.hears("5002 0001")
	s.says("after PUBREC", "6202 0001")
	s.hears("5002 0001")
	s.says("after the same PUBREC", "6202 0001")
	if s.s.Settled() {
		t.Error("settled without PUBCOMP")
	}
	s.hears("7002 0001")
	s.says("after PUBCOMP", "")
	if !s.s.Settled() {
		t.Error("not settled after PUBCOMP")
	}
	if _, err := s.hears("7002 0001"); err != nil {
		t.Errorf("PUBCOMP again: %v", err)
	}
	got, _ := s.hears("3406 0001 61 0007 79" + "3c06 0001 61 0007 79")
	s.says("a message twice", "5002 0007 5002 0007")
	if len(got) > 0 || s.s.Settled() {
		t.Errorf("delivered %q before PUBREL", got)
	}
	got, _ = s.hears("6202 0007 6202 0007")
	s.says("PUBREL twice", "7002 0007 7002 0007")
	if strings.Join(got, " ") != "y" {
		t.Errorf("delivered %q, want y once", got)
	}
	got, _ = s.hears("3406 0001 61 0007 7a 6202 0007") // the identifier is free again
	if strings.Join(got, " ") != "z" {
		t.Errorf("delivered %q, want z", got)
	}
}

func TestResume(t *testing.T) {
	s := begun(t, Params{Version: V311, ClientID: "c", Resume: true})
	for _, payload := range []string{"x", "y", "z"} {
		s.s.Publish(&Message{Topic: []byte("a"), Payload: []byte(payload), QoS: 2})
	}
	s.s.Publish(&Message{Topic: []byte("a"), Payload: []byte("1"), QoS: 1})
	s.says("four messages", "3406 0001 61 0001 78 3406 0001 61 0002 79 3406 0001 61 0003 7a 3206 0001 61 0004 31")
	s.hears("5002 0001 5002 0003 7002 0003 3406 0001 61 0007 77")
	s.s.Next()
	s.s.Connected()
	s.says("a new connection, the session goes on", "100d 0004 4d515454 04 00 0000 0001 63")
	if s.s.Publish(&Message{Topic: []byte("a"), Payload: []byte("0")}); s.s.Ready() {
		t.Error("ready before CONNACK")
	}
	if _, err := s.hears("2002 0100"); err != nil {
		t.Fatal(err)
	}
	s.says("CONNACK with the session", "6202 0001 3c06 0001 61 0002 79 3a06 0001 61 0004 31 3004 0001 61 30")
	if got, _ := s.hears("3c06 0001 61 0007 77 6202 0007"); strings.Join(got, " ") != "w" {
		t.Errorf("delivered %q, want w once", got)
	}
	s.s.Connected()
	if _, err := s.hears("2002 0000"); !errors.Is(err, ErrSessionLost) {
		t.Errorf("a session lost with messages under way: %v", err)
	}
}

// A session that the broker has begun may lack its subscriptions: the connection broke before they were taken.
func TestResumeSubscribes(t *testing.T) {
	s := script{t, NewSession(Params{Version: V311, ClientID: "c", Filters: []string{"f"}, Resume: true})}
	for _, present := range []string{"00", "01", "01"} { // no SUBACK came, nor in the second connection
		s.s.Connected()
		s.s.Next()
		if _, err := s.hears("2002 " + present + "00"); err != nil || s.s.Ready() {
			t.Fatalf("ready without SUBACK: %v", err)
		}
		s.says("SUBSCRIBE", "8206 000"+string('1'+byte(s.s.asked-1))+" 0001 66 00")
	}
	if _, err := s.hears("9003 0003 00"); err != nil || !s.s.Ready() {
		t.Fatalf("not ready after SUBACK: %v", err)
	}
	s.s.Connected()
	s.s.Next()
	if _, err := s.hears("2002 0100"); err != nil || !s.s.Ready() {
		t.Errorf("not ready, though the session has its subscriptions: %v", err)
	}
	s.says("nothing more", "")
}

func TestSessionLimits(t *testing.T) {
	s := script{t, NewSession(Params{Version: V5, ClientID: "c", QoS: 1, Filters: []string{"f"}})}
	s.s.Connected()
	s.s.Next()
	s.hears("200b 0000 08 21 0002 27 00000020") // two messages under way, packets of 32 B
	s.says("SUBSCRIBE", "8207 0001 00 0001 66 01")
	for range 3 {
		s.s.Publish(&Message{Topic: []byte("a"), QoS: 1})
	}
	s.says("before SUBACK", "")
	if _, err := s.hears("9004 0001 00 01"); err != nil {
		t.Fatal(err)
	}
	s.says("two of three", "3206 0001 61 0002 00 3206 0001 61 0003 00")
	s.hears("4002 0003")
	s.says("the third when one is acknowledged", "3206 0001 61 0004 00")
	if err := s.s.Publish(&Message{Topic: []byte("a"), Payload: make([]byte, 30)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a packet over the broker's limit: %v", err)
	}
	var refusal *Refusal
	if _, err := s.hears("4003 0002 97"); !errors.As(err, &refusal) || refusal.Reason != 0x97 {
		t.Errorf("PUBACK with quota exceeded: %v", err)
	}
}

func TestSessionRefuses(t *testing.T) {
	for _, tt := range []struct{ what, packets string }{
		{"a message before CONNACK", "3003 0001 61"},
		{"CONNACK with a refusal", "2002 0005"},
		{"CONNACK twice", "2002 0000 2002 0000"},
		{"SUBACK for another SUBSCRIBE", "2002 0000 9003 0009 02"},
		{"a subscription refused", "2002 0000 9003 0002 80"},
		{"less QoS than was asked for", "2002 0000 9003 0002 01"},
		{"PUBACK for QoS 2", "2002 0000 9003 0002 02 4002 0001"},
		{"PUBCOMP before PUBREC", "2002 0000 9003 0002 02 7002 0001"},
	} {
		s := script{t, NewSession(Params{Version: V311, ClientID: "c", QoS: 2, Filters: []string{"f"}})}
		s.s.Connected()
		s.s.Publish(&Message{Topic: []byte("a"), QoS: 2}) // identifier 1
		if _, err := s.hears(tt.packets); err == nil {
			t.Errorf("%s was taken", tt.what)
		}
	}
}

// What a broker takes it says with CONNACK, and it holds for what was published before, also over another connection:
// MQTT 5.0, sections 3.2.2.3.4 (Maximum QoS) and 3.2.2.3.6 (Maximum Packet Size).
func TestLimitsHoldForWhatWasPublishedBefore(t *testing.T) {
	const large, small = "2008 0000 05 27 00000040", "2008 0000 05 27 00000008"
	for name, tt := range map[string]struct {
		qos     byte
		connack string
		want    string
	}{
		"small enough": {0, large, ""},
		"too large":    {0, small, "mqtt: too large: 9 bytes, but the broker accepts 8"},
		"QoS":          {1, "2005 0000 02 2400", "mqtt: QoS 1, but the broker supports 0"},
	} {
		s := script{t, NewSession(Params{Version: V5, ClientID: "c"})}
		s.s.Publish(&Message{Topic: []byte("a"), Payload: []byte("xyz"), QoS: tt.qos})
		s.s.Connected()
		s.s.Next()
		_, err := s.hears(tt.connack)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if sent := s.s.Next() != nil; got != tt.want || sent != (err == nil) {
			t.Errorf("%s: %v, and sent: %v; want %q", name, err, sent, tt.want)
		}
	}
	s := script{t, NewSession(Params{Version: V5, ClientID: "c", Resume: true})}
	s.s.Connected()
	s.hears(large)
	s.s.Publish(&Message{Topic: []byte("a"), Payload: []byte("xyz"), QoS: 1})
	s.s.Connected()
	if _, err := s.hears("2008 0100 05 27 00000008"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("sent again: %v", err)
	}
}
