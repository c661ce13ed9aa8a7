package coap

import (
	"bytes"
	"net"
	"slices"
	"testing"
	"time"
)

// recorder is a peer's connection that keeps what is sent.
type recorder struct {
	net.Conn
	sent []string
}

func (r *recorder) Write(b []byte) (int, error) { r.sent = append(r.sent, show(b)); return len(b), nil }
func (r *recorder) RemoteAddr() net.Addr        { return net.UDPAddrFromAddrPort(someone) }

// RFC 7252, section 5.2.2 and 4.2: what the server does around a slow handler.
func TestSeparateStepByStep(t *testing.T) {
	for _, acknowledged := range []bool{true, false} {
		s := &Server{Handler: echo}
		ep, r := s.endpoint(nil), new(recorder)
		p := &peer{conn: r}
		request := unhex(t, "41 02 0007 55 b4 'echo' ff 'hi'")
		slow, other := newTask(0), newTask(0)
		slow.from, other.from = p, p
		if !ep.begin(slow, bytes.Clone(request), 0) {
			t.Fatal("not to be handled")
		}
		ep.begin(other, bytes.Clone(request), 0)
		if len(other.wire) != 0 {
			t.Errorf("a repeated request while the handler is at work gets %q", show(other.wire))
		}
		ep.tick(ep.ackDelay)
		ep.tick(ep.ackDelay + time.Millisecond)
		ep.begin(other, bytes.Clone(request), ep.ackDelay)
		if got := show(other.wire); got != "ACK" {
			t.Errorf("a repeated request after the acknowledgement gets %q", got)
		}
		ep.handler(&slow.req, &slow.resp)
		ep.finish(slow, 5*time.Second)
		if got := show(slow.wire); got != "CON 2.04 (2)" || slow.wire[4] != 0x55 {
			t.Errorf("the response is %q", got)
		}
		want := []string{"ACK"}
		if acknowledged {
			m := Message{Type: Acknowledgement, ID: slow.out.ID}
			ep.begin(other, m.Append(nil), 6*time.Second)
		} else {
			want = append(want, "CON 2.04 (2)", "CON 2.04 (2)", "CON 2.04 (2)", "CON 2.04 (2)")
		}
		for now := 5 * time.Second; now < 200*time.Second; now += tickEvery {
			ep.tick(now)
			// 2 to 3 s, then twice as long each time: the fourth is due 30 to 45 s after the response.
			if got := len(r.sent); now < 35*time.Second && got > 4 || now > 51*time.Second && got < len(want) {
				t.Fatalf("acknowledged %v: %d datagrams after %v", acknowledged, got, now-5*time.Second)
			}
		}
		if !slices.Equal(r.sent, want) || p.busy != 0 {
			t.Errorf("acknowledged %v: sent %q, want %q; busy %d", acknowledged, r.sent, want, p.busy)
		}
	}
}
