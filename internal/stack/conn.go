package stack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

var errNotProtocol = errors.New("violated the protocol")

// ErrSilent means that the program closed its output: it ended or was killed.
var ErrSilent = errors.New("closed its output without answering")

// errDeaf means that a command to the program could not be written.
var errDeaf = errors.New("it is not reading its input")

// maxLine bounds a line from a program; beyond it is garbage.
const maxLine = 1 << 20

// DeadlineReader is a program's standard output.
type DeadlineReader interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// Conn is the lab's end of the protocol with one program. It is not for
// concurrent use. After an error it is of no further use.
type Conn struct {
	w    io.Writer
	r    *bufio.Reader
	stop func(time.Time) error // sets the deadline of reads
	line []byte

	// Devices takes, while a client that was told to be many devices runs, how they are
	// (internal/drive/population, State, in JSON). nil: such lines violate the protocol.
	Devices func(json.RawMessage)
}

// DevicesLine is the type of such a line.
const DevicesLine = "devices"

// NewConn speaks with the program whose stdin is w and stdout r.
func NewConn(w io.Writer, r DeadlineReader) *Conn {
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
	if err := c.send(ctx, request); err != nil {
		return Ready{}, err
	}
	defer watch(ctx, c.stop)()
	line, err := c.read(ctx)
	if err != nil {
		return Ready{}, err
	}
	h, err := parseHeader(line)
	if err != nil {
		return Ready{}, c.lastWords(line, err)
	}
	if h.Type != "ready" {
		return Ready{}, fmt.Errorf("%w: %q instead of \"ready\"", errNotProtocol, h.Type)
	}
	return h.Ready, nil
}

// lastWords is err, of a line that is none of the protocol, or all that a program has printed which ends now: a virtual
// machine that cannot start says there why, in several lines.
func (c *Conn) lastWords(line []byte, err error) error {
	const patience = time.Second
	if json.Valid(line) {
		return err
	}
	all := append(bytes.Clone(line), '\n')
	c.stop(time.Now().Add(patience))
	rest, open := io.ReadAll(io.LimitReader(c.r, maxLine))
	if open != nil || len(bytes.TrimSpace(rest)) == 0 {
		return err
	}
	return fmt.Errorf("%w: it ended without \"ready\", and had printed %q", errNotProtocol,
		shorten(string(bytes.TrimSpace(append(all, rest...)))))
}

// An End closes a program's records.
type End struct {
	Count int
	CPU   time.Duration // the program's own account of the run; 0: it keeps none
	// Phases of a client that became known in this run.
	Phases Phases
	// Of a client's run: requests sent a second time over another connection, and
	// messages that the protocol itself sent again (CoAP, MQTT).
	Repetitions, Retransmissions int
	// Reconnects are connections that were to be kept and were made anew, where the client says so.
	Reconnects int
	Surplus    int // answers with bytes beyond their length, where the client says so
	Unsure     int // answers that may be those of earlier requests, where the client says so
	Failures       // of a client's run without records
	// Population is what became of many devices (internal/drive/population, Result),
	// in JSON, where the client was told to be them. Its records may be a sample.
	Population string
}

// emitter takes a record; its error ends the reading.
type emitter = func(measure.Exchange) error

// Run sends requests and hands every record to emit, which may be nil.
func (c *Conn) Run(ctx context.Context, r Run, emit func(measure.Exchange)) (End, error) {
	return c.run(ctx, r, math.MaxInt, plain(emit))
}

func (c *Conn) run(ctx context.Context, r Run, most int, emit emitter) (End, error) {
	r.Type = "run"
	if err := c.send(ctx, r); err != nil {
		return End{}, err
	}
	return c.records(ctx, r.Record, most, emit)
}

// Report fetches the server's records since the last report, oldest first.
func (c *Conn) Report(ctx context.Context, discard bool, emit func(measure.Exchange)) (End, error) {
	return c.report(ctx, discard, math.MaxInt, plain(emit))
}

func (c *Conn) report(ctx context.Context, discard bool, most int, emit emitter) (End, error) {
	if err := c.send(ctx, Report{Type: "report", Discard: discard}); err != nil {
		return End{}, err
	}
	return c.records(ctx, !discard, most, emit)
}

func plain(emit func(measure.Exchange)) emitter {
	return func(x measure.Exchange) error {
		if emit != nil {
			emit(x)
		}
		return nil
	}
}

