package population

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/drive"
)

// connections are the sockets of streams, one epoll for all of them.
type connections struct {
	*streams
	ep     int
	events [256]unix.EpollEvent
	buf    []byte
	unsent map[int32][]byte // what the kernel had no room for
	before map[int32]uint32 // segments sent again before this run, of connections that are older
	base   time.Time
	stop   atomic.Bool
}

// onceReceived is how much is read at once; less than asked for means that no more is there.
const onceReceived = 64 << 10

func newConnections(c *core) (*connections, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	x := &connections{ep: ep, buf: make([]byte, onceReceived), unsent: map[int32][]byte{},
		before: map[int32]uint32{}}
	x.streams = newStreams(c, x)
	return x, nil
}

// Descriptors is how many of a process's are for devices, of those that it may open.
func Descriptors(limit uint64) int { return max(int(min(limit, 1<<30))-spare, 0) }

// spare descriptors are the program's own: pipes, files, epoll.
const spare = 100

// enough refuses more connections than this process may have.
func (s *Spec) enough() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || s.Stream == nil || s.Stream.PerRequest {
		return err
	}
	if n := Descriptors(limit.Cur); s.here() > n {
		return fmt.Errorf("%d connections in a process that may open %d files; take at most %d devices", s.here(),
			limit.Cur, n)
	}
	return nil
}

func (x *connections) close() {
	for i := range x.links {
		if x.links[i].fd >= 0 {
			unix.Close(int(x.links[i].fd))
		}
	}
	unix.Close(x.ep)
}

func (x *connections) now() int64         { return int64(time.Since(x.base)) }
func (x *connections) begun(at time.Time) { x.base = at }
func (x *connections) halt()              { x.stop.Store(true) }

// dropped: TCP loses nothing.
func (x *connections) dropped() int64 { return 0 }

// dial begins to open a connection from the device's own address. The kernel finds a port
// when it knows the destination, so each address has all of them for each server.
func (x *connections) dial(i int32) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("population: a socket for device %d: %w", x.number(i), err)
	}
	x.links[i].fd = int32(fd)
	number := x.number(i)
	server := x.server(number)
	err = x.prepare(fd, i)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: addressOf(number).As4()})
	}
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Addr: server.Addr().As4(), Port: int(server.Port())})
	}
	switch {
	case err == nil || errors.Is(err, unix.EINPROGRESS):
		// Subtle: edge-triggered, so that no call is needed for what is waited for.
		return unix.EpollCtl(x.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: i, Pad: int32(fd)})
	case errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("population: connect %v to %v: %w", addressOf(number), server, err)
	}
	x.broken(i, x.now(), fmt.Errorf("connect: %w", err))
	return nil
}

// prepare sets what a connection is to be like.
func (x *connections) prepare(fd int, i int32) error {
	err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if alive := x.classOf(x.number(i)).KeepAlive; err == nil && alive > 0 && !x.Stream.mqtt() && !x.Stream.PerRequest {
		seconds := max(int(alive/time.Second), 1)
		err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds),
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds))
	}
	return err
}

// send hands bytes to the kernel, and keeps what it has no room for. That a connection is
// gone is told by epoll.
func (x *connections) send(i int32, b []byte) error {
	if old := x.unsent[i]; len(old) > 0 {
		x.unsent[i] = append(old, b...)
		return nil
	}
	n, e := drive.SendNow(int(x.links[i].fd), b)
	switch {
	case e == unix.EAGAIN:
		n = 0
	case e != 0:
		return nil
	}
	if n < len(b) {
		x.unsent[i] = append([]byte(nil), b[n:]...)
	}
	return nil
}

func (x *connections) hang(i int32) {
	x.countResent(i)
	delete(x.before, i)
	unix.Close(int(x.links[i].fd))
	x.links[i].fd = -1
	delete(x.unsent, i)
}

// untold stands for a number of segments that the kernel did not say.
const untold = math.MaxUint32

