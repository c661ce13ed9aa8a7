package coap

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Room for one datagram in bytes: the largest UDP allows, the largest DTLS record.
const (
	udpRoom    = 65535
	recordRoom = 16 << 10
)

// tickEvery bounds how late a retransmission or an acknowledgement may be.
const tickEvery = 100 * time.Millisecond

// Serve answers on a socket until ctx ends, then closes it and returns nil. The
// socket is Serve's: nobody else may read, close or configure it. Where a
// machine has several addresses bind to one: an answer goes out from the one the kernel
// chooses, which a client of another would not accept.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn) error {
	ep := s.endpoint(conn)
	defer conn.Close()
	at, serve := conn.LocalAddr(), ep.serveAlone
	if s.Workers > 0 {
		serve = ep.serveTogether
	}
	err := serve(ctx, conn)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("coap server on %v: %w", at, err)
}

// keepTime calls tick now and then until the function returned is called.
func (ep *endpoint) keepTime() (stop func()) {
	ep.enlist()
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for t := time.NewTicker(tickEvery); ; {
			select {
			case <-done:
				t.Stop()
				return
			case <-t.C:
				ep.tick(ep.now())
			}
		}
	}()
	return func() { ep.delist(); close(done); <-gone }
}

// answerTo takes a datagram, runs its handler if it comes to that, and says whether t.wire may hold an answer, and when
// it read the clock last.
func (ep *endpoint) answerTo(t *task, from netip.AddrPort, datagram []byte) (answers bool, at time.Duration) {
	at = ep.now()
	handle, known := ep.meet(t, from, datagram, at)
	if handle {
		ep.handler(&t.req, &t.resp)
		at = ep.now()
		ep.finish(t, at)
	}
	return known, at
}

// serveTogether reads the socket and has workers run the handlers, until the
// ctx ends. With all of them busy what follows waits in the socket's buffer.
func (ep *endpoint) serveTogether(ctx context.Context, conn *net.UDPConn) error {
	defer ep.keepTime()()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	workers := ep.s.Workers
	idle, jobs := make(chan *task, workers+1), make(chan *task, workers+1)
	var crew sync.WaitGroup
	defer crew.Wait()
	defer close(jobs)
	for range workers {
		idle <- newTask(udpRoom)
		crew.Go(func() {
			for t := range jobs {
				ep.handle(t)
				idle <- t
			}
		})
	}
	for t := newTask(udpRoom); ; {
		n, from, err := conn.ReadFromUDPAddrPort(t.buf)
		if err != nil {
			return err
		}
		switch handle, known := ep.meet(t, from, t.buf[:n], ep.now()); {
		case !known:
		case handle:
			jobs <- t
			t = <-idle
		default:
			ep.send(t.from, t.wire)
		}
	}
}

// handle runs the handler and sends its answer.
func (ep *endpoint) handle(t *task) {
	ep.handler(&t.req, &t.resp)
	ep.finish(t, ep.now())
	ep.send(t.from, t.wire)
}

// ServeConn answers on a connection that keeps datagrams apart, such as a DTLS
// session, until it fails, is idle for EXCHANGE_LIFETIME, or ctx ends. It closes
// the connection. Handlers run one after another, whatever Workers says.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn) error {
	ep := s.endpoint(nil)
	defer ep.keepTime()()
	return ep.serveConn(ctx, conn)
}

func (ep *endpoint) serveConn(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	p := newPeer(netip.AddrPort{}, conn)
	defer func() {
		ep.mu.Lock()
		ep.forget(p)
		ep.mu.Unlock()
	}()
	t := newTask(recordRoom)
	t.from = p
	for {
		if err := conn.SetReadDeadline(time.Now().Add(ExchangeLifetime)); err != nil {
			return ended(ctx, err)
		}
		n, err := conn.Read(t.buf)
		if err != nil {
			return ended(ctx, err)
		}
		if ep.begin(t, t.buf[:n], ep.now()) {
			ep.handle(t)
		} else {
			ep.send(p, t.wire)
		}
	}
}

// ended turns the ends that are no failure into nil.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || late(err) {
		return nil
	}
	return err
}
