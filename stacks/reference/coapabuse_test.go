package reference

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A caller of bad things: one UDP socket before a server of the service echo.
type vandal struct {
	t    *testing.T
	conn net.Conn
	mid  uint16
}

// say sends a datagram and returns the answer, empty if there is none. Message
// IDs are in its third and fourth byte.
func (v *vandal) say(b []byte) []byte {
	v.t.Helper()
	if _, err := v.conn.Write(b); err != nil {
		v.t.Fatal(err)
	}
	answer := make([]byte, 1<<16)
	v.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	n, err := v.conn.Read(answer)
	if err != nil {
		return nil
	}
	return answer[:n]
}

// datagram puts a fresh message ID into a message written in hex.
func (v *vandal) datagram(text string) []byte {
	v.t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		v.t.Fatal(err)
	}
	if len(b) >= 4 {
		v.mid++
		binary.BigEndian.PutUint16(b[2:], v.mid)
	}
	return b
}

// drain throws away what still comes.
func (v *vandal) drain() {
	b := make([]byte, 1<<16)
	for {
		v.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := v.conn.Read(b); err != nil {
			return
		}
	}
}

// echoed asks rightly and wants the right answer.
func echoed(t *testing.T, at string) {
	t.Helper()
	c, err := coap.Dial(at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := service.Message{Text: []byte("still here")}
	body := codec.Append(codec.Protobuf, nil, service.Echo, false, &m)
	r, err := c.Do(t.Context(), &coap.Call{Method: coap.POST, Path: "echo", Format: coap.OctetStream, Body: body})
	if err != nil || r.Code >= coap.BadRequest || !bytes.Contains(r.Body, m.Text) {
		t.Fatalf("a right request got %v %q, %v", r.Code, r.Body, err)
	}
}

// What a CoAP server may answer. A code of 4.xx may come in any message.
const (
	silence = "nothing"
	reset   = "RST"
	refusal = "4.xx or 5.xx"
	whole   = "2.xx"

	acknowledged = "an empty ACK"
)

func kindOf(answer []byte) string {
	switch {
	case len(answer) == 0:
		return silence
	case len(answer) >= 4 && answer[0]&0x30 == 0x30:
		return reset
	case len(answer) == 4 && answer[0]&0x30 == 0x20 && answer[1] == 0:
		return acknowledged
	case len(answer) >= 4 && answer[1]>>5 >= 4:
		return refusal
	case len(answer) >= 4 && answer[1]>>5 == 2:
		return whole
	}
	return hex.EncodeToString(answer)
}

// echoServers are the servers that bad input is thrown at.
func echoServers(t *testing.T) map[string]func(s stack.Serve) (*stack.Conn, string) {
	t.Setenv("REFERENCE_TEST_PROGRAM", "1")
	serve := func(conn *stack.Conn, s stack.Serve) (*stack.Conn, string) {
		s.Service, s.Encoding, s.Transport, s.Host, s.Limits.Body = "echo", "protobuf", "coap", "127.0.0.1", 100_000
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ready, err := conn.Serve(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		return conn, ready.URL
	}
	all := map[string]func(s stack.Serve) (*stack.Conn, string){
		"reference": func(s stack.Serve) (*stack.Conn, string) {
			return serve(stacktest.Start(t, "", "/proc/self/exe", Prefix+"coap-protobuf", "serve"), s)
		},
	}
	for _, name := range []string{"californium", "libcoap"} {
		d := stacktest.Built(t, "../"+name)
		all[name] = func(s stack.Serve) (*stack.Conn, string) {
			return serve(stacktest.Start(t, d.Dir, argv(t, d.Serve)...), s)
		}
	}
	return all
}

func hostOf(t *testing.T, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func dialVandal(t *testing.T, at string) *vandal {
	t.Helper()
	conn, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &vandal{t: t, conn: conn}
}

// upstream is what a library does otherwise than its RFC says, seen here; nothing
// grows by it, and stacks/NAME/README.md tells.
var upstream = map[string]string{
	"libcoap: version 2":                     reset,        // RFC 7252, section 3: silently ignored
	"libcoap: a response nobody asked for":   acknowledged, // section 4.2: rejected
	"libcoap: code class 6":                  acknowledged, // the same
	"libcoap: Block2 with the reserved size": whole,        // RFC 7959, section 2.2: 4.00
}

// Whatever is thrown at a server, it drops or refuses as the RFC says, answers
// nothing larger than a block, does not call the service, and goes on.
func TestBadCoAPAtEveryServer(t *testing.T) {
	const post = "40 02 0000 b4 6563686f 11 2a " // CON POST, Uri-Path echo, Content-Format 42
	for name, start := range echoServers(t) {
		t.Run(name, func(t *testing.T) {
			srv, at := start(stack.Serve{Security: "none"})
			at = hostOf(t, at)
			v := dialVandal(t, at)
			asked := 0
			right := func() { echoed(t, at); asked++ }
			right()
			for _, tt := range []struct {
				what, datagram string
				may            []string
			}{
				// RFC 7252, section 3: message format errors. Section 4.2: rejected by a Reset, or ignored.
				{"token length 9", "49 02 0000 010203040506070809 b4 6563686f", []string{reset, silence}},
				{"token length 15", "4f 02 0000 01", []string{reset, silence}},
				{"token cut off", "48 02 0000 0102", []string{reset, silence}},
				{"option delta 15", "40 02 0000 f4 6563686f", []string{reset, silence, refusal}},
				{"option length 15", "40 02 0000 bf 6563686f", []string{reset, silence, refusal}},
				{"option longer than the datagram", "40 02 0000 bd ff 6563686f", []string{reset, silence, refusal}},
				{"option number beyond 65535", "40 02 0000 b4 6563686f e0 ffff", []string{reset, silence, refusal}},
				{"payload marker and no payload", "40 02 0000 b4 6563686f ff", []string{reset, silence, refusal}},
				{"cut in the header", "40 02", []string{silence}},
				{"one byte", "40", []string{silence}},
				{"version 2", "80 02 0000 b4 6563686f", []string{silence}},
				{"an empty message with a token", "41 00 0000 01", []string{reset, silence}},
				{"a ping", "40 00 0000", []string{reset}},
				{"an acknowledgement of nothing", "60 00 0000", []string{silence}},
				{"a reset of nothing", "70 00 0000", []string{silence}},
				{"a response nobody asked for", "40 45 0000 ff 61", []string{reset, silence}},
				{"code class 1", "40 21 0000", []string{reset, silence, refusal}},
				{"code class 6", "40 c1 0000", []string{reset, silence, refusal}},
				// Section 5.4.1: an unknown critical option, and one that must not repeat.
				{"a critical option nobody knows", "40 02 0000 b4 6563686f d1 0d 01", []string{refusal}}, // number 37
				// RFC 7959, sections 2.2 to 2.5.
				{"Block1 with the reserved size", post + "d1 02 0f ff 61", []string{refusal, reset, silence}},
				{"Block2 with the reserved size", post + "b1 0f ff 0a0161", []string{refusal, reset, silence}},
				{"the sixth block of a body never begun", post + "d1 02 5e ff " + strings.Repeat("61", 1024),
					[]string{refusal, silence}},
				{"a block number at the end of all", post + "d3 02 fffffe ff " + strings.Repeat("61", 1024),
					[]string{refusal, silence}},
				{"a middle block that is short", post + "d1 02 0e ff 6161", []string{refusal, silence}},
				// What is in the message: protobuf cut, and no protobuf.
				{"protobuf cut in a string", post + "ff 0a7f6161", []string{refusal}},
				{"a varint without end", post + "ff " + strings.Repeat("ff", 40), []string{refusal}},
				{"no such resource", "40 02 0000 b3 666f6f", []string{refusal}},
				{"no such method", "40 1f 0000 b4 6563686f", []string{refusal, reset, silence}},
			} {
				b := v.datagram(tt.datagram)
				answer := v.say(b)
				if got := kindOf(answer); !slices.Contains(tt.may, got) && got != upstream[name+": "+tt.what] {
					t.Errorf("%s: got %s, want %s", tt.what, got, strings.Join(tt.may, " or "))
				}
				if len(answer) > 1024+64 { // RFC 7252, section 11.3: a block, and some header
					t.Errorf("%s: %d B are answered to %d B from an address that anybody can write", tt.what, len(answer), len(b))
				}
				v.drain()
				right()
			}

			// Section 4.5: the same confirmable message again is answered alike and done once.
			m := service.Message{Text: []byte("once")}
			once := v.datagram(post + "ff" + hex.EncodeToString(codec.Append(codec.Protobuf, nil, service.Echo, false, &m)))
			first := v.say(once)
			if kindOf(first) != whole {
				t.Fatalf("a right datagram got %x", first)
			}
			asked++
			for range 5 {
				if again := v.say(once); !bytes.Equal(again, first) {
					t.Errorf("the same again got %x, first %x", again, first)
				}
			}

			// Block2 asks for the largest that there may be; a discovery asks for all there is.
			for _, q := range []string{"40 01 0000 bb 2e77656c6c2d6b6e6f776e 04 636f7265", "50 01 0000 b4 6563686f",
				"40 01 0000 b4 6563686f c1 06"} {
				if answer := v.say(v.datagram(q)); len(answer) > 1024+64 {
					t.Errorf("%d B are answered to %s", len(answer), q)
				}
				v.drain()
			}

			// A storm of changed datagrams; what is right by chance is not counted on.
			random := rand.New(rand.NewPCG(7, 252))
			good := v.datagram(post + "ff 0a03616263")
			for range 3000 {
				b := bytes.Clone(good)
				for range 1 + random.IntN(4) {
					b[random.IntN(len(b))] = byte(random.IntN(256))
				}
				v.conn.Write(b[:1+random.IntN(len(b))])
			}
			end, err := srv.Report(t.Context(), false, nil)
			if err != nil || end.Count < asked || end.Count > asked+3000 {
				t.Errorf("the server counts %d requests, %v; want %d and what the storm brought", end.Count, err, asked)
			}
			v.drain()
			echoed(t, at)
			if end, err := srv.Report(t.Context(), false, nil); err != nil || end.Count == 0 {
				t.Errorf("after the storm it counts %d, %v", end.Count, err)
			}
		})
	}
}

// repeats is a relay before a server, which sends each datagram that wanted picks again, twice, changed by alter,
// with all that were picked before it.
func repeats(t *testing.T, server string, wanted func([]byte) bool, alter func([]byte)) (at string,
	repeated func() int) {
	t.Helper()
	near, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.Dial("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	var client atomic.Pointer[net.UDPAddr]
	var n atomic.Int64
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		var kept [][]byte
		b := make([]byte, 1<<16)
		for {
			size, from, err := near.ReadFromUDP(b)
			if err != nil {
				return
			}
			client.Store(from)
			far.Write(b[:size])
			if !wanted(b[:size]) {
				continue
			}
			kept = append(kept, bytes.Clone(b[:size]))
			for _, old := range kept {
				for range 2 {
					alter(old)
					far.Write(old)
					n.Add(1)
				}
			}
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		b := make([]byte, 1<<16)
		for {
			size, err := far.Read(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if to := client.Load(); err == nil && to != nil {
				near.WriteToUDP(b[:size], to)
			}
		}
	}()
	t.Cleanup(func() { near.Close(); far.Close(); <-done; <-done })
	return near.LocalAddr().String(), func() int { return int(n.Load()) }
}

// Protected messages that come again are done once, at every server that
// protects them: a DTLS record by its number, an OSCORE message, here under
// other message IDs, by its sequence number.
func TestReplaysAtEveryServer(t *testing.T) {
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	for name, start := range echoServers(t) {
		for _, way := range []struct {
			security string
			wanted   func([]byte) bool
			alter    func([]byte)
		}{
			{"dtls-psk", func(b []byte) bool { return b[0] == 23 }, func([]byte) {}},
			{"oscore", func(b []byte) bool { return len(b) > 4 },
				func(b []byte) { binary.BigEndian.PutUint16(b[2:], binary.BigEndian.Uint16(b[2:])+20_000) }},
		} {
			if name == "libcoap" && way.security == "oscore" {
				continue // 4.3.1 has none
			}
			t.Run(name+" "+way.security, func(t *testing.T) {
				srv, at := start(stack.Serve{Security: way.security, Credentials: credentials})
				u, err := url.Parse(at)
				if err != nil {
					t.Fatal(err)
				}
				relay, repeated := repeats(t, u.Host, way.wanted, way.alter)
				u.Host = relay
				const asked = 20
				cl := stacktest.Start(t, "", "/proc/self/exe", Prefix+"coap-protobuf", "call")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := cl.Call(ctx, stack.Call{URL: u.String(), Service: "echo", Encoding: "protobuf", Security: way.security,
					Transport: "coap", Connection: "keep-alive",
					Message: stack.Message{Seed: 1, N: 20}, Timeout: int64(20 * time.Second), Limits: stack.Limits{Body: 100_000},
					Credentials: credentials}); err != nil {
					t.Fatal(err)
				}
				if _, err := cl.Run(ctx, stack.Run{Requests: asked, Record: true}, func(x measure.Exchange) {
					if x.Failure != "" {
						t.Errorf("request %d: %s", x.Seq, x.Failure)
					}
				}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond) // what was repeated last arrives
				end, err := srv.Report(ctx, true, nil)
				if err != nil || end.Count != asked || repeated() < 2*asked {
					t.Errorf("%d of %d requests were done, %v; %d datagrams came again", end.Count, asked, err, repeated())
				}
			})
		}
	}
}
