package coap

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// batchSize is how many datagrams one system call may bring.
const batchSize = 16

// A batch is what recvmmsg(2) fills.
type batch struct {
	headers [batchSize]mmsghdr
	names   [batchSize]unix.RawSockaddrInet6 // an IPv4 address fits
	vectors [batchSize]unix.Iovec
	room    []byte
}

// mmsghdr is struct mmsghdr; Go pads it as C does.
type mmsghdr struct {
	unix.Msghdr
	n uint32
}

func newBatch() *batch {
	b := &batch{room: make([]byte, batchSize*udpRoom)}
	for i := range b.headers {
		b.vectors[i].Base = &b.room[i*udpRoom]
		b.vectors[i].SetLen(udpRoom)
		h := &b.headers[i].Msghdr
		h.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		h.Iov = &b.vectors[i]
		h.SetIovlen(1)
	}
	return b
}

// receive takes a datagram, for which it may wait, and what else is there unless one is enough. It says how many
// datagrams that is. 0: there was none, or none in the socket's time.
func (b *batch) receive(fd int, wait, one bool) (int, error) {
	for i := range b.headers {
		if b.headers[i].Namelen = unix.SizeofSockaddrInet6; one {
			break
		}
	}
	flags := uintptr(unix.MSG_DONTWAIT)
	if wait {
		flags = 0
	}
	for {
		var n uintptr
		var err syscall.Errno
		if one {
			n, _, err = syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b.room[0])), udpRoom,
				flags, uintptr(unsafe.Pointer(&b.names[0])), uintptr(unsafe.Pointer(&b.headers[0].Namelen)))
		} else {
			n, _, err = syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.headers[0])),
				batchSize, flags|unix.MSG_WAITFORONE, 0, 0)
		}
		switch err {
		case 0:
			if one {
				b.headers[0].n = uint32(n)
				return 1, nil
			}
			return int(n), nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
			kernel.GiveWay()
		default:
			return 0, err
		}
	}
}

// datagram is the i-th datagram and its sender.
func (b *batch) datagram(i int) (data []byte, from netip.AddrPort) {
	sa := &b.names[i]
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&sa.Port))[:])
	data = b.room[i*udpRoom:][:b.headers[i].n]
	if sa.Family == unix.AF_INET {
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return data, netip.AddrPortFrom(netip.AddrFrom4(a.Addr), port)
	}
	a := netip.AddrFrom16(sa.Addr)
	if sa.Scope_id != 0 {
		a = a.WithZone(strconv.Itoa(int(sa.Scope_id)))
	}
	return data, netip.AddrPortFrom(a, port)
}

// reply sends an answer to the sender of the i-th datagram.
func (b *batch) reply(fd, i int, answer []byte) {
	if len(answer) == 0 {
		return
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer)),
		unix.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(&b.names[i])), uintptr(b.headers[i].Namelen))
}

// Where the next request comes at once, a server costs least if its thread waits in the socket by itself: two system
// calls an exchange, and no word to the scheduler. Such a thread holds its P, so that wait is bounded. Where requests
// are rare, the runtime's poller waits (see idleWait).
const (
	waitInSocket = 5 * time.Millisecond // at most
	quick        = time.Millisecond     // between two requests
	quickRun     = 16                   // so many in a row, and the thread waits by itself
)

// Where one datagram comes at a time, recvfrom(2) costs less than recvmmsg(2), which asks twice. So many times in a
// row, and it is seen whether more come now.
const oneByOne = 15

// A waitingSocket is a socket that the runtime does not poll: there every datagram would wake a second thread.
type waitingSocket struct {
	file *os.File
	raw  syscall.RawConn // for whoever may write while it is closed
	fd   int
}

// waitingOf takes conn's place and closes it, which takes the socket from the runtime's poller.
func waitingOf(conn *net.UDPConn) (*waitingSocket, error) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if closed := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); closed != nil {
		return nil, closed
	}
	if err != nil {
		return nil, err
	}
	if err = unix.SetNonblock(fd, false); err != nil { // before NewFile: it would have the poller look at it
		unix.Close(fd)
		return nil, err
	}
	w := &waitingSocket{file: os.NewFile(uintptr(fd), "coap"), fd: fd}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		w.file.Close()
		return nil, err
	}
	return w, nil
}

