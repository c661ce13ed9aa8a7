package population

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// A paper is a wire that writes down what it is asked, at an instant that the test sets.
type paper struct {
	at      int64
	did     []string
	said    [][]byte // what was sent
	s       *streams
	sending time.Duration // it takes to send
	fired   time.Duration // after 10 s it sent last
}

func (p *paper) now() int64 { return p.at }

func (p *paper) dial(i int32) error {
	p.did = append(p.did, fmt.Sprintf("dial %d", i))
	p.s.links[i].fd = i
	return nil
}

func (p *paper) send(i int32, b []byte) error {
	p.did, p.said = append(p.did, fmt.Sprintf("send %d %q", i, b)), append(p.said, bytes.Clone(b))
	p.fired = time.Duration(p.at) - 10*time.Second
	p.at += int64(p.sending)
	return nil
}

func (p *paper) hang(i int32) {
	p.did = append(p.did, fmt.Sprintf("hang %d", i))
	p.s.links[i].fd = -1
}

// onPaper is one device that asks "q" over bare TCP for "a" once in ten seconds.
func onPaper(change func(*Spec)) *paper {
	s := sensors(1, 10*time.Second, Aligned)
	s.Stream, s.Request, s.Timeout = &Stream{Protocol: TCP, Answer: 1}, []byte("q"), 5*time.Second
	s.Retry = Backoff{First: time.Second, Factor: 2, Most: 4 * time.Second, Jitter: None}
	if change != nil {
		change(&s)
	}
	p := new(paper)
	p.s = newStreams(newCore(&s), p)
	p.s.set(Load{For: 100 * time.Second, Record: true}, 1)
	return p
}

// until has everything done that is due by an instant.
func (p *paper) until(at time.Duration) {
	for {
		next, ok := p.s.next()
		if !ok || next > int64(at) {
			break
		}
		// Subtle: next is the beginning of a slot; its devices are due a little later.
		for p.at = max(next, p.at); ; p.at += int64(time.Millisecond) {
			before := len(p.did)
			p.s.fire(p.at, batchSize)
			if again, ok := p.s.next(); len(p.did) != before || !ok || again > p.at || p.at >= int64(at) {
				break
			}
		}
		if p.at >= int64(at) {
			break
		}
	}
	p.at = int64(at)
}

// answer opens each connection that is dialed, and answers each request, until an instant.
func (p *paper) answer(until time.Duration) {
	for at := time.Duration(0); at <= until; at += 10 * time.Millisecond {
		p.until(at)
		p.each("dial", func(i int32) { p.s.opened(i, p.at) })
		p.each("send", func(i int32) { p.s.received(i, []byte("a"), p.at) })
		p.did = nil
	}
}

// each does something for each device that did something.
func (p *paper) each(what string, then func(i int32)) {
	for _, did := range p.did {
		var i int32
		if n, _ := fmt.Sscanf(did, what+" %d", &i); n == 1 {
			then(i)
		}
	}
}

func (p *paper) took() string {
	s := strings.Join(p.did, ", ")
	p.did = nil
	return s
}

