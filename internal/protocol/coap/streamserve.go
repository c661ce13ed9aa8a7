package coap

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"
)

// ServeStreams answers over TCP on the connections of a listener (RFC 8323)
// until ctx ends; then it closes all and returns nil. A connection idle for
// EXCHANGE_LIFETIME is closed. Handlers of different connections run at the same time.
func (s *Server) ServeStreams(ctx context.Context, l net.Listener) error {
	return s.accept(ctx, l, func(ctx context.Context, ep *endpoint, conn net.Conn, leave func()) {
		defer leave()
		ep.serveStream(ctx, conn)
	})
}

// serveStream answers on one connection until it ends; how it ends concerns
// nobody but its peer.
func (ep *endpoint) serveStream(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	p := newPeer(netip.AddrPort{}, conn)
	defer func() {
		ep.mu.Lock()
		ep.forget(p)
		ep.mu.Unlock()
	}()
	var signal signaler
	signal.greet(ep.maxBody + baseMessageSize)
	t := &task{from: p, stream: &signal}
	if p.say(signal.out) != nil {
		return
	}
	buf, n := make([]byte, 4096), 0
	for !signal.gone {
		if n == len(buf) { // grows with what comes, not with what is announced
			buf = append(buf, make([]byte, len(buf))...)
		}
		if err := conn.SetReadDeadline(time.Now().Add(ExchangeLifetime)); err != nil {
			return
		}
		got, err := conn.Read(buf[n:])
		if err != nil {
			return
		}
		n += got
		rest, err := ep.messages(t, buf[:n])
		n = copy(buf, rest)
		if n == 0 && len(buf) > maxKept {
			buf = make([]byte, 4096)
		}
		if err != nil {
			return
		}
	}
}

// messages takes all whole messages of b and returns what is left.
func (ep *endpoint) messages(t *task, b []byte) (rest []byte, err error) {
	for !t.stream.gone {
		size, err := t.in.DecodeStream(b, t.stream.limit)
		if err != nil {
			ep.s.Counts.Malformed.Add(1)
			t.stream.out = t.stream.out[:0]
			t.stream.abort(0)
			_ = t.from.say(t.stream.out)
			return b, err
		}
		if size == 0 {
			break
		}
		if err := ep.message(t); err != nil {
			return b, err
		}
		b = b[size:]
	}
	return b, nil
}

// message takes the message in t.in.
func (ep *endpoint) message(t *task) error {
	t.wire = t.wire[:0]
	switch {
	case t.in.Code.Class() == 7:
		t.stream.out = t.stream.out[:0]
		err := t.stream.heard(&t.in)
		if err != nil {
			ep.s.Counts.Malformed.Add(1)
		}
		return cmp.Or(err, t.from.say(t.stream.out))
	case !t.in.Code.request(): // Empty, or a response nobody asked for
		ep.s.Counts.Ignored.Add(1)
		return nil
	}
	now := ep.now()
	ep.mu.Lock()
	handle := ep.accept(t, now)
	ep.mu.Unlock()
	if handle {
		ep.handler(&t.req, &t.resp)
		ep.finish(t, ep.now())
	}
	return t.from.say(t.wire)
}

// mostAtOnce is how much of an answer, in B, a peer has EXCHANGE_LIFETIME to take: at 9600 bit/s it takes less.
const mostAtOnce = 256 << 10

// say writes to a stream. A peer that reads nothing is not waited for without end.
func (p *peer) say(b []byte) error {
	for len(b) > 0 {
		if err := p.conn.SetWriteDeadline(time.Now().Add(ExchangeLifetime)); err != nil {
			return err
		}
		n, err := p.conn.Write(b[:min(len(b), mostAtOnce)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
