package hub

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/store"
)

// slowly stands before a hub on a line that takes so many bytes a second from whoever connects.
func slowly(t *testing.T, hub string, rate int) string {
	t.Helper()
	narrow := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { // what waits does so at the sender
		return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 32<<10) })
	}}
	l, err := narrow.Listen(t.Context(), "tcp", "127.0.0.1:0")
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
			far, err := net.Dial("tcp", hub)
			if err != nil {
				near.Close()
				continue
			}
			go func() { io.Copy(near, far); near.Close() }()
			go func() {
				defer far.Close()
				b := make([]byte, rate/50)
				for {
					n, err := near.Read(b)
					if err != nil {
						return
					}
					if _, err := far.Write(b[:n]); err != nil {
						return
					}
					time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

// Over a line on which a result takes longer than a lease its bench is heard all the while, and the result counts.
func TestResultsOverASlowLine(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	l := newLab(t, "a", "b")
	for name, c := range l.who {
		if name != "" {
			c.URL = slowly(t, strings.TrimPrefix(c.URL, "nats://"), 300_000)
			l.who[name] = c
		}
	}
	l.measures(2, 2*time.Minute, func(int) {}, func(*store.Store) {})
}
