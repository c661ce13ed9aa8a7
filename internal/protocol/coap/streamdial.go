package coap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// A StreamClient asks over one TCP connection, one exchange at a time. It is
// for one goroutine.
type StreamClient struct {
	conn  net.Conn
	x     *StreamExchange
	began time.Time
}

// DialTCP makes a client of the server at address, over TCP.
func DialTCP(ctx context.Context, address string, p Params) (*StreamClient, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("coap: %w", err)
	}
	return &StreamClient{conn: conn, x: NewStreamExchange(p, new(Settings), rand.Uint64()), began: time.Now()}, nil
}

// Close closes the connection.
func (c *StreamClient) Close() error { return c.conn.Close() }

// Do asks and waits for the answer. The reply's body is valid until the next Do.
func (c *StreamClient) Do(ctx context.Context, call *Call) (Reply, error) {
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer stop()
	x := c.x
	for x.Start(call, time.Since(c.began)); ; {
		for b := x.Next(); b != nil; b = x.Next() {
			if _, err := c.conn.Write(b); err != nil {
				return Reply{}, err
			}
		}
		if x.Done() {
			return x.Result()
		}
		at, _ := x.Deadline()
		if err := c.conn.SetReadDeadline(c.began.Add(at)); err != nil {
			return Reply{}, err
		}
		n, err := c.conn.Read(x.Space())
		switch {
		case err == nil:
			err = x.Took(n, time.Since(c.began))
		case late(err):
			x.Expire(time.Since(c.began))
			err = nil
		}
		if err != nil {
			return Reply{}, err
		}
	}
}
