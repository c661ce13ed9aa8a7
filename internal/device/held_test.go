package device

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// hold opens a program's standard output, as any process of its user may, until the test ends.
func hold(t *testing.T, pid int) {
	t.Helper()
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
}

// Who holds a program's output open when the program has ended keeps nobody: neither who waits for it and reads, nor an
// agent whose lab is gone.
func TestOutputHeldByAStranger(t *testing.T) {
	t.Run("here", func(t *testing.T) {
		p := start(t, "read x")
		hold(t, p.PID)
		read := make(chan struct{})
		go func() {
			defer close(read)
			io.Copy(io.Discard, p.Stdout)
		}()
		p.Stdin.Close()
		within(t, func() {
			p.Wait()
			<-read
		})
	})
	t.Run("program of an agent", func(t *testing.T) {
		b := startBoard(t, 0)
		p := b.sh(t, "echo up; sleep 1000")
		bufio.NewReader(p.Stdout).ReadString('\n')
		hold(t, p.PID)
		b.end(t)
	})
	t.Run("command of an agent", func(t *testing.T) {
		b := startBoard(t, 0)
		file := filepath.Join(t.TempDir(), "pid")
		go b.Run(t.Context(), "", nil, "sh", "-c", "echo $$ >"+file+".new; mv "+file+".new "+file+"; sleep 1000")
		var text []byte
		within(t, func() {
			for text == nil {
				text, _ = os.ReadFile(file)
				time.Sleep(5 * time.Millisecond)
			}
		})
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		hold(t, pid)
		b.end(t)
	})
}

// Supervisors that are stopped while they wait for an order keep neither who starts a program nor the end.
func TestStoppedSpare(t *testing.T) {
	t.Parallel()
	l, pids := sparing(t, 2)
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	within(t, func() {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("the lab's patience"))
		defer cancel()
		if _, err := l.Start(ctx, Command{Argv: []string{"true"}}); err == nil ||
			!strings.Contains(err.Error(), "the lab's patience") {
			t.Errorf("got %v", err)
		}
		l.Spares.Close()
	})
	gone(t, pids...)
}

// A machine that hangs is asked in vain for a time, though no pings pass.
func TestHungMachineIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab, machine := net.Pipe()
		go func() {
			conn, _, err := rpc.Greet(machine, rpc.Agent, rpc.Hello{Build: "this"})
			if err != nil {
				t.Error(err)
				return
			}
			conn.Start(func(ctx context.Context, op string, _ json.RawMessage, _ []*rpc.Stream) (any, error) {
				if op == opStart {
					return startResult{PID: 1}, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			})
		}()
		r, err := Connect(t.Context(), "a machine", lab, "this", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p, err := r.Start(t.Context(), Command{Argv: []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		type asking struct {
			ask  func(ctx context.Context) error
			most time.Duration
		}
		for what, x := range map[string]asking{
			"facts":       {func(ctx context.Context) error { _, err := r.Facts(ctx); return err }, Silence},
			"check":       {func(ctx context.Context) error { _, err := r.Check(ctx); return err }, Silence},
			"folder":      {func(ctx context.Context) error { _, err := r.Make(ctx, "x"); return err }, Silence},
			"describe":    {func(ctx context.Context) error { _, err := r.Describe(ctx, "avr", nil); return err }, Silence},
			"clock":       {func(ctx context.Context) error { _, _, err := r.Clock(ctx); return err }, Silence},
			"usage":       {func(context.Context) error { _, err := p.Usage(); return err }, patience},
			"connections": {func(context.Context) error { _, err := p.Connections(netip.AddrPort{}); return err }, patience},
			"cpus":        {func(ctx context.Context) error { _, err := r.CPUs(ctx); return err }, Silence},
		} {
			began := time.Now()
			if err := x.ask(t.Context()); err == nil || time.Since(began) != x.most {
				t.Errorf("%s: got %v after %v", what, err, time.Since(began))
			}
		}
		began := time.Now()
		if e := p.Kill(); !strings.Contains(e.Err, "did not stop a program") || time.Since(began) != patience {
			t.Errorf("killed, it ended with %+v after %v", e, time.Since(began))
		}
	})
}

// A slowLine takes as long for what the lab says as a serial line does, of ten bits a byte. What is said waits in it,
// as in a driver.
type slowLine struct {
	net.Conn
	said chan []byte
	over chan struct{}
	once sync.Once
}

func newSlowLine(c net.Conn, baud int) *slowLine {
	s := &slowLine{Conn: c, said: make(chan []byte, 1000), over: make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-s.said:
				time.Sleep(time.Duration(len(b)) * 10 * time.Second / time.Duration(baud))
				c.Write(b)
			case <-s.over:
				return
			}
		}
	}()
	return s
}

func (s *slowLine) Write(b []byte) (int, error) {
	s.said <- bytes.Clone(b)
	return len(b), nil
}

func (s *slowLine) Close() error {
	s.once.Do(func() { close(s.over) })
	return s.Conn.Close()
}

// A file arrives over a line of 9600 Bd, however large it is.
func TestFileOverASlowLine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		lab, machine := net.Pipe()
		go func() {
			conn, _, err := rpc.Greet(machine, rpc.Agent, rpc.Hello{Build: "this"})
			if err != nil {
				t.Error(err)
				return
			}
			conn.Start(func(_ context.Context, op string, _ json.RawMessage, streams []*rpc.Stream) (any, error) {
				if op != opPut {
					return "there", nil
				}
				defer streams[0].Close()
				h := sha256.New()
				_, err := io.Copy(h, streams[0])
				return hex.EncodeToString(h.Sum(nil)), err
			})
		}()
		r, err := Connect(t.Context(), "a board", newSlowLine(lab, 9600), "this", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		began := time.Now()
		if _, err := r.PutAll(t.Context(), dir, []string{"file"}, "x"); err != nil || time.Since(began) < 30*time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A supervisor that starts and says nothing is given up, though nobody who waits for it has a limit.
func TestSupervisorThatSaysNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	t.Parallel()
	exe := kerneltest.Script(t, "exec sleep 1000")
	within(t, func() {
		_, err := Local{Exe: exe}.Start(t.Context(), Command{Argv: []string{"true"}})
		if err == nil || !strings.Contains(err.Error(), "did not answer within") {
			t.Errorf("got %v", err)
		}
	})
}
