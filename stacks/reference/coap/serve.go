package coap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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

// Serve answers on a socket until ctx ends, then closes it and returns nil.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn) error {
	ep := s.endpoint(conn)
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	defer ep.keepTime()()
	err := ep.serveUDP(conn)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("coap server on %v: %w", conn.LocalAddr(), err)
}

// keepTime calls tick now and then until the function returned is called.
func (ep *endpoint) keepTime() (stop func()) {
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
	return func() { close(done); <-gone }
}

// serveUDP reads the socket until that fails.
func (ep *endpoint) serveUDP(conn *net.UDPConn) error {
	crew := ep.hire(ep.s.Workers)
	defer crew.dismiss()
	for t := newTask(udpRoom); ; {
		n, from, err := conn.ReadFromUDPAddrPort(t.buf)
		if err != nil {
			return err
		}
		now := ep.now()
		ep.mu.Lock()
		t.from = ep.peerOf(from, now)
		ep.mu.Unlock()
		if t.from == nil {
			ep.s.Counts.Ignored.Add(1)
			continue
		}
		t = crew.take(ep, t, t.buf[:n], now)
	}
}

// A crew runs handlers beside the goroutine that reads.
type crew struct {
	idle chan *task // tasks not in use, as many as may run at once and one
	jobs chan *task
	wg   sync.WaitGroup
}

func (ep *endpoint) hire(workers int) *crew {
	c := &crew{idle: make(chan *task, workers+1), jobs: make(chan *task, workers+1)}
	for range workers {
		c.idle <- newTask(udpRoom)
		c.wg.Go(func() {
			for t := range c.jobs {
				ep.handle(t)
				c.idle <- t
			}
		})
	}
	return c
}

func (c *crew) dismiss() {
	close(c.jobs)
	c.wg.Wait()
}

// take answers one datagram, here or by a worker, and returns the task to read
// the next one with.
func (c *crew) take(ep *endpoint, t *task, datagram []byte, now time.Duration) *task {
	if cap(c.idle) == 1 {
		if ep.begin(t, datagram, now) {
			ep.handle(t)
		} else {
			ep.send(t.from, t.wire)
		}
		return t
	}
	if !ep.begin(t, datagram, now) {
		ep.send(t.from, t.wire)
		return t
	}
	c.jobs <- t
	return <-c.idle // with all workers busy, what follows waits in the socket's buffer
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
	p := &peer{conn: conn}
	defer func() {
		ep.mu.Lock()
		ep.forget(p)
		ep.mu.Unlock()
	}()
	t := newTask(recordRoom)
	t.from = p
	for {
		if err := conn.SetReadDeadline(time.Now().Add(exchangeLifetime)); err != nil {
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
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
