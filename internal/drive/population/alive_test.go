package population

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// What a server logs of a device that waits for a late answer, for its next attempt, or for nothing: it is never silent
// for longer than its keepalive, and no two of its messages have one ID.
func TestDevicesPingWhateverTheyWaitFor(t *testing.T) {
	const s, alive = time.Second, 2 * time.Second
	late := func(code coap.Code) func(*world, int, *coap.Message) []reply {
		return func(w *world, device int, m *coap.Message) []reply {
			if m.Code == coap.Empty {
				return answers(w, device, m)
			}
			r := []reply{{7 * s, bytesOf(coap.Confirmable, code, m.ID+9, m.Token, "ok")}}
			if m.Type == coap.Confirmable {
				r = append(r, reply{rtt, bytesOf(coap.Acknowledgement, 0, m.ID, nil, "")})
			}
			return r
		}
	}
	for name, tt := range map[string]struct {
		change func(*Spec)
		server func(*world, int, *coap.Message) []reply
		failed bool
	}{
		"a separate answer":         {func(*Spec) {}, late(coap.Content), false},
		"a non-confirmable request": {func(x *Spec) { x.NON = true }, late(coap.Content), false},
		"a refusal, and the retries": {func(x *Spec) { x.Retry = Backoff{9 * s, 1, 9 * s, None} },
			late(coap.Code(5 << 5)), true},
		"an answer that never comes": {func(x *Spec) { x.Timeout = 20 * s }, func(w *world, d int, m *coap.Message) []reply {
			if m.Code == coap.Empty {
				return answers(w, d, m)
			}
			return []reply{{rtt, bytesOf(coap.Acknowledgement, 0, m.ID, nil, "")}}
		}, true},
	} {
		spec := sensors(3, 30*s, Aligned)
		spec.Classes[0].KeepAlive, spec.Timeout = alive, 12*s
		tt.change(&spec)
		w := &world{core: newCore(&spec), server: tt.server}
		w.run(Load{For: 3 * 30 * s, Record: true})
		last, ids := map[int]time.Duration{}, map[int]map[uint16]bool{}
		for _, x := range w.sent {
			if gap := x.at - last[x.device]; gap > alive+10*time.Millisecond {
				t.Errorf("%s: device %d was silent for %v until %v", name, x.device, gap, x.at)
			}
			if last[x.device] = x.at; x.kind == ack || x.kind == reset {
				continue
			}
			if ids[x.device] == nil {
				ids[x.device] = map[uint16]bool{}
			}
			if ids[x.device][x.id] {
				t.Errorf("%s: device %d sent two messages with ID %d", name, x.device, x.id)
			}
			ids[x.device][x.id] = true
		}
		if len(last) != 3 || w.Pings == 0 || w.Pongs != w.Pings || w.Strays != 0 || w.Failed > 0 != tt.failed {
			t.Errorf("%s: got %+v", name, w.Counts)
		}
	}
}

// One message at a time waits for its acknowledgement (RFC 7252, section 4.7): a ping waits until then.
func TestPingsWaitForTheAcknowledgement(t *testing.T) {
	spec := sensors(1, 10*time.Second, Aligned)
	spec.Classes[0].KeepAlive = 500 * time.Millisecond
	w := &world{core: newCore(&spec), server: func(w *world, device int, m *coap.Message) []reply {
		r := answers(w, device, m)
		if m.Code != coap.Empty {
			r[0].after = 1500 * time.Millisecond
		}
		return r
	}}
	w.run(Load{For: 4 * time.Second})
	if len(w.sent) < 3 || w.sent[0].kind != request || w.sent[1].kind != ping || w.sent[1].at < 1500*time.Millisecond {
		t.Errorf("got %+v", w.sent)
	}
}

