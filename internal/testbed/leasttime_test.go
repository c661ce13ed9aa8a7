package testbed

import (
	"math/rand/v2"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/study"
)

// What is refused because of a link must be impossible. So no bound is above what ideal programs need, which take no
// time themselves and know of no congestion: here over a link that sends packet by packet, with a simulated clock.
func TestNoLinkIsSaidToTakeLongerThanItDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	near := 0
	for i := range 3000 {
		s := &study.Setup{Transport: pick("http", "http2", "http3", "mqtt5", "coap", "coap-tcp", "udp"),
			Security: pick("none", "tls", "tls12", "dtls-psk", "oscore"), Connection: pick("keep-alive", "per-request"),
			Concurrency: 1 + r.IntN(5), Requests: 1 + r.IntN(30)}
		l := link.Link{Up: drawnShape(r), Down: drawnShape(r)}
		n := need{roundTrip: roundTrip(l), rounds: 1, own: r.IntN(2) == 0, streams: r.IntN(2) == 0}
		request, answer := r.IntN(8000), r.IntN(8000)
		n.carry(s, l, float64(request), float64(answer))
		one, all := simulated(s, l, n, request, answer)
		if got := n.request(s); got > one+time.Microsecond {
			t.Fatalf("%d: %+v over %v and %v, %d B and %d B: a request is said to take %v, and takes %v", i, s, l.Up,
				l.Down, request, answer, got, one)
		} else if 10*got > 9*one {
			near++
		}
		if got := n.trial(s, study.Span{}, time.Hour*1000); got > all+time.Microsecond {
			t.Fatalf("%d: %+v over %v and %v, %d B and %d B: a trial is said to take %v, and takes %v", i, s, l.Up,
				l.Down, request, answer, got, all)
		}
	}
	if near < 1000 {
		t.Errorf("only %d of 3000 bounds are within 10 %% of what a request takes", near)
	}
}

func drawnShape(r *rand.Rand) link.Shape {
	s := link.Shape{Delay: time.Duration(r.IntN(500)) * time.Millisecond}
	if r.IntN(3) > 0 {
		s.Rate = 1000 + r.Int64N(200_000)
		if r.IntN(3) == 0 {
			s.Frame, s.Overhead = 80+r.IntN(40), r.IntN(40)
		}
	}
	return s
}

// simulated is how long one request takes by itself, and how long all of a trial do, where each connection has its own
// under way, and all share a transmitter in each direction.
func simulated(s *study.Setup, l link.Link, n need, request, answer int) (one, all time.Duration) {
	type exchange struct{ up, down int } // B, without headers
	var opening, asked []exchange
	over := s.Transport == "coap" || s.Transport == "udp" || s.Transport == "http3"
	if !over {
		opening = append(opening, exchange{})
	}
	switch {
	case s.Transport == "http3":
		opening = append(opening, exchange{1200, 1200})
	case s.Security == "tls":
		opening = append(opening, exchange{200, 900})
	case s.Security == "tls12":
		opening = append(opening, exchange{200, 900}, exchange{100, 60})
	case s.Security == "dtls-psk":
		opening = append(opening, exchange{100, 60}, exchange{120, 140}, exchange{110, 70})
	}
	if s.Transport == "mqtt5" {
		opening = append(opening, exchange{20, 5})
	}
	up, down := request, answer
	for s.Transport == "coap" && n.own && up > 1024 {
		asked, up = append(asked, exchange{1024, 0}), up-1024
	}
	if s.Transport == "coap" && !n.streams {
		asked, down, up = append(asked, exchange{up, min(down, 1024)}), max(0, down-1024), 0
		for ; down > 0; down = max(0, down-1024) {
			asked = append(asked, exchange{0, min(down, 1024)})
		}
	} else {
		asked = append(asked, exchange{up, down})
	}
	if s.Connection == "per-request" {
		asked = append(opening, asked...)
	}
	var free [2]time.Duration
	send := func(way, bytes int, at time.Duration) (first, last time.Duration) {
		shape, head := [2]link.Shape{l.Up, l.Down}[way], 40
		if over {
			head = 28
		}
		for sent := false; !sent || bytes > 0; sent = true {
			part := min(bytes, 1500-head)
			bytes -= part
			size, frames := part+head, 1
			if shape.Frame > 0 {
				frames = (size + shape.Frame - 1) / shape.Frame
			}
			free[way] = max(free[way], at)
			if shape.Rate > 0 {
				free[way] += time.Duration(float64(size+frames*shape.Overhead) * 8e9 / float64(shape.Rate))
			}
			if last = free[way] + shape.Delay; !sent {
				first = last
			}
		}
		return first, last
	}
	// Each lane's next message, the earliest of all first.
	type lane struct {
		at   time.Duration
		step int // two of each exchange
		last time.Duration
	}
	run := func(lanes, requests int) time.Duration {
		free = [2]time.Duration{}
		waiting := make([]lane, lanes)
		var end time.Duration
		for left := requests * 2 * len(asked); left > 0; {
			next := -1
			for i, w := range waiting {
				if (w.step > 0 || requests > 0) && (next < 0 || w.at < waiting[next].at) {
					next = i
				}
			}
			w := &waiting[next]
			if w.step == 0 {
				requests--
			}
			x, way := asked[w.step/2], w.step%2
			first, last := send(way, [2]int{x.up, x.down}[way], w.at)
			end, w.at = max(end, last), last
			if way == 0 {
				w.last = last
				if n.streams && w.step/2 == len(asked)-1 {
					w.at = first
				}
			} else {
				w.at = max(last, w.last+l.Down.Delay) // no answer ends before its request has arrived
				end = max(end, w.at)
			}
			w.step = (w.step + 1) % (2 * len(asked))
			left--
		}
		return end
	}
	return run(1, 1), run(s.Concurrency, s.Requests)
}
