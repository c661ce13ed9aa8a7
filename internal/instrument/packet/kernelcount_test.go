package packet

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Retransmissions are those that the kernel counts itself (RetransSegs of
// /proc/net/snmp, RFC 4022), whether the capture has the lost packets or only those
// that came through, and none is taken for reordering.
func TestRetransmissionsAgreeWithTheKernel(t *testing.T) {
	a, b := newNamespace(t), newNamespace(t)
	left, right := a.tun(t, "10.8.0.1/24"), b.tun(t, "10.8.0.2/24")
	r := &losing{ends: [2]int{left, right}, most: 50}
	r.forward(t)
	l := b.listen("10.8.0.2:0")
	go serveTCP(l)
	tap := RecordOptions{Tap: TapOptions{Interface: "t0", Ports: []uint16{uint16(l.Addr().(*net.TCPAddr).Port)}}}
	var there Capture
	here, _ := capture(t, a, tap, func() {
		there, _ = capture(t, b, tap, func() {
			c, err := a.dialFromOutside(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(time.Minute))
			if err := ask(c, 2_000_000, 2_000_000); err != nil {
				t.Fatal(err)
			}
		})
	})
	count := func(n *namespace) (segments int64) {
		n.must(func() (err error) { segments, err = retransmitted(); return err })
		return segments
	}
	want := count(a) + count(b)
	lost := [2]int64{r.lost[0].Load(), r.lost[1].Load()}
	if want < lost[0]+lost[1] || lost[0] < 10 || lost[1] < 10 {
		t.Fatalf("the kernel sent %d segments again, %v were lost", want, lost)
	}
	t.Logf("%v segments lost, %d sent again", lost, want)
	for where, c := range map[string]Capture{"client": here, "server": there} {
		if len(c.Connections) != 1 {
			t.Fatalf("at the %s: %d connections", where, len(c.Connections))
		}
		if x := c.Connections[0]; x.Retransmissions != want || x.OutOfOrder != 0 {
			t.Errorf("at the %s: %d retransmissions and %d out of order, the kernel counts %d and none",
				where, x.Retransmissions, x.OutOfOrder, want)
		}
	}
}

// retransmitted reads RetransSegs of the calling thread's network namespace.
func retransmitted() (int64, error) {
	b, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, err
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if f[0] != "Tcp:" {
			continue
		}
		for i, name := range names {
			if name == "RetransSegs" {
				return strconv.ParseInt(f[i], 10, 64)
			}
		}
		names = f
	}
	return 0, fmt.Errorf("no RetransSegs in %s", b)
}

// losing forwards packets between two TUN interfaces and loses the first copy of
// some segments: of one that the next one follows at once, so that a capture behind
// it sees the gap. A segment that nothing follows would be lost unseen.
type losing struct {
	ends [2]int // descriptors
	most int    // how many are lost each way
	lost [2]atomic.Int64
}

// every is the distance of segments that may be lost.
const every = 20

// forward forwards until the test ends.
func (r *losing) forward(t *testing.T) {
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range r.ends {
		wg.Go(func() { r.way(i, stop) })
	}
	t.Cleanup(func() {
		unix.Write(stop, binary.NativeEndian.AppendUint64(nil, 1))
		wg.Wait()
		for _, fd := range append(r.ends[:], stop) {
			unix.Close(fd)
		}
	})
}

// way forwards what comes out of ends[i].
func (r *losing) way(i, stop int) {
	var held []byte // may be lost
	var top uint32  // one past the highest sequence number
	fresh := 0      // segments with data that were no copies
	buf := make([]byte, 1<<16)
	pass := func(b []byte) { unix.Write(r.ends[1-i], b) }
	for {
		wait := -1
		if held != nil {
			wait = 20
		}
		ready := []unix.PollFd{{Fd: int32(stop), Events: unix.POLLIN}, {Fd: int32(r.ends[i]), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, wait); err == unix.EINTR {
			continue
		} else if err != nil || ready[0].Revents != 0 {
			return
		} else if n == 0 {
			pass(held)
			held = nil
			continue
		}
		n, err := unix.Read(r.ends[i], buf)
		if err != nil {
			return
		}
		b := append([]byte(nil), buf[:n]...)
		seq, size := segmentOf(b)
		isFresh := size > 0 && (fresh == 0 || int32(seq-top) >= 0)
		if isFresh {
			fresh++
			top = seq + size
		}
		switch {
		case held != nil && isFresh:
			r.lost[i].Add(1)
		case held != nil:
			pass(held)
		}
		if held = nil; isFresh && fresh%every == 0 && int(r.lost[i].Load()) < r.most {
			held = b
			continue
		}
		pass(b)
	}
}

// segmentOf is the sequence number and the payload's length of an IPv4 packet with TCP.
func segmentOf(b []byte) (seq, size uint32) {
	if len(b) < 40 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP {
		return 0, 0
	}
	ip := int(b[0]&15) * 4
	tcp := b[ip:]
	return binary.BigEndian.Uint32(tcp[4:]), uint32(int(binary.BigEndian.Uint16(b[2:])) - ip - int(tcp[12]>>4)*4)
}
