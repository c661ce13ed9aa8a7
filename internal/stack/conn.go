package stack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"edgegauge/internal/measure"
)

var errNotProtocol = errors.New("said something that is not protocol")

// ErrSilent means that the program closed its output: it ended or was killed.
var ErrSilent = errors.New("ended without an answer")

// maxLine bounds a line from a program; beyond it is garbage.
const maxLine = 1 << 20

// Reader is a program's standard output.
type Reader interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// Conn is the lab's end of the protocol with one program. It is not for
// concurrent use. After an error it is of no further use.
type Conn struct {
	w    io.Writer
	r    *bufio.Reader
	stop func(time.Time) error
	line []byte
}

// NewConn speaks with the program whose stdin is w and stdout r.
func NewConn(w io.Writer, r Reader) *Conn {
	return &Conn{w: w, r: bufio.NewReaderSize(r, 1<<16), stop: r.SetReadDeadline}
}

// Serve starts service; the program listens when it returns.
func (c *Conn) Serve(ctx context.Context, s Serve) (Ready, error) {
	s.Type, s.Protocol = "serve", Protocol
	return c.ready(ctx, s)
}

// Call makes the program a client.
func (c *Conn) Call(ctx context.Context, s Call) (Ready, error) {
	s.Type, s.Protocol = "call", Protocol
	return c.ready(ctx, s)
}

func (c *Conn) ready(ctx context.Context, request any) (Ready, error) {
	if err := c.send(request); err != nil {
		return Ready{}, err
	}
	defer c.watch(ctx)()
	line, err := c.read(ctx)
	if err != nil {
		return Ready{}, err
	}
	h, err := parseHeader(line)
	if err != nil {
		return Ready{}, err
	}
	if h.Type != "ready" {
		return Ready{}, fmt.Errorf("%w: %q instead of \"ready\"", errNotProtocol, h.Type)
	}
	return h.Ready, nil
}

// An End closes a program's records.
type End struct {
	Count int
	CPU   time.Duration // the program's own account of the run; 0: it keeps none
	// Phases of a client that became known in this run.
	Phases Phases
}

// Run sends requests and hands every record to emit, which may be nil.
func (c *Conn) Run(ctx context.Context, r Run, emit func(measure.Exchange)) (End, error) {
	r.Type = "run"
	if err := c.send(r); err != nil {
		return End{}, err
	}
	return c.records(ctx, emit)
}

// Report fetches the server's records since the last report, oldest first.
func (c *Conn) Report(ctx context.Context, discard bool, emit func(measure.Exchange)) (End, error) {
	if err := c.send(Report{Type: "report", Discard: discard}); err != nil {
		return End{}, err
	}
	return c.records(ctx, emit)
}

// records reads exchanges up to "end".
func (c *Conn) records(ctx context.Context, emit func(measure.Exchange)) (End, error) {
	defer c.watch(ctx)()
	for got := 0; ; got++ {
		line, err := c.read(ctx)
		if err != nil {
			return End{}, err
		}
		if !bytes.HasPrefix(line, []byte(`{"type":"exchange"`)) {
			h, err := parseHeader(line)
			switch {
			case err != nil:
				return End{}, err
			case h.Type == "end" && got != 0 && h.Count != got:
				return End{}, fmt.Errorf("%w: %d records, but \"end\" counts %d", errNotProtocol, got, h.Count)
			case h.Type == "end":
				return End{h.Count, time.Duration(h.CPU), h.Phases}, nil
			case h.Type != "exchange":
				return End{}, fmt.Errorf("%w: %q among the records", errNotProtocol, h.Type)
			}
		}
		x, err := parseExchange(line)
		if err != nil {
			return End{}, err
		}
		if emit != nil {
			emit(x)
		}
	}
}

func (c *Conn) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := c.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("%w: %v", ErrSilent, err)
	}
	return nil
}

// watch makes ctx's end break a pending read; the returned function takes that back.
func (c *Conn) watch(ctx context.Context) func() {
	release := context.AfterFunc(ctx, func() { c.stop(time.Unix(1, 0)) })
	return func() {
		if release() {
			return
		}
		c.stop(time.Time{})
	}
}

// read returns the next line, which is good until the next read.
func (c *Conn) read(ctx context.Context) ([]byte, error) {
	c.line = c.line[:0]
	for {
		part, err := c.r.ReadSlice('\n')
		c.line = append(c.line, part...)
		switch {
		case err == nil:
			return bytes.TrimSpace(c.line), nil
		case errors.Is(err, bufio.ErrBufferFull) && len(c.line) < maxLine:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w: a line of over %d bytes, %q", errNotProtocol, maxLine, clip(c.line))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, io.EOF):
			return nil, ErrSilent
		default:
			return nil, err
		}
	}
}

func appendUint(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }
func appendInt(b []byte, v int64) []byte   { return strconv.AppendInt(b, v, 10) }
