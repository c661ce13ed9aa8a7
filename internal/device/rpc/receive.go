package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"edgegauge.example/edgegauge/internal/kernel"
)

// receive reads frames until the connection ends. It never writes and never
// waits for anybody: whoever is slow stops only his own stream.
func (c *Conn) receive() error {
	pongs := make(chan struct{}, 1)
	defer close(pongs)
	c.handlers.Go(func() {
		for range pongs {
			c.send(pong, 0, nil)
		}
	})
	for {
		f, err := c.frames.next()
		if err != nil {
			return err
		}
		c.heard.Store(int64(kernel.Monotonic()))
		switch f.kind {
		case call:
			err = c.called(f)
		case answer:
			err = c.answered(f)
		case cancel:
			c.mu.Lock()
			if giveUp := c.handling[f.id]; giveUp != nil {
				giveUp()
			}
			c.mu.Unlock()
		case ping:
			select {
			case pongs <- struct{}{}:
			default: // one is on its way
			}
		case pong:
		default:
			c.mu.Lock()
			s := c.streams[f.id]
			c.mu.Unlock()
			if s != nil { // else it was given up here before that came
				err = s.take(f)
			}
		}
		if err != nil {
			return err
		}
	}
}

// called starts a handler. The streams exist before the next frame is read,
// which may be for one of them.
func (c *Conn) called(f frame) error {
	var q request
	if err := json.Unmarshal(f.payload, &q); err != nil {
		return fmt.Errorf("%w: a call %q", ErrNoise, clip(f.payload))
	}
	if c.handle == nil {
		return fmt.Errorf("%w: an unexpected call of %q: only the lab calls", ErrNoise, q.Op)
	}
	c.mu.Lock()
	if len(c.handling) >= maxCalls || len(c.streams)+len(q.Streams) > maxStreams {
		c.mu.Unlock()
		return fmt.Errorf("%w: more than %d calls or %d streams at once", ErrNoise, maxCalls, maxStreams)
	}
	var streams []*Stream
	for _, id := range q.Streams {
		if c.streams[id] != nil {
			c.mu.Unlock()
			return fmt.Errorf("%w: stream %d was passed twice", ErrNoise, id)
		}
		c.streams[id] = newStream(c, id)
		c.streams[id].given = true
		streams = append(streams, c.streams[id])
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.handling[f.id] = cancel
	c.mu.Unlock()
	c.handlers.Go(func() {
		defer cancel()
		c.reply(ctx, f.id, q, streams)
		c.mu.Lock()
		delete(c.handling, f.id)
		c.mu.Unlock()
	})
	return nil
}

func (c *Conn) reply(ctx context.Context, id uint32, q request, streams []*Stream) {
	var r reply
	result, err := c.handle(ctx, q.Op, q.Args, streams)
	if err == nil && result != nil {
		r.Result, err = json.Marshal(result)
	}
	if err != nil {
		r = reply{Error: err.Error()}
		if r.Error == "" {
			r.Error = "an error without a message"
		}
	}
	b, err := json.Marshal(r)
	if err == nil && len(b) > maxFrame {
		b, err = json.Marshal(reply{Error: fmt.Sprintf("the answer to %q is too long: %d bytes", q.Op, len(b))})
	}
	if err == nil {
		c.send(answer, id, b)
	}
}

func (c *Conn) answered(f frame) error {
	var r reply
	if err := json.Unmarshal(f.payload, &r); err != nil {
		return fmt.Errorf("%w: an answer %q", ErrNoise, clip(f.payload))
	}
	c.mu.Lock()
	to := c.waiting[f.id]
	delete(c.waiting, f.id)
	c.mu.Unlock()
	if to != nil { // else its caller has given up
		to <- r
	}
	return nil
}
