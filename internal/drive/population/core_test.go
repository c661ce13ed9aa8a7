package population

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

var (
	server      = netip.MustParseAddrPort("127.0.0.1:5683")
	loopbackAny = netip.MustParseAddrPort("127.0.0.1:0")
	elsewhere   = netip.MustParseAddrPort("192.0.2.1:5683")
)

// A world runs a core in virtual time. Its server gets each datagram and returns the
// answers, each with its delay.
type world struct {
	*core
	now    int64
	server func(w *world, device int, m *coap.Message) []reply
	posts  []post
	sent   []sent
}

type reply struct {
	after time.Duration
	bytes []byte
}

type post struct {
	at     int64
	device int
	bytes  []byte
}

type sent struct {
	at     time.Duration
	device int
	kind   kind
	id     uint16
}

func (w *world) run(l Load) {
	w.now, w.posts = 0, nil
	w.begin(l, 99)
	for len(w.sent) < 1_000_000 {
		w.fire(w.now, batchSize)
		for _, m := range w.out {
			w.sent = append(w.sent, sent{time.Duration(w.now), int(m.device), m.kind, m.id})
			b := w.append(nil, m)
			w.left(m, w.now)
			if w.hits(int(m.device), w.now) {
				w.Withheld++
				continue
			}
			w.DatagramsOut++
			var got coap.Message
			if err := got.Decode(b); err != nil {
				panic(err)
			}
			if got.Type == coap.Acknowledgement || got.Type == coap.Reset {
				continue
			}
			for _, r := range w.server(w, int(m.device), &got) {
				w.posts = append(w.posts, post{w.now + int64(r.after), int(m.device), r.bytes})
			}
		}
		again := len(w.out) > 0
		w.out = w.out[:0]
		slices.SortStableFunc(w.posts, func(a, b post) int { return int(max(-1, min(1, a.at-b.at))) })
		if len(w.posts) > 0 && w.posts[0].at <= w.now {
			p := w.posts[0]
			w.posts = w.posts[1:]
			if !w.hits(p.device, w.now) {
				w.receive(int32(p.device), p.bytes, w.now)
			}
			continue
		}
		if again {
			continue
		}
		next, ok := w.next()
		if w.waiting == 0 && len(w.posts) == 0 && (!ok || next >= w.span) {
			break
		}
		if len(w.posts) > 0 && (!ok || w.posts[0].at < next) {
			next = w.posts[0].at
		}
		w.now = max(next, w.now+1)
	}
	if w.stays {
		w.now = max(w.now, w.span)
	}
	w.end(w.now)
	w.back.look(w.now)
}

func (w *world) count(k kind) (n int) {
	for _, s := range w.sent {
		if s.kind == k {
			n++
		}
	}
	return n
}

func bytesOf(t coap.Type, code coap.Code, id uint16, token []byte, payload string) []byte {
	m := coap.Message{Type: t, Code: code, ID: id, Token: token, Payload: []byte(payload)}
	return m.Append(nil)
}

const rtt = 10 * time.Millisecond

// answers at once, in the acknowledgement; to a NON with a NON, and to a ping as is right.
func answers(_ *world, _ int, m *coap.Message) []reply {
	switch {
	case m.Code == coap.Empty && m.Type == coap.Confirmable:
		return []reply{{rtt, bytesOf(coap.Reset, 0, m.ID, nil, "")}}
	case m.Type == coap.Confirmable:
		return []reply{{rtt, bytesOf(coap.Acknowledgement, coap.Content, m.ID, m.Token, "ok")}}
	case m.Type == coap.NonConfirmable:
		return []reply{{rtt, bytesOf(coap.NonConfirmable, coap.Content, m.ID+7, m.Token, "ok")}}
	}
	return nil
}

