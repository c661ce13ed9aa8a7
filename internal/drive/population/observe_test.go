package population

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// lamps are devices that only observe.
func lamps(n int, stale time.Duration) Spec {
	s := sensors(n, time.Hour, Random)
	s.Classes[0].Period, s.Classes[0].Observe = 0, stale
	s.Retry = Backoff{First: time.Second, Factor: 2, Most: 8 * time.Second, Jitter: None}
	return s
}

// told is a message with the token of registrations and an Observe option, unless the number is below 0.
func told(kind coap.Type, code coap.Code, id uint16, number int) []byte {
	m := coap.Message{Type: kind, Code: code, ID: id, Token: watchToken, Payload: []byte("state")}
	if number >= 0 {
		m.AddUint(coap.Observe, uint32(number))
	}
	return m.Append(nil)
}

// What one observer does with each kind of notification, by RFC 7641, sections 3.2 to 3.4.
func TestObserver(t *testing.T) {
	const s = time.Second
	// registered answers each registration with number 5, and then says more, once.
	registered := func(then ...reply) func(*world, int, *coap.Message) []reply {
		more := then
		return func(_ *world, _ int, m *coap.Message) []reply {
			if m.Code != coap.GET {
				return nil
			}
			all := append([]reply{{rtt, told(coap.Acknowledgement, coap.Content, m.ID, 5)}}, more...)
			more = nil
			return all
		}
	}
	non := func(after time.Duration, number int) reply {
		return reply{after, told(coap.NonConfirmable, coap.Content, uint16(after/1e6), number)}
	}
	for _, tt := range []struct {
		name     string
		server   func(*world, int, *coap.Message) []reply
		want     Counts
		watching int
		acks     int
		long     bool
	}{
		{"registers once", registered(), Counts{Registrations: 1}, 1, 0, false},
		{"hears", registered(non(s, 6), non(2*s, 7)), Counts{Registrations: 1, Notifications: 2}, 1, 0, false},
		{"hears also when the time is over", registered(non(s, 6), non(31*s, 7)),
			Counts{Registrations: 1, Notifications: 2, HeardLate: 1}, 1, 0, false},
		{"acknowledges what is confirmable", registered(reply{s, told(coap.Confirmable, coap.Content, 9, 6)}),
			Counts{Registrations: 1, Notifications: 1}, 1, 1, false},
		{"three did not come", registered(non(s, 9)), Counts{Registrations: 1, Notifications: 1, Missed: 3}, 1, 0, false},
		{"an older one comes later", registered(non(s, 7), non(2*s, 6)),
			Counts{Registrations: 1, Notifications: 1, Missed: 1, Stale: 1}, 1, 0, false},
		{"the same again", registered(non(s, 6), non(2*s, 6)),
			Counts{Registrations: 1, Notifications: 1, Stale: 1}, 1, 0, false},
		{"numbers begin again", registered(non(s, 1<<23+4), non(2*s, 1<<24-1), non(3*s, 0)),
			Counts{Registrations: 1, Notifications: 3, Missed: 1<<24 - 1 - 5 - 2}, 1, 0, false},
		{"much later any number is new", registered(non(50*s, 6), non(100*s, 7), non(150*s, 2), non(230*s, 2)),
			Counts{Registrations: 1, Notifications: 3, Stale: 1}, 1, 0, true},
		{"a minute of silence, and 5 to 15 s", registered(non(s, 6)),
			Counts{Registrations: 1, Notifications: 1}, 1, 0, false},
		{"an error ends it", registered(reply{s, told(coap.NonConfirmable, coap.NotFound, 3, -1)}),
			Counts{Registrations: 2}, 1, 0, false},
		{"so does a state without a number", registered(reply{s, told(coap.NonConfirmable, coap.Content, 3, -1)}),
			Counts{Registrations: 2}, 1, 0, false},
		{"nobody answers", func(*world, int, *coap.Message) []reply { return nil },
			Counts{Registrations: 3, RegistrationsFailed: 3, Retransmissions: 6}, 0, 0, false},
		{"who does not know observers answers without a number", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, told(coap.Acknowledgement, coap.Content, m.ID, -1)}}
		}, Counts{Registrations: 6, RegistrationsFailed: 6, Unobserved: 6}, 0, 0, false},
		{"a registration is refused", func(_ *world, _ int, m *coap.Message) []reply {
			return []reply{{rtt, told(coap.Acknowledgement, coap.MethodNotAllowed, m.ID, -1)}}
		}, Counts{Registrations: 6, RegistrationsFailed: 6}, 0, 0, false},
	} {
		spec := lamps(1, 60*s)
		spec.Timeout = 10 * s
		w := &world{core: newCore(&spec), server: tt.server}
		span := 30 * s
		if tt.long {
			span, spec.Classes[0].Observe = 240*s, time.Hour
		}
		w.run(Load{For: span})
		tt.want.DatagramsOut = w.DatagramsOut
		if w.Counts != tt.want || w.watching() != tt.watching || w.count(ack) != tt.acks {
			t.Errorf("%s: got %+v, %d registered, %d acknowledged; want %+v", tt.name, w.Counts, w.watching(), w.count(ack),
				tt.want)
		}
	}
}

