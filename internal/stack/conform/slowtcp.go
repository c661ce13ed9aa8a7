package conform

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// linkDelay is what a slow link adds to each way.
const linkDelay = 100 * time.Millisecond

// handshakeDelay is what slowTCP adds to opening a connection: Linux sends a SYN
// that got no answer again after one second (RFC 6298, section 2).
const handshakeDelay = time.Second

// slowTCP forwards connections to a server, one after the other. Each opens only
// after handshakeDelay, and each way of its bytes takes linkDelay more.
//
// A forwarder cannot delay a handshake: the kernel answers it. But the kernel drops
// a SYN while the queue of connections to accept is full, so slowTCP keeps it full
// with connections of its own until /proc/net/tcp shows that a client waits.
type slowTCP struct {
	listener *net.TCPListener
	server   string
	fillers  []net.Conn
	stopped  chan struct{}
	wg       sync.WaitGroup
}

// backlog is the length of the queue; it holds one more. With 0 the kernel would
// answer by SYN cookies.
const backlog = 1

func newSlowTCP(server string) (*slowTCP, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	s := &slowTCP{listener: l, server: server, stopped: make(chan struct{})}
	raw, err := l.SyscallConn()
	if err == nil {
		var bad error
		err = raw.Control(func(fd uintptr) { bad = unix.Listen(int(fd), backlog) })
		err = errors.Join(err, bad, s.fill())
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.wg.Go(s.serve)
	return s, nil
}

// addr is where clients connect to.
func (s *slowTCP) addr() string { return s.listener.Addr().String() }

// close ends all connections and waits for them.
func (s *slowTCP) close() {
	close(s.stopped)
	s.listener.Close()
	s.wg.Wait() // until then fillers may be made
	for _, f := range s.fillers {
		f.Close()
	}
}

// fill makes the queue full.
func (s *slowTCP) fill() error {
	for len(s.fillers) <= backlog {
		c, err := net.DialTimeout("tcp4", s.addr(), 5*time.Second)
		if err != nil {
			return fmt.Errorf("slow link: %w", err)
		}
		s.fillers = append(s.fillers, c)
	}
	return nil
}

func (s *slowTCP) serve() {
	for s.awaited() {
		c, err := s.accept()
		if err != nil || s.fill() != nil {
			return
		}
		s.wg.Go(func() { s.forward(c) })
	}
}

// awaited returns true once a client's SYN was dropped. To look through all sockets costs milliseconds: it is done
// only when the kernel has dropped some SYN since the last look.
func (s *slowTCP) awaited() bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for before := ""; ; {
		select {
		case <-s.stopped:
			return false
		case <-tick.C:
			dropped := listenOverflows()
			if dropped != "" && dropped == before {
				continue
			}
			if before = dropped; synSent(s.listener.Addr().(*net.TCPAddr).Port) {
				return true
			}
		}
	}
}

// listenOverflows is how many connections this network namespace has refused since a queue of some listener was full;
// "" where the kernel does not say it. Linux counts it when it drops a SYN, whose sender waits then in SYN-SENT.
func listenOverflows() string {
	b, _ := os.ReadFile("/proc/net/netstat")
	var names []string
	for line := range strings.Lines(string(b)) { // two lines a group: names, values
		f := strings.Fields(line)
		if i := slices.Index(names, "ListenOverflows"); i > 0 && len(f) == len(names) && f[0] == names[0] {
			return f[i]
		}
		names = f
	}
	return ""
}

// synSent looks for a socket of this network namespace that waits for port.
func synSent(port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, _ := os.ReadFile(file) // a kernel without IPv6 has one of them
		for line := range strings.Lines(string(b)) {
			// proc_pid_net(5): sl, local address, remote address, state; 02 is SYN-SENT
			if f := strings.Fields(line); len(f) > 3 && f[3] == "02" && strings.HasSuffix(f[2], suffix) {
				return true
			}
		}
	}
	return false
}

// accept takes our own connections out of the queue until there is a client's.
func (s *slowTCP) accept() (net.Conn, error) {
	for {
		c, err := s.listener.Accept()
		if err != nil || !s.took(c) {
			return c, err
		}
		c.Close()
	}
}

// took says whether c is the other end of a filler, and forgets that.
func (s *slowTCP) took(c net.Conn) bool {
	for i, f := range s.fillers {
		if f.LocalAddr().String() == c.RemoteAddr().String() {
			f.Close()
			s.fillers = append(s.fillers[:i], s.fillers[i+1:]...)
			return true
		}
	}
	return false
}

func (s *slowTCP) forward(client net.Conn) {
	server, err := net.Dial("tcp", s.server)
	if err != nil {
		client.Close()
		return
	}
	ended := make(chan struct{})
	s.wg.Go(func() {
		select {
		case <-s.stopped:
		case <-ended:
		}
		client.Close()
		server.Close()
	})
	var ways sync.WaitGroup
	ways.Go(func() { delayed(server, client) })
	ways.Go(func() { delayed(client, server) })
	ways.Wait()
	close(ended)
}

// delayed copies bytes, each linkDelay after it came.
func delayed(to, from net.Conn) {
	type part struct {
		due   time.Time
		bytes []byte
	}
	parts := make(chan part, 1024)
	go func() {
		defer close(parts)
		for {
			b := make([]byte, 1<<14)
			n, err := from.Read(b)
			if n > 0 {
				parts <- part{time.Now().Add(linkDelay), b[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range parts {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			from.Close() // the reader must not wait for a place
			for range parts {
			}
			return
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, from)
}
