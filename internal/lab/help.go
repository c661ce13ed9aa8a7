package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// The calls that a helper answers.
const (
	opClock  = "clock"  // → now on its monotonic clock
	opClient = "client" // helpArgs → stack.Ready: its client, connected to the server
	opPipe   = "pipe"   // a stream: the client's input and output; answers when its output has ended
	opHold   = "hold"   // an instant of its clock: what the client is told next waits for it
	opBegan  = "began"  // → began
	opStop   = "stop"   // → helpExit
)

// helpArgs say which trial a client is for. All else about it stands in the helper's own plan: the
// other bench chooses no program, and nothing of what it is told, but the server's address.
type helpArgs struct {
	Trial       int                   `json:"trial"`
	URL         string                `json:"url"`
	Credentials map[string]credential `json:"credentials,omitempty"` // of the client, by name
}

// A credential is a value, or the content of a file.
type credential struct {
	Value string `json:"value,omitempty"`
	File  []byte `json:"file,omitempty"`
}

// began says when a client was told to begin the run that it was held for, and what it had used when
// it was, and has now.
type began struct {
	At    time.Duration   `json:"at"`
	Usage [2]device.Usage `json:"usage"`
}

// helpExit is how a client ended.
type helpExit struct {
	Killed  bool   `json:"killed,omitempty"`
	Orphans int    `json:"orphans,omitempty"`
	Left    string `json:"left,omitempty"` // as device.Exit has it
	Log     []byte `json:"log,omitempty"`  // its end
}

// mostHelpLog is how much of a client's log is sent.
const mostHelpLog = 64 << 10 // B

// carried reads credentials for a client elsewhere.
func carried(values map[string]string) (map[string]credential, error) {
	out := map[string]credential{}
	for name, v := range values {
		if i, err := os.Stat(v); !filepath.IsAbs(v) || err != nil || !i.Mode().IsRegular() {
			out[name] = credential{Value: v}
			continue
		}
		b, err := kernel.ReadFile(v, 1<<20)
		if err != nil {
			return nil, err
		}
		out[name] = credential{File: b}
	}
	return out, nil
}

// Help drives the servers of another bench, which calls at the other end of rw, until that ends the
// conversation. Of the lab it needs what clients need.
func (l *Lab) Help(ctx context.Context, rw io.ReadWriteCloser, clock func() time.Duration) error {
	stop := context.AfterFunc(ctx, func() { rw.Close() })
	defer stop()
	conn, _, err := rpc.Greet(rw, rpc.Agent, rpc.Hello{})
	if err != nil {
		rw.Close()
		return err
	}
	h := &helper{lab: l, clock: clock}
	conn.Start(h.handle)
	<-conn.Lost()
	h.close()
	<-conn.Done()
	if err := conn.Err(); ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return err
	}
	return context.Cause(ctx)
}

// A helper answers the calls of the bench that it helps.
type helper struct {
	lab   *Lab
	clock func() time.Duration // nil: this machine's

	mu     sync.Mutex
	client *helped // nil: there is none
	closed bool    // there will be none any more
}

// A helped is a client at work.
type helped struct {
	process process
	in      io.WriteCloser // of the process
	out     io.Reader
	dir     string // its log and its credentials

	mu    sync.Mutex
	until time.Duration // instant for which the next input waits; 0: for none
	began began
}

func (h *helper) now() time.Duration {
	if h.clock != nil {
		return h.clock()
	}
	return kernel.Monotonic()
}

func (h *helper) handle(ctx context.Context, op string, args json.RawMessage, streams []*rpc.Stream) (any, error) {
	for _, s := range streams {
		defer s.Close()
	}
	if op == opClock {
		return h.now(), nil
	}
	if op == opClient {
		var x helpArgs
		if err := json.Unmarshal(args, &x); err != nil {
			return nil, err
		}
		return h.start(ctx, x)
	}
	h.mu.Lock()
	c := h.client
	h.mu.Unlock()
	switch {
	case op == opStop:
		return h.take().end(ctx, grace), nil
	case c == nil:
		return nil, errors.New("there is no client here")
	}
	switch op {
	case opHold:
		var at time.Duration
		err := json.Unmarshal(args, &at)
		c.mu.Lock()
		c.until = at
		c.mu.Unlock()
		return nil, err
	case opBegan:
		c.mu.Lock()
		defer c.mu.Unlock()
		var err error
		c.began.Usage[1], err = c.process.Usage()
		return c.began, err
	case opPipe:
		if len(streams) != 1 {
			return nil, errors.New("it takes one stream")
		}
		return nil, h.pipe(c, streams[0])
	}
	return nil, fmt.Errorf("no call %q; install the same edgegauge on all benches", op)
}

