package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// Programs and labs without any process: tests run them in a synctest bubble, so
// that waits take no time, and a goroutine left behind fails the test.

// The stages of a trial at which a program is asked for something.
const (
	serving   = "serve"
	calling   = "call"
	warming   = "warm-up"
	forgets   = "discard"
	running   = "run"
	reporting = "report"
	ending    = "end"
)

// An act is what a program does when asked: it waits, prints say, and then goes on,
// exits, or hangs for ever.
type act struct {
	wait <-chan struct{} // before it says anything; nil: for nothing
	say  string
	then string // "", exit, hang, or stay: without reading on, but printing nothing more
}

const fakeRequests, fakeWarmUp = 5, 2

// fakeStack is what two programs do at each stage.
type fakeStack struct {
	acts  map[string]act
	usage func(side int) (device.Usage, error)
	exits [2]device.Exit
	// stopped are the programs' processes that a signal has stopped.
	stopped []int
	// connections are what a side's kernel knows, each time it is asked; nil: of none.
	connections func(side int) ([]kernel.Connection, error)
	// counters are its counters, likewise; nil: it does not say.
	counters func(side int) (kernel.TCPCounters, error)
}

// soundStack keeps the protocol.
func soundStack() *fakeStack {
	client, server := soundRecords()
	return &fakeStack{
		acts: map[string]act{
			serving:   {say: `{"type":"ready","url":"http://127.0.0.1:1/x","version":"1"}` + "\n"},
			calling:   {say: `{"type":"ready"}` + "\n"},
			warming:   {say: endOf(fakeWarmUp, 0)},
			forgets:   {say: endOf(fakeWarmUp, 0)},
			running:   {say: lines(client) + endOf(fakeRequests, 1000)},
			reporting: {say: lines(server) + endOf(fakeRequests, 0)},
		},
		usage: func(int) (device.Usage, error) { return device.Usage{CPU: time.Second, PeakRSS: 1 << 20}, nil },
	}
}

func soundRecords() (client, server []measure.Exchange) {
	for i := range time.Duration(fakeRequests) {
		at := 10 * i * time.Microsecond
		client = append(client, measure.Exchange{Seq: uint64(i) + 1, Due: at, Sent: at + 500, Done: at + 5500,
			Serialization:   400,
			Deserialization: 600, Total: 6500, Out: 30, In: 20})
		server = append(server, measure.Exchange{Seq: uint64(i) + 1, Serialization: 100, Processing: 300, Sensor: 200,
			Deserialization: 100,
			Total:           600, Out: 20, In: 30})
	}
	return client, server
}

func lines(xs []measure.Exchange) string {
	var b []byte
	for _, x := range xs {
		b = stack.AppendExchange(b, x)
	}
	return string(b)
}

func endOf(n int, cpu int64) string {
	return fmt.Sprintf("{\"type\":\"end\",\"count\":%d,\"cpu\":%d}\n", n, cpu)
}

// stageOf says what a command asks for.
func stageOf(c map[string]any) string {
	switch {
	case c["type"] == "run" && c["record"] != true:
		return warming
	case c["type"] == "report" && c["discard"] == true:
		return forgets
	}
	return c["type"].(string)
}

// A fakeProcess is one program of a fakeStack.
type fakeProcess struct {
	stack    *fakeStack
	side     int
	in, out  net.Conn // the program's ends
	nearIn   net.Conn
	nearOut  net.Conn
	done     chan struct{}
	exited   chan device.Exit
	kill     chan struct{}
	killOnce sync.Once
}

// launch starts programs of the stack; running counts those that have not ended.
func (s *fakeStack) launch(running *sync.WaitGroup) launch {
	return func(_ context.Context, _ device.Device, c device.Command) (process, *stack.Conn, error) {
		p := &fakeProcess{stack: s, side: atServer, done: make(chan struct{}), exited: make(chan device.Exit, 1),
			kill: make(chan struct{})}
		if c.Argv[len(c.Argv)-1] == "call" {
			p.side = atClient
		}
		p.nearIn, p.in = net.Pipe()
		p.nearOut, p.out = net.Pipe()
		running.Add(1)
		go func() {
			defer running.Done()
			p.live()
			p.in.Close()
			p.out.Close()
			p.exited <- s.exits[p.side]
			close(p.exited)
			close(p.done)
		}()
		return p, stack.NewConn(p.nearIn, p.nearOut), nil
	}
}

// live answers commands until the input ends.
func (p *fakeProcess) live() {
	for commands := bufio.NewScanner(p.in); commands.Scan(); {
		var c map[string]any
		if json.Unmarshal(commands.Bytes(), &c) != nil {
			return
		}
		if !p.act(p.stack.acts[stageOf(c)]) {
			return
		}
	}
	p.act(p.stack.acts[ending+[2]string{" client", " server"}[p.side]])
}