// What one device does with each kind of answer, by RFC 7252, sections 4.2 to 5.2.
func TestExchanges(t *testing.T) {
	heard := func(from int, then func(*world, int, *coap.Message) []reply) func(*world, int, *coap.Message) []reply {
		return func(w *world, i int, m *coap.Message) []reply {
			if m.Code == coap.POST {
				if from--; from >= 0 {
					return nil
				}
			}
			return then(w, i, m)
		}
	}
	separate := func(_ *world, _ int, m *coap.Message) []reply {
		if m.Code == coap.Empty {
			return nil
		}
		return []reply{{rtt, bytesOf(coap.Acknowledgement, 0, m.ID, nil, "")},
			{3 * time.Second, bytesOf(coap.Confirmable, coap.Content, 5, m.Token, "ok")}}
	}
	for _, tt := range []struct {
		name   string
		server func(*world, int, *coap.Message) []reply
		non    bool
		want   Counts // without bytes
		why    string
		acks   int
		resets int
	}{
		{"answered", answers, false, Counts{Requests: 1, Answered: 1}, "", 0, 0},
		{"non-confirmable", answers, true, Counts{Requests: 1, Answered: 1, Separate: 1}, "", 0, 0},
		{"one lost", heard(1, answers), false, Counts{Requests: 1, Answered: 1, Retransmissions: 1}, "", 0, 0},
		{"three lost", heard(3, answers), false, Counts{Requests: 1, Answered: 1, Retransmissions: 3}, "", 0, 0},
		{"all lost", heard(9, answers), false, Counts{Requests: 1, Failed: 1, Retransmissions: 4}, errNoAnswer.Error(), 0, 0},
		{"one lost, non-confirmable", heard(1, answers), true, Counts{Requests: 1, Failed: 1}, errNoAnswer.Error(), 0, 0},
		{"separate", separate, false, Counts{Requests: 1, Answered: 1, Separate: 1}, "", 1, 0},
		{"separate without acknowledgement", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, bytesOf(coap.Confirmable, coap.Content, 5, m.Token, "ok")}}
		}, false, Counts{Requests: 1, Answered: 1, Separate: 1}, "", 1, 0},
		{"separate twice", func(_ *world, _ int, m *coap.Message) []reply {
			b := bytesOf(coap.Confirmable, coap.Content, 5, m.Token, "ok")
			return []reply{{rtt, b}, {2 * rtt, b}}
		}, false, Counts{Requests: 1, Answered: 1, Separate: 1, Duplicates: 1}, "", 2, 0},
		{"answered twice", func(w *world, i int, m *coap.Message) []reply {
			return append(answers(w, i, m), answers(w, i, m)...)
		}, false, Counts{Requests: 1, Answered: 1, Duplicates: 1}, "", 0, 0},
		{"reset", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, bytesOf(coap.Reset, 0, m.ID, nil, "")}}
		}, false, Counts{Requests: 1, Failed: 1}, errReset.Error(), 0, 0},
		{"refused", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, bytesOf(coap.Acknowledgement, coap.NotFound, m.ID, m.Token, "no")}}
		}, false, Counts{Requests: 1, Failed: 1, Wrong: 1}, "answer 4.04: no", 0, 0},
		{"wrong", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, bytesOf(coap.Acknowledgement, coap.Content, m.ID, m.Token, "lie")}}
		}, false, Counts{Requests: 1, Failed: 1, Wrong: 1}, "a lie", 0, 0},
		{"another's token, and then mine", func(w *world, i int, m *coap.Message) []reply {
			return append([]reply{{rtt / 2, bytesOf(coap.Confirmable, coap.Content, 5, []byte("abcd"), "ok")}},
				answers(w, i, m)...)
		}, false, Counts{Requests: 1, Answered: 1, Strays: 1}, "", 0, 1},
		{"a ping of the server's", func(w *world, i int, m *coap.Message) []reply {
			return append([]reply{{rtt / 2, bytesOf(coap.Confirmable, coap.Empty, 5, nil, "")}}, answers(w, i, m)...)
		}, false, Counts{Requests: 1, Answered: 1, Strays: 1}, "", 0, 1},
		{"another message's acknowledgement", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, bytesOf(coap.Acknowledgement, coap.Content, m.ID+1, m.Token, "ok")}}
		}, false, Counts{Requests: 1, Failed: 1, Strays: 5, Retransmissions: 4}, errNoAnswer.Error(), 0, 0},
		{"no CoAP", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, []byte{1}}, {rtt, bytes.Repeat([]byte{0xff}, 20)}}
		}, true, Counts{Requests: 1, Failed: 1, Strays: 2}, errNoAnswer.Error(), 0, 0},
		{"late", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{2 * time.Minute, bytesOf(coap.Acknowledgement, coap.Content, m.ID, m.Token, "ok")}}
		}, true, Counts{Requests: 1, Failed: 1, TooLate: 1}, errNoAnswer.Error(), 0, 0},
		{"wrong twice", func(_ *world, _ int, m *coap.Message) []reply {
			b := bytesOf(coap.Acknowledgement, coap.Content, m.ID, m.Token, "lie")
			return []reply{{rtt, b}, {2 * rtt, b}}
		}, false, Counts{Requests: 1, Failed: 1, Wrong: 1, Duplicates: 1}, "a lie", 0, 0},
	} {
		s := sensors(1, time.Hour, Aligned)
		s.NON, s.Timeout = tt.non, 93*time.Second
		s.Judge = func(b []byte) error {
			if string(b) != "ok" {
				return errors.New("a lie")
			}
			return nil
		}
		w := &world{core: newCore(&s), server: tt.server}
		w.run(Load{For: time.Second, Record: true})
		tt.want.DatagramsOut = w.DatagramsOut
		if w.Counts != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, w.Counts, tt.want)
		}
		var why []string
		for x := range w.rows.exchanges(0) {
			why = append(why, x.Failure)
			if x.Failure == "" && (x.Done <= x.Sent || x.Sent < x.Due || x.Total != x.RTT()) {
				t.Errorf("%s: got %+v", tt.name, x)
			}
		}
		if len(why) != 1 || why[0] != tt.why {
			t.Errorf("%s: got %q, want %q", tt.name, why, tt.why)
		}
		if w.count(ack) != tt.acks || w.count(reset) != tt.resets {
			t.Errorf("%s: got %d acknowledgements and %d resets, want %d and %d", tt.name, w.count(ack), w.count(reset),
				tt.acks, tt.resets)
		}
	}
}