// records reads exchanges up to "end", which must count them. Without recorded
// there are none, and "end" counts the requests.
func (c *Conn) records(ctx context.Context, recorded bool, most int, emit emitter) (End, error) {
	defer watch(ctx, c.stop)()
	var x measure.Exchange
	for got := 0; ; {
		line, err := c.read(ctx)
		if err != nil {
			return End{}, err
		}
		if !bytes.HasPrefix(line, []byte(`{"type":"exchange"`)) {
			h, err := parseHeader(line)
			switch {
			case err != nil:
				return End{}, err
			case h.Type == "end" && (recorded && h.Count != got || h.Count < 0):
				return End{}, fmt.Errorf("%w: %d records, but \"end\" says %d", errNotProtocol, got, h.Count)
			case h.Type == "end" && !recorded && (h.Failed < 0 || h.Failed > h.Count):
				return End{}, fmt.Errorf("%w: \"end\" says that %d of %d requests failed", errNotProtocol, h.Failed, h.Count)
			case h.Type == "end":
				h.FirstFailure = shorten(h.FirstFailure)
				return End{Count: h.Count, CPU: time.Duration(h.CPU), Phases: h.Phases, Repetitions: h.Repetitions,
					Retransmissions: h.Retransmissions, Reconnects: h.Reconnects, Surplus: h.Surplus, Unsure: h.Unsure,
					Failures: h.Failures, Population: string(h.Population)}, nil
			case h.Type == DevicesLine && c.Devices != nil:
				c.Devices(h.Population)
				continue
			case h.Type != "exchange":
				return End{}, fmt.Errorf("%w: %q among the records", errNotProtocol, clip([]byte(h.Type)))
			}
		}
		switch {
		case !recorded:
			return End{}, fmt.Errorf("%w: an unexpected record", errNotProtocol)
		case got >= most:
			return End{}, fmt.Errorf("%w: more than %d records", errNotProtocol, most)
		}
		if err := parseExchange(line, &x); err != nil {
			return End{}, err
		}
		if err := emit(x); err != nil {
			return End{}, err
		}
		got++
	}
}

// End closes the program's input, and returns when the program has closed its
// output, to which it must print nothing more.
func (c *Conn) End(ctx context.Context) error {
	if in, ok := c.w.(io.Closer); ok {
		in.Close()
	}
	defer watch(ctx, c.stop)()
	rest, err := io.ReadAll(io.LimitReader(c.r, maxLine))
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%w: %q after its last answer; stdout belongs to the protocol alone, also at the end",
			errNotProtocol, clip(rest))
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	}
	return nil // an output that cannot be read is closed
}

// send writes one line. A program that does not read its input holds it up no
// longer than ctx lasts.
func (c *Conn) send(ctx context.Context, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	err = c.write(ctx, append(b, '\n'))
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: %w", errDeaf, ctx.Err())
	case err != nil:
		return fmt.Errorf("%w: %v", ErrSilent, err)
	}
	return nil
}

// write writes b to the program. Where the input knows no deadline, a write that is
// given up lasts until the input is closed.
func (c *Conn) write(ctx context.Context, b []byte) error {
	d, ok := c.w.(interface{ SetWriteDeadline(time.Time) error })
	if ok && d.SetWriteDeadline(time.Time{}) == nil {
		defer watch(ctx, d.SetWriteDeadline)()
		_, err := c.w.Write(b)
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.w.Write(b)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch makes ctx's end break what is pending; the returned function takes that back.
func watch(ctx context.Context, deadline func(time.Time) error) func() {
	release := kernel.BreakOff(ctx, deadline)
	return func() {
		if release() {
			deadline(time.Time{})
		}
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
			return nil, fmt.Errorf("%w: a line longer than %d bytes, %q", errNotProtocol, maxLine, clip(c.line))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, io.EOF):
			return nil, ErrSilent
		default:
			return nil, err
		}
	}
}

// unasked is the begin of what the program has written although nothing was asked of it. It waits for nothing.
func (c *Conn) unasked() string {
	if c.r.Buffered() == 0 {
		c.stop(time.Now().Add(20 * time.Millisecond)) // one that has passed would not look into the pipe
		_, _ = c.r.Peek(1)                            // nothing is there
		c.stop(time.Time{})
	}
	text, _ := c.r.Peek(c.r.Buffered())
	return clip(text)
}

func appendUint(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }
func appendInt(b []byte, v int64) []byte   { return strconv.AppendInt(b, v, 10) }
