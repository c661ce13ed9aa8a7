package population

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batchSize is how many datagrams one system call takes.
const batchSize = 64

// room is the longest datagram taken in: an answer without blocks, and more.
const room = 2048

// firstAddress is that of device 0, 127.1.0.0.
const firstAddress = 127<<24 | 1<<16

// addressOf is the address of a device.
func addressOf(device int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], uint32(firstAddress+device))
	return netip.AddrFrom4(a)
}

// A socket is the one that all devices share.
type socket struct {
	fd      int
	server  unix.RawSockaddrInet4
	in, out batch
	most    int // datagrams in a system call
	used    int // headers of in that the kernel has written since they were ready
}

// mmsghdr is struct mmsghdr; Go pads it as C does.
type mmsghdr struct {
	unix.Msghdr
	n uint32
}

// A batch is what sendmmsg(2) and recvmmsg(2) take. Its control messages are
// IP_PKTINFO: the source of what is sent, the destination of what came in.
type batch struct {
	headers [batchSize]mmsghdr
	vectors [batchSize]unix.Iovec
	control [batchSize][4]uint64 // aligned as struct cmsghdr is, with room for it and struct in_pktinfo
	names   [batchSize]unix.RawSockaddrInet4
	bytes   []byte
}

// receiveBuffer is asked for; the kernel grants less without privileges (rmem_max).
const receiveBuffer = 4 << 20

func newSocket(server netip.AddrPort) (*socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	s := &socket{fd: fd, most: batchSize} // a test has less
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{}) // any address: an answer may come to each of 127/8
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("a UDP socket for all devices: %w", err)
	}
	s.server = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: server.Addr().As4()}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&s.server.Port))[:], server.Port())
	s.in.prepare(room)
	for i := range s.in.headers {
		s.in.headers[i].Name = (*byte)(unsafe.Pointer(&s.in.names[i]))
	}
	s.used = len(s.in.headers)
	s.out.prepare(mostBody + 512)
	for i := range s.out.headers {
		h := &s.out.headers[i].Msghdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.server)), unix.SizeofSockaddrInet4
		c := (*unix.Cmsghdr)(unsafe.Pointer(&s.out.control[i]))
		c.Level, c.Type = unix.IPPROTO_IP, unix.IP_PKTINFO
		c.SetLen(unix.CmsgLen(unix.SizeofInet4Pktinfo))
		h.SetControllen(unix.CmsgSpace(unix.SizeofInet4Pktinfo))
	}
	return s, nil
}

func (b *batch) prepare(size int) {
	b.bytes = make([]byte, batchSize*size)
	for i := range b.headers {
		b.vectors[i].Base = &b.bytes[i*size]
		b.vectors[i].SetLen(size)
		h := &b.headers[i].Msghdr
		h.Iov = &b.vectors[i]
		h.SetIovlen(1)
		h.Control = (*byte)(unsafe.Pointer(&b.control[i]))
	}
}

func (b *batch) info(i int) *unix.Inet4Pktinfo {
	return (*unix.Inet4Pktinfo)(unsafe.Add(unsafe.Pointer(&b.control[i]), unix.CmsgLen(0)))
}

// place is the empty room for message i of the next send.
func (s *socket) place(i int) []byte {
	size := len(s.out.bytes) / batchSize
	return s.out.bytes[i*size : i*size : (i+1)*size]
}

// put says that message i, which lies in its place, is so long and from whom it is.
func (s *socket) put(i, n, device int) {
	s.out.vectors[i].SetLen(n)
	binary.BigEndian.PutUint32(s.out.info(i).Spec_dst[:], uint32(firstAddress+device))
}

// Subtle: raw calls, each bounded, and a yield after EINTR: see drive/syscalls.go.

// send hands messages from to below n to the kernel and says how many it took. None:
// its buffer is full.
func (s *socket) send(from, n int) (int, error) {
	n = min(n, from+s.most)
	for {
		sent, _, e := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(s.fd),
			uintptr(unsafe.Pointer(&s.out.headers[from])), uintptr(n-from), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch e {
		case 0:
			return int(sent), nil
		case unix.EAGAIN, unix.ENOBUFS:
			return 0, nil
		case unix.EINTR:
			runtime.Gosched()
		default:
			return 0, e
		}
	}
}

// receive takes what is there, up to so many datagrams, and no more than a batch.
func (s *socket) receive(most int) (int, error) {
	for i := range s.in.headers[:s.used] { // says how much of its room was taken
		h := &s.in.headers[i].Msghdr
		h.SetControllen(len(s.in.control[i]) * 8)
		h.Namelen = unix.SizeofSockaddrInet4
	}
	s.used = 0
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.in.headers[0])),
			uintptr(most), unix.MSG_DONTWAIT, 0, 0)
		switch e {
		case 0:
			s.used = int(n)
			return s.used, nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
			runtime.Gosched()
		default:
			return 0, e
		}
	}
}

// datagram is the i-th one that came in and the number of the device it is for, which
// may be that of none. It is empty if it is not from the server, or was cut short.
func (s *socket) datagram(i int) (b []byte, device int) {
	h := &s.in.headers[i]
	c := (*unix.Cmsghdr)(unsafe.Pointer(&s.in.control[i]))
	name := &s.in.names[i]
	if int(h.Controllen) < unix.CmsgLen(unix.SizeofInet4Pktinfo) || c.Level != unix.IPPROTO_IP ||
		c.Type != unix.IP_PKTINFO || h.Flags&unix.MSG_TRUNC != 0 || name.Addr != s.server.Addr || name.Port != s.server.Port {
		return nil, -1
	}
	size := len(s.in.bytes) / batchSize
	to := int(binary.BigEndian.Uint32(s.in.info(i).Addr[:]) - firstAddress)
	return s.in.bytes[i*size:][:h.n], to
}

// wait waits until the socket can be read, or written too, for at most so long. Not: poll has looked, also at its end.
func (s *socket) wait(d time.Duration, write bool) (can bool) {
	p := unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
	if write {
		p.Events |= unix.POLLOUT
	}
	ts := unix.NsecToTimespec(int64(max(d, 0)))
	n, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	yield(e, int(n), d)
	return e != 0 || n > 0
}

// dropped is how many datagrams the kernel has thrown away since its receive buffer was full.
func (s *socket) dropped() int64 {
	const drops = 8 // SK_MEMINFO_DROPS
	return s.memory(drops)
}

// memory is a figure of the socket's memory, of linux/sock_diag.h; -1: the kernel does not say.
func (s *socket) memory(figure int) int64 {
	var m [16]uint32
	n := uint32(unsafe.Sizeof(m))
	_, _, e := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&n)), 0)
	if e != 0 || n < uint32(figure+1)*4 {
		return -1
	}
	return int64(m[figure])
}

func (s *socket) close() { unix.Close(s.fd) }