// Of the right class is not right where a status is asked for; and failures repeat nothing of answers that may echo a
// secret.
func TestStatusOfAnswers(t *testing.T) {
	for _, tt := range []struct {
		http, status int
		coap         coap.Code
		failure      [2]string // over CoAP, over HTTP
	}{
		{201, 0, coap.Created, [2]string{}},
		{201, 201, coap.Created, [2]string{}},
		{200, 201, coap.Content, [2]string{"answer 2.05, not 2.01", "status 200, not 201"}},
		{204, 201, coap.Changed, [2]string{"answer 2.04, not 2.01", "status 204, not 201"}},
		{404, 201, coap.NotFound, [2]string{"answer 4.04", "status 404"}},
	} {
		s := sensors(1, time.Hour, Aligned)
		s.Status, s.Discreet = tt.status, true
		w := &world{core: newCore(&s), server: func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{time.Millisecond, bytesOf(coap.Acknowledgement, tt.coap, m.ID, m.Token, "secret")}}
		}}
		w.run(Load{For: time.Second, Record: true})
		p := onPaper(func(s *Spec) {
			s.Stream, s.Status, s.Discreet = &Stream{Protocol: HTTP}, tt.status, true
		})
		p.until(0)
		p.s.opened(0, p.at)
		p.s.received(0, fmt.Appendf(nil, "HTTP/1.1 %d x\r\nContent-Length: 6\r\n\r\nsecret", tt.http), p.at)
		for i, c := range []*core{w.core, p.s.core} {
			wrong := tt.failure[i] != ""
			if c.rows.first != tt.failure[i] || (c.Wrong == 1) != wrong || (c.Answered == 1) == wrong {
				t.Errorf("%+v: %q, %+v", tt, c.rows.first, c.Counts)
			}
		}
	}
}

