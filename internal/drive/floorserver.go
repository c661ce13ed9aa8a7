package drive

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A Floor serves the bare exchange: it reads in bytes and answers out bytes,
// with no header on the wire. No stack can be quicker. It reads no clock.
type Floor struct {
	stream  bool
	in, out int
	fd      int
	addr    netip.AddrPort
	served  atomic.Int64
	stop    atomic.Bool
	shared  bool        // with other processes that listen at the same address
	full    atomic.Bool // see Full
}

// mostBuffer bounds the memory for one request or answer; longer ones go in parts.
const mostBuffer = 1 << 20

// ListenFloor listens on network "tcp" or "udp"; port 0 takes a free one.
func ListenFloor(network string, at netip.AddrPort, in, out int) (*Floor, error) {
	return listenFloor(network, at, &Floor{in: in, out: out})
}

// ListenFloorShared is ListenFloor over TCP at an address at which several processes may: the kernel gives each
// connection to one of them.
func ListenFloorShared(at netip.AddrPort, in, out int) (*Floor, error) {
	return listenFloor("tcp", at, &Floor{in: in, out: out, shared: true})
}

func listenFloor(network string, at netip.AddrPort, f *Floor) (*Floor, error) {
	in, out := f.in, f.out
	f.stream, f.fd = network == "tcp", -1
	switch {
	case network != "tcp" && network != "udp":
		return nil, fmt.Errorf("floor: unknown network %q; write tcp or udp", network)
	case in < 1 || out < 1 || in > MostBody || out > MostBody:
		return nil, fmt.Errorf("floor: %d bytes in, %d out; write 1 to 1 GiB", in, out)
	case !f.stream && max(in, out) > mostDatagram:
		return nil, fmt.Errorf("floor: %d bytes do not fit a datagram of at most %d; use tcp", max(in, out), mostDatagram)
	}
	if err := f.listen(at); err != nil {
		f.Close()
		return nil, fmt.Errorf("floor: listen on %s %v: %w", network, at, err)
	}
	return f, nil
}

func (f *Floor) listen(at netip.AddrPort) (err error) {
	family, sa := sockaddr(at)
	if f.fd, err = socket(family, f.stream, true); err != nil {
		return err
	}
	if f.stream {
		if err = unix.SetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return err
		}
	}
	if f.shared {
		if err = unix.SetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
			return err
		}
	}
	if err = unix.Bind(f.fd, sa); err != nil {
		return err
	}
	if f.stream {
		if err = unix.Listen(f.fd, 1024); err != nil {
			return err
		}
	}
	bound, err := unix.Getsockname(f.fd)
	switch b := bound.(type) {
	case *unix.SockaddrInet4:
		f.addr = netip.AddrPortFrom(at.Addr(), uint16(b.Port))
	case *unix.SockaddrInet6:
		f.addr = netip.AddrPortFrom(at.Addr(), uint16(b.Port))
	}
	return err
}

// Addr is where it listens.
func (f *Floor) Addr() netip.AddrPort { return f.addr }

// Served is the number of requests received whole so far.
func (f *Floor) Served() int64 { return f.served.Load() }

// Full says that a connection came for which no file was left.
func (f *Floor) Full() bool { return f.full.Load() }

// Close frees the address of a Floor that is not to Serve, or no longer.
func (f *Floor) Close() error {
	if f.fd < 0 {
		return nil
	}
	err := unix.Close(f.fd)
	f.fd = -1
	return err
}

// Serve answers on one locked thread until ctx ends, then closes the address
// and returns nil.
func (f *Floor) Serve(ctx context.Context) error {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2)) // a blocked raw call holds its P
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer context.AfterFunc(ctx, func() { f.stop.Store(true) })()
	defer f.Close()
	if !f.stream {
		return f.answerDatagrams()
	}
	s := &floorStreams{Floor: f, buf: make([]byte, min(f.in, mostBuffer)), filler: filler(min(f.out, mostBuffer))}
	return s.serve()
}

func filler(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'f'
	}
	return b
}

