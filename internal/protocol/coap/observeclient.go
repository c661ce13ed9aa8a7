package coap

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// ErrNotObserved means that the server answered, but will not tell of changes.
var ErrNotObserved = errors.New("the resource cannot be observed")

// Observe registers for changes of what call, a GET, asks for (RFC 7641), and
// hands each state to each until that says enough, or ctx ends; then it
// deregisters. A state may be skipped where they follow quickly, and none comes
// after a later one. Larger states than one block are fetched whole.
func (c *Client) Observe(ctx context.Context, call *Call, each func(Reply) (more bool)) error {
	ask := *call
	ask.Options = append([]Option{{Observe, nil}}, call.Options...)
	reply, err := c.Do(ctx, &ask)
	if err != nil {
		return err
	}
	if !reply.observed {
		return ErrNotObserved
	}
	token := c.x.registered
	defer c.deregister(call, token)
	number, at := reply.number, time.Since(c.began)
	if !each(reply) {
		return nil
	}
	for {
		m, err := c.hear(ctx, token)
		if err != nil {
			return err
		}
		n, observed := m.Uint(Observe)
		now := time.Since(c.began)
		switch {
		case !observed:
			return ErrNotObserved // an error, or the server has ended it
		case !fresher(number, n, at, now):
			continue
		}
		number, at = n, now
		reply := Reply{Code: m.Code, Format: m.Format(ContentFormat), Body: m.Payload}
		if b, ok := m.Block(Block2); ok && b.More {
			if reply, err = c.Do(ctx, call); err != nil {
				return err
			}
		}
		if !each(reply) {
			return nil
		}
	}
}

// hear waits for a notification and acknowledges it. Anything else that
// comes is rejected or ignored.
func (c *Client) hear(ctx context.Context, token [4]byte) (*Message, error) {
	stop := context.AfterFunc(ctx, func() { c.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	m := new(Message)
	for {
		if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := c.conn.Read(c.buf)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if m.Decode(c.buf[:n]) != nil || m.Type == Acknowledgement || m.Type == Reset {
			continue
		}
		ours := bytes.Equal(m.Token, token[:]) && m.Code.response()
		answer := Acknowledgement
		if !ours {
			answer = Reset
		}
		if m.Type == Confirmable {
			if _, err := c.conn.Write(appendEmpty(nil, answer, m.ID)); err != nil {
				return nil, err
			}
		}
		if ours {
			return m, nil
		}
	}
}

// deregister tells the server, as far as that can be done in a second; else the
// next notification is answered by a reset, or by nobody.
func (c *Client) deregister(call *Call, token [4]byte) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ask := *call
	ask.token = &token
	ask.Options = append([]Option{{Observe, []byte{1}}}, call.Options...)
	_, _ = c.Do(ctx, &ask)
}
