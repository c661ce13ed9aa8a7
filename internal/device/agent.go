package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// AgentVerb is the hidden verb of the binary that runs an agent on a device:
//
//	agent DIR            speaks on stdin and stdout
//	agent DIR CHANNEL    speaks on a character device, such as /dev/hvc1
//
// DIR is a new or empty folder: it holds all that the agent keeps, and is removed when it ends.
const AgentVerb = "agent"

// An Opener opens an instrument of the device by its specification.
type Opener func(ctx context.Context, spec string) (measure.Instrument, error)

// AgentMain is the agent's process. Build says what it was built from.
func AgentMain(args []string, build string, open Opener) int {
	if len(args) < 1 || len(args) > 2 {
		fmt.Fprintln(os.Stderr, "edgegauge agent is started by a lab, not by hand")
		return 2
	}
	debug.SetGCPercent(10)
	runtime.GOMAXPROCS(1) // each P keeps memory of its own
	withstand(unix.SIGPIPE, unix.SIGQUIT)
	rw, err := openChannel(args[1:])
	if err == nil {
		a := newAgent(build, open)
		if len(args) == 1 { // a machine's agent waits on its channel until the machine is wanted
			a.greeting = mostGreeting
		}
		err = a.serve(rw, args[0])
	}
	if err != nil && !errors.Is(err, rpc.ErrLost) {
		fmt.Fprintln(os.Stderr, "edgegauge agent:", err)
		return 1
	}
	return 0
}

// agentExe is the agent's binary as its children find it, though its file may
// be removed.
const agentExe = "/proc/self/exe"

// An agent serves one lab, and ends with it.
type agent struct {
	dir   string
	root  *os.Root // of dir
	local Local
	build string
	open  Opener
	conn  *rpc.Conn
	binary
	greeting time.Duration // how long the lab may take to greet; 0: for ever

	mu    sync.Mutex
	procs map[int]*Process
	logs  int
	idle  *time.Timer
}

// mostGreeting is how long a lab may take to greet: less than it takes to upload
// the agent, and an agent whose lab died meanwhile does not stay.
const mostGreeting = 2 * time.Minute

func newAgent(build string, open Opener) *agent {
	return &agent{local: Local{Exe: agentExe}, build: build, open: open, binary: findBinary(), procs: map[int]*Process{}}
}

// RunAgent serves the lab at the other end of rw from the folder dir, however long
// that lab takes to greet.
func RunAgent(rw io.ReadWriteCloser, dir, build string, open Opener) error {
	return newAgent(build, open).serve(rw, dir)
}

// serve serves the lab at the other end of rw until it says farewell, is gone, or
// is silent for too long; then it ends all that it started and removes dir. A
// signal to end ends it too.
func (a *agent) serve(rw io.ReadWriteCloser, dir string) error {
	// Subtle: signals are caught before there is anything to leave behind.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	defer signal.Stop(signals)
	release, err := a.settle(dir)
	if err != nil {
		return err
	}
	defer release()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-signals:
			rw.Close()
		case <-ended:
		}
	}()
	var late *time.Timer
	if a.greeting > 0 {
		late = time.AfterFunc(a.greeting, func() { rw.Close() })
	}
	conn, _, err := rpc.Greet(rw, rpc.Agent, rpc.Hello{Build: a.build})
	if late != nil && !late.Stop() && err == nil {
		err = errors.New("the lab's greeting came too late")
	}
	if err != nil {
		rw.Close()
		return fmt.Errorf("%w: %w", rpc.ErrLost, err)
	}
	a.conn = conn
	a.binary.slim()
	conn.Start(a.handle)
	<-conn.Lost()
	a.endAll()
	<-conn.Done()
	if a.idle != nil {
		a.idle.Stop()
	}
	return conn.Err()
}