// What a device with a connection does, step by step.
func TestDeviceWithConnection(t *testing.T) {
	const s = time.Second
	offGrid := func(x *Spec) { x.Outage = Outage{At: 8 * s, For: 10 * s, Share: 1} }
	for _, tt := range []struct {
		name   string
		change func(*Spec)
		do     func(p *paper)
		want   string
		counts Counts
	}{
		{"reports over one connection", nil, func(p *paper) {
			p.until(0)
			p.s.opened(0, p.at)
			p.s.received(0, []byte("a"), p.at+1)
			p.until(10*s + 5*time.Millisecond)
			p.s.received(0, []byte("a"), p.at)
		}, `dial 0, send 0 "q", send 0 "q"`, Counts{Requests: 2, Answered: 2, Connects: 1, OpenMost: 1,
			BytesOut: 2, BytesIn: 2}},
		{"no answer: the connection is given up, and opened again after a second", nil, func(p *paper) {
			p.until(0)
			p.s.opened(0, p.at)
			p.until(5*s + 9*time.Millisecond)
			p.until(6*s + 20*time.Millisecond)
			p.s.opened(0, p.at)
			p.s.received(0, []byte("a"), p.at)
		}, `dial 0, send 0 "q", hang 0, dial 0, send 0 "q"`,
			Counts{Requests: 2, Answered: 1, Failed: 1, Retries: 1, Connects: 2,
				Broken: 1, OpenMost: 1, BytesOut: 2, BytesIn: 1}},
		{"the server closes at rest", nil, func(p *paper) {
			p.until(0)
			p.s.opened(0, p.at)
			p.s.received(0, []byte("a"), p.at)
			p.at = int64(s)
			p.s.broken(0, p.at, errClosed)
			p.until(2*s + 20*time.Millisecond)
		}, `dial 0, send 0 "q", hang 0, dial 0`, Counts{Requests: 1, Answered: 1, Connects: 2, Broken: 1,
			OpenMost: 1, BytesOut: 1,
			BytesIn: 1}},
		{"the server closes, and no report is left", func(x *Spec) { x.Classes[0].Period = time.Hour }, func(p *paper) {
			p.until(0)
			p.s.opened(0, p.at)
			p.s.received(0, []byte("a"), p.at)
			p.at = int64(s)
			p.s.broken(0, p.at, errClosed)
			p.until(2*s + 20*time.Millisecond)
			p.s.opened(0, p.at)
		}, `dial 0, send 0 "q", hang 0, dial 0`, Counts{Requests: 1, Answered: 1, Connects: 2, Broken: 1,
			OpenMost: 1, BytesOut: 1, BytesIn: 1}},
		{"nobody takes connections: 1 s, 2 s, 4 s", nil, func(p *paper) {
			p.until(0)
			for _, at := range []time.Duration{0, 1010, 3030, 7050} {
				p.until(at * time.Millisecond)
				p.s.broken(0, p.at, errors.New("refused"))
			}
		}, `dial 0, hang 0, dial 0, hang 0, dial 0, hang 0, dial 0, hang 0`,
			Counts{Requests: 4, Failed: 4, Retries: 3, Connects: 4,
				ConnectFailed: 4}},
		// It asks at 10 s. TCP sends again at 10.2, 10.6, 11.4, 13.0, 16.2 s: not before it gives up at 15 s.
		{"an outage swallows a request", offGrid, func(p *paper) {
			p.until(0)
			p.s.opened(0, p.at)
			p.s.received(0, []byte("a"), p.at)
			p.until(15*s + 9*time.Millisecond)
			p.until(16*s + 30*time.Millisecond) // an attempt, in vain: the next would be at 17, then at 19 s
			p.until(19*s + 40*time.Millisecond)
			p.s.opened(0, p.at)
		}, `dial 0, send 0 "q", hang 0, dial 0, send 0 "q"`,
			Counts{Requests: 3, Answered: 1, Failed: 1, Retries: 1, Connects: 2, Broken: 1,
				Withheld: 2, OpenMost: 1, BytesOut: 2, BytesIn: 1}},
		// It asks at 10 s, the outage ends at 12 s: TCP sends again at 13 s.
		{"a short outage delays a request", func(x *Spec) { x.Outage = Outage{At: 8 * s, For: 4 * s, Share: 1} },
			func(p *paper) {
				p.until(0)
				p.s.opened(0, p.at)
				p.s.received(0, []byte("a"), p.at)
				p.until(12900 * time.Millisecond)
				p.did = append(p.did, "12.9 s")
				p.until(13020 * time.Millisecond)
				p.s.received(0, []byte("a"), p.at)
			}, `dial 0, send 0 "q", 12.9 s, send 0 "q"`,
			Counts{Requests: 2, Answered: 2, Connects: 1, Withheld: 1, OpenMost: 1, BytesOut: 2,
				BytesIn: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := onPaper(tt.change)
			tt.do(p)
			if got := p.took(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			got := p.s.Counts
			if tt.counts.Requests = got.Answered + got.Failed + int64(p.s.waiting); !reflect.DeepEqual(got, tt.counts) {
				t.Errorf("got %+v, want %+v", got, tt.counts)
			}
		})
	}
}

// TCP sends again after 0.2 s, 0.4 s, 0.8 s, …; an opening one after 1 s, 2 s, ….
func TestAgainAfterOutage(t *testing.T) {
	o := Outage{At: 8 * time.Second, For: 10 * time.Second, Share: 1}
	for _, tt := range []struct{ sent, first, want time.Duration }{
		{18 * time.Second, segmentAgain, 18 * time.Second},
		{17900 * time.Millisecond, segmentAgain, 18100 * time.Millisecond},
		{10 * time.Second, segmentAgain, 22600 * time.Millisecond}, {10 * time.Second, openingAgain, 25 * time.Second},
		{16 * time.Second, openingAgain, 19 * time.Second},
	} {
		if got := o.again(int64(tt.sent), tt.first); got != int64(tt.want) {
			t.Errorf("sent at %v: got %v, want %v", tt.sent, time.Duration(got), tt.want)
		}
	}
}

// Devices, server and kernel count the same requests and connections, in a network where
// nobody else is.
func TestStreamsThreeAccountsAgree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		request bool // a connection for each
	}{{"kept alive", false}, {"per request", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns, err := kernel.NewNetwork()
			if err != nil {
				t.Fatal(err)
			}
			defer ns.Close()
			const n, rounds = 300, 3
			var served, bytesIn atomic.Int64
			var account *Account
			var before, after map[string]int64
			err = kernel.InNetwork(ns, func() error {
				if err := up(); err != nil {
					return err
				}
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					return err
				}
				h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					served.Add(1)
					bytesIn.Add(int64(len(b)))
					fmt.Fprint(w, "ok")
				})}
				go h.Serve(l)
				defer h.Close()
				s := posted(n, time.Second, &net.UDPAddr{})
				s.Server = netip.MustParseAddrPort(l.Addr().String())
				s.Stream = &Stream{Protocol: HTTP, PerRequest: tt.request}
				s.Request = []byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\ndata")
				p, err := New(s)
				if err != nil {
					return err
				}
				defer p.Close()
				before = counters(t, "Tcp")
				account, err = p.Run(t.Context(), Load{For: rounds * time.Second, Record: true})
				after = counters(t, "Tcp")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			r := account
			conns := int64(n)
			if tt.request {
				conns = r.Requests
			}
			// On a busy machine a device may still wait when it is due again.
			if r.Requests+r.Skipped != n*rounds || r.Answered != r.Requests || served.Load() != r.Answered ||
				bytesIn.Load() != 4*r.Answered {
				t.Errorf("%d requests, %d answered; the server had %d with %d B", r.Requests, r.Answered,
					served.Load(), bytesIn.Load())
			}
			if opened := after["ActiveOpens"] - before["ActiveOpens"]; r.Connects != conns || opened != conns {
				t.Errorf("%d connections, the kernel opened %d, want %d", r.Connects, opened, conns)
			}
			if accepted := after["PassiveOpens"] - before["PassiveOpens"]; accepted != conns {
				t.Errorf("the kernel accepted %d connections, want %d", accepted, conns)
			}
			if r.Kept != int(r.Requests) || r.Sampled != 1 || r.OpenMost < 1 || r.OpenMost > n {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// An answer that comes in pieces, also within a chunk, is one answer.
func TestStreamsAnswerInPieces(t *testing.T) {
	p := onPaper(func(s *Spec) {
		s.Stream = &Stream{Protocol: HTTP}
		s.Judge = func(b []byte) error {
			if string(b) != "hello world" {
				return fmt.Errorf("got %q", b)
			}
			return nil
		}
	})
	const answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"
	p.until(0)
	p.s.opened(0, p.at)
	for i := range len(answer) {
		p.s.received(0, []byte(answer[i:i+1]), p.at+int64(i))
	}
	if p.s.Answered != 1 || p.s.Failed != 0 || p.s.devices[0].what != sleeping || len(p.s.rest) != 0 {
		t.Errorf("got %+v", p.s.Counts)
	}
}

// A device of MQTT 3.1.1 with QoS 1 connects, subscribes, asks, waits for its answer and the
// acknowledgement, pings when it was silent, and keeps its connection and name for the next run.
func TestDeviceWithMQTT(t *testing.T) {
	p := onPaper(func(s *Spec) {
		s.Stream = &Stream{Protocol: MQTT311, QoS: 1, Topic: "a"}
		s.Classes[0].KeepAlive = 4 * time.Second
	})
	p.s.own = 0xf
	in := func(b string) { p.s.received(0, []byte(b), p.at) }
	p.until(0)
	p.s.opened(0, p.at)
	in("\x20\x02\x00\x00")
	in("\x90\x04\x00\x01\x01")
	in("\x01")
	acked := []byte{0x40, 2, byte(p.s.links[0].id >> 8), byte(p.s.links[0].id)}
	in("\x32\x16\x00\x11a/response/d0-f-1\x00\x05o")
	if p.s.Answered != 0 {
		t.Error("answered before it was acknowledged")
	}
	in(string(acked))
	p.until(4*time.Second + 9*time.Millisecond)
	in("\xd0\x00")
	p.until(8*time.Second + 19*time.Millisecond)
	got := strings.Split(p.took(), ", ")
	publish := fmt.Sprintf("send 0 %q", "2\x15\x00\x10a/request/d0-f-1"+string(acked[2:])+"q")
	want := []string{"dial 0", `send 0 "\x10\x12\x00\x04MQTT\x04\x02\x00\x04\x00\x06d0-f-1"`,
		`send 0 "\x82'\x00\x01\x00\x11a/response/d0-f-1\x01\x00\x0ea/error/d0-f-1\x01"`, publish,
		`send 0 "@\x02\x00\x05"`, `send 0 "\xc0\x00"`, `send 0 "\xc0\x00"`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c := p.s.Counts; c.Answered != 1 || c.Pings != 2 || c.Pongs != 1 || c.Strays+c.Duplicates != 0 {
		t.Errorf("got %+v", c)
	}
	p.until(8*time.Second + 19*time.Millisecond + p.s.Timeout) // no answer to the second ping
	if got := p.took(); got != `send 0 "\xc0\x00", hang 0` || p.s.devices[0].what != retrying {
		t.Errorf("got %s", got)
	}
	p.until(15 * time.Second)
	p.s.opened(0, p.at)
	in("\x20\x02\x00\x00\x90\x04\x00\x01\x01\x01")
	p.s.finish(p.at)
	p.took()
	p.s.set(Load{For: time.Minute}, 2)
	p.until(time.Millisecond)
	if got := p.took(); !strings.Contains(got, "a/request/d0-f-2") || p.s.Connects != 0 || p.s.OpenMost != 1 {
		t.Errorf("in the next run: got %s, %+v", got, p.s.Counts)
	}
}

// A broker that bears less silence than the device allows itself is pinged as often as it says (MQTT 5.0, section
// 3.2.2.3.14).
func TestDeviceKeepsToTheBrokersKeepAlive(t *testing.T) {
	for alive, first := range map[time.Duration]time.Duration{0: 4 * time.Second, 9 * time.Second: 4 * time.Second,
		2 * time.Second: 2 * time.Second} {
		p := onPaper(func(s *Spec) {
			s.Stream = &Stream{Protocol: MQTT5, Topic: "a"}
			s.Classes[0].KeepAlive = alive
		})
		p.until(0)
		p.s.opened(0, p.at)
		p.s.received(0, []byte("\x20\x06\x00\x00\x03\x13\x00\x04\x90\x04\x00\x01\x00\x00"), p.at)
		b, err := mqtt.AppendPublish(nil, mqtt.V5, 0, &mqtt.Message{Topic: []byte("a/response/x"), Payload: []byte("ok"),
			Correlation: p.s.speak.(*mqttSpeaker).correlation(p.s, 0)})
		if err != nil {
			t.Fatal(err)
		}
		p.s.received(0, b, p.at)
		p.until(first - 100*time.Millisecond)
		early := p.s.Pings
		p.until(first + 100*time.Millisecond)
		if p.s.Answered != 1 || early != 0 || p.s.Pings != 1 {
			t.Errorf("keep alive of %v: %d answered, %d pings before %v and %d after it; want 1, 0 and 1", alive, p.s.Answered,
				early, first, p.s.Pings)
		}
	}
}

// A connection that is opened while the devices warm up is open when the recorded run begins, though
// the run has an outage.
func TestWarmUpLeavesConnections(t *testing.T) {
	p := onPaper(func(s *Spec) { s.Outage = Outage{For: time.Second, Share: 1} })
	p.s.set(Load{For: 5 * time.Second}, 1)
	p.until(0)
	p.s.opened(0, p.at)
	p.s.received(0, []byte("a"), p.at+1)
	p.s.finish(p.at + 2)
	if got := p.took(); got != `dial 0, send 0 "q"` || p.s.Withheld != 0 || p.s.links[0].phase != open {
		t.Errorf("warming up: got %s, %+v", got, p.s.Counts)
	}
	p.s.set(Load{For: 5 * time.Second, Record: true}, 2)
	p.until(0)
	if got := p.took(); got != "" || p.s.Withheld != 1 || p.s.links[0].phase != open {
		t.Errorf("recorded: got %s, %+v", got, p.s.Counts)
	}
}

// Devices that the warm-up has connected report from the beginning of the recorded run; one that has lost
// its connection is switched on anew.
func TestConnectedDevicesAreOn(t *testing.T) {
	for _, lost := range []int{0, 3} {
		p := onPaper(func(s *Spec) { s.Devices, s.Ramp, s.Phase, s.Retry.First = 10, 1, Random, 0 })
		p.s.set(Load{For: 12 * time.Second}, 1)
		p.answer(12 * time.Second)
		for i := range int32(lost) {
			p.s.broken(9-i, p.at, errClosed)
		}
		p.s.finish(p.at)
		p.at = 0
		p.s.set(Load{For: 10 * time.Second, Record: true}, 2)
		p.until(0)
		if p.s.Connects != 0 {
			t.Errorf("%d lost: %d connect at once", lost, p.s.Connects)
		}
		p.answer(10 * time.Second)
		c := p.s.Counts
		if int(c.Connects) != lost || c.Answered != c.Requests || lost == 0 && c.Requests != 10 || c.Requests < 7 {
			t.Errorf("%d lost: got %+v", lost, c)
		}
	}
}

// Parts together say what one process says: sums, and a recovery of all.
func TestMergedParts(t *testing.T) {
	part := func(late time.Duration, steps ...Step) *Account {
		c := newCore(&Spec{Devices: 200, Shards: 2})
		c.late.Add(late)
		return &Account{Counts: Counts{Requests: 3, Answered: 2, Failed: 1, Connects: 5, Withheld: 1}, Devices: 100,
			CPU: time.Second, Elapsed: time.Minute, Late: &c.late, Steps: steps, Outage: 10 * time.Second,
			Stopped: time.Minute, Recovery: -1,
			Sampled: 1, Kept: 2}
	}
	const s = int64(time.Second)
	parts := []*Account{part(time.Millisecond, Step{At: 5 * s, By: 100}, Step{At: 12 * s, By: -99, Ended: 99}),
		part(time.Second, Step{At: 5 * s, By: 50}, Step{At: 20 * s, By: -49, Ended: 49})}
	parts[1].FirstFailure = "refused"
	got := Merge(parts)
	want := &Account{Counts: Counts{Requests: 6, Answered: 4, Failed: 2, Connects: 10, Withheld: 2}, Devices: 200,
		CPU: 2 * time.Second, Elapsed: time.Minute, Streams: true, Shards: 2, DownMost: 150, Recovery: 10 * time.Second,
		Sampled: 1, Kept: 4,
		FirstFailure: "refused",
		LatenessP50:  got.LatenessP50, LatenessP99: time.Second, LatenessMax: time.Second}
	if !reflect.DeepEqual(got, want) || got.LatenessP50 > 1100*time.Microsecond {
		t.Errorf("got %+v, want %+v", got, want)
	}
	parts[0].RunQueueWait, parts[1].RunQueueWait, parts[0].Dropped = 2, 3, 4
	unknown := part(0)
	unknown.RunQueueWait, unknown.Dropped = -1, -1
	if got := Merge([]*Account{unknown, parts[0]}); got.RunQueueWait != -1 || got.Dropped != -1 {
		t.Errorf("one part does not know: got %v of waiting, %d dropped", got.RunQueueWait, got.Dropped)
	}
	if got := Merge(parts); got.RunQueueWait != 5 || got.Dropped != 4 {
		t.Errorf("got %v of waiting, %d dropped", got.RunQueueWait, got.Dropped)
	}
	parts[0].Withheld, parts[1].Withheld = 0, 0
	if got := Merge(parts); got.Recovery != -1 {
		t.Errorf("an outage that withheld nothing: recovered after %v", got.Recovery)
	}
}

// Each field of Counts is in the sum.
func TestCountsAddEveryField(t *testing.T) {
	var one, sum Counts
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		v.Field(i).SetInt(int64(i + 1))
	}
	sum.add(&one)
	if sum != one {
		t.Errorf("got %+v, want %+v", sum, one)
	}
}

// Thinning a part that kept more than another leaves the share that the other has.
func TestThin(t *testing.T) {
	r, kept := &Account{Sampled: 2}, 0
	for i := range 10_000 {
		if r.Thin(8, 3, uint64(i)) {
			kept++
		}
	}
	if kept < 2300 || kept > 2700 {
		t.Errorf("kept %d of 10000, want about 2500", kept)
	}
	if !(&Account{Sampled: 8}).Thin(8, 0, 1) {
		t.Error("a row of the part that kept least was dropped")
	}
}

// Parts are all devices, each once.
func TestPartsAreAll(t *testing.T) {
	seen := map[int]int{}
	for shard := range 3 {
		c := newCore(&Spec{Devices: 10, Shard: shard, Shards: 3})
		for i := range c.devices {
			seen[c.number(int32(i))]++
		}
	}
	if len(seen) != 10 {
		t.Errorf("got %v", seen)
	}
	for n, times := range seen {
		if n < 0 || n > 9 || times != 1 {
			t.Errorf("device %d is in %d parts", n, times)
		}
	}
}

// A process refuses more connections than it may open.
func TestTooManyConnections(t *testing.T) {
	s := posted(3_000_000, time.Hour, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1).To4(), Port: 9})
	s.Stream = &Stream{Protocol: HTTP}
	if _, err := New(s); err == nil || !strings.Contains(err.Error(), "take at most") {
		t.Errorf("got %v", err)
	}
	s.Stream.PerRequest, s.Devices = true, 3000
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

