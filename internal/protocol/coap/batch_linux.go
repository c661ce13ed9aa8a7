package coap

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batchSize is how many datagrams one system call may bring.
const batchSize = 16

// A batch is what recvmmsg(2) fills. Note: a blocking socket was tried and
// cost a fifth more processor time: while a thread waits in the kernel, the Go
// scheduler's monitor looks at it every 20 µs.
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

// receive takes what is there and says how many datagrams that is.
func (b *batch) receive(fd uintptr) (int, error) {
	for i := range b.headers {
		b.headers[i].Namelen = unix.SizeofSockaddrInet6
	}
	for {
		n, _, err := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&b.headers[0])), batchSize,
			unix.MSG_DONTWAIT, 0, 0)
		switch err {
		case 0:
			return int(n), nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
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

// serveAlone reads the socket and runs the handlers until the socket is closed.
func (ep *endpoint) serveAlone(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	b, t := newBatch(), newTask(0)
	closed := raw.Read(func(fd uintptr) (done bool) {
		// Subtle: a batch that is not full has emptied the socket, and what
		// comes later wakes us again, so it need not be asked once more.
		for n := batchSize; n == batchSize; {
			if n, err = b.receive(fd); err != nil {
				return true
			}
			for i := range n {
				data, from := b.datagram(i)
				if ep.answerTo(t, from, data) {
					b.reply(fd, i, t.wire)
				}
			}
		}
		return false
	})
	if err == nil {
		err = closed
	}
	return err
}