// settle makes the agent's folder, takes it, and removes those of agents that
// are gone. The binary is unlinked, if it lies there: not even a power cut
// leaves it.
func (a *agent) settle(dir string) (release func(), err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w; %s", err, workElsewhere)
	}
	if !kernel.IsOwnFolder(dir) {
		return nil, fmt.Errorf("%s is a link, or belongs to another user; %s", dir, workElsewhere)
	}
	if err := mayRemove(dir); err != nil {
		return nil, err
	}
	SweepAgents(filepath.Dir(dir), dir)
	lock, err := kernel.LockFile(filepath.Join(dir, lockFile), 0o600)
	if errors.Is(err, kernel.ErrLocked) {
		return nil, fmt.Errorf("another agent is using %s%s: %w", dir, kernel.Holder(filepath.Join(dir, lockFile)), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, workElsewhere)
	}
	lock.WriteString(kernel.Owner()) // for SweepAgents, which does without
	if a.root, err = os.OpenRoot(dir); err != nil {
		lock.Close()
		return nil, err
	}
	a.dir = dir
	os.Remove(filepath.Join(dir, AgentFile))
	return func() {
		a.root.Close()
		os.RemoveAll(dir)
		lock.Close()
	}, nil
}

// mayRemove refuses a folder that holds what an agent has not put there, since the
// agent will remove it with all that is in it: a person may have named his own.
func mayRemove(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%w; %s", err, workElsewhere)
	}
	made := strings.HasPrefix(filepath.Base(dir), AgentPrefix) // by whoever put the binary there
	for _, f := range files {
		if !made || f.Name() != AgentFile && f.Name() != lockFile {
			return fmt.Errorf("%s is not empty (%s): name a new folder, since an agent removes its folder when it ends",
				dir, f.Name())
		}
	}
	return nil
}

const (
	// AgentPrefix begins the name of each agent's folder.
	AgentPrefix = "edgegauge-agent-"
	// AgentFile is the binary in it, until it runs.
	AgentFile = "edgegauge"
	lockFile  = "lock"

	workElsewhere = "name another folder to work in, such as ssh://pi@board/home/pi"
)

// SweepAgents removes the folders below parent whose agents are gone: killed
// with their machine, say. An agent's folder is locked as long as it lives; one
// without a lock is just being made, unless it is an hour old. An agent that is
// stopped serves nobody, and is ended. Other users' folders are not touched, not
// even by root, whatever lies in them: anybody may make one with such a name.
func SweepAgents(parent, mine string) {
	for _, dir := range kernel.Matching(parent, AgentPrefix+"*") {
		if dir != mine && kernel.IsOwnFolder(dir) && agentGone(dir) {
			os.RemoveAll(dir)
		}
	}
}

// agentGone says whether nobody works in an agent's folder.
func agentGone(dir string) bool {
	path := filepath.Join(dir, lockFile)
	if i, err := os.Lstat(path); err != nil || !i.Mode().IsRegular() {
		i, err := os.Stat(dir)
		return err == nil && time.Since(i.ModTime()) > time.Hour
	}
	ended := false
	for range 250 {
		lock, err := kernel.LockFile(path, 0o600)
		if err == nil {
			lock.Close()
			return true
		}
		if ended = ended || errors.Is(err, kernel.ErrLocked) && endStopped(path); !ended {
			return false
		}
		time.Sleep(20 * time.Millisecond) // its end takes a moment
	}
	return false
}

// endStopped kills the agent that a lock file names if it is stopped.
func endStopped(lock string) bool {
	owner, err := os.ReadFile(lock)
	if err != nil || kernel.OwnerGone(string(owner)) {
		return err == nil && len(owner) > 0
	}
	id, _, _ := strings.Cut(string(owner), ".")
	pid, err := strconv.Atoi(id)
	if err != nil {
		return false
	}
	p, err := kernel.ReadProcess(pid)
	return err == nil && p.State == 'T' && unix.Kill(pid, unix.SIGKILL) == nil
}

