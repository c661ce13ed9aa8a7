package dtls

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pion/dtls/v3"
)

var keys = Keys{Identity: "device", Key: []byte("sixteen bytes or")}

// listen serves echoes with pion's DTLS, another's implementation.
func listen(t *testing.T, options ...dtls.ServerOption) net.Addr {
	t.Helper()
	options = append(options, dtls.WithPSK(func(id []byte) ([]byte, error) {
		if string(id) != keys.Identity {
			return nil, errors.New("who is that?")
		}
		return keys.Key, nil
	}))
	l, err := dtls.ListenWithOptions("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4096)
				for {
					n, err := c.Read(b)
					if err != nil {
						return
					}
					if _, err := c.Write(b[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr()
}

// A peer is a session over a socket, some of whose datagrams are lost.
type peer struct {
	*Session
	conn net.Conn
	lose func(out bool, n int) bool // n-th datagram of a direction, from 0
	sent [2]int
	got  []byte
}

func dial(t *testing.T, to net.Addr, k Keys) *peer {
	t.Helper()
	conn, err := net.Dial("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &peer{Session: New(&k), conn: conn, lose: func(bool, int) bool { return false }}
}

func (p *peer) send(b []byte) {
	if n := p.sent[1]; !p.lose(true, n) {
		p.conn.Write(b)
	}
	p.sent[1]++
}

// await sends what again makes until what comes is of the wanted kind.
func (p *peer) await(wanted Event, again func() []byte) error {
	b := make([]byte, 4096)
	for range 50 {
		p.send(again())
		for {
			p.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			n, err := p.conn.Read(b)
			if err != nil {
				break
			}
			p.sent[0]++
			if p.lose(false, p.sent[0]-1) {
				continue
			}
			p.got = nil
			e, err := p.Receive(b[:n], func(x []byte) { p.got = bytes.Clone(x) })
			switch {
			case err != nil:
				return err
			case e == wanted && (e != Nothing || p.got != nil):
				return nil
			case e == Next:
				p.send(p.Flight(nil))
			}
		}
	}
	return errors.New("no answer")
}

func (p *peer) shake() error { return p.await(Opened, func() []byte { return p.Flight(nil) }) }

// say exchanges a message for itself.
func (p *peer) say(text string) error {
	err := p.await(Nothing, func() []byte { return p.Seal(nil, []byte(text)) })
	if err == nil && string(p.got) != text {
		err = errors.New("got " + string(p.got))
	}
	return err
}

func TestSessionWithPion(t *testing.T) {
	suite := func(s dtls.CipherSuiteID) dtls.ServerOption { return dtls.WithCipherSuites(s) }
	ids := dtls.WithConnectionIDGenerator(dtls.RandomCIDGenerator(8))
	for name, c := range map[string]struct {
		options []dtls.ServerOption
		cid     bool
		length  uint8
	}{
		"CCM-8": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8)}},
		"CCM":   {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM)}},
		"GCM":   {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_GCM_SHA256)}},
		"without extended master": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8),
			dtls.WithExtendedMasterSecret(dtls.DisableExtendedMasterSecret)}},
		"extended master required": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8),
			dtls.WithExtendedMasterSecret(dtls.RequireExtendedMasterSecret)}},
		"with a hint": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8),
			dtls.WithPSKIdentityHint([]byte("hint"))}},
		"no cookie": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8),
			dtls.WithInsecureSkipVerifyHello(true)}},
		"connection ID": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8), ids}, cid: true,
			length: 8},
		"connection ID, GCM": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_GCM_SHA256), ids},
			cid: true, length: 8},
		"connection ID, none there": {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8)}, cid: true},
		"connection ID, unasked":    {options: []dtls.ServerOption{suite(dtls.TLS_PSK_WITH_AES_128_CCM_8), ids}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := keys
			k.CID = c.cid
			p := dial(t, listen(t, c.options...), k)
			if err := p.shake(); err != nil {
				t.Fatal(err)
			}
			if p.cidLength != c.length {
				t.Errorf("connection ID of %d B, want %d", p.cidLength, c.length)
			}
			for _, text := range []string{"a", strings.Repeat("long", 250), "b"} {
				if err := p.say(text); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A session with a connection ID goes on from another address; one without does not.
func TestConnectionIDsOutliveAddresses(t *testing.T) {
	for _, cid := range []bool{true, false} {
		k := keys
		k.CID = cid
		at := listen(t, dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8),
			dtls.WithConnectionIDGenerator(dtls.RandomCIDGenerator(8)))
		p := dial(t, at, k)
		if err := p.shake(); err != nil {
			t.Fatal(err)
		}
		p.conn = dial(t, at, k).conn
		p.conn.Write(p.Seal(nil, []byte("it is me")))
		patience := time.Second
		if cid { // an answer comes, and on a busy machine late
			patience = 20 * time.Second
		}
		p.conn.SetReadDeadline(time.Now().Add(patience))
		b := make([]byte, 4096)
		n, err := p.conn.Read(b)
		var got string
		if err == nil {
			p.Receive(b[:n], func(x []byte) { got = string(x) })
		}
		if (got == "it is me") != cid {
			t.Errorf("connection ID %v: got %q", cid, got)
		}
	}
}

// Whatever datagram of the handshake is lost, it ends well when flights are sent again.
func TestSessionSurvivesLoss(t *testing.T) {
	at := listen(t, dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8), dtls.WithFlightInterval(100*time.Millisecond))
	for lost := range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			p := dial(t, at, keys)
			p.lose = func(out bool, n int) bool { return n == lost/2 && out == (lost%2 == 0) }
			if err := p.shake(); err != nil {
				t.Fatal(err)
			}
			if err := p.say("hello"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestStrangersAreRefused(t *testing.T) {
	at := listen(t, dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8))
	for name, k := range map[string]Keys{"identity": {Identity: "other", Key: keys.Key}} {
		if err := dial(t, at, k).shake(); !errors.Is(err, ErrAlert) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// What is not genuine, or comes twice, is dropped.
func TestForgedRecordsAreDropped(t *testing.T) {
	p := dial(t, listen(t, dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8)), keys)
	if err := p.shake(); err != nil {
		t.Fatal(err)
	}
	p.conn.Write(p.Seal(nil, []byte("once")))
	b := make([]byte, 4096)
	n, err := p.conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	take := func([]byte) { taken++ }
	for i := range n {
		forged := bytes.Clone(b[:n])
		forged[i] ^= 1
		if _, err := p.Receive(forged, take); err != nil {
			t.Fatal(err)
		}
	}
	if taken != 0 {
		t.Errorf("%d forged records were taken", taken)
	}
	p.Receive(bytes.Clone(b[:n]), take)
	p.Receive(bytes.Clone(b[:n]), take)
	if taken != 1 {
		t.Errorf("a record that came twice was taken %d times", taken)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte{22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15, 3, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0xfe, 0xff, 0}, false)
	f.Add([]byte{21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 40}, true)
	f.Fuzz(func(t *testing.T, b []byte, cid bool) {
		k := keys
		k.CID = cid
		s := New(&k)
		for range 3 {
			if e, err := s.Receive(bytes.Clone(b), func([]byte) { t.Error("data before the handshake") }); err != nil ||
				e == Opened {
				if e == Opened {
					t.Error("open without the key")
				}
				return
			}
			s.Flight(nil)
		}
	})
}