// start starts the client of a trial.
func (h *helper) start(ctx context.Context, x helpArgs) (ready stack.Ready, err error) {
	h.take().end(ctx, 0)
	i := slices.IndexFunc(h.lab.Plan.Trials, func(t study.Trial) bool { return t.ID == x.Trial })
	if i < 0 || !h.lab.Plan.Trials[i].Setup.Joint() {
		return ready, fmt.Errorf("trial %d is not one to help with", x.Trial)
	}
	t := newTask(h.lab, h.lab.Plan.Trials[i])
	c := &helped{}
	if c.dir, err = os.MkdirTemp(h.lab.Scratch, "help-"); err != nil {
		return ready, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(c.dir)
		}
	}()
	call, err := h.call(&t, x, c.dir)
	if err != nil {
		return ready, err
	}
	end, verb, pin := t.side(atClient)
	d, ok := h.lab.Stacks[end.Stack]
	if !ok {
		return ready, fmt.Errorf("no stack %q", end.Stack)
	}
	command, err := t.command(d, verb, place{})
	if err != nil {
		return ready, err
	}
	command.CPUs, command.Log = pin, filepath.Join(c.dir, "log")
	p, err := h.lab.Devices[end.Device].Start(ctx, command)
	if err != nil {
		return ready, err
	}
	c.process, c.in, c.out = p, p.Stdin, p.Stdout
	if ready, err = stack.NewConn(p.Stdin, p.Stdout).Call(ctx, call); err != nil {
		c.process.Kill()
		log, _ := kernel.ReadFile(command.Log, mostHelpLog)
		return ready, fmt.Errorf("its client stacks/%s did not become ready: %w; its log: %.500s", d.Name, err, log)
	}
	return ready, h.put(ctx, c)
}

// put makes c the client, and ends the one before: two calls may start clients at once. One that started while the
// conversation ended is ended, too.
func (h *helper) put(ctx context.Context, c *helped) error {
	h.mu.Lock()
	over, closed := h.client, h.closed
	if h.client = c; closed {
		over, h.client = c, nil
	}
	h.mu.Unlock()
	over.end(ctx, 0)
	if closed {
		return rpc.ErrLost
	}
	return nil
}

// take is the client, which is the helper's no more.
func (h *helper) take() *helped {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.client
	h.client = nil
	return c
}

// close ends the client, and every one that is put later.
func (h *helper) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.take().end(context.Background(), 0)
}

// call is what a client is told first.
func (h *helper) call(t *task, x helpArgs, dir string) (call stack.Call, err error) {
	message, err := messageOf(t.plan)
	if err != nil {
		return call, err
	}
	if existing(t.setup) {
		call = t.call(t.setup.URL, message, nil)
		call.Request, err = json.Marshal(h.lab.Requests[t.setup])
		return call, err
	}
	values := map[string]string{}
	for name, v := range x.Credentials {
		values[name] = v.Value
		if v.File == nil {
			continue
		}
		values[name] = filepath.Join(dir, filepath.Base(name)+".pem")
		if err := os.WriteFile(values[name], v.File, 0o600); err != nil {
			return call, err
		}
	}
	return t.call(x.URL, message, values), nil
}

// pipe forwards the client's input and output until its output has ended.
func (h *helper) pipe(c *helped, s *rpc.Stream) error {
	go func() { // ends with the stream
		defer c.in.Close()
		b := make([]byte, 16<<10)
		for {
			n, err := s.Read(b)
			if n > 0 {
				c.await(h.now)
				if _, err := c.in.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	_, err := io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{c.out}, make([]byte, 16<<10))
	s.CloseWrite(nil)
	if errors.Is(err, rpc.ErrStopped) {
		err = nil
	}
	return err
}

// await waits for the instant that was agreed on, if one was, and notes when it was over.
func (c *helped) await(now func() time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == 0 {
		return
	}
	if c.process != nil {
		c.began.Usage[0], _ = c.process.Usage()
	}
	waitUntil(min(c.until, now()+longestHold), now)
	c.until, c.began.At = 0, now()
}

// longestHold is how long another bench may have this one wait: what it agreed on lies some
// tenths of a second ahead.
const longestHold = time.Minute

// sleepUntil waits for an instant of this machine's monotonic clock.
func sleepUntil(at time.Duration) { waitUntil(at, kernel.Monotonic) }

// awake is for how long before an instant a wait does not sleep, since it would be woken late.
const awake = 500 * time.Microsecond

func waitUntil(at time.Duration, now func() time.Duration) {
	for left := at - now(); left > 0; left = at - now() {
		if left > awake {
			time.Sleep(left - awake)
		}
	}
}

// end ends a client, giving it time to end by itself, and removes what it left. Of none there is nothing to end.
func (c *helped) end(ctx context.Context, within time.Duration) helpExit {
	var out helpExit
	if c == nil {
		return out
	}
	var e device.Exit
	if within > 0 {
		e, out.Killed = c.process.Stop(ctx, within)
	} else {
		e = c.process.Kill()
	}
	out.Orphans, out.Left = e.Orphans, e.Left
	if log, err := os.ReadFile(filepath.Join(c.dir, "log")); err == nil {
		out.Log = log[max(0, len(log)-mostHelpLog):]
	}
	os.RemoveAll(c.dir)
	return out
}
