package drive

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Subtle: syscall.RawSyscall, not unix.Read and friends. Those go through
// syscall.Syscall, which gives the P away and stalls on getting it back (p99
// 44 µs where the raw call has 7). The price: a blocked raw call holds its P,
// so every wait here is bounded and GOMAXPROCS is at least 2.

// send writes to a socket. EAGAIN means: full, or the socket's time ran out.
func send(fd int, b []byte, flags int) (int, syscall.Errno) {
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)), unix.MSG_NOSIGNAL|uintptr(flags), 0, 0)
		if e != syscall.EINTR {
			return int(n), e
		}
		kernel.GiveWay()
	}
}

// receive reads from a socket. EAGAIN means: empty, or the socket's time ran out.
func receive(fd int, b []byte, flags int) (int, syscall.Errno) {
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)), uintptr(flags), 0, 0)
		if e != syscall.EINTR {
			return int(n), e
		}
		kernel.GiveWay()
	}
}

// poll waits for events on a socket for at most wait; false if none came. A
// negative fd only sleeps.
func poll(fd int, events int16, wait time.Duration) bool {
	p := unix.PollFd{Fd: int32(fd), Events: events}
	ts := unix.NsecToTimespec(int64(max(wait, 0)))
	n, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return e == 0 && int(n) > 0
}

// epollWait fills events; ms of 0 only looks.
func epollWait(fd int, events []unix.EpollEvent, ms int) int {
	n, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(ms), 0, 0)
	if e != 0 {
		return 0 // EINTR: the caller goes round
	}
	return int(n)
}