// The end of ctx ends a run with connections.
func TestStreamsStop(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := posted(10, time.Millisecond, &net.UDPAddr{})
	s.Server, s.Stream = netip.MustParseAddrPort(l.Addr().String()), &Stream{Protocol: TCP, Answer: 2}
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := p.Run(ctx, Load{For: time.Hour, Record: true, every: 5 * time.Millisecond, Watch: func(s State) {
		if s.Requests >= 10 { // one of each device
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.Requests != r.Answered+r.Failed || r.Requests < 10 {
		t.Errorf("got %+v, %v", r, err)
	}
	if bytes.Contains([]byte(fmt.Sprint(p.links.links)), []byte("{-1 0 0 0 2")) {
		t.Error("a link is in the middle of opening")
	}
}

// Whatever a server sends, in whatever pieces, requests are answered, failed or under way.
func FuzzStreams(f *testing.F) {
	f.Add(uint8(0), uint8(3), []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"))
	f.Add(uint8(1), uint8(9), []byte("aab"))
	f.Add(uint8(2), uint8(1), []byte("\x20\x02\x00\x00\x90\x04\x00\x01\x01\x01\x32\x16\x00\x11a/response/d0-f-1\x00\x05o"))
	f.Add(uint8(3), uint8(200), []byte("\x20\x03\x00\x00\x00\x90\x04\x00\x01\x00\x01\xd0\x00\xe0\x00"))
	streams := []Stream{{Protocol: HTTP}, {Protocol: TCP, Answer: 2}, {Protocol: MQTT311, Topic: "a", QoS: 1},
		{Protocol: MQTT5, Topic: "a", QoS: 1}}
	f.Fuzz(func(t *testing.T, which, piece uint8, b []byte) {
		p := onPaper(func(s *Spec) { s.Stream = &streams[which%4] })
		p.s.own = 0xf
		p.until(0)
		p.s.opened(0, p.at)
		for n := max(int(piece), 1); len(b) > 0 && p.s.links[0].phase != closed; p.at++ {
			p.s.received(0, b[:min(n, len(b))], p.at)
			b = b[min(n, len(b)):]
		}
		c := &p.s.Counts
		if c.Requests != c.Answered+c.Failed+int64(p.s.waiting) || c.Wrong > c.Failed || p.s.opens < 0 ||
			p.s.opens > 1 || p.s.fault != nil {
			t.Fatalf("%d under way, %d open: %+v, %v", p.s.waiting, p.s.opens, c, p.s.fault)
		}
		if p.s.devices[0].what == asking != (p.s.waiting == 1) {
			t.Fatalf("state %d, %d under way", p.s.devices[0].what, p.s.waiting)
		}
	})
}

// A connection that a request waits for is in its response time, and not in its RTT. What the kernel takes to send the
// request is.
func TestRTTOfDevicesIsOfTheRequest(t *testing.T) {
	const ms = time.Millisecond
	p := onPaper(nil)
	p.until(0)
	p.until(300 * ms)
	p.s.opened(0, p.at)
	p.s.received(0, []byte("a"), int64(500*ms))
	p.sending = 7 * ms
	p.until(10*time.Second + 5*ms)
	p.s.received(0, []byte("a"), int64(10*time.Second+20*ms))
	want := []measure.Exchange{
		{Seq: 1, Sent: 300 * ms, Done: 500 * ms, Connection: 300 * ms, Total: 500 * ms, In: 1},
		{Seq: 2, Due: 10 * time.Second, Sent: 10*time.Second + p.fired, Done: 10*time.Second + 20*ms, Total: 20*ms - p.fired,
			In: 1},
	}
	if got := slices.Collect(p.s.rows.exchanges(0)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if late := p.s.late.Max(); late != p.fired {
		t.Errorf("late by %v, want %v", late, p.fired)
	}
}

// What a broker bears of silence counts from what the device said last, be it in the run before.
func TestKeepAliveOverTwoRuns(t *testing.T) {
	const s = time.Second
	p := onPaper(func(x *Spec) {
		x.Stream = &Stream{Protocol: MQTT311, Topic: "a"}
		x.Classes[0].KeepAlive, x.Classes[0].Period, x.Phase = 4*s, 10*time.Hour, Random
	})
	p.s.set(Load{For: 3 * s}, 1)
	p.until(0)
	p.s.opened(0, p.at)
	p.s.received(0, []byte("\x20\x02\x00\x00\x90\x04\x00\x01\x00\x00"), p.at)
	p.until(3 * s)
	p.s.finish(p.at)
	p.s.set(Load{For: 3 * s, Record: true}, 2)
	p.at = 0
	p.until(900 * time.Millisecond)
	early := p.s.Pings
	p.until(1100 * time.Millisecond)
	if early != 0 || p.s.Pings != 1 || p.s.Connects != 0 {
		t.Errorf("silent for 3 s before the run: %d pings before 1 s and %d after it, %d connections; want 0, 1 and 0", early,
			p.s.Pings, p.s.Connects)
	}
}
