package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/plural"
)

// A Conn is one end of a connection. Its methods may be called from several
// goroutines.
type Conn struct {
	rw     io.ReadWriteCloser
	frames frameReader
	role   Role
	quiet  time.Duration // silence that is taken for the other side's death; 0: none is
	handle Handler       // of the side that is called
	ctx    context.Context
	cancel context.CancelCauseFunc
	heard  atomic.Int64  // by kernel.Monotonic, which no clock step moves
	done   chan struct{} // closed when the reader and all handlers have ended

	sending sync.Mutex
	out     []byte

	mu       sync.Mutex
	next     uint32
	waiting  map[uint32]chan reply
	handling map[uint32]context.CancelFunc
	streams  map[uint32]*Stream
	handlers sync.WaitGroup
}

// A Handler answers a call. Streams are those the caller gave it; it closes
// them. ctx ends with the connection, and when the caller gives up.
type Handler func(ctx context.Context, op string, args json.RawMessage, streams []*Stream) (result any, err error)

type request struct {
	Op      string          `json:"op"`
	Streams []uint32        `json:"streams,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
}

type reply struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// mostWrite is how long one frame may take to be written before the other side is
// taken for dead.
const mostWrite = time.Minute

// ErrLost means that the connection ended.
var ErrLost = errors.New("the connection was lost")

// A CallError is what the other side said of a call.
type CallError struct{ Message string }

func (e *CallError) Error() string { return e.Message }

func newConn(rw io.ReadWriteCloser, in io.Reader, me Role, mine, theirs Hello) *Conn {
	c := &Conn{rw: rw, frames: frameReader{r: in}, role: me, done: make(chan struct{}),
		waiting: map[uint32]chan reply{}, handling: map[uint32]context.CancelFunc{}, streams: map[uint32]*Stream{}}
	c.quiet = mine.Silence
	if me == Agent {
		c.quiet = theirs.Silence
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.heard.Store(int64(kernel.Monotonic()))
	return c
}

// Start reads what comes, and hands calls to h, which is nil at the side that
// only calls. It must be called once, before anything else.
func (c *Conn) Start(h Handler) {
	c.handle = h
	go func() {
		defer close(c.done)
		err := c.receive()
		if errors.Is(err, io.EOF) || err == nil {
			err = io.EOF
		}
		c.fail(fmt.Errorf("%w: %w", ErrLost, err))
		c.handlers.Wait()
	}()
	if c.quiet > 0 {
		go c.watch()
	}
}

// Done is closed when the connection has ended and no handler runs any more.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Lost is closed when the connection has ended; handlers may still run.
func (c *Conn) Lost() <-chan struct{} { return c.ctx.Done() }

// Err is why the connection ended; nil while it stands.
func (c *Conn) Err() error {
	if c.ctx.Err() == nil {
		return nil
	}
	return context.Cause(c.ctx)
}

// Fail ends the connection because of err, and waits for nothing.
func (c *Conn) Fail(err error) { c.fail(fmt.Errorf("%w: %w", ErrLost, err)) }

// Close ends the connection and waits for its goroutines.
func (c *Conn) Close() error {
	c.fail(fmt.Errorf("%w: closed by this side", ErrLost))
	<-c.done
	return nil
}

// fail ends everything with err, the first time.
func (c *Conn) fail(err error) {
	c.cancel(err)
	err = context.Cause(c.ctx)
	c.rw.Close()
	c.mu.Lock()
	streams := c.streams
	c.streams = map[uint32]*Stream{}
	c.mu.Unlock()
	for _, s := range streams {
		s.fail(err)
	}
}

// watch ends a connection on which nothing is heard for too long; a lab sends
// pings, which its agent answers.
func (c *Conn) watch() {
	t := time.NewTicker(c.quiet / 3)
	defer t.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		if silent := kernel.Monotonic() - time.Duration(c.heard.Load()); silent > c.quiet {
			c.fail(fmt.Errorf("%w: nothing was received for %s", ErrLost, plural.Duration(silent.Round(time.Second))))
			return
		}
		if c.role == Lab {
			c.send(ping, 0, nil)
		}
	}
}

func (c *Conn) send(k kind, id uint32, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("a message of %d bytes is too long for the agent's protocol; the limit is %d",
			len(payload), maxFrame)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.Err(); err != nil {
		return err
	}
	stuck := time.AfterFunc(mostWrite, func() {
		c.fail(fmt.Errorf("%w: nothing was accepted for %v", ErrLost, mostWrite))
	})
	defer stuck.Stop()
	c.out = appendFrame(c.out[:0], k, id, payload)
	if _, err := c.rw.Write(c.out); err != nil {
		go c.fail(fmt.Errorf("%w: %w", ErrLost, err))
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	if cap(c.out) > 2*usualFrame {
		c.out = nil
	}
	return nil
}

// Open makes a stream to be given to a call.
func (c *Conn) Open() *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	s := newStream(c, c.next)
	if err := c.Err(); err != nil {
		s.fail(err)
		return s
	}
	c.streams[s.ID] = s
	return s
}

func (c *Conn) forget(id uint32) {
	c.mu.Lock()
	delete(c.streams, id)
	c.mu.Unlock()
}

// Call calls the other side and waits for its answer, which goes into result
// unless that is nil. When ctx ends the call is called off.
func (c *Conn) Call(ctx context.Context, op string, args, result any, streams ...*Stream) error {
	q := request{Op: op}
	var err error
	if q.Args, err = json.Marshal(args); err != nil {
		return err
	}
	for _, s := range streams {
		q.Streams = append(q.Streams, s.ID)
	}
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	got := make(chan reply, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = got
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	// Subtle: the other side may take nothing any more, and a write then waits; who
	// calls waits no longer than ctx.
	sent := make(chan error, 1)
	go func() {
		err := c.send(call, id, b)
		if err == nil {
			for _, s := range streams {
				s.give()
			}
		}
		sent <- err
	}()
	for {
		select {
		case err := <-sent:
			if err != nil {
				return err
			}
			sent = nil
		case r := <-got:
			return r.into(result)
		case <-c.ctx.Done():
			return c.Err()
		case <-ctx.Done():
			go c.send(cancel, id, nil)
			return context.Cause(ctx)
		}
	}
}

func (r reply) into(result any) error {
	switch {
	case r.Error != "":
		return &CallError{r.Error}
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return fmt.Errorf("%w: the answer %q: %w", ErrNoise, clip(r.Result), err)
	}
	return nil
}
