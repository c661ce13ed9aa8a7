package population

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// Who is reached when, by the words of RFC 4787, REQ-5 and REQ-6, and of 3GPP TS 23.682 on PSM
// and eDRX.
func TestReach(t *testing.T) {
	const s = int64(time.Second)
	for _, tt := range []struct {
		name         string
		nat          time.Duration
		sleep        Sleep
		sent         []int64 // by the device
		at           int64   // something comes for it
		forgotten    bool
		reached      int64 // −1: a paging later than at and by a cycle later
		moved, count int64 // after it sends again at that instant
	}{
		{"no NAT, no sleep", 0, Sleep{}, []int64{0}, 99 * s, false, 99 * s, 0, 0},
		{"just bound", 60e9, Sleep{}, []int64{0}, 60*s - 1, false, 60*s - 1, 0, 0},
		{"just forgotten", 60e9, Sleep{}, []int64{0}, 60 * s, true, 60 * s, 1, 1},
		{"refreshed by what it sent", 60e9, Sleep{}, []int64{0, 40 * s}, 99 * s, false, 99 * s, 0, 0},
		{"forgotten twice", 60e9, Sleep{}, []int64{0, 60 * s}, 120 * s, true, 120 * s, 2, 2},
		{"never sent", 60e9, Sleep{}, nil, 99 * s, false, 99 * s, 0, 0},
		{"PSM, active still", 0, Sleep{Mode: PSM, Active: 22e9}, []int64{0}, 22*s - 1, false, 22*s - 1, 0, 0},
		{"PSM, asleep", 0, Sleep{Mode: PSM, Active: 22e9}, []int64{0}, 22 * s, false, never, 0, 0},
		{"PSM, not on yet", 0, Sleep{Mode: PSM, Active: 22e9}, nil, 5 * s, false, never, 0, 0},
		{"eDRX, connected", 0, Sleep{Mode: EDRX, Active: 20e9, Cycle: 20480e6}, []int64{0}, 3 * s, false, 3 * s, 0, 0},
		{"eDRX, asleep", 0, Sleep{Mode: EDRX, Active: 20e9, Cycle: 20480e6}, []int64{0}, 100 * s, false, -1, 0, 0},
	} {
		spec := sensors(3, time.Hour, Random)
		spec.Server, spec.NAT, spec.Classes[0].Sleep = server, tt.nat, tt.sleep
		if err := spec.Check(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		c := newCore(&spec)
		c.reachesSometimes()
		for _, at := range tt.sent {
			c.rebound(1, at)
		}
		if got := c.forgotten(1, tt.at); got != tt.forgotten {
			t.Errorf("%s: forgotten %v", tt.name, got)
		}
		got := c.reached(1, tt.at)
		if tt.reached < 0 {
			cycle := int64(tt.sleep.Cycle)
			again := c.paged(1, tt.sleep.Cycle, got+1)
			if got < tt.at || got > tt.at+cycle || again != got+cycle || c.paged(1, tt.sleep.Cycle, got) != got {
				t.Errorf("%s: paged at %d and then at %d", tt.name, got, again)
			}
		} else if got != tt.reached {
			t.Errorf("%s: reached at %d, want %d", tt.name, got, tt.reached)
		}
		c.rebound(1, tt.at)
		if c.Forgotten != tt.count || c.moved != nil && int64(c.moved[1]) != tt.moved {
			t.Errorf("%s: forgotten %d times, want %d", tt.name, c.Forgotten, tt.count)
		}
	}
}

// Devices are paged at instants of their own, spread over the cycle.
func TestPagingIsSpread(t *testing.T) {
	spec := sensors(1000, time.Hour, Random)
	c := newCore(&spec)
	late := 0
	for i := range int32(1000) {
		if at := c.paged(i, 10*time.Second, 0); at >= int64(5*time.Second) {
			late++
		}
	}
	if late < 440 || late > 560 { // 4 standard errors of 16
		t.Errorf("%d of 1000 are paged in the second half of the cycle", late)
	}
}

// Messages that were kept come in the order of their instants, and equal ones as they came.
func TestKeptMessagesKeepTheirOrder(t *testing.T) {
	spec := sensors(1, time.Hour, Random)
	c := newCore(&spec)
	for _, x := range []struct {
		text string
		at   int64
	}{{"c", 20}, {"a", 10}, {"d", 20}, {"b", 10}, {"e", 30}} {
		c.keep(0, 0, []byte(x.text), x.at)
	}
	got := ""
	c.page(25, func(x holding) { got += string(x.bytes) })
	if at, ok := c.nextPage(99, true); got != "abcd" || at != 30 || !ok {
		t.Errorf("got %q, and then %d", got, at)
	}
	if at, _ := c.nextPage(29, true); at != 29 {
		t.Errorf("a device is due before: got %d", at)
	}
}

// An answer that takes longer than a NAT remembers is lost, and the server sees another peer each
// time; with an answer in time neither. The server's account is its own.
func TestAnswersBehindNAT(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		nat, timeout time.Duration // a busy machine may be long in answering who is answered
		lost         bool
	}{{"forgets at once", time.Millisecond, 150 * time.Millisecond, true},
		{"remembers", time.Hour, 20 * time.Second, false}} {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopbackAny))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		peers := map[netip.AddrPort]int{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			b := make([]byte, 1500)
			for {
				n, from, err := conn.ReadFromUDPAddrPort(b)
				if err != nil {
					return
				}
				peers[from]++
				m := append([]byte(nil), b[:n]...)
				m[0], m[1] = m[0]&0xcf|1<<4, 2<<5|5 // non-confirmable, 2.05
				time.AfterFunc(20*time.Millisecond, func() { conn.WriteToUDPAddrPort(append(m[:8:8], 0xff, 'o', 'k'), from) })
			}
		}()
		spec := posted(1, 300*time.Millisecond, conn.LocalAddr())
		spec.NON, spec.NAT, spec.Timeout, spec.Phase = true, tt.nat, tt.timeout, Aligned
		p, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		r, err := p.Run(t.Context(), Load{For: time.Second, Record: true})
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		<-done
		all := int64(0)
		for _, n := range peers {
			all += int64(n)
		}
		want := Counts{Requests: all, Answered: all, Separate: all}
		seen := int64(1)
		if tt.lost {
			want = Counts{Requests: all, Failed: all, LostAtNAT: all, Forgotten: all - 1}
			seen = all
		}
		want.DatagramsOut, want.DatagramsIn, want.BytesOut, want.BytesIn = r.DatagramsOut,
			r.DatagramsIn, r.BytesOut, r.BytesIn
		want.Skipped = r.Skipped
		if tt.lost && r.LostAtNAT == all-1 { // a busy machine may send the last answer after the run
			want.LostAtNAT--
		}
		if r.Counts != want || int64(len(peers)) != seen || all < 2 {
			t.Errorf("%s: got %+v, want %+v; the server saw %d peers", tt.name, r.Counts, want, len(peers))
		}
	}
}

