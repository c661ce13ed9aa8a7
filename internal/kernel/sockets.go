package kernel

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Socket takes what others send to an address: a TCP socket that listens, or a
// UDP socket that is bound.
type Socket struct {
	Network string // tcp, tcp6, udp or udp6
	Local   netip.AddrPort
	Remote  netip.AddrPort // of a connected UDP socket, which takes from there only; else port 0
}

// Sockets lists those of all the processes, by their file descriptors and the
// tables of their network namespaces (proc_pid_net(5)). A process that has ended
// has none. Reading another user's takes the right to trace it.
func Sockets(pids []int) ([]Socket, error) {
	var found []Socket
	for _, pid := range pids {
		own, err := socketInodes(pid)
		if err != nil {
			return nil, err
		}
		sockets, err := readSockets(fmt.Sprintf("/proc/%d/net/", pid), func(inode uint64) bool { return own[inode] })
		if err != nil {
			return nil, err
		}
		found = append(found, sockets...)
	}
	return found, nil
}

// NetworkSockets lists those of all processes in the calling thread's network namespace.
func NetworkSockets() ([]Socket, error) {
	return readSockets("/proc/thread-self/net/", func(uint64) bool { return true })
}

// readSockets reads the tables in a folder.
func readSockets(dir string, wanted func(inode uint64) bool) (found []Socket, err error) {
	for _, network := range []string{"tcp", "tcp6", "udp", "udp6"} {
		f, err := os.Open(dir + network)
		if noProcess(err) { // or a kernel without IPv6
			continue
		}
		if err != nil {
			return nil, err
		}
		sockets, err := parseSockets(&socketTable{from: f}, network, wanted)
		f.Close()
		if err != nil && !noProcess(err) {
			return nil, fmt.Errorf("%s%s: %w", dir, network, err)
		}
		found = append(found, sockets...)
	}
	return found, nil
}

// socketInodes are those of a process's open sockets.
func socketInodes(pid int) (map[uint64]bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	descriptors, err := os.ReadDir(dir)
	if err != nil && !noProcess(err) {
		return nil, err
	}
	own := map[uint64]bool{}
	for _, d := range descriptors {
		to, _ := os.Readlink(dir + d.Name()) // one that was closed meanwhile is no socket
		number, isSocket := strings.CutPrefix(strings.TrimSuffix(to, "]"), "socket:[")
		if inode, err := strconv.ParseUint(number, 10, 64); err == nil && isSocket {
			own[inode] = true
		}
	}
	return own, nil
}

// noProcess says that a file of a process is gone with it.
func noProcess(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// parseSockets reads one of the kernel's tables.
func parseSockets(table io.Reader, network string, wanted func(inode uint64) bool) (found []Socket, err error) {
	err = eachSocket(table, func(row socketRow) error {
		if network[:3] == "tcp" && row.state != tcpListen {
			return nil
		}
		local, err1 := procAddress(row.local)
		remote, err2 := procAddress(row.remote)
		inode, err3 := strconv.ParseUint(row.inode, 10, 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if wanted(inode) {
			found = append(found, Socket{network, local, remote})
		}
		return nil
	})
	return found, err
}

// A socketRow is what a line of the kernel's tables says of a socket, as it stands there.
type socketRow struct{ local, remote, state, inode string }

// States of TCP as the tables have them (include/net/tcp_states.h).
const tcpEstablished, tcpListen = "01", "0A"

// A socketTable is one of the kernel's tables, read no further than to its end. The kernel hands it out in pages of
// whole lines, so a page with room for another line is the last.
//
// Subtle: to be told so, by a read of nothing, takes another walk of its whole hash of connections.
type socketTable struct {
	from  io.Reader
	ended bool
}

const (
	leastPage  = 4096 // B, of the kernel
	longestRow = 512  // B, and more: those of tcp6 have some 170
)

// Read reads the next page.
func (t *socketTable) Read(b []byte) (n int, err error) {
	if t.ended {
		return 0, io.EOF
	}
	n, err = t.from.Read(b)
	t.ended = len(b) >= leastPage && n < leastPage-longestRow
	return n, err
}

// eachSocket hands on the lines of one of the kernel's tables.
func eachSocket(table io.Reader, do func(socketRow) error) error {
	lines := bufio.NewScanner(table)
	lines.Scan() // the heading
	for lines.Scan() {
		// sl, local, remote, state, queues, timer, retransmissions, uid, timeout, inode
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			return fmt.Errorf("a socket's line is incomplete: %q", lines.Text())
		}
		if err := do(socketRow{local: f[1], remote: f[2], state: f[3], inode: f[9]}); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
	}
	return lines.Err()
}

// procAddress reads the kernel's ADDRESS:PORT: the address in words of 32 bits in
// this machine's order of bytes.
func procAddress(text string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(address)
	if err != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q has no port", text)
	}
	out := bytes.Clone(b)
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(out[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, _ := netip.AddrFromSlice(out)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), nil
}