// A server that answers later than devices wait gives no duplicates and no strays: its answers are late, also when a
// device asks again by then.
func TestLateAnswers(t *testing.T) {
	for name, retry := range map[string]Backoff{"no retry": {}, "at once": {First: 100 * time.Millisecond, Factor: 1,
		Most: time.Second, Jitter: None}} {
		s := sensors(10, time.Minute, Aligned)
		s.NON, s.Timeout, s.Retry = true, 2*time.Second, retry
		w := &world{core: newCore(&s), server: func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{6 * time.Second, bytesOf(coap.NonConfirmable, coap.Content, 1, m.Token, "ok")}}
		}}
		w.run(Load{For: 30 * time.Second, Record: true})
		if w.Failed != w.Requests || w.TooLate != w.Requests || w.Duplicates+w.Strays > 0 ||
			(w.Retries > 0) != (retry.First > 0) {
			t.Errorf("%s: got %+v", name, w.Counts)
		}
	}
}

// Retransmissions come when RFC 7252, section 4.2, has them: the first after 2 to 3 s,
// uniform over devices, each next after twice as long; with the same message ID.
func TestRetransmissionsAreTheProtocols(t *testing.T) {
	s := sensors(500, time.Hour, Aligned)
	s.Timeout = 93 * time.Second
	w := &world{core: newCore(&s), server: func(*world, int, *coap.Message) []reply { return nil }}
	w.run(Load{For: time.Second})
	by := map[int][]sent{}
	for _, x := range w.sent {
		by[x.device] = append(by[x.device], x)
	}
	mean := 0.0
	for i, list := range by {
		if len(list) != 5 {
			t.Fatalf("device %d sent %d messages, want 5", i, len(list))
		}
		first := list[1].at - list[0].at
		mean += first.Seconds() / 500
		for j, x := range list[1:] {
			if gap := x.at - list[j].at; first < 2*time.Second || first > 3*time.Second || (gap-first<<j).Abs() > 10 {
				t.Errorf("device %d: gap %d is %v, the first %v", i, j, gap, first)
			}
			if x.id != list[0].id {
				t.Errorf("device %d: message ID %d, then %d", i, list[0].id, x.id)
			}
		}
	}
	if math.Abs(mean-2.5) > 0.05 { // 4 standard errors: 1/√12/√500 s each
		t.Errorf("first timeout: mean %g s, want 2.5", mean)
	}
	// 31 times the first timeout, at most 93 s: the request's own timeout.
	if w.Failed != 500 || time.Duration(w.now) > s.Timeout+time.Second {
		t.Errorf("%d of 500 failed by %v", w.Failed, time.Duration(w.now))
	}
}

// In whole periods each device reports so many times, no more and no less.
func TestReportsInAPeriod(t *testing.T) {
	for _, phase := range []string{Random, Aligned} {
		s := sensors(300, 10*time.Second, phase)
		w := &world{core: newCore(&s), server: answers}
		w.run(Load{For: 40 * time.Second})
		if w.Requests != 4*300 || w.Answered != w.Requests || w.Skipped != 0 {
			t.Errorf("%s: got %+v, want 1200 requests", phase, w.Counts)
		}
	}
	s := sensors(300, 10*time.Second, Random)
	w := &world{core: newCore(&s), server: answers}
	w.run(Load{Requests: 77})
	if w.Requests != 77 {
		t.Errorf("got %d requests, want 77", w.Requests)
	}
}

