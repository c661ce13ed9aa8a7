package coap

import (
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
	if _, err := conn.Write(signal.out); err != nil {
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
			_, _ = t.from.conn.Write(t.stream.out)
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
		if _, e := t.from.conn.Write(t.stream.out); err == nil {
			err = e
		}
		return err
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
	_, err := t.from.conn.Write(t.wire)
	return err
}
