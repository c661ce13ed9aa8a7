package main

import (
	"io"
	"net"
	"net/url"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
)

// A connection that is to be kept lasts while nothing is asked, for longer than Node's servers and the JDK's clients
// keep one by default; and a run may have as many requests as its duration has nanoseconds.
func TestSkeletonsKeepAnIdleConnection(t *testing.T) {
	eachSkeleton(t, func(t *testing.T, _, dir string) {
		var connections atomic.Int64
		s, ctx := asking(t, makeStack(t, dir), "keep-alive", func(server string) string {
			u, err := url.Parse(server)
			if err != nil {
				t.Fatal(err)
			}
			u.Host = countedConnections(t, u.Host, &connections)
			return u.String()
		})
		for _, run := range []stack.Run{
			{Requests: 20_000_000, Duration: int64(20 * time.Millisecond)}, {Requests: 2, Interval: int64(7 * time.Second)},
		} {
			var all, served records
			if _, err := s.Measure(ctx, run, &all, &served); err != nil {
				t.Fatal(err)
			}
			for _, x := range all {
				if x.Failure != "" {
					t.Errorf("request %d: %s", x.Seq, x.Failure)
				}
			}
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("%d connections; one was to be kept", n)
		}
	})
}

// Connections that are opened at once wait for a server that has no time for them, and are not dropped: one that is
// opens a second later.
func TestSkeletonsQueueConnections(t *testing.T) {
	eachSkeleton(t, func(t *testing.T, _, dir string) {
		d := makeStack(t, dir)
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p, err := startProgram(t.Context(), device.Local{Exe: exe}, t.TempDir(), d, "serve")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop(10 * time.Second)
		ready, err := (&stack.Session{Server: p.Conn()}).StartServer(t.Context(), servesEcho)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(ready.URL)
		if err != nil {
			t.Fatal(err)
		}
		pid := p.(*runningProgram).process.PID
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer syscall.Kill(pid, syscall.SIGCONT)
		for i := range 64 {
			c, err := net.DialTimeout("tcp", u.Host, 10*time.Second)
			if err != nil {
				t.Fatalf("connection %d to a server that is busy: %v", i+1, err)
			}
			defer c.Close()
		}
	})
}

// countedConnections forwards connections to server, and counts them.
func countedConnections(t *testing.T, server string, count *atomic.Int64) (at string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			go func() {
				defer near.Close()
				far, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer far.Close()
				go func() {
					io.Copy(near, far)
					near.Close()
				}()
				io.Copy(far, near)
			}()
		}
	}()
	return l.Addr().String()
}