// act prints, and says whether the program goes on.
func (p *fakeProcess) act(a act) bool {
	if a.wait != nil {
		<-a.wait
	}
	if _, err := io.WriteString(p.out, a.say); err != nil {
		<-p.kill // nobody reads: it hangs until it is killed
		return false
	}
	switch a.then {
	case "exit":
		return false
	case "hang":
		<-p.kill
		return false
	case "shut":
		p.out.Close()
		<-p.kill
		return false
	}
	return true
}

func (p *fakeProcess) Stopped() []int               { return p.stack.stopped }
func (p *fakeProcess) Usage() (device.Usage, error) { return p.stack.usage(p.side) }
func (p *fakeProcess) Exited() <-chan device.Exit   { return p.exited }

func (p *fakeProcess) Connections(netip.AddrPort) ([]kernel.Connection, error) {
	if p.stack.connections == nil {
		return nil, nil
	}
	return p.stack.connections(p.side)
}

func (p *fakeProcess) TCPCounters() (kernel.TCPCounters, error) {
	if p.stack.counters == nil {
		return kernel.TCPCounters{}, errors.ErrUnsupported
	}
	return p.stack.counters(p.side)
}

func (p *fakeProcess) Stop(ctx context.Context, grace time.Duration) (device.Exit, bool) {
	p.nearIn.Close()
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	killed := false
	select {
	case <-p.done:
	case <-ctx.Done():
		killed = true
	}
	return p.Kill(), killed
}

func (p *fakeProcess) Kill() device.Exit {
	p.killOnce.Do(func() { close(p.kill) })
	p.nearIn.Close()
	p.nearOut.Close()
	<-p.done
	return p.stack.exits[p.side]
}

// fakeLab is a lab of n trials of the stack, with a store of its own.
func fakeLab(t *testing.T, s *fakeStack, n int) (*Lab, *sync.WaitGroup) {
	t.Helper()
	setup := &study.Setup{
		Service: "monitor", Stack: "fake", Encoding: "json", Security: "none", Transport: "http",
		Connection: "keep-alive", IP: "ipv4",
		Client: study.Side{Device: "host", Stack: "fake"}, Server: study.Side{Device: "host", Stack: "fake"},
		Requests: fakeRequests, Concurrency: 1,
	}
	l := &Lab{
		Plan: study.Plan{Study: study.Study{Timeouts: study.Timeouts{Ready: time.Second, Request: time.Second,
			Trial: time.Minute}, Body: 1 << 20,
			Design: study.Design{Replications: n, WarmUp: study.Span{Requests: fakeWarmUp}, Confidence: 0.95}}},
		Devices: map[string]device.Device{"host": device.Local{}},
		Stacks:  map[string]stack.Description{"fake": {Name: "fake"}},
	}
	for i := range n {
		l.Plan.Trials = append(l.Plan.Trials, study.Trial{ID: i + 1, Block: i + 1, Replication: i + 1, Setup: setup,
			MessageSeed: 7})
	}
	var err error
	if l.Store, err = store.Create(filepath.Join(memory(t), "results"), fakeHeader(n)); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	l.launch = s.launch(&running)
	return l, &running
}

// memory is a folder for results that need not outlive a power cut: there every
// trial of many would wait for the disk.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "edgegauge-lab-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func fakeHeader(n int) store.Header {
	h := store.Header{Study: []byte("study: t\n"), Facts: []byte(`{}`), Program: "v0",
		Plan: []byte("trial,block,replication,stack\n")}
	for i := range n {
		level := store.Level{Factor: "stack", Text: "fake"}
		h.Trials = append(h.Trials, store.PlannedTrial{ID: i + 1, Block: i + 1, Replication: i + 1,
			Treatment: []store.Level{level}})
		h.Plan = fmt.Appendf(h.Plan, "%d,%d,%d,fake\n", i+1, i+1, i+1)
	}
	return h
}

// reopen does what the next command does with a stopped run's results.
func reopen(t *testing.T, l *Lab) {
	t.Helper()
	dir := filepath.Dir(filepath.Dir(l.Store.TrialDir(1, 1)))
	err := l.Store.Close()
	if err == nil {
		l.Store, err = store.Open(dir, fakeHeader(len(l.Plan.Trials)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leftovers is what a trial must not leave: scratch folders below TMPDIR.
func leftovers(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "trial-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// verdict runs one trial and says what the lab made of it: "valid", or the reason
// why it is invalid, or "lab: " and the error that stopped the run.
func verdict(t *testing.T, s *fakeStack, change ...func(*Lab)) string {
	t.Helper()
	l, running := fakeLab(t, s, 1)
	defer l.Store.Close()
	for _, c := range change {
		c(l)
	}
	_, err := l.Run(t.Context())
	running.Wait()
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err != nil {
		return "lab: " + err.Error()
	}
	all, err := l.Store.Trials()
	if err != nil {
		t.Fatal(err)
	}
	if all[0].State == store.Valid {
		return "valid"
	}
	return all[0].Reason
}

// says tells whether a verdict is the wanted one.
func says(got, want string) bool {
	if want == "valid" {
		return got == want
	}
	return got != "valid" && strings.Contains(got, want)
}

var errFake = errors.New("it broke")