// answerDatagrams answers a datagram of the agreed size with one, and ignores
// all others.
func (f *Floor) answerDatagrams() error {
	buf, answer := make([]byte, mostDatagram), filler(f.out)
	var from unix.RawSockaddrInet6 // room for both families
	for !f.stop.Load() {
		size := uint32(unsafe.Sizeof(from))
		n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(f.fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)),
			0, uintptr(unsafe.Pointer(&from)), uintptr(unsafe.Pointer(&size)))
		switch {
		case e == syscall.EAGAIN || e == syscall.EINTR:
			kernel.GiveWay()
			continue
		case e != 0:
			return fmt.Errorf("floor: receive: %w", e)
		case int(n) != f.in:
			continue
		}
		f.served.Add(1)
		// A client that is gone is no concern of the others.
		_, _, _ = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(f.fd), uintptr(unsafe.Pointer(&answer[0])),
			uintptr(len(answer)),
			unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&from)), uintptr(size))
	}
	return nil
}

// floorStreams serves TCP connections. A single one is served with blocking
// calls, two system calls an exchange; more than one through epoll.
type floorStreams struct {
	*Floor
	ep          int
	conns       map[int]*floorStream
	buf, filler []byte
	looked      int // exchanges since the last look for another connection
}

type floorStream struct {
	fd, got, left int // bytes of the request received, of the answer to send
	blocked       bool
}

func (s *floorStreams) serve() (err error) {
	if s.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("floor: epoll: %w", err)
	}
	defer unix.Close(s.ep)
	if err = unix.SetNonblock(s.fd, true); err == nil {
		err = unix.EpollCtl(s.ep, unix.EPOLL_CTL_ADD, s.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s.fd)})
	}
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	s.conns = map[int]*floorStream{}
	for !s.stop.Load() && err == nil {
		if len(s.conns) == 1 {
			for _, c := range s.conns {
				err = s.alone(c)
			}
		} else {
			err = s.many()
		}
	}
	for _, c := range s.conns {
		unix.Close(c.fd)
	}
	return err
}

// alone serves the only connection until there is another, or none.
func (s *floorStreams) alone(c *floorStream) error {
	defer s.attend(c)
	for !s.stop.Load() && len(s.conns) == 1 {
		quiet := s.step(c, 0)
		if s.looked++; quiet || s.looked >= 64 {
			s.looked = 0
			if err := s.accept(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *floorStreams) many() error {
	var ready [64]unix.EpollEvent
	n := 0
	if len(s.conns) == 0 {
		n, _ = unix.EpollWait(s.ep, ready[:], 100) // an idle server gives its P away
	} else {
		n = epollWait(s.ep, ready[:], 100)
	}
	for i := range ready[:max(n, 0)] {
		if int(ready[i].Fd) == s.fd {
			if err := s.accept(); err != nil {
				return err
			}
		} else if c := s.conns[int(ready[i].Fd)]; c != nil {
			s.step(c, unix.MSG_DONTWAIT)
			s.attend(c)
		}
	}
	return nil
}

// attend asks epoll for what c waits for.
func (s *floorStreams) attend(c *floorStream) {
	if blocked := c.left > 0; blocked != c.blocked && s.conns[c.fd] == c {
		c.blocked = blocked
		what := uint32(unix.EPOLLIN)
		if blocked {
			what = unix.EPOLLOUT
		}
		_ = unix.EpollCtl(s.ep, unix.EPOLL_CTL_MOD, c.fd, &unix.EpollEvent{Events: what, Fd: int32(c.fd)})
	}
}

// step receives once, or sends once; quiet if there was nothing to do.
func (s *floorStreams) step(c *floorStream, flags int) (quiet bool) {
	if c.left == 0 {
		n, e := receive(c.fd, s.buf[:min(s.in-c.got, len(s.buf))], flags)
		switch {
		case e == syscall.EAGAIN:
			return true
		case e != 0 || n == 0:
			s.drop(c)
			return false
		}
		if c.got += n; c.got < s.in {
			return false
		}
		c.got, c.left = 0, s.out
		s.served.Add(1)
	}
	n, e := send(c.fd, s.filler[:min(c.left, len(s.filler))], flags)
	switch {
	case e == syscall.EAGAIN:
		return true
	case e != 0:
		s.drop(c)
		return false
	}
	c.left -= n
	return false
}

func (s *floorStreams) drop(c *floorStream) {
	delete(s.conns, c.fd)
	unix.Close(c.fd)
}

// accept takes every connection that waits.
func (s *floorStreams) accept() error {
	for {
		fd, _, err := unix.Accept4(s.fd, unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
			s.full.Store(true)
			return nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return fmt.Errorf("floor: accept: %w", err)
		}
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if err == nil {
			err = boundWaits(fd)
		}
		if err == nil {
			err = unix.EpollCtl(s.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
		}
		if err != nil {
			unix.Close(fd)
			continue
		}
		s.conns[fd] = &floorStream{fd: fd}
	}
}
