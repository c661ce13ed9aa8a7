package drive

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shortQueue listens with an accept queue of so many connections, and accepts one every so often; 0: none, ever.
func shortQueue(t *testing.T, queue int, every time.Duration) (url string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Bind(fd, at); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, queue); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if every == 0 {
			<-end
			return
		}
		for {
			select {
			case <-end:
				return
			case <-time.After(every):
			}
			if !poll(fd, unix.POLLIN, 0) {
				continue
			}
			if c, _, err := unix.Accept(fd); err == nil {
				defer unix.Close(c)
			}
		}
	}()
	t.Cleanup(func() { close(end); <-ended; unix.Close(fd) })
	return fmt.Sprintf("http://127.0.0.1:%d/", name.(*unix.SockaddrInet4).Port)
}

// The kernel sends the first packet of a connection again after 1 s: of the 40 connections of this test it would
// do that for more than ten. A machine that stops for seconds lets it do so for one.
func TestAShortAcceptQueueIsNoFailure(t *testing.T) {
	t.Parallel()
	url := shortQueue(t, 2, 2*time.Millisecond)
	d, err := Dial(t.Context(), Spec{URL: url, Concurrency: 40, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	waited := 0
	for _, l := range d.lanes {
		info, err := unix.GetsockoptTCPInfo(l.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			t.Fatal(err)
		}
		if info.Total_retrans > 0 {
			waited++
		}
	}
	if waited > 5 {
		t.Errorf("%d of 40 connections waited for the kernel to send their first packet again", waited)
	}
}

// A server that accepts nothing is waited for no longer than a request, and the error says how far it went.
func TestAFullAcceptQueueIsNamed(t *testing.T) {
	t.Parallel()
	url := shortQueue(t, 2, 0)
	var told atomic.Pointer[Dialing]
	d, err := DialTelling(t.Context(), Spec{URL: url, Concurrency: 8, Timeout: 4 * time.Second},
		func(x Dialing) { told.Store(&x) })
	if err == nil {
		d.Close()
		t.Fatal("8 connections with a queue of 2")
	}
	for _, want := range []string{"no response in time; ", " of 8 connections to 127.0.0.1:", " were open after ",
		" had no answer; the server's accept queue may be too short: take a lower concurrency"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if x := told.Load(); x == nil || x.All != 8 || x.Open < 1 || x.Open > 7 || x.Anew == 0 || x.For < time.Second {
		t.Errorf("told %+v", x)
	}
}

// Advice about the queue needs a connection that was made, and one that was not.
func TestDialingSays(t *testing.T) {
	for want, d := range map[string]Dialing{
		"3 of 8 connections to h:1 were open after 2s":       {To: "h:1", Open: 3, All: 8, For: 2 * time.Second},
		"0 of 1 connection to h:1 were open after 100ms":     {To: "h:1", All: 1, Anew: 1, For: 123 * time.Millisecond},
		"3 of 8 connections to h:1 were open after 0s, 1 at": {To: "h:1", Open: 3, All: 8, Anew: 1},
	} {
		if got := d.String(); !strings.HasPrefix(got, want) || strings.Contains(got, "queue") != (d.Anew*d.Open > 0) {
			t.Errorf("%+v: %q", d, got)
		}
	}
}

// Connections with TLS are made anew like plain ones, over either of the ways in which they are made.
func TestConnectionsWithTLSAreMadeAnew(t *testing.T) {
	t.Parallel()
	url := shortQueue(t, 1, 0)
	at := strings.Trim(strings.TrimPrefix(url, "http:"), "/")
	for range 2 { // the kernel holds one more than the queue's length
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	for _, concurrency := range []int{1, 2} {
		s := Spec{URL: "https://" + at, Concurrency: concurrency, Timeout: 2 * time.Second}
		target, err := s.check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := &Driver{target: target}
		if d.secret, err = newSecret(target); err != nil {
			t.Fatal(err)
		}
		stream, err := d.newStream(0)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{ctx: t.Context(), d: d, quality: &DriverStats{}}
		end := r.watch(t.Context())
		l, way := newLane(stream, 0), &dialing{quickest: time.Millisecond}
		l.by = r.now() + d.Timeout
		if err := way.connect(r, l); err != errTimeout || way.anew.Load() == 0 {
			t.Errorf("concurrency %d: %v after %d attempts", concurrency, err, way.anew.Load())
		}
		end()
	}
}