// Jitter moves reports and takes none away: in the mean over seeds, a run of any length sees each device report once a
// period, whether a warm-up was before it or not.
func TestJitterKeepsTheRate(t *testing.T) {
	const devices, seeds, period = 50, 100, 10 * time.Second
	for _, jitter := range []float64{0, 0.1, 0.5, 1} {
		for _, periods := range []float64{0.7, 1, 1.5, 2, 5} {
			for _, warmUp := range []time.Duration{0, period / 2} {
				sum, squares := 0.0, 0.0
				for seed := range seeds {
					s := sensors(devices, period, Random)
					s.Seed, s.Classes[0].Jitter, s.Rows = uint64(seed), jitter, 1
					w := &world{core: newCore(&s), server: answers}
					if warmUp > 0 {
						w.run(Load{For: warmUp})
					}
					w.run(Load{For: time.Duration(periods * float64(period)), Record: true})
					n := float64(w.Requests + w.Skipped)
					sum, squares = sum+n, squares+n*n
				}
				mean := sum / seeds
				se := math.Sqrt(max(squares/seeds-mean*mean, 0) / seeds)
				if want := devices * periods; math.Abs(mean-want) > 4*se+1e-9 {
					t.Errorf("jitter %g, %g periods after a warm-up of %v: %g reports, want %g, standard error %g", jitter,
						periods, warmUp, mean, want, se)
				}
			}
		}
	}
}

// Devices that the warm-up has switched on report from the beginning of the next run, however slowly
// they were switched on; observers likewise.
func TestDevicesAreSwitchedOnOnce(t *testing.T) {
	for _, phase := range []string{Random, Aligned} {
		s := sensors(10, 10*time.Second, phase)
		s.Ramp = 1
		w := &world{core: newCore(&s), server: answers}
		w.run(Load{For: 5 * time.Second})
		w.run(Load{For: 15 * time.Second})
		if w.run(Load{For: 10 * time.Second, Record: true}); w.Requests != 10 || w.Skipped != 0 {
			t.Errorf("%s: got %+v, want each to report once", phase, w.Counts)
		}
	}
	spec := lamps(10, time.Hour)
	spec.Ramp = 1
	w := &world{core: newCore(&spec), server: func(_ *world, _ int, m *coap.Message) []reply {
		return []reply{{rtt, told(coap.Acknowledgement, coap.Content, m.ID, 5)}}
	}}
	w.run(Load{For: 5500 * time.Millisecond})
	if w.watching() != 6 {
		t.Errorf("%d observers after 5.5 s, want 6", w.watching())
	}
	if w.run(Load{For: 10 * time.Second, Record: true}); w.Registrations != 4 || w.watching() != 10 {
		t.Errorf("got %+v, %d observers", w.Counts, w.watching())
	}
}

// Only devices that were switched on are counted, and 1 % of these may be down.
func TestDevicesOfARamp(t *testing.T) {
	s := sensors(1000, time.Second, Random)
	s.Ramp = 100
	c := newCore(&s)
	for run, want := range [][3]int{{1, 250, 500}, {500, 500, 500}, {500, 500, 700}} {
		c.begin(Load{For: []time.Duration{5, 5, 7}[run] * time.Second, Record: true}, 1)
		got := [3]int{c.switchedOn(0), c.switchedOn(2500e6), c.account(10e9).Devices}
		if got != want || c.back.tolerated != want[2]/100 {
			t.Errorf("run %d: got %v devices, %d may be down; want %v", run, got, c.back.tolerated, want)
		}
		c.end(5e9)
	}
}

// A device that still waits when it is due again skips that report, and says so.
func TestReportsAreSkippedNotForgotten(t *testing.T) {
	s := sensors(1, time.Second, Aligned)
	s.NON = true
	w := &world{core: newCore(&s), server: func(_ *world, _ int, m *coap.Message) []reply {
		return []reply{{2500 * time.Millisecond, bytesOf(coap.NonConfirmable, coap.Content, 1, m.Token, "ok")}}
	}}
	w.run(Load{For: 9 * time.Second})
	// due at 0 (answered at 2.5), skipped 1 and 2; at 3, skipped 4 and 5; at 6, skipped 7 and 8
	if w.Requests != 3 || w.Answered != 3 || w.Skipped != 6 {
		t.Errorf("got %+v, want 3 requests and 6 skipped", w.Counts)
	}
}

