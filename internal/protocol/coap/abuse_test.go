package coap

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// FuzzStream puts bytes before a server as a TCP connection brings them, whole
// and cut in two.
func FuzzStream(f *testing.F) {
	csm := unhex(f, "20e1 12 05 ff")
	m := Message{Code: POST, Token: []byte{1}, Payload: pattern(300)}
	m.AddString(URIPath, "sum")
	m.AddBlock(Block1, Block{0, true, bert})
	f.Add(m.AppendStream(csm), uint16(7))
	f.Add(unhex(f, "e1ffff0201b4'6'"), uint16(3))
	f.Add(unhex(f, "00e2 00e3 01e2aa 00e4"), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		s := &Server{Handler: shop(new(int)), MaxBody: 1000, MaxTransfers: 4, MaxHeld: 6000}
		ep := s.endpoint(nil)
		out := &pipeEnd{}
		signal := signaler{limit: 2000, most: baseMessageSize}
		tk := &task{from: &peer{conn: out}, stream: &signal}
		at := min(int(cut), len(b))
		rest, err := ep.messages(tk, b[:at])
		if err == nil {
			rest, err = ep.messages(tk, append(bytes.Clone(rest), b[at:]...))
		}
		if size, _ := streamSize(rest); err == nil && !signal.gone && size != 0 && size <= int64(len(rest)) {
			t.Fatalf("%x is whole and was left", rest)
		}
		for a := (Message{}); len(out.b) > 0; {
			n, err := a.DecodeStream(out.b, 1<<20)
			if err != nil || n == 0 {
				t.Fatalf("answer %x: %v", out.b, err)
			}
			out.b = out.b[n:]
		}
		if len(tk.from.transfers) > 4 || ep.held > 6000+5000 {
			t.Fatalf("%d transfers of %d bytes", len(tk.from.transfers), ep.held)
		}
	})
}

// FuzzOSCORE changes a genuine protected request; a server and a client must
// refuse it, and take what follows.
func FuzzOSCORE(f *testing.F) {
	c1, _, _ := vectorKeys(f)
	f.Add(uint16(18), byte(1), []byte{})
	f.Add(uint16(19), byte(0xe0), []byte("x"))
	f.Add(uint16(30), byte(8), bytes.Repeat([]byte{0xff}, 300))
	f.Fuzz(func(t *testing.T, at uint16, flip byte, more []byte) {
		asked := 0
		d := newDesk(t, &Server{Keyring: &Keyring{Keys: turned(c1), Most: 2}, Handler: func(*Request, *Response) { asked++ }})
		x := NewClientExchange(Params{Security: secure(t, c1)}, 1)
		x.Start(&Call{Method: POST, Path: "a", Body: []byte("body")}, 0)
		good := bytes.Clone(x.Next())
		bad := append(bytes.Clone(good), more...)
		bad[4+int(at)%(len(bad)-4)] ^= flip
		if bytes.Equal(bad, good) {
			return
		}
		bad[3]++ // another message ID
		answer := bytes.Clone(d.raw(bad))
		var m Message
		m.Decode(bad)
		token := len(m.Token) != 4 || !bytes.Equal(m.Token, x.token[:])
		if asked > 0 && len(more) == 0 && !token {
			t.Fatalf("%x was taken for genuine", bad)
		}
		if len(d.ep.s.Keyring.contexts) > 1 {
			t.Fatalf("%d contexts", len(d.ep.s.Keyring.contexts))
		}
		x.Receive(answer, 0)
		x.Receive(bad, 0)
	})
}

// A DTLS record that comes again is dropped: the handler sees each request once.
func TestDTLSReplayIsDropped(t *testing.T) {
	var mu sync.Mutex
	handled := 0
	s := &Server{Handler: func(*Request, *Response) { mu.Lock(); handled++; mu.Unlock() }}
	server, err := net.ResolveUDPAddr("udp", startDTLS(t, s, "127.0.0.1", PSK{Identity: "lab", Key: []byte(secret)}))
	if err != nil {
		t.Fatal(err)
	}
	near, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.DialUDP("udp", nil, server)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	defer far.Close()
	var client *net.UDPAddr
	var kept [][]byte
	go func() { // every record of application data goes three times, and all again
		b := make([]byte, 1<<16)
		for {
			n, from, err := near.ReadFromUDP(b)
			if err != nil {
				return
			}
			mu.Lock()
			client = from
			far.Write(b[:n])
			if n > 0 && b[0] == 23 {
				kept = append(kept, bytes.Clone(b[:n]))
				for _, old := range kept {
					far.Write(old)
					far.Write(old)
				}
			}
			mu.Unlock()
		}
	}()
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, err := far.Read(b)
			if err != nil {
				return
			}
			mu.Lock()
			near.WriteToUDP(b[:n], client)
			mu.Unlock()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := DialDTLS(ctx, near.LocalAddr().String(), PSK{Identity: "lab", Key: []byte(secret)}, Params{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const asked = 20
	for range asked {
		must(t, c, &Call{Method: POST, Path: "x"})
	}
	mu.Lock()
	defer mu.Unlock()
	if handled != asked || len(kept) < asked || s.Counts.Duplicates.Load() != 0 {
		t.Errorf("%d requests handled, %d records, %d duplicates known by their message ID; want %d, no record twice",
			handled, len(kept), s.Counts.Duplicates.Load(), asked)
	}
}

// Mutated messages of OSCORE at one long-lived endpoint: nothing is remembered
// of them, and it goes on.
func TestKeyringSurvives(t *testing.T) {
	c1, _, _ := vectorKeys(t)
	handled := 0
	s := &Server{Keyring: &Keyring{Keys: turned(c1)}, MaxPeers: 4, Handler: func(*Request, *Response) { handled++ }}
	d := newDesk(t, s)
	k := c1
	k.IDContext = []byte("genuine")
	client := secure(t, k)
	random := rand.New(rand.NewPCG(1, 1))
	wanted := 0
	for i := range 20_000 {
		x := NewClientExchange(Params{Security: client}, uint64(i))
		x.Start(&Call{Method: POST, Path: "a", Body: pattern(20)}, 0)
		b := bytes.Clone(x.Next())
		if i%100 == 0 {
			wanted++
		} else {
			b[8+random.IntN(len(b)-8)] ^= 1 << random.IntN(8) // beyond header and token
		}
		d.raw(b)
	}
	// A changed outer option of class U is not protected; no message here has one.
	if handled != wanted || len(s.Keyring.contexts) != 1 || s.Counts.Unopened.Load() < 15_000 {
		t.Errorf("%d handled, want %d; %d contexts; %d not opened", handled, wanted, len(s.Keyring.contexts),
			s.Counts.Unopened.Load())
	}
}
