// Package stacktest lets tests talk to the programs of foreign stacks from
// outside, beyond what the conformance kit asks.
package stacktest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
)

// Built makes the stack in a folder, or skips the test where what it needs is
// missing; in CI nothing is.
func Built(t *testing.T, dir string) stack.Description {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a stack in another language")
	}
	d, err := stack.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if missing := d.Missing(t.Context()); len(missing) > 0 {
		t.Skip(missing[0])
	}
	if _, err := d.Make(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	return d
}

// Quickly has virtual machines of Java compile at once and lightly, as the conformance kit has them: that halves the
// CPU time of a program whose answers are judged, or whose times are compared with those of another that does so. For
// one that is to compile as in a study, env -u JAVA_TOOL_OPTIONS takes it out again.
const Quickly = "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

// Start starts a program in a folder, "" for the test's own, Quickly; it ends with the
// test, and must end well.
func Start(t *testing.T, dir string, argv ...string) *stack.Conn {
	t.Helper()
	conn, _ := Process(t, dir, argv...)
	return conn
}

// Process is Start, and says which process it started.
func Process(t *testing.T, dir string, argv ...string) (conn *stack.Conn, pid int) {
	t.Helper()
	p, err := launch(exec.Command(argv[0], argv[1:]...), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.end(30 * time.Second); err != nil {
			t.Errorf("%v: %v", argv, err)
		}
		p.out.Close()
	})
	return p.conn, p.cmd.Process.Pid
}

// Between runs the checks of the conformance kit whose name contains check on a
// stack whose peer, for what no stack inside edgegauge serves, is another foreign
// stack. A peer shows nothing of the requests it took: checks that look at them fail.
func Between(t *testing.T, d, peer stack.Description, credentials map[string]string, check string) {
	t.Helper()
	start := func(ctx context.Context, d stack.Description, verb string) (conform.Running, error) {
		program := d.Serve
		if verb == "call" {
			program = d.Call
		}
		argv, err := program.Argv(0)
		if err != nil {
			return nil, err
		}
		return launch(exec.CommandContext(ctx, argv[0], argv[1:]...), d.Dir)
	}
	conform.Run(t.Context(), d, conform.Kit{
		Start: start,
		StartPeer: func(d stack.Description, verb string, _ conform.Tap) (conform.Running, error) {
			return start(t.Context(), d, verb)
		},
		Peer: func(w stack.Wish) (stack.Description, bool) {
			_, err := peer.Resolve(w)
			return peer, err == nil
		},
		Credentials: credentials, Directory: open(t), Only: check,
	}, func(name string, err error) {
		t.Run(name, func(t *testing.T) {
			if err != nil {
				t.Error(err)
			}
		})
	})
}

// open is a folder that another user may pass through, as Apache's workers must.
func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A program is a started one.
type program struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  *os.File
	conn *stack.Conn
}

func launch(cmd *exec.Cmd, dir string) (*program, error) {
	cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, append(os.Environ(), Quickly)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return &program{cmd, in, r, stack.NewConn(in, r)}, nil
}

// end closes the program's stdin, and kills it if it has not ended in time.
func (p *program) end(grace time.Duration) error {
	p.in.Close()
	kill := time.AfterFunc(grace, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	return p.cmd.Wait()
}

func (p *program) Conn() *stack.Conn { return p.conn }

func (p *program) Stop(grace time.Duration) (rest []byte, err error) {
	err = p.end(grace)
	defer p.out.Close()
	p.out.SetReadDeadline(time.Now().Add(grace))
	rest, _ = io.ReadAll(io.LimitReader(p.out, 1<<16))
	return rest, err
}

// Said is empty: what it writes stands in the test's output.
func (p *program) Said() string { return "" }

func (p *program) Sockets() ([]kernel.Socket, error) {
	return kernel.Sockets(append(kernel.Family(p.cmd.Process.Pid), p.cmd.Process.Pid))
}
