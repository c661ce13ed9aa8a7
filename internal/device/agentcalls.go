package device

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// The calls that an agent answers, with their arguments and results.
const (
	opFacts   = "facts"   // → Facts
	opCPUs    = "cpus"    // → numbers of the CPUs that programs may use; null: it does not know
	opCheck   = "check"   // → []Finding
	opStart   = "start"   // startArgs → startResult; nothing is read from it yet
	opPipe    = "pipe"    // processArgs, a stream: its stdin and stdout; answers when stdout ended
	opWait    = "wait"    // processArgs → Exit
	opKill    = "kill"    // processArgs
	opUsage   = "usage"   // processArgs → Usage
	opPut     = "put"     // fileArgs, a stream → SHA-256
	opGet     = "get"     // fileArgs, a stream → size
	opMake    = "make"    // fileArgs → absolute path of the folder
	opRemove  = "remove"  // fileArgs
	opRun     = "run"     // startArgs → ran
	opObserve = "observe" // observeArgs, a stream → observed
	opClock   = "clock"   // → instant

	opDescribe = "describe" // observeArgs → described

	opConnections = "connections" // connectionsArgs → []kernel.Connection
)

type startArgs struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir,omitempty"` // empty: the agent's folder
	Env  []string `json:"env,omitempty"`
	CPUs []int    `json:"cpus,omitempty"`
}

type startResult struct {
	PID int    `json:"pid"`
	Log string `json:"log"` // below the agent's folder
}

type processArgs struct {
	PID int `json:"pid"`
}

type connectionsArgs struct {
	PID    int            `json:"pid"`
	Server netip.AddrPort `json:"server"`
}

// fileArgs name a file or folder below the agent's.
type fileArgs struct {
	Path string      `json:"path"`
	Mode fs.FileMode `json:"mode,omitempty"`
}

type observeArgs struct {
	Instrument string `json:"instrument"`
}

// ran is what a command printed, clipped, and how it ended.
type ran struct {
	Output string `json:"output"`
	Code   int    `json:"code"`
}

// instant is now on the device's clocks, in ns.
type instant struct {
	Real      int64 `json:"real"`
	Monotonic int64 `json:"monotonic"`
}

func (a *agent) start(ctx context.Context, x startArgs) (any, error) {
	if len(x.Argv) == 0 {
		return nil, errors.New("no program to start")
	}
	if x.Dir == "" {
		x.Dir = a.dir
	}
	a.mu.Lock()
	a.logs++
	r := startResult{Log: fmt.Sprintf("log-%d", a.logs)}
	a.mu.Unlock()
	c := Command{Argv: x.Argv, Dir: x.Dir, Env: x.Env, CPUs: x.CPUs, Log: filepath.Join(a.dir, r.Log)}
	p, err := a.local.Start(ctx, c)
	if err != nil {
		return nil, a.full(err)
	}
	r.PID = p.PID
	a.mu.Lock()
	a.procs[p.PID] = p
	a.mu.Unlock()
	a.slim()
	return r, nil
}

func (a *agent) process(x processArgs) (*Process, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.procs[x.PID]
	if !ok {
		return nil, fmt.Errorf("process %d does not belong to this agent", x.PID)
	}
	return p, nil
}

// pipe forwards a process's stdin and stdout until stdout ends, or the lab is gone: others may hold stdout open.
func (a *agent) pipe(ctx context.Context, x processArgs, streams []*rpc.Stream) (any, error) {
	p, err := a.process(x)
	if err != nil || len(streams) != 1 {
		return nil, errors.Join(err, oneStream(streams))
	}
	s := streams[0]
	defer context.AfterFunc(ctx, func() { p.Stdout.SetReadDeadline(time.Unix(1, 0)) })()
	go func() { // ends with the stream
		io.Copy(p.Stdin, s)
		p.Stdin.Close()
	}()
	// Subtle: both sides are wrapped, as elsewhere here: with ReadFrom or WriteTo in
	// sight, io.CopyBuffer would leave its small buffer and make a larger one.
	_, err = io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{p.Stdout}, make([]byte, 16<<10))
	s.CloseWrite(nil)
	if c, ok := p.Stdout.(io.Closer); ok {
		c.Close()
	}
	if errors.Is(err, rpc.ErrStopped) {
		err = nil
	}
	return nil, err
}

func oneStream(streams []*rpc.Stream) error {
	if len(streams) == 1 {
		return nil
	}
	return fmt.Errorf("the call came with %d streams; it takes one", len(streams))
}

