package coap

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