// What a device with a connection hears and loses, step by step.
func TestReachOfConnections(t *testing.T) {
	const s = time.Second
	bound := func(nat time.Duration) func(*Spec) { return func(x *Spec) { x.NAT, x.Timeout = nat, 2*s } }
	asleep := func(z Sleep) func(*Spec) { return func(x *Spec) { x.Classes[0].Sleep = z } }
	begin := func(p *paper) {
		p.until(0)
		p.s.opened(0, p.at)
		p.s.received(0, []byte("a"), p.at+1)
		p.took()
	}
	for _, tt := range []struct {
		name   string
		change func(*Spec)
		do     func(p *paper)
		want   string
		counts Counts
	}{
		{"a binding that is refreshed in time", bound(11 * s), func(p *paper) { p.until(10*s + 5*time.Millisecond) },
			`send 0 "q"`, Counts{Requests: 2, Answered: 1, BytesOut: 2, BytesIn: 1}},
		{"a request over a forgotten binding fails, and opens another connection", bound(9 * s), func(p *paper) {
			p.until(12*s + 9*time.Millisecond)
			p.until(13*s + 20*time.Millisecond)
		}, `hang 0, dial 0`, Counts{Requests: 3, Answered: 1, Failed: 1, Retries: 1, Broken: 1, Forgotten: 1, LostAtNAT: 1,
			BytesOut: 1, BytesIn: 1}},
		{"what the server says after that is lost too", bound(9 * s), func(p *paper) {
			p.at = int64(9*s) + 2
			p.s.received(0, []byte("x"), p.at)
		}, ``, Counts{Requests: 1, Answered: 1, Forgotten: 1, LostAtNAT: 1, BytesOut: 1, BytesIn: 1}},
		{"the kernel's probes keep the binding", func(x *Spec) { x.NAT, x.Classes[0].KeepAlive = 9*s, 5*s },
			func(p *paper) { p.until(10*s + 5*time.Millisecond) },
			`send 0 "q"`, Counts{Requests: 2, Answered: 1, BytesOut: 2, BytesIn: 1}},
		{"PSM: what comes meanwhile waits for the next report", asleep(Sleep{Mode: PSM, Active: 2 * s}), func(p *paper) {
			p.at = int64(5 * s)
			p.s.received(0, []byte("x"), p.at)
		}, ``, Counts{Requests: 1, Answered: 1, Paged: 1, BytesOut: 1, BytesIn: 1}},
		{"PSM: and comes with it", asleep(Sleep{Mode: PSM, Active: 2 * s}), func(p *paper) {
			p.until(10*s + 5*time.Millisecond)
			p.took()
			p.at = int64(15 * s) // asleep again; the answer is late
			p.s.devices[0].what = asking
			p.s.received(0, []byte("a"), p.at)
			p.s.write(0, []byte("z"), p.at+1)
		}, `send 0 "z"`, Counts{Requests: 2, Answered: 2, Paged: 1, BytesOut: 3, BytesIn: 2}},
		{"active still", asleep(Sleep{Mode: PSM, Active: 20 * s}), func(p *paper) {
			p.until(10*s + 5*time.Millisecond)
			p.s.received(0, []byte("a"), p.at)
		}, `send 0 "q"`, Counts{Requests: 2, Answered: 2, BytesOut: 2, BytesIn: 2}},
	} {
		p := onPaper(func(x *Spec) { tt.change(x) })
		p.s.reachesSometimes()
		begin(p)
		tt.do(p)
		if got := p.took(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		tt.counts.Connects, tt.counts.OpenMost = p.s.Connects, p.s.OpenMost
		if p.s.Counts != tt.counts {
			t.Errorf("%s: got %+v, want %+v", tt.name, p.s.Counts, tt.counts)
		}
	}
}

// Of two messages for a radio that is paged later, the second does not overtake the first, even if
// the device wakes by itself in between.
func TestPagedConnectionKeepsItsOrder(t *testing.T) {
	p := onPaper(func(x *Spec) { x.Stream.Answer, x.Classes[0].Sleep = 4, Sleep{Mode: EDRX, Active: 1e9, Cycle: 1000e9} })
	p.s.reachesSometimes()
	p.until(0)
	p.s.opened(0, p.at)
	p.at = int64(3 * time.Second)
	p.s.received(0, []byte("ab"), p.at) // kept
	p.s.received(0, []byte("c"), p.at)  // likewise
	if p.s.BytesIn != 0 || len(p.s.kept) != 1 || p.s.Paged != 2 {
		t.Fatalf("got %d B, %d calls, %d kept", p.s.BytesIn, len(p.s.kept), p.s.Paged)
	}
	p.s.write(0, []byte("z"), p.at+1) // the device wakes
	p.s.received(0, []byte("d"), p.at+2)
	if p.s.Answered != 1 || p.s.BytesIn != 4 {
		t.Errorf("got %d answers of %d B", p.s.Answered, p.s.BytesIn)
	}
	p.s.page(never, func(x holding) { p.s.pagedNow(x, p.at) })
	if p.s.BytesIn != 4 {
		t.Errorf("paged again: got %d B", p.s.BytesIn)
	}
}

// Likewise what comes at the very instant at which the device is paged, before it is.
func TestPagedConnectionAtTheInstant(t *testing.T) {
	p := onPaper(func(x *Spec) { x.Stream.Answer, x.Classes[0].Sleep = 2, Sleep{Mode: EDRX, Active: 1e9, Cycle: 10e9} })
	p.s.reachesSometimes()
	p.until(0)
	p.s.opened(0, p.at)
	p.at = int64(3 * time.Second)
	p.s.received(0, []byte("a"), p.at)
	p.at = p.s.paged(0, 10*time.Second, p.at)
	p.s.received(0, []byte("b"), p.at)
	if p.s.BytesIn != 0 {
		t.Fatal("the second message overtook the first")
	}
	p.s.page(p.at, func(x holding) { p.s.pagedNow(x, p.at) })
	if p.s.Answered != 1 || p.s.BytesIn != 2 {
		t.Errorf("got %d answers of %d B", p.s.Answered, p.s.BytesIn)
	}
}

// What came over a connection for a radio that sleeps when a run ends is not missing from it in the next one.
func TestPagedConnectionOverTwoRuns(t *testing.T) {
	const s = time.Second
	p := onPaper(func(x *Spec) {
		x.Stream = &Stream{Protocol: MQTT311, Topic: "a"}
		x.Classes[0] = Class{Share: 1, Observe: time.Minute, Sleep: Sleep{Mode: PSM, Active: s}}
	})
	p.s.reachesSometimes()
	p.s.set(Load{For: 3 * s}, 1)
	p.until(0)
	p.s.opened(0, p.at)
	p.s.received(0, []byte("\x20\x02\x00\x00\x90\x05\x00\x01\x00\x00\x00"), p.at)
	p.at = int64(2 * s)
	const published = "\x30\x0e\x00\x0ba/request/xq"
	p.s.received(0, []byte(published[:5]), p.at)
	if p.s.Paged != 1 {
		t.Fatalf("got %+v", p.s.Counts)
	}
	p.at = int64(3 * s)
	p.s.finish(p.at)
	p.s.set(Load{For: 3 * s, Record: true}, 2)
	p.at = 0
	p.s.received(0, []byte(published[5:]), p.at)
	if c := p.s.Counts; c.Notifications != 1 || c.Broken+c.Strays+c.Duplicates != 0 {
		t.Errorf("got %+v", c)
	}
}