// A device that is silent for too long pings.
func TestKeepAlive(t *testing.T) {
	s := sensors(10, 60*time.Second, Aligned)
	s.Classes[0].KeepAlive = 25 * time.Second
	w := &world{core: newCore(&s), server: answers}
	w.run(Load{For: 120 * time.Second})
	// at 0 a report, 25 and 50 pings, 60 a report, 85 and 110 pings
	if w.Pings != 40 || w.Pongs != 40 || w.Requests != 20 || w.Answered != 20 {
		t.Errorf("got %+v, want 40 pings and 20 requests", w.Counts)
	}
	// The answer to a ping comes when the next report is under way.
	s.Classes[0].KeepAlive = 60*time.Second - rtt/2
	w = &world{core: newCore(&s), server: answers}
	w.run(Load{For: 120 * time.Second})
	if w.Pings != 20 || w.Pongs != 20 || w.Requests != 20 || w.Answered != 20 || w.Strays != 0 {
		t.Errorf("got %+v, want 20 pings and 20 requests", w.Counts)
	}
}

// After an outage of everyone the three jitters do what Brooker's article says: without
// jitter all devices that failed at once come back at once, with it they spread.
func TestRecovery(t *testing.T) {
	const n = 400
	peaks, recovered := map[string]int{}, map[string]time.Duration{}
	for _, jitter := range []string{None, Equal, Full, "off"} {
		s := sensors(n, 30*time.Second, Aligned)
		s.NON, s.Timeout = true, 2*time.Second
		s.Outage = Outage{At: 20 * time.Second, For: 30 * time.Second, Share: 1}
		if jitter != "off" {
			s.Retry = Backoff{First: 4 * time.Second, Factor: 2, Most: 60 * time.Second, Jitter: jitter}
		}
		w := &world{core: newCore(&s), server: answers}
		w.run(Load{For: 3 * time.Minute, Record: true})
		in := map[time.Duration]int{}
		for _, x := range w.sent {
			if x.at >= 50*time.Second && x.at < 59*time.Second { // no report is due then
				in[x.at/(100*time.Millisecond)]++
			}
		}
		for _, k := range in {
			peaks[jitter] = max(peaks[jitter], k)
		}
		recovered[jitter] = time.Duration(w.back.at - w.back.end)
		if w.back.most != n || w.back.at < 0 || w.back.down != 0 {
			t.Errorf("%s: got %+v, want %d devices down and up again", jitter, w.back, n)
		}
		if w.Failed == 0 || w.Requests != w.Answered+w.Failed {
			t.Errorf("%s: got %+v", jitter, w.Counts)
		}
	}
	// They fail at 32 s. Without jitter they try at 36 (fails at 38), 46 (fails at 48), 64.
	if d := recovered[None] - 14*time.Second - rtt; d.Abs() > time.Millisecond {
		t.Errorf("without jitter: recovered after %v, want 14 s", recovered[None])
	}
	// Without retries with the report at 60.
	if d := recovered["off"] - 10*time.Second - rtt; d.Abs() > time.Millisecond {
		t.Errorf("without retries: recovered after %v, want 10 s", recovered["off"])
	}
	if peaks[Full] == 0 || peaks[Full] > n/10 {
		t.Errorf("with full jitter up to %d devices came within 100 ms", peaks[Full])
	}
}

// An outage is of the recorded run: what warms up before it is not cut off.
func TestWarmUpHasNoOutage(t *testing.T) {
	s := sensors(10, 500*time.Millisecond, Aligned)
	s.NON, s.Timeout = true, 200*time.Millisecond
	s.Outage = Outage{At: time.Second, For: time.Second, Share: 1}
	w := &world{core: newCore(&s), server: answers}
	for _, record := range []bool{false, true} {
		w.run(Load{For: 3 * time.Second, Record: record})
		if (w.Withheld > 0) != record || (w.Failed > 0) != record || (w.back.most > 0) != record || w.Requests != 60 {
			t.Errorf("recorded %v: got %+v, %d down", record, w.Counts, w.back.most)
		}
	}
}

