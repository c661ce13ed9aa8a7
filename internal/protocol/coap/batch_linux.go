package coap

import (
	"cmp"
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"strconv"
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

// receive takes what is there and says how many datagrams that is. With wait, it waits for the first, for
// waitInSocket at most.
func (b *batch) receive(fd uintptr, wait bool) (int, error) {
	for i := range b.headers {
		b.headers[i].Namelen = unix.SizeofSockaddrInet6
	}
	flags := uintptr(unix.MSG_DONTWAIT)
	if wait {
		flags = unix.MSG_WAITFORONE
	}
	for {
		n, _, err := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&b.headers[0])), batchSize, flags, 0, 0)
		switch err {
		case 0:
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
func (b *batch) reply(fd uintptr, i int, answer []byte) {
	if len(answer) == 0 {
		return
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer)),
		unix.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(&b.names[i])), uintptr(b.headers[i].Namelen))
}

// Where the next request comes at once, a server costs least if its thread waits in the socket: two system calls an
// exchange instead of four. Where requests are rare, the scheduler would interrupt that wait every 10 ms: the
// goroutine is parked then.
const (
	waitInSocket = 5 * time.Millisecond // at most
	quick        = time.Millisecond     // between two requests
	quickRun     = 16                   // so many in a row, and the thread waits in the socket
)

// waitable lets receive wait.
func waitable(fd uintptr) error {
	most := unix.NsecToTimeval(int64(waitInSocket))
	if err := unix.SetsockoptTimeval(int(fd), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &most); err != nil {
		return err
	}
	return unix.SetNonblock(int(fd), false)
}

// serveAlone reads the socket and runs the handlers until the socket is closed.
func (ep *endpoint) serveAlone(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = waitable(fd) }); failed != nil || err != nil {
		return cmp.Or(failed, err)
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2)) // a thread that waits in the socket holds its P
	b, t := newBatch(), newTask(0)
	var last time.Duration
	run := 0
	closed := raw.Read(func(fd uintptr) (done bool) {
		for {
			n, failed := b.receive(fd, run >= quickRun)
			if failed != nil {
				err = failed
				return true
			}
			for i := range n {
				data, from := b.datagram(i)
				if ep.answerTo(t, from, data) {
					b.reply(fd, i, t.wire)
				}
			}
			now := ep.now()
			if run++; n == 0 || now-last > quick {
				run = 0
			}
			last = now
			// Subtle: a batch that is not full has emptied the socket, and what
			// comes later wakes us again, so it need not be asked once more.
			if n < batchSize && run < quickRun || ep.closing.Load() {
				return false
			}
		}
	})
	return cmp.Or(err, closed)
}
