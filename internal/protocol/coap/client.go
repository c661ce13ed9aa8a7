package coap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// A Client asks over one connection that keeps datagrams apart, one exchange
// at a time. It is for one goroutine.
type Client struct {
	conn  net.Conn
	x     *ClientExchange
	buf   []byte
	began time.Time
}

// Dial makes a client of the server at address, over UDP.
func Dial(address string) (*Client, error) {
	conn, err := net.Dial("udp", address)
	if err != nil {
		return nil, fmt.Errorf("coap: %w", err)
	}
	return NewClient(conn, Params{}), nil
}

// NewClient makes a client on a connection, which it owns from now on.
func NewClient(conn net.Conn, p Params) *Client {
	return &Client{conn: conn, x: NewClientExchange(p, rand.Uint64()), buf: make([]byte, udpRoom), began: time.Now()}
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Retransmissions counts the requests sent again in the latest Do.
func (c *Client) Retransmissions() int { return c.x.Retransmissions() }

// Do asks and waits for the answer. An error response is a Reply, not an
// error. The reply's body is valid until the next Do.
func (c *Client) Do(ctx context.Context, call *Call) (Reply, error) {
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { c.conn.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	reply, err := c.do(ctx, call)
	if err != nil {
		return Reply{}, fmt.Errorf("coap %v %v/%s: %w", call.Method, c.conn.RemoteAddr(), call.Path, err)
	}
	return reply, nil
}

func (c *Client) do(ctx context.Context, call *Call) (Reply, error) {
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
		if err := ctx.Err(); err != nil { // after the deadline is set, so that the end of ctx is not overwritten unseen
			return Reply{}, err
		}
		n, err := c.conn.Read(c.buf)
		switch {
		case err == nil:
			x.Receive(c.buf[:n], time.Since(c.began))
		case late(err):
			x.Expire(time.Since(c.began))
		default:
			return Reply{}, err
		}
	}
}

// late says that a read met its deadline. Note: pion's sessions say so by
// Timeout only, they do not wrap os.ErrDeadlineExceeded.
func late(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
