package device

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
)

// A Remote is a machine behind its agent, which is at the other end of any byte
// stream. Everything on it ends with the connection.
type Remote struct {
	Name  string // for errors
	Build string // what the agent was built from
	conn  *rpc.Conn
}

// Silence is how long a connection over a network may be silent before both
// sides take it for dead. A ping every 20 s costs a Raspberry Pi some 100 µs.
const Silence = time.Minute

// Connect greets the agent at the other end of rw. Silence 0 sends no pings:
// nothing but what is asked passes the channel. When ctx ends before the agent
// has greeted, rw is closed.
func Connect(ctx context.Context, name string, rw io.ReadWriteCloser, build string,
	silence time.Duration) (*Remote, error) {
	stop := context.AfterFunc(ctx, func() { rw.Close() })
	conn, theirs, err := rpc.Greet(rw, rpc.Lab, rpc.Hello{Build: build, Silence: silence})
	if err != nil || !stop() {
		rw.Close()
		if ctx.Err() != nil {
			err = fmt.Errorf("its agent did not greet: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	conn.Start(nil)
	return &Remote{Name: name, Build: theirs.Build, conn: conn}, nil
}

// Lost is closed when the connection has ended.
func (r *Remote) Lost() <-chan struct{} { return r.conn.Lost() }

// Err is why the connection ended; nil while it stands.
func (r *Remote) Err() error { return r.conn.Err() }

// Close ends the agent and all that it started.
func (r *Remote) Close() error { return r.conn.Close() }

// Exe is the edgegauge binary there, for programs that are its hidden verbs.
func (r *Remote) Exe() string { return agentExe }

func (r *Remote) call(ctx context.Context, op string, args, result any, streams ...*rpc.Stream) error {
	if err := r.conn.Call(ctx, op, args, result, streams...); err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	return nil
}

// ask is call for what takes no work: a machine may hang, and where no pings pass nothing else would find out.
func (r *Remote) ask(ctx context.Context, op string, args, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Silence, fmt.Errorf("no answer within %v", Silence))
	defer cancel()
	return r.call(ctx, op, args, result)
}

// Facts are the device's.
func (r *Remote) Facts(ctx context.Context) (f Facts, err error) {
	err = r.ask(ctx, opFacts, nil, &f)
	return f, err
}

// CPUs are the numbers of those that programs may use there; nil: it does not know.
func (r *Remote) CPUs(ctx context.Context) (cpus []int, err error) {
	err = r.ask(ctx, opCPUs, nil, &cpus)
	return cpus, err
}

// Check says whether the device is fit to measure on.
func (r *Remote) Check(ctx context.Context) (found []Finding, err error) {
	err = r.ask(ctx, opCheck, nil, &found)
	return found, err
}

// Start starts c there. Its log is fetched when it has ended.
func (r *Remote) Start(ctx context.Context, c Command) (*Process, error) {
	if c.Namespace != nil {
		return nil, fmt.Errorf("%s: the lab's link cannot reach another machine; remove link: the network to the device is "+
			"real",
			r.Name)
	}
	var got startResult
	if err := r.call(ctx, opStart, startArgs{Argv: c.Argv, Dir: c.Dir, Env: c.Env, CPUs: c.CPUs}, &got); err != nil {
		return nil, err
	}
	it := processArgs{got.PID}
	// What follows is not bound to ctx, which is that of the start: the program runs on.
	s := r.conn.Open()
	go func() {
		if err := r.conn.Call(context.Background(), opPipe, it, nil, s); err != nil {
			s.Close()
		}
	}()
	ended := make(chan struct{})
	p := &Process{Stdin: stdin{s}, Stdout: s, PID: got.PID, exit: make(chan Exit, 1),
		supervisor: &remoteSupervisor{r: r, p: it, ended: ended}}
	p.usage = func() (u Usage, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = r.call(ctx, opUsage, it, &u)
		return u, err
	}
	p.connections = func(server netip.AddrPort) (known []kernel.Connection, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = r.call(ctx, opConnections, connectionsArgs{got.PID, server}, &known)
		return known, err
	}
	go func() {
		var e Exit
		if err := r.call(context.Background(), opWait, it, &e); err != nil {
			e = Exit{Code: -1, Err: err.Error()}
		}
		close(ended)
		r.fetchLog(got.Log, c.Log)
		p.exit <- e // last: who knows of the end may read the log
		close(p.exit)
	}()
	return p, nil
}

// patience is how long an answer may take that needs no work.
const patience = 20 * time.Second

var _ = DeadlineWriter(stdin{}) // its writes have deadlines, as those to a pipe

// stdin is the sending half of a stream.
type stdin struct{ *rpc.Stream }

func (s stdin) Close() error { return s.CloseWrite(nil) }

// remoteSupervisor is the lab's side of an agent that has started a program.
type remoteSupervisor struct {
	r      *Remote
	p      processArgs
	insist sync.Once
	ended  <-chan struct{} // closed when the exit is known
}

// kill gives the connection up if the agent does not answer, or does not say that
// the program ended: its machine hangs, and whoever waits must not.
func (k *remoteSupervisor) kill() {
	k.insist.Do(func() {
		time.AfterFunc(patience, func() {
			select {
			case <-k.ended:
			default:
				k.r.conn.Fail(fmt.Errorf("it did not stop a program within %v", patience))
			}
		})
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	k.r.call(ctx, opKill, k.p, nil)
}

// fetchLog appends a log on the device to one here, or the reason why not. The device keeps none: its folder may be in
// its memory.
func (r *Remote) fetchLog(there, here string) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r.Remove(ctx, there)
	}()
	f, err := os.OpenFile(here, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.Get(ctx, there, f); err != nil {
		fmt.Fprintf(f, "edgegauge: the rest of this log could not be fetched from the device: %v\n", err)
	}
}

// Get copies a file of the agent's folder.
func (r *Remote) Get(ctx context.Context, path string, to io.Writer) error {
	s := r.conn.Open()
	defer s.Close()
	called := make(chan error, 1)
	go func() {
		err := r.call(ctx, opGet, fileArgs{Path: path}, nil, s)
		if err != nil {
			s.Close()
		}
		called <- err
	}()
	_, err := io.Copy(to, s)
	if failed := <-called; failed != nil {
		return failed
	}
	return err
}

// Put copies a file into the agent's folder and compares checksums.
func (r *Remote) Put(ctx context.Context, path string, mode fs.FileMode, from io.Reader) error {
	s := r.conn.Open()
	defer s.Close()
	h := sha256.New()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(s, io.TeeReader(from, h))
		s.CloseWrite(err)
		sent <- err
	}()
	var sum string
	err := r.call(ctx, opPut, fileArgs{Path: path, Mode: mode}, &sum, s)
	if err != nil {
		s.Close() // nobody takes the rest
		<-sent
		return fmt.Errorf("copy %s: %w", path, err)
	}
	if err := <-sent; err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	if want := hex.EncodeToString(h.Sum(nil)); sum != want {
		return fmt.Errorf("%s: %s arrived with checksum %s, not %s: its memory or disk is faulty", r.Name, path, sum, want)
	}
	return nil
}

// Make makes a folder below the agent's and returns its path there.
func (r *Remote) Make(ctx context.Context, dir string) (at string, err error) {
	err = r.ask(ctx, opMake, fileArgs{Path: dir}, &at)
	return at, err
}

// Remove removes a file or folder below the agent's.
func (r *Remote) Remove(ctx context.Context, path string) error {
	return r.call(ctx, opRemove, fileArgs{Path: path}, nil)
}

// PutAll copies files and folders named below the folder here to the folder
// there, and returns its path. Links are copied as what they name.
func (r *Remote) PutAll(ctx context.Context, here string, names []string, there string) (at string, err error) {
	var all []File
	for _, n := range names {
		below, err := Files(filepath.Join(here, n), path.Join(there, filepath.ToSlash(n)))
		if err != nil {
			return "", err
		}
		all = append(all, below...)
	}
	if at, err = r.Make(ctx, there); err != nil {
		return "", err
	}
	for _, f := range all {
		if err := r.putFile(ctx, f); err != nil {
			return "", err
		}
	}
	return at, nil
}

func (r *Remote) putFile(ctx context.Context, to File) error {
	if to.Mode.IsDir() {
		_, err := r.Make(ctx, to.Name)
		return err
	}
	f, err := kernel.OpenRegular(to.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return err
	}
	most := Silence + time.Duration(i.Size()/LeastRate)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, most,
		fmt.Errorf("no end within %v: %w", most, context.DeadlineExceeded))
	defer cancel()
	return r.Put(ctx, to.Name, to.Mode, f)
}

// LeastRate is how slow a line to a device may be: one of 9600 Bd carries 960 B/s, and not only what is copied.
const LeastRate = 1 << 9 // B/s

// Run runs a short command there to its end; dir may be empty.
func (r *Remote) Run(ctx context.Context, dir string, env []string, argv ...string) (output string,
	code int, err error) {
	var got ran
	err = r.call(ctx, opRun, startArgs{Argv: argv, Dir: dir, Env: env}, &got)
	return got.Output, got.Code, err
}