// WriteToUDPAddrPort is as that of net.UDPConn.
func (w *waitingSocket) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	var sa unix.Sockaddr
	if a := to.Addr(); a.Is4() {
		sa = &unix.SockaddrInet4{Port: int(to.Port()), Addr: a.As4()}
	} else {
		zone, _ := strconv.Atoi(a.Zone()) // 0: none; see datagram
		sa = &unix.SockaddrInet6{Port: int(to.Port()), Addr: a.As16(), ZoneId: uint32(zone)}
	}
	var err error
	if closed := w.raw.Control(func(fd uintptr) { err = unix.Sendto(int(fd), b, unix.MSG_DONTWAIT, sa) }); closed != nil {
		return 0, closed
	}
	return len(b), err
}

// bound sets how long a thread may wait in the socket.
func (w *waitingSocket) bound(wait time.Duration) error {
	most := unix.NsecToTimeval(int64(wait))
	return unix.SetsockoptTimeval(w.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &most)
}

// An idleWait has the runtime's poller wait for a socket that it does not poll otherwise: through an epoll that has the
// socket for one event at a time. A thread that waited in a system call would hold its P for 10 ms, and the runtime
// would look at it some sixty times meanwhile: where requests are rare, that took more CPU time than they.
type idleWait struct {
	file   *os.File // an epoll
	conn   syscall.RawConn
	socket int
	over   func(epoll uintptr) bool
}

func newIdleWait(socket int) (*idleWait, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	w := &idleWait{socket: socket, over: isOver}
	err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, socket, &oneDatagram)
	if err == nil {
		err = unix.SetNonblock(epoll, true) // so that NewFile has the poller look at it
	}
	if err != nil {
		unix.Close(epoll)
		return nil, err
	}
	w.file = os.NewFile(uintptr(epoll), "coap")
	if w.conn, err = w.file.SyscallConn(); err != nil {
		w.file.Close()
		return nil, err
	}
	return w, nil
}

var oneDatagram = unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}

func isOver(epoll uintptr) bool {
	var event [1]unix.EpollEvent
	n, err := unix.EpollWait(int(epoll), event[:], 0)
	return n > 0 || err != nil
}

// wait returns when the socket can be read.
func (w *idleWait) wait() (err error) {
	event := oneDatagram
	if closed := w.conn.Control(func(epoll uintptr) {
		err = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_MOD, w.socket, &event)
	}); closed != nil || err != nil {
		return errors.Join(closed, err)
	}
	return w.conn.Read(w.over)
}

// serveAlone reads the socket and runs the handlers until ctx ends.
func (ep *endpoint) serveAlone(ctx context.Context, conn *net.UDPConn) error {
	w, err := waitingOf(conn)
	if err != nil {
		return err
	}
	defer w.file.Close()
	ep.udp = w
	defer ep.keepTime()()
	defer context.AfterFunc(ctx, func() {
		// Wakes whoever waits, though Linux calls it an error where the socket has no peer.
		_ = w.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RD) })
	})()
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2)) // a thread that waits by itself holds its P
	idle, err := newIdleWait(w.fd)
	if err != nil {
		return err
	}
	defer idle.file.Close()
	if err := w.bound(waitInSocket); err != nil {
		return err
	}
	b, t := newBatch(), newTask(0)
	run, ones, last := 0, oneByOne, ep.now()
	for {
		one, alone := ones < oneByOne, run >= quickRun
		if !alone {
			if err := idle.wait(); err != nil {
				return err
			}
		}
		n, err := b.receive(w.fd, alone, one)
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // what woke it then looks like an empty datagram
			return ctx.Err()
		}
		now := last
		for i := range n {
			data, from := b.datagram(i)
			var answers bool
			if answers, now = ep.answerTo(t, from, data); answers {
				b.reply(w.fd, i, t.wire)
			}
		}
		if n == 0 {
			now = ep.now()
		}
		switch {
		case one:
			ones++
		case n == 1:
			ones = 0
		}
		if run = min(run+1, quickRun); n == 0 || now-last >= quick {
			run = 0
		}
		last = now
	}
}