// An outage that nobody could notice is none that devices recover from, and no recovery within 0 s.
func TestOutageThatMeetsNobody(t *testing.T) {
	for name, o := range map[string]Outage{
		"as many as may be down": {At: 5 * time.Second, For: 10 * time.Second, Share: 0.01},
		"nobody reports in it":   {At: 11 * time.Second, For: 8 * time.Second, Share: 1},
	} {
		s := sensors(1000, 10*time.Second, Aligned)
		s.NON, s.Outage = true, o
		w := &world{core: newCore(&s), server: answers}
		w.run(Load{For: time.Minute, Record: true})
		if r := w.account(w.now); r.Recovery != -1 || r.DownMost > 10 {
			t.Errorf("%s: recovered after %v, %d were down", name, r.Recovery, r.DownMost)
		}
	}
}

// Who has no report left recovers all the same: a run goes on until its end.
func TestRecoveryOfTheLastReports(t *testing.T) {
	s := sensors(1000, 30*time.Second, Aligned)
	s.NON, s.Retry = true, Backoff{First: time.Second, Factor: 2, Most: time.Minute, Jitter: None}
	s.Outage = Outage{At: 28 * time.Second, For: 5 * time.Second, Share: 1}
	w := &world{core: newCore(&s), server: answers}
	w.run(Load{For: 60 * time.Second, Record: true})
	// They fail at 35 s, and are answered at 36.
	r := w.account(w.now)
	if d := r.Recovery - 3*time.Second - rtt; d.Abs() > time.Millisecond || r.Elapsed < time.Minute {
		t.Errorf("recovered after %v of a run of %v, want 3 s", r.Recovery, r.Elapsed)
	}
}

// A sample of the rows is drawn without regard to time: its quantiles are those of all.
func TestRowsAreASample(t *testing.T) {
	var r rows
	r.reset(true, MostRows)
	const n = 1_000_000
	for i := range n {
		r.put(row{due: int64(i), done: 1}, nil, draw(1, i, forSample))
	}
	if r.n > MostRows || r.n < MostRows/2*9/10 || 1<<r.halved != 8 && 1<<r.halved != 16 {
		t.Fatalf("kept %d rows, one of %d", r.n, 1<<r.halved)
	}
	if got, want := float64(r.n)*float64(int(1)<<r.halved), float64(n); math.Abs(got/want-1) > 0.02 {
		t.Errorf("%d rows, each for %d, stand for %g", r.n, 1<<r.halved, got)
	}
	below := 0
	for x := range r.exchanges(0) {
		if x.Due < n/4 {
			below++
		}
	}
	if got := float64(below) / float64(r.n); math.Abs(got-0.25) > 0.01 {
		t.Errorf("%g of the rows are of the first quarter", got)
	}
}

// An answer that comes while a device's turn to send again is near takes that turn away.
func TestAnswerComesBeforeTheTurn(t *testing.T) {
	const n = 3
	s := sensors(n, time.Hour, Aligned)
	c := newCore(&s)
	c.begin(Load{For: 3 * time.Hour}, 1)
	c.fire(0, n)
	asked := append([]message(nil), c.out...)
	for _, m := range asked {
		c.left(m, 0)
	}
	c.out = c.out[:0]
	now := int64(ackTimeout)
	for i := range int32(n) { // all are due in one slot, one after the other
		c.schedule(i, now+int64(i))
	}
	c.fire(now+n, 1) // the first sends again; the turns of the others are to come
	if len(c.out) != 1 || c.out[0].kind != repeated || c.out[0].device != 0 {
		t.Fatalf("got %+v", c.out)
	}
	c.out = c.out[:0]
	token := c.token(asked[1].id)
	c.receive(1, bytesOf(coap.Acknowledgement, coap.Content, asked[1].id, token[:], "ok"), now+n)
	c.fire(now+n, batchSize)
	if len(c.out) != 1 || c.out[0].device != 2 || c.Answered != 1 || c.Retransmissions != 2 {
		t.Errorf("got %+v and %+v, want device 2 alone to send again", c.out, c.Counts)
	}
}