// Who has heard nothing for a minute registers again 5 to 15 s later, with the same token; what
// it hears puts that off.
func TestObserversRegisterAgain(t *testing.T) {
	spec := lamps(200, time.Minute)
	w := &world{core: newCore(&spec), server: func(w *world, i int, m *coap.Message) []reply {
		r := []reply{{rtt, told(coap.Acknowledgement, coap.Content, m.ID, 5)}}
		if i%2 == 1 && w.now < int64(time.Second) {
			r = append(r, reply{30 * time.Second, told(coap.NonConfirmable, coap.Content, 7, 6)})
		}
		return r
	}}
	w.run(Load{For: 80 * time.Second})
	again := map[int]time.Duration{}
	for _, x := range w.sent {
		if x.at > time.Second {
			again[x.device] = x.at
		}
	}
	least, most := time.Hour, time.Duration(0)
	for i := range 200 {
		at, ok := again[i]
		if ok != (i%2 == 0) {
			t.Fatalf("device %d: registered again %v, at %v", i, ok, at)
		}
		if ok {
			least, most = min(least, at), max(most, at)
		}
	}
	if least < 65*time.Second || most > 75*time.Second+10*time.Millisecond || most-least < 8*time.Second {
		t.Errorf("registered again after %v to %v", least, most)
	}
}

// A device that reports and observes does both, and a registration is no request.
func TestReportsAndObserves(t *testing.T) {
	spec := sensors(3, 10*time.Second, Random)
	spec.Classes[0].Observe = time.Hour
	number := 5
	w := &world{core: newCore(&spec), server: func(w *world, i int, m *coap.Message) []reply {
		if m.Code == coap.GET {
			return []reply{{rtt, told(coap.Acknowledgement, coap.Content, m.ID, number)}}
		}
		number++
		return append(answers(w, i, m), reply{2 * rtt, told(coap.NonConfirmable, coap.Content, 1, number)})
	}}
	w.run(Load{For: 30 * time.Second, Record: true})
	if w.Requests != 9 || w.Answered != 9 || w.Registrations != 3 || w.Notifications != 9 ||
		w.rows.n != 9 || w.Strays != 0 {
		t.Errorf("got %+v", w.Counts)
	}
}

// 300 observers of a server of this program's, which counts what it sends: all that was sent was
// heard, in a second run without a new registration.
func TestObserversOfServer(t *testing.T) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopbackAny))
	if err != nil {
		t.Fatal(err)
	}
	if err := holdAll(conn, 1000); err != nil {
		t.Skip("no room for all datagrams at once: ", err)
	}
	s := &coap.Server{Handler: func(_ *coap.Request, resp *coap.Response) { resp.Body = append(resp.Body, "on"...) },
		Observable: func([]byte) bool { return true }}
	untilTheEnd(t, func(ctx context.Context) { s.Serve(ctx, conn) })
	const n, changes = 300, 5
	spec := lamps(n, time.Hour)
	spec.Server = conn.LocalAddr().(*net.UDPAddr).AddrPort()
	m := coap.Message{Code: coap.GET}
	m.AddUint(coap.Observe, 0)
	m.AddParts(coap.URIPath, "lamp", '/')
	spec.Registration = m.Append(nil)[4:]
	p, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for run := range 2 {
		before := s.Counts.Notifications.Load()
		ctx, enough := context.WithCancel(t.Context())
		var heard atomic.Int64
		go func() {
			defer enough()
			until := time.Now().Add(time.Minute)
			for heard.Load() < n && time.Now().Before(until) {
				time.Sleep(5 * time.Millisecond)
			}
			for i := range changes {
				s.Changed("lamp")
				want := before + int64(n*(i+1))
				for s.Counts.Notifications.Load() < want && time.Now().Before(until) {
					time.Sleep(5 * time.Millisecond)
				}
			}
			time.Sleep(300 * time.Millisecond)
		}()
		load := Load{For: time.Hour, every: 5 * time.Millisecond}
		load.Watch = func(State) { heard.Store(int64(p.core.watching())) }
		r, _ := p.Run(ctx, load)
		sent := s.Counts.Notifications.Load() - before
		first := int64(n)
		if run == 1 {
			first = 0
		}
		if sent != n*changes || r.Notifications+r.Missed != sent || r.Missed > r.Dropped || r.Registrations != first ||
			r.Observers != n || r.Requests != 0 || r.Strays != 0 {
			t.Errorf("run %d: the server sent %d notifications; got %+v, %d observers", run, sent, r.Counts, r.Observers)
		}
	}
}