func (a *agent) wait(ctx context.Context, x processArgs) (any, error) {
	p, err := a.process(x)
	if err != nil {
		return nil, err
	}
	select {
	case e := <-p.exit:
		a.mu.Lock()
		delete(a.procs, x.PID)
		a.mu.Unlock()
		a.slim()
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// kill kills a tree; one that has ended needs none.
func (a *agent) kill(x processArgs) (any, error) {
	if p, err := a.process(x); err == nil {
		p.supervisor.kill()
		p.Stdin.Close()
	}
	return nil, nil
}

func (a *agent) usage(x processArgs) (any, error) {
	p, err := a.process(x)
	if err != nil {
		return nil, err
	}
	return p.Usage()
}

func (a *agent) connections(x connectionsArgs) (any, error) {
	p, err := a.process(processArgs{x.PID})
	if err != nil {
		return nil, err
	}
	return p.Connections(x.Server)
}

func (a *agent) put(x fileArgs, streams []*rpc.Stream) (any, error) {
	if err := oneStream(streams); err != nil {
		return nil, err
	}
	path := inside(x.Path)
	if err := a.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, a.full(err)
	}
	f, err := a.root.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, x.Mode.Perm()|0o600)
	if err != nil {
		return nil, a.full(err)
	}
	h := sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(struct{ io.Writer }{f}, h), struct{ io.Reader }{streams[0]},
		make([]byte, 16<<10))
	if err := errors.Join(err, f.Close()); err != nil {
		a.root.Remove(path)
		return nil, a.full(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (a *agent) get(x fileArgs, streams []*rpc.Stream) (any, error) {
	if err := oneStream(streams); err != nil {
		return nil, err
	}
	f, err := a.root.Open(inside(x.Path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{streams[0]}, struct{ io.Reader }{f}, make([]byte, 16<<10))
	if errors.Is(err, rpc.ErrStopped) {
		err = nil
	}
	streams[0].CloseWrite(err)
	return n, err
}

// run runs a short command to its end, such as a build or a look at a version.
func (a *agent) run(ctx context.Context, x startArgs) (any, error) {
	if len(x.Argv) == 0 {
		return nil, errors.New("no program to run")
	}
	if x.Dir == "" {
		x.Dir = a.dir
	}
	path, err := exec.LookPath(x.Argv[0])
	if err != nil && !filepath.IsAbs(x.Argv[0]) && bytes.ContainsRune([]byte(x.Argv[0]), '/') {
		path, err = x.Argv[0], nil // below its folder
	}
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.logs++
	logFile := filepath.Join(a.dir, fmt.Sprintf("run-%d", a.logs)) // its own: runs may overlap
	a.mu.Unlock()
	defer os.Remove(logFile)
	// A supervisor of its own, so that nothing of it is left when the lab is gone.
	p, err := a.local.Start(ctx, Command{Argv: append([]string{path}, x.Argv[1:]...), Dir: x.Dir, Env: x.Env,
		Log: logFile})
	if err != nil {
		return nil, a.full(err)
	}
	defer context.AfterFunc(ctx, func() {
		p.supervisor.kill()
		p.Stdout.SetReadDeadline(time.Unix(1, 0)) // others may hold it open
	})()
	p.Stdin.Close()
	const most = 32 << 10
	var out clipped
	out.most = most
	io.Copy(&out, struct{ io.Reader }{p.Stdout})
	e := p.Wait()
	log, _ := os.ReadFile(logFile)
	out.Write(log)
	return ran{string(out.b), e.Code}, ctx.Err()
}

// clipped keeps the last bytes written to it.
type clipped struct {
	b    []byte
	most int
}

func (c *clipped) Write(p []byte) (int, error) {
	c.b = append(c.b, p...)
	if over := len(c.b) - c.most; over > 0 {
		c.b = append(c.b[:0], c.b[over:]...)
	}
	return len(p), nil
}

// An observed is what an observation came to. The instants are the device's
// monotonic clock when it began and ended: the lab knows both on its own, too.
type observed struct {
	Began int64 `json:"began"`
	Ended int64 `json:"ended"`
	Lost  int   `json:"lost"` // samples without room
	Told  any   `json:"told,omitempty"`
}

// A Teller is an instrument that says more of itself than how it reads: before
// an observation what it is, afterwards how that went. It is JSON.
type Teller interface{ Tell() any }

func told(in measure.Instrument) any {
	if t, ok := in.(Teller); ok {
		return t.Tell()
	}
	return nil
}

type described struct {
	Description measure.Description `json:"description"`
	Told        any                 `json:"told,omitempty"`
}

func (a *agent) describe(ctx context.Context, x observeArgs) (any, error) {
	in, err := a.instrument(ctx, x.Instrument)
	if err != nil {
		return nil, err
	}
	if c, ok := in.(io.Closer); ok {
		defer c.Close()
	}
	return described{in.Describe(), told(in)}, nil
}

// observe keeps an instrument's samples until its stream's other side says stop
// by ending its input, then sends them, a JSON object a line.
func (a *agent) observe(ctx context.Context, x observeArgs, streams []*rpc.Stream) (any, error) {
	if err := oneStream(streams); err != nil {
		return nil, err
	}
	in, err := a.instrument(ctx, x.Instrument)
	if err != nil {
		return nil, err
	}
	if c, ok := in.(io.Closer); ok {
		defer c.Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := streams[0]
	go func() {
		io.Copy(io.Discard, s)
		cancel()
	}()
	var kept sampleLog
	o := observed{Began: int64(kernel.Monotonic())}
	if err := json.NewEncoder(s).Encode(o); err != nil { // the lab takes the same instant on its clock
		return nil, err
	}
	err = in.Observe(ctx, func(m measure.Sample) {
		if !kept.add(m) {
			o.Lost++
		}
	})
	if err != nil {
		return nil, err
	}
	o.Ended, o.Told = int64(kernel.Monotonic()), told(in)
	to := json.NewEncoder(s)
	for m := range kept.all() {
		if err := to.Encode(m); err != nil {
			return nil, err
		}
	}
	s.CloseWrite(nil)
	return o, nil
}

func (a *agent) instrument(ctx context.Context, spec string) (measure.Instrument, error) {
	if spec == UsageInstrument {
		return usageInstrument{a, 100 * time.Millisecond}, nil
	}
	if a.open == nil {
		return nil, fmt.Errorf("instrument %s: unknown to this agent", spec)
	}
	return a.open(ctx, spec)
}