// Behind a NAT that forgets sooner than the server answers, a keepalive keeps the way open. The server's log says what
// it heard and when; the gap in it, on a busy machine, what the NAT may have forgotten.
func TestKeepAliveBehindNAT(t *testing.T) {
	t.Parallel()
	const nat, alive, after = 2 * time.Second, 300 * time.Millisecond, 3 * time.Second
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopbackAny))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var mu sync.Mutex
	var heard []time.Time
	peers, pings := map[netip.AddrPort]bool{}, 0
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			mu.Lock()
			heard = append(heard, time.Now())
			peers[from] = true
			if b[1] == 0 && b[0]>>4&3 == byte(coap.Confirmable) {
				pings++
			}
			mu.Unlock()
			switch m := append([]byte(nil), b[:n]...); {
			case m[0]>>4&3 != byte(coap.Confirmable): // it acknowledges
			case m[1] == 0:
				conn.WriteToUDPAddrPort([]byte{0x70, 0, m[2], m[3]}, from)
			default:
				conn.WriteToUDPAddrPort([]byte{0x60, 0, m[2], m[3]}, from)
				m[1] = 2<<5 | 5
				time.AfterFunc(after, func() { conn.WriteToUDPAddrPort(append(m[:8:8], 0xff, 'o', 'k'), from) })
			}
		}
	}()
	spec := posted(1, 10*time.Second, conn.LocalAddr())
	spec.NAT, spec.Phase, spec.Classes[0].KeepAlive = nat, Aligned, alive
	p, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Run(t.Context(), Load{Requests: 1, For: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	silent := time.Duration(0)
	for i := 1; i < len(heard); i++ {
		silent = max(silent, heard[i].Sub(heard[i-1]))
	}
	if pings == 0 {
		t.Errorf("the server heard no ping while its answer was due: %+v", r.Counts)
	}
	if silent < nat/2 && (r.Answered != 1 || r.LostAtNAT != 0 || len(peers) != 1) {
		t.Errorf("silent for %v at most, and %d peers: %+v", silent, len(peers), r.Counts)
	}
}

// A rightBroker closes a connection whose client says nothing for 1.5 times its keep alive (MQTT 3.1.1, section
// 3.1.2.10), and answers late. It sees what the device sends, at which instant.
type rightBroker struct {
	*paper
	alive             time.Duration
	suback, answer    time.Duration
	refuses           bool
	heard             int64 // -1: no connection
	todo              []post
	closed, published int
}

func (b *rightBroker) run(t *testing.T, until time.Duration) {
	for b.heard = -1; b.at < int64(until); {
		b.until(time.Duration(b.at) + 5*time.Millisecond)
		b.each("dial", func(i int32) { b.s.opened(i, b.at) })
		for _, bytes := range b.said {
			for len(bytes) > 0 {
				kind, whole := mqtt.Kind(bytes[0]>>4), 2+int(bytes[1]) // all are shorter than 128 B
				if whole > min(len(bytes), 129) {
					t.Fatalf("the device says %q", bytes)
				}
				bytes = bytes[whole:]
				b.heard = b.at
				reply := func(after time.Duration, text string) {
					b.todo = append(b.todo, post{b.at + int64(after), int(b.s.links[0].conn), []byte(text)})
				}
				switch kind {
				case mqtt.Connect:
					reply(0, "\x20\x02\x00\x00")
				case mqtt.Subscribe:
					reply(b.suback, "\x90\x04\x00\x01\x00\x00")
				case mqtt.Pingreq:
					reply(0, "\xd0\x00")
				case mqtt.Publish:
					topic := "a/response/x"
					if b.published++; b.refuses {
						topic = string(b.s.speak.(*mqttSpeaker).topic(b.s, 0, failure))
					}
					m, _ := mqtt.AppendPublish(nil, mqtt.V311, 0, &mqtt.Message{Topic: []byte(topic), Payload: []byte("ok")})
					reply(b.answer, string(m))
				}
			}
		}
		b.did, b.said = nil, nil
		for i := 0; i < len(b.todo); i++ {
			if x := b.todo[i]; x.at <= b.at {
				b.todo = append(b.todo[:i], b.todo[i+1:]...)
				if i--; x.device == int(b.s.links[0].conn) && b.s.links[0].phase > opening {
					b.s.received(0, x.bytes, b.at)
				}
			}
		}
		if b.s.links[0].phase <= opening {
			b.heard = -1
		}
		if b.heard >= 0 && b.at-b.heard > int64(b.alive*3/2) {
			b.closed++
			b.heard = -1
			b.s.broken(0, b.at, errClosed)
		}
	}
}

func TestDevicesOutliveARightBrokersPatience(t *testing.T) {
	const s = time.Second
	for name, b := range map[string]*rightBroker{
		"a late answer":           {answer: 5300 * time.Millisecond},
		"a late subscription":     {suback: 5300 * time.Millisecond},
		"a refusal, and a wait":   {refuses: true},
		"answers that never come": {answer: time.Hour},
	} {
		b.alive = 2 * s
		b.paper = onPaper(func(x *Spec) {
			x.Stream, x.Timeout, x.Phase = &Stream{Protocol: MQTT311, Topic: "a"}, 12*s, Random
			x.Classes[0].Period, x.Classes[0].KeepAlive = 15*s, b.alive
			x.Retry = Backoff{First: 9 * s, Factor: 1, Most: 9 * s, Jitter: None}
		})
		b.run(t, 60*s)
		if b.closed != 0 || b.published < 3 || b.s.fault != nil || b.answer < time.Minute && !b.refuses && b.s.Failed > 0 {
			t.Errorf("%s: closed %d times of %d requests: %+v", name, b.closed, b.published, b.s.Counts)
		}
	}
}

// With reconnect: off, a device whose connection was closed comes back with its next report.
func TestClosedDeviceReportsAgainWithoutRetries(t *testing.T) {
	const s = time.Second
	for _, at := range []time.Duration{1 * s, 8 * s} { // while it waits for its answer, and at rest
		b := &rightBroker{alive: 2 * s, answer: 3 * s}
		b.paper = onPaper(func(x *Spec) {
			x.Stream, x.Timeout = &Stream{Protocol: MQTT311, Topic: "a"}, 12*s
			x.Classes[0].Period, x.Classes[0].KeepAlive, x.Retry = 15*s, b.alive, Backoff{}
		})
		b.run(t, at)
		b.s.broken(0, b.at, errClosed)
		b.run(t, 50*s)
		if c := b.s.Counts; b.published != 4 || c.Requests != 4 || c.Skipped != 0 || c.Connects != 2 || b.closed != 0 {
			t.Errorf("closed at %v: the broker had %d requests: %+v", at, b.published, c)
		}
	}
}

// What an outage holds of a device that pings and asks goes out together, when TCP tries again.
func TestOutageHoldsPingsToo(t *testing.T) {
	const s = time.Second
	b := &rightBroker{alive: 20 * s, answer: 10 * time.Millisecond}
	b.paper = onPaper(func(x *Spec) {
		x.Stream, x.Timeout = &Stream{Protocol: MQTT311, Topic: "a"}, 12*s
		x.Outage = Outage{At: 9950 * time.Millisecond, For: 1050 * time.Millisecond, Share: 1}
		x.Classes[0].KeepAlive = 800 * time.Millisecond
	})
	b.run(t, 11500*time.Millisecond) // asked at 10 s; TCP tries at 10.2, 10.6, 11.4
	if c := b.s.Counts; b.published != 2 || c.Answered != 2 || c.Failed != 0 || c.Withheld < 2 {
		t.Errorf("got %+v", c)
	}
}
