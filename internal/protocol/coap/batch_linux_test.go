package coap

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The runtime's poller does not look at a socket in which a thread waits: each datagram would wake a second thread.
func TestWaitingSocketIsNotPolled(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var s unix.Stat_t
	if closed := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &s) }); closed != nil || err != nil {
		t.Fatal(closed, err)
	}
	if !polled(t, s.Ino) {
		t.Fatal("the poller's list does not show the socket: this test cannot fail")
	}
	w, err := waitingOf(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer w.file.Close()
	if polled(t, s.Ino) {
		t.Error("the poller still looks at the socket")
	}
}

// What a thread receives one by one is what it would receive with others: the datagram and its sender.
func TestOneDatagramIsLikeTheFirstOfMany(t *testing.T) {
	for _, ip := range []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback} {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: ip})
		if err != nil {
			t.Fatal(err)
		}
		w, err := waitingOf(conn)
		if err != nil {
			t.Fatal(err)
		}
		defer w.file.Close()
		local, err := unix.Getsockname(w.fd)
		if err != nil {
			t.Fatal(err)
		}
		to := &net.UDPAddr{IP: ip}
		switch a := local.(type) {
		case *unix.SockaddrInet4:
			to.Port = a.Port
		case *unix.SockaddrInet6:
			to.Port = a.Port
		}
		peer, err := net.DialUDP("udp", nil, to)
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		if err := w.bound(5 * time.Second); err != nil {
			t.Fatal(err)
		}
		own := peer.LocalAddr().(*net.UDPAddr).AddrPort()
		own = netip.AddrPortFrom(own.Addr().Unmap(), own.Port())
		b := newBatch()
		for _, one := range []bool{true, false, true} {
			for _, size := range []int{0, 1, 40, 1400, 9000} {
				sent := bytes.Repeat([]byte{byte(size)}, size)
				if _, err := peer.Write(sent); err != nil {
					t.Fatal(err)
				}
				n, err := b.receive(w.fd, true, one)
				if n != 1 || err != nil {
					t.Fatalf("%d bytes, one %v: got %d datagrams, %v", size, one, n, err)
				}
				data, from := b.datagram(0)
				if !bytes.Equal(data, sent) || from != own {
					t.Errorf("%d bytes, one %v: got %d from %v, want from %v", size, one, len(data), from, own)
				}
			}
		}
		// One at a time leaves the others where they are.
		for _, text := range []string{"a", "b", "c"} {
			if _, err := peer.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"a", "b"} {
			n, err := b.receive(w.fd, true, i == 0)
			if data, _ := b.datagram(0); n != i+1 || err != nil || string(data) != want {
				t.Errorf("got %d datagrams, the first %q, %v; want %d, %q", n, data, err, i+1, want)
			}
		}
	}
}

// Where requests are rare, a server wakes for them only: a thread that waits in a system call has the runtime look at
// it every 20 microseconds at first. What is counted is how often threads of this process went to sleep, which no other
// program of the machine makes more.
func TestRareRequestsWakeTheServerOnly(t *testing.T) {
	conn, err := net.Dial("udp", start(t, &Server{Handler: func(*Request, *Response) {}}, "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const requests, most = 20, 25
	client := NewClient(conn, Params{})
	var before, after unix.Rusage
	for i := range 1 + requests {
		if _, err := client.Do(t.Context(), &Call{Method: GET}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			unix.Getrusage(unix.RUSAGE_SELF, &before)
		}
		time.Sleep(20 * time.Millisecond)
	}
	unix.Getrusage(unix.RUSAGE_SELF, &after)
	if got := float64(after.Nvcsw-before.Nvcsw) / requests; got > most {
		t.Errorf("a request has threads go to sleep %.0f times, want at most %d", got, most)
	}
}

// polled says whether an epoll of this process has the file of this inode (proc_pid_fdinfo(5)).
func polled(t *testing.T, inode uint64) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d descriptors, %v", len(all), err)
	}
	for _, path := range all {
		text, _ := os.ReadFile(path) // some have been closed since
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			for i := range f {
				f[i] = strings.TrimPrefix(f[i], "ino:")
			}
			if len(f) > 0 && f[0] == "tfd:" && strings.Contains(" "+strings.Join(f, " ")+" ", fmt.Sprintf(" %x ", inode)) {
				return true
			}
		}
	}
	return false
}