// endAll kills what still runs.
func (a *agent) endAll() {
	a.mu.Lock()
	var left []*Process
	for _, p := range a.procs {
		left = append(left, p)
	}
	a.mu.Unlock()
	for _, p := range left {
		p.supervisor.kill()
		p.Stdin.Close()
	}
	for _, p := range left {
		select {
		case <-p.exit:
		case <-time.After(5 * time.Second):
		}
	}
}

// handle answers one call.
func (a *agent) handle(ctx context.Context, op string, args json.RawMessage, streams []*rpc.Stream) (any, error) {
	for _, s := range streams {
		defer s.Close()
	}
	defer a.rest()
	switch op {
	case opFacts:
		return a.local.Facts(ctx)
	case opCPUs:
		return kernel.AllowedCPUs(), nil
	case opCheck:
		return CheckFitness(os.DirFS("/")), nil
	case opStart:
		return with(args, func(x startArgs) (any, error) { return a.start(ctx, x) })
	case opPipe:
		return with(args, func(x processArgs) (any, error) { return a.pipe(ctx, x, streams) })
	case opWait:
		return with(args, func(x processArgs) (any, error) { return a.wait(ctx, x) })
	case opKill:
		return with(args, func(x processArgs) (any, error) { return a.kill(x) })
	case opUsage:
		return with(args, func(x processArgs) (any, error) { return a.usage(x) })
	case opConnections:
		return with(args, func(x connectionsArgs) (any, error) { return a.connections(x) })
	case opPut:
		return with(args, func(x fileArgs) (any, error) { return a.put(x, streams) })
	case opGet:
		return with(args, func(x fileArgs) (any, error) { return a.get(x, streams) })
	case opMake:
		return with(args, func(x fileArgs) (any, error) {
			return filepath.Join(a.dir, inside(x.Path)), a.root.MkdirAll(inside(x.Path), 0o755)
		})
	case opRemove:
		return with(args, func(x fileArgs) (any, error) { return nil, a.root.RemoveAll(inside(x.Path)) })
	case opRun:
		return with(args, func(x startArgs) (any, error) { return a.run(ctx, x) })
	case opObserve:
		return with(args, func(x observeArgs) (any, error) { return a.observe(ctx, x, streams) })
	case opDescribe:
		return with(args, func(x observeArgs) (any, error) { return a.describe(ctx, x) })
	case opClock:
		return instant{time.Now().UnixNano(), int64(kernel.Monotonic())}, nil
	}
	return nil, fmt.Errorf("the agent does not know the call %q; use the same edgegauge at both ends", op)
}

func with[T any](args json.RawMessage, do func(T) (any, error)) (any, error) {
	var x T
	if err := json.Unmarshal(args, &x); err != nil {
		return nil, fmt.Errorf("the lab's arguments: %w", err)
	}
	return do(x)
}

// rest gives the binary's pages back once the answer is out, and each minute,
// since the collector looks round each two: 110 µs each time (2.6 GHz Xeon).
func (a *agent) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.idle == nil {
		a.idle = time.AfterFunc(restAfter, func() {
			a.giveBack()
			a.mu.Lock()
			a.idle.Reset(time.Minute)
			a.mu.Unlock()
		})
		return
	}
	a.idle.Reset(restAfter)
}

const restAfter = 10 * time.Millisecond

// full says what to do about a full disk.
func (a *agent) full(err error) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return err
	}
	var s unix.Statfs_t
	free := ""
	if unix.Statfs(a.dir, &s) == nil {
		free = fmt.Sprintf(", %d KiB are free", uint64(s.Bavail)*uint64(s.Bsize)>>10)
	}
	return fmt.Errorf("%w in %s%s; free some, or %s", err, a.dir, free, workElsewhere)
}

// inside is a path of the agent's folder, whatever was written.
func inside(path string) string { return strings.TrimPrefix(filepath.Clean("/"+path), "/") }

// Build names what a program was built from, so that lab and agent can compare
// it: stamp, or where that is empty, what Go put into the binary.
func Build(stamp string) string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return v
}
