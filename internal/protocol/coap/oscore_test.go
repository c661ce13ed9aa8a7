package coap

import (
	"bytes"
	"errors"
	"testing"
)

// The keys of RFC 8613, appendices C.1 to C.3, the client's view.
func vectorKeys(t testing.TB) (c1, c2, c3 Keys) {
	secret := unhex(t, "0102030405060708090a0b0c0d0e0f10")
	salt := unhex(t, "9e7ca92223786340")
	one := []byte{1}
	return Keys{Secret: secret, Salt: salt, RecipientID: one}, Keys{Secret: secret, SenderID: []byte{0}, RecipientID: one},
		Keys{Secret: secret, Salt: salt, RecipientID: one, IDContext: unhex(t, "37cbf3210017a2d3")}
}

func secure(t testing.TB, k Keys) *Security {
	t.Helper()
	s, err := NewSecurity(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// turned are the peer's keys.
func turned(k Keys) Keys {
	k.SenderID, k.RecipientID = k.RecipientID, k.SenderID
	return k
}

// RFC 8613, appendices C.1 to C.8.
func TestOSCOREVectors(t *testing.T) {
	c1, c2, c3 := vectorKeys(t)
	for _, tt := range []struct {
		name             string
		keys             Keys
		plain, protected string
		nonce            string
	}{
		{"C.4", c1, "44015d1f00003974396c6f63616c686f737483747631",
			"44025d1f00003974396c6f63616c686f7374620914ff612f1092f1776f1c1668b3825e", "4622d4dd6d944168eefb549868"},
		{"C.5", c2, "440171c30000b932396c6f63616c686f737483747631",
			"440271c30000b932396c6f63616c686f737463091400ff4ed339a5a379b0b8bc731fffb0", "bf35ae297d2dace910c52e99ed"},
		{"C.6", c3, "44012f8eef9bbf7a396c6f63616c686f737483747631",
			"44022f8eef9bbf7a396c6f63616c686f73746b19140837cbf3210017a2d3ff72cd7273fd331ac45cffbe55c3",
			"2ca58fb85ff1b81c0b7181b84a"},
	} {
		client, server := secure(t, tt.keys), secure(t, turned(tt.keys))
		client.next = 20
		if n := client.nonce(tt.keys.SenderID, 20); !bytes.Equal(n[:], unhex(t, tt.nonce)) {
			t.Errorf("%s: nonce %x, want %s", tt.name, n, tt.nonce)
		}
		var m Message
		m.Decode(unhex(t, tt.plain))
		if _, err := client.protectRequest(&m); err != nil {
			t.Fatal(err)
		}
		got := m.Append(nil)
		if !bytes.Equal(got, unhex(t, tt.protected)) {
			t.Errorf("%s: protected is %x, want %s", tt.name, got, tt.protected)
		}
		m.Decode(got)
		if _, err := server.receive(&m); err != nil || !bytes.Equal(m.Append(nil), unhex(t, tt.plain)) {
			t.Errorf("%s: opened is %x, %v", tt.name, m.Append(nil), err)
		}
		if m.Decode(got); true {
			if _, err := server.receive(&m); err != ErrReplay {
				t.Errorf("%s: a replay got %v", tt.name, err)
			}
		}
	}
	for _, tt := range []struct {
		name, protected string
		own             bool
	}{
		{"C.7", "64445d1f0000397490ffdbaad1e9a7e7b2a813d3c31524378303cdafae119106", false},
		{"C.8", "64445d1f00003974920100ff4d4c13669384b67354b2b6175ff4b8658c666a6cf88e", true},
	} {
		const plain = "64455d1f00003974ff48656c6c6f20576f726c6421"
		client, server := secure(t, c1), secure(t, turned(c1))
		var m Message
		m.Decode(unhex(t, plain))
		b := binding{c1.SenderID, 20}
		if err := server.protectResponse(&m, b, tt.own); err != nil || !bytes.Equal(m.Append(nil), unhex(t, tt.protected)) {
			t.Errorf("%s: protected is %x, want %s, %v", tt.name, m.Append(nil), tt.protected, err)
		}
		m.Decode(unhex(t, tt.protected))
		if _, err := client.unprotectResponse(&m, b); err != nil || !bytes.Equal(m.Append(nil), unhex(t, plain)) {
			t.Errorf("%s: opened is %x, %v", tt.name, m.Append(nil), err)
		}
	}
}

// receive opens a request whose context is known to be s.
func (s *Security) receive(m *Message) (binding, error) {
	value, _ := m.Option(OSCORE)
	var o oscoreOption
	if err := o.decode(value); err != nil {
		return binding{}, err
	}
	return s.unprotectRequest(m, &o)
}

// RFC 8613, section 7.4: out of order within the window, never twice, nothing
// that is older; a forged number does not move the window.
func TestReplayWindow(t *testing.T) {
	s := &Security{}
	for _, tt := range []struct {
		piv  uint64
		want bool
		note bool
	}{{5, true, true}, {5, false, false}, {3, true, true}, {3, false, false}, {maxPIV, true, false}, {6, true, true},
		{36, true, true},
		{5, false, false}, {4, false, false}, {7, true, true}, {7, false, false}, {100, true, true}, {68, false, false},
		{69, true, true}, {99, true, true}, {99, false, false}} {
		if got := s.fresh(tt.piv); got != tt.want {
			t.Errorf("%d is fresh: %v, want %v", tt.piv, got, tt.want)
		}
		if tt.note {
			s.note(tt.piv)
		}
	}
}

func TestTamperedIsRefused(t *testing.T) {
	c1, _, _ := vectorKeys(t)
	good := unhex(t, "44025d1f00003974396c6f63616c686f7374620914ff612f1092f1776f1c1668b3825e")
	server := secure(t, turned(c1))
	for i := 18; i < len(good); i++ { // option OSCORE and what it protects
		bad := bytes.Clone(good)
		bad[i] ^= 1
		var m Message
		if m.Decode(bad) != nil {
			continue
		}
		if _, has := m.Option(OSCORE); !has {
			continue
		}
		if _, err := server.receive(&m); err == nil {
			t.Errorf("byte %d changed, and nobody saw", i)
		}
	}
	var m Message
	m.Decode(good)
	if _, err := server.receive(&m); err != nil {
		t.Errorf("the genuine one after them: %v", err)
	}
}

// A server that does not know whether a request is fresh, as after it has lost its replay window, has it come again
// with its Echo option, both of them protected (RFC 8613, appendix B.1.2; RFC 9175, section 2.3): another number, and
// the option is inside.
func TestOSCOREEcho(t *testing.T) {
	keys, _, _ := vectorKeys(t)
	client, server := secure(t, keys), secure(t, turned(keys))
	x := NewClientExchange(Params{Security: client}, 1)
	x.Start(&Call{Method: POST, Path: "x", Body: []byte("body")}, 0)
	for i, echo := range []string{"", "fresh?"} {
		var m Message
		if err := m.Decode(x.Next()); err != nil {
			t.Fatal(err)
		}
		if _, outside := m.Option(Echo); outside {
			t.Error("the option can be read on the way")
		}
		b, err := server.receive(&m)
		value, _ := m.Option(Echo)
		if err != nil || b.piv != uint64(i) || string(value) != echo || string(m.Payload) != "body" {
			t.Fatalf("request %d: %v, number %d, Echo %q, %q", i, err, b.piv, value, m.Payload)
		}
		answer := Message{Type: Acknowledgement, ID: m.ID, Token: m.Token, Code: Unauthorized}
		if answer.AddBytes(Echo, []byte("fresh?")); i == 1 {
			answer.Code, answer.Payload = Changed, []byte("done")
		}
		if err := server.protectResponse(&answer, b, false); err != nil {
			t.Fatal(err)
		}
		x.Receive(answer.Append(nil), 0)
	}
	if reply, err := x.Result(); err != nil || !x.Done() || reply.Code != Changed || string(reply.Body) != "done" {
		t.Errorf("%v %q, %v", reply.Code, reply.Body, err)
	}
}

// What does not protect its answer has not answered: an error is its own, or a proxy's, which ends the exchange (RFC
// 8613, sections 8.2 and 10). All else may be forged, as is what cannot be opened, and only noted.
func TestOSCOREAnswersWithoutProtection(t *testing.T) {
	keys, _, _ := vectorKeys(t)
	for code, ends := range map[Code]bool{BadOption: true, Unauthorized: true, 5<<5 | 2: true, 5<<5 | 4: true,
		Content: false, Changed: false} {
		x := NewClientExchange(Params{Security: secure(t, keys)}, 1)
		x.Start(&Call{Method: GET}, 0)
		var m Message
		m.Decode(x.Next())
		m.Clear()
		answer := Message{Type: Acknowledgement, ID: x.mid, Token: x.token[:], Code: code}
		x.Receive(answer.Append(nil), 0)
		if _, err := x.Result(); x.Done() != ends || errors.Is(err, ErrExposed) != ends || x.Unopened() == ends {
			t.Errorf("%v: over %v, %v, noted %v", code, x.Done(), err, x.Unopened())
		}
	}
	for name, change := range map[string]func(*Security, *binding){
		"another key":              func(s *Security, _ *binding) { *s = *s.with(t, []byte("another")) },
		"another request":          func(_ *Security, b *binding) { b.piv++ },
		"another kid":              func(_ *Security, b *binding) { b.id = []byte{7} },
		"the request's own sender": func(s *Security, _ *binding) { s.sender = s.receiver },
	} {
		server := secure(t, turned(keys))
		x := NewClientExchange(Params{Security: secure(t, keys)}, 1)
		x.Start(&Call{Method: GET}, 0)
		var m Message
		m.Decode(x.Next())
		b, err := server.receive(&m)
		if err != nil {
			t.Fatal(err)
		}
		change(server, &b)
		answer := Message{Type: Acknowledgement, ID: m.ID, Token: m.Token, Code: Content, Payload: []byte("forged")}
		if err := server.protectResponse(&answer, b, false); err != nil {
			t.Fatal(err)
		}
		if x.Receive(answer.Append(nil), 0); x.Done() || !x.Unopened() {
			t.Errorf("%s: over %v, noted %v", name, x.Done(), x.Unopened())
		}
	}
}

// with is a context whose secret is another.
func (s *Security) with(t *testing.T, secret []byte) *Security {
	k := s.keys
	k.Secret = secret
	return secure(t, k)
}
