package mqtt

import (
	"context"
	"net"
)

// A Client is a Session on a connection, for one goroutine.
type Client struct {
	conn net.Conn
	s    *Session
}

// NewClient greets the broker at the other end of conn and returns once it is
// let in and its filters are subscribed.
func NewClient(ctx context.Context, conn net.Conn, s *Session) (*Client, error) {
	c := &Client{conn, s}
	s.Connected()
	_, err := c.until(ctx, func(*Message) bool { return s.Ready() })
	return c, err
}

// Publish sends m and waits until its handshake is complete.
func (c *Client) Publish(ctx context.Context, m *Message) error {
	if err := c.s.Publish(m); err != nil {
		return err
	}
	_, err := c.until(ctx, func(*Message) bool { return len(c.s.under) == 0 })
	return err
}

// Receive waits for the next message; it is valid until the next call.
func (c *Client) Receive(ctx context.Context) (*Message, error) {
	return c.until(ctx, func(m *Message) bool { return m != nil })
}

// Ask sends m and waits for the next message and the end of all handshakes.
func (c *Client) Ask(ctx context.Context, m *Message) (*Message, error) {
	if err := c.s.Publish(m); err != nil {
		return nil, err
	}
	var answer *Message
	_, err := c.until(ctx, func(m *Message) bool {
		if m != nil {
			h := &held{}
			h.keep(m)
			answer = &h.m
		}
		return answer != nil && c.s.Settled()
	})
	return answer, err
}

// Close says goodbye and closes the connection.
func (c *Client) Close() error {
	c.s.Goodbye()
	_ = c.send() // the connection may be gone already
	return c.conn.Close()
}

func (c *Client) send() error {
	for b := c.s.Next(); b != nil; b = c.s.Next() {
		if _, err := c.conn.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// until sends and receives until enough of what came, or of the state it led to.
func (c *Client) until(ctx context.Context, enough func(*Message) bool) (*Message, error) {
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	for {
		for more := true; more; {
			var m *Message
			var err error
			if m, more, err = c.s.Step(); err != nil {
				return nil, err
			}
			if enough(m) {
				return m, c.send()
			}
		}
		if err := c.send(); err != nil {
			return nil, err
		}
		n, err := c.conn.Read(c.s.Space())
		if err != nil {
			return nil, err
		}
		c.s.Took(n)
	}
}