// countResent counts the segments that the kernel has sent again on a connection in this run, the opening one too, and
// remembers them for the next.
func (x *connections) countResent(i int32) {
	was, is := x.before[i], uint32(untold)
	if info, err := unix.GetsockoptTCPInfo(int(x.links[i].fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
		is = info.Total_retrans
	}
	switch {
	case was == untold || is == untold:
		x.ResentUntold++
	case is == was: // as mostly: there need be no memory of it
		return
	default:
		x.Retransmissions += int64(is - was)
	}
	x.before[i] = is
}

// finish also counts what was sent again on connections that stay open.
func (x *connections) finish(now int64) {
	x.streams.finish(now)
	for i := range x.links {
		if x.links[i].fd >= 0 {
			x.countResent(int32(i))
		}
	}
}

// run has devices called when they are due, until the end of the run.
func (x *connections) run() error {
	for wait := time.Duration(0); !x.stop.Load() && x.fault == nil; {
		n := x.look(wait)
		if now := x.now(); !x.over && now >= int64(x.outage.At+x.outage.For) {
			for _, i := range x.after(now) {
				x.read(i, true)
			}
		}
		at := x.now()
		x.page(at, func(h holding) { x.pagedNow(h, at) })
		x.fire(x.now(), batchSize)
		x.tell.look(x.core, x.now())
		next, ok := x.nextPage(x.next())
		now := x.now()
		if n == 0 && x.waiting == 0 && (!ok && !x.stays || now >= x.span || x.most > 0 && x.started >= x.most) {
			break
		}
		wait = longestWait
		if ok {
			wait = min(wait, max(time.Duration(next-now), 0))
		}
	}
	return x.fault
}

// look waits for at most so long until something happened, does what follows from it, and
// says how much did.
func (x *connections) look(wait time.Duration) int {
	// Subtle: epoll_pwait2 takes 64-bit seconds and nanoseconds on every machine, ppoll those of the machine.
	long := [2]int64{int64(wait / time.Second), int64(wait % time.Second)}
	n, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(x.ep), uintptr(unsafe.Pointer(&x.events[0])),
		uintptr(len(x.events)), uintptr(unsafe.Pointer(&long)), 0, 0)
	if e == unix.ENOSYS { // Linux before 5.11
		ts := unix.NsecToTimespec(int64(wait))
		p := unix.PollFd{Fd: int32(x.ep), Events: unix.POLLIN}
		syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		n, _, e = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(x.ep), uintptr(unsafe.Pointer(&x.events[0])),
			uintptr(len(x.events)), 0, 0, 0)
	}
	yield(e, int(n), wait)
	if e != 0 {
		return 0
	}
	for _, ev := range x.events[:n] {
		x.happened(ev)
	}
	return int(n)
}

// yield lets the runtime have this thread after an interrupted or a long empty wait: see
// drive/syscalls.go. Subtle: not after each wait. The thread is locked, so to yield wakes another
// one and waits for it: a fifth of the CPU time of devices that report over MQTT.
func yield(e syscall.Errno, n int, wait time.Duration) {
	if e != 0 || n == 0 && wait >= longestWait {
		runtime.Gosched()
	}
}

func (x *connections) happened(ev unix.EpollEvent) {
	i := ev.Fd
	l := &x.links[i]
	if l.fd != ev.Pad {
		return // closed since
	}
	if l.phase == opening {
		if !x.openedNow(i) {
			return
		}
	}
	if l.fd == ev.Pad && ev.Events&unix.EPOLLOUT != 0 {
		if b, ok := x.unsent[i]; ok {
			delete(x.unsent, i)
			x.blame(x.send(i, b))
		}
	}
	const ends = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if l.fd == ev.Pad && ev.Events&(unix.EPOLLIN|ends) != 0 {
		x.read(i, ev.Events&ends != 0)
	}
}

// openedNow tells the state machine how the opening of a connection ended.
func (x *connections) openedNow(i int32) bool {
	e, err := unix.GetsockoptInt(int(x.links[i].fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && e != 0 {
		err = syscall.Errno(e)
	}
	if err != nil {
		x.broken(i, x.now(), fmt.Errorf("connect: %w", err))
		return false
	}
	x.opened(i, x.now())
	return true
}

// read takes what is there; ends: the connection may have ended behind it.
func (x *connections) read(i int32, ends bool) {
	l := &x.links[i]
	for fd := l.fd; fd >= 0 && l.fd == fd; {
		if x.hits(x.number(i), x.now()) {
			x.Withheld++
			l.marks |= cutIn
			return
		}
		n, e := drive.ReceiveNow(int(fd), x.buf)
		now := x.now()
		switch {
		case e == unix.EAGAIN:
			return
		case (e != 0 || n == 0) && x.cutOff(i, now):
			return // the end does not pass the NAT either
		case e != 0:
			x.broken(i, now, fmt.Errorf("receive: %w", e))
			return
		case n == 0:
			x.broken(i, now, errClosed)
			return
		}
		x.received(i, x.buf[:n], now)
		if n < len(x.buf) && !ends {
			return
		}
	}
}
