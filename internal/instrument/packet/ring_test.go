package packet

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"edgegauge.example/edgegauge/internal/measure"

	"golang.org/x/sys/unix"
)

// flood sends n datagrams to a socket nobody reads.
func (n *namespace) flood(t *testing.T, to string, count, size int) {
	n.must(func() error {
		c, err := net.Dial("udp", to)
		if err != nil {
			return err
		}
		defer c.Close()
		for range count {
			if _, err := c.Write(make([]byte, size)); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestStopLosesNothing stops at once after the last send, many times: what the
// kernel holds back in an unfinished block must still come.
func TestStopLosesNothing(t *testing.T) {
	n := newNamespace(t)
	s := n.listenUDP("127.0.0.1:0")
	for i := range 20 {
		tap := n.open(t, TapOptions{Interface: "lo", Quiet: 30 * ms, Retire: 40 * ms})
		ctx, cancel := context.WithCancel(context.Background())
		got := 0
		done := make(chan error)
		go func() { done <- tap.Run(ctx, func(Packet) error { got++; return nil }) }()
		want := 1 + 37*i
		n.flood(t, s.LocalAddr().String(), want, 10)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if q := tap.Stats(); got != want || q.Packets != uint64(want) || q.Err() != nil {
			t.Errorf("got %d packets, want %d; %v", got, want, q)
		}
		tap.Close()
	}
}

// TestStopWhileTrafficGoesOn must end, with everything up to the stop.
func TestStopWhileTrafficGoesOn(t *testing.T) {
	n := newNamespace(t)
	s := n.listenUDP("127.0.0.1:0")
	tap := n.open(t, TapOptions{Interface: "lo", Quiet: 20 * ms})
	defer tap.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*ms)
	defer cancel()
	stop := make(chan struct{})
	sent := make(chan struct{})
	n.work <- func() {
		defer close(sent)
		c, err := net.Dial("udp", s.LocalAddr().String())
		if err != nil {
			return
		}
		defer c.Close()
		for {
			select {
			case <-stop:
				return
			case <-time.After(ms):
				c.Write([]byte("tick"))
			}
		}
	}
	begin := time.Now()
	err := tap.Run(ctx, func(Packet) error { return nil })
	took := time.Since(begin)
	close(stop)
	<-sent
	<-n.done
	if err != nil || took > 30*time.Second { // the traffic does not end
		t.Errorf("ended after %v: %v", took, err)
	}
}

// TestDropsAreCounted fills a ring nobody reads.
func TestDropsAreCounted(t *testing.T) {
	n := newNamespace(t)
	s := n.listenUDP("127.0.0.1:0")
	r := n.start(t, RecordOptions{Tap: TapOptions{Interface: "lo", Blocks: 2, Quiet: 20 * ms}})
	hold := make(chan struct{})
	r2 := n.open(t, TapOptions{Interface: "lo", Blocks: 2, Quiet: 20 * ms})
	defer r2.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r2.Run(ctx, func(Packet) error { <-hold; return nil }) }()
	const count = 4000
	n.flood(t, s.LocalAddr().String(), count, 1000)
	close(hold)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	q := r2.Stats()
	if q.Drops == 0 || q.Freezes == 0 || q.Err() == nil || q.Packets+q.Drops != count {
		t.Errorf("got %v, %v; want drops, and %d packets in all", q, q.Err(), count)
	}
	t.Log(q.Err())
	// The other tap was read all the while: its ring never filled, or it says so and
	// refuses every figure.
	c, q, err := r.Stop()
	if (q.Drops+q.Freezes > 0) != (err != nil) || q.Drops > 0 && len(c.Problems) == 0 || q.Packets+q.Drops != count {
		t.Errorf("got %v, %v, problems %q", q, err, c.Problems)
	}
	if _, err := (Capture{Dropped: 1, Problems: []string{"1 lost"}}).Samples(Selection{}); !errors.Is(err, ErrMismatch) {
		t.Errorf("samples of a capture with drops: %v", err)
	}
}

func (n *namespace) open(t *testing.T, o TapOptions) *Tap {
	t.Helper()
	var tap *Tap
	n.must(func() (err error) {
		tap, err = Open(o)
		return err
	})
	return tap
}

func (n *namespace) start(t *testing.T, o RecordOptions) *Recording {
	t.Helper()
	var r *Recording
	n.must(func() (err error) {
		r, err = Start(o)
		return err
	})
	return r
}

// TestKernelStamps: once a socket in the namespace asks for stamps, some
// packets carry the kernel's, and each says which it has.
func TestKernelStamps(t *testing.T) {
	n := newNamespace(t)
	s := n.listenUDP("127.0.0.1:0")
	rc, err := s.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	rc.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; { // the kernel turns its stamps on in a work queue
		time.Sleep(50 * ms)
		r := n.start(t, RecordOptions{Tap: TapOptions{Interface: "lo"}})
		n.flood(t, s.LocalAddr().String(), 100, 10)
		_, q, err := r.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if q.Stamps[ByKernel]+q.Stamps[ByRing] != 100 || q.Stamps[ByKernel] == 0 && time.Now().After(end) {
			t.Fatalf("stamps %v, want some by the kernel", q.Stamps)
		}
		if q.Stamps[ByKernel] > 0 {
			break
		}
	}
}

func TestSnaplenAndWay(t *testing.T) {
	a, b := newNamespace(t), newNamespace(t)
	connect(t, a, b)
	s := b.listenUDP("10.9.0.2:0")
	go func() {
		buf := make([]byte, 2000)
		for {
			k, from, err := s.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			s.WriteToUDPAddrPort(buf[:k], from)
		}
	}()
	tap := a.open(t, TapOptions{Interface: "v0", Ports: []uint16{uint16(s.LocalAddr().(*net.UDPAddr).Port)}, Snaplen: 60,
		Quiet: 30 * ms})
	defer tap.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var ways []Way
	done := make(chan error)
	go func() {
		done <- tap.Run(ctx, func(p Packet) error {
			if p.Data[12] == 0x86 {
				return nil // a new interface's IPv6 multicast reports, whose extension header the filter passes
			}
			if len(p.Data) != 60 || p.Length != 14+20+8+500 {
				t.Errorf("got %d of %d bytes, want 60 of 542", len(p.Data), p.Length)
			}
			ways = append(ways, p.Way)
			return nil
		})
	}()
	a.must(func() error {
		c, err := net.Dial("udp", s.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		for range 3 {
			c.Write(make([]byte, 500))
			if _, err := c.Read(make([]byte, 600)); err != nil {
				return err
			}
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if want := []Way{Outbound, Inbound, Outbound, Inbound, Outbound, Inbound}; !slices.Equal(ways, want) {
		t.Errorf("ways %v, want %v", ways, want)
	}
}

// TestTUN captures bare IP from a TUN interface, as the userspace link has it.
func TestTUN(t *testing.T) {
	n := newNamespace(t)
	fd := n.tun(t, "10.8.0.1/24")
	defer unix.Close(fd)
	r := n.start(t, RecordOptions{Tap: TapOptions{Interface: "t0", Ports: []uint16{9}, Quiet: 30 * ms},
		Application: Datagrams})
	n.flood(t, "10.8.0.2:9", 5, 100)
	c, _, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Exchanges) != 1 || c.Exchanges[0].Out.Packets != 5 || c.Exchanges[0].Out.Bytes != 5*128 {
		t.Errorf("got %+v, want 5 packets of 128 B", c.Exchanges)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	n := newNamespace(t)
	for _, c := range []struct{ name, words string }{{"nothere0", "no such interface"}, {strings.Repeat("x", 40), "x"}} {
		n.do(func() {
			if _, err := Open(TapOptions{Interface: c.name}); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: got %v", c.name, err)
			}
		})
	}
	if os.Geteuid() != 0 {
		return
	}
	// A child without capabilities says what it lacks.
	cmd := exec.Command("/proc/self/exe", "-test.run=TestOpenWithoutCapability", "-test.v")
	cmd.Env = append(os.Environ(), "PACKET_TEST_NAMESPACE=1", "PACKET_TEST_DROP=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("CAP_NET_RAW")) || !bytes.Contains(out, []byte("setcap cap_net_raw+ep")) {
		t.Errorf("without capabilities: %v\n%s", err, out)
	}
}

func TestOpenWithoutCapability(t *testing.T) {
	if os.Getenv("PACKET_TEST_DROP") == "" {
		return // a part of TestOpenSaysWhatIsMissing
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		t.Fatal(err)
	}
	_, err := Open(TapOptions{Interface: "lo"})
	if !errors.Is(err, unix.EPERM) {
		t.Fatalf("got %v, want EPERM", err)
	}
	t.Log(err)
}

func TestClock(t *testing.T) {
	n := newNamespace(t)
	l := n.listen("127.0.0.1:0")
	go serveTCP(l)
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	run := func(count int) (samples []measure.Sample, err error) {
		ctx, cancel := context.WithCancel(context.Background())
		ready := make(chan struct{})
		clock := &Clock{RecordOptions: RecordOptions{Tap: TapOptions{Interface: "lo", Ports: []uint16{port}}},
			Selection: Selection{Unit: PerConnection, Skip: 2, Count: count},
			Ready:     func() { close(ready) }}
		var observed measure.Instrument = clock
		done := make(chan error)
		go func() { // Observe must run on the namespace's thread, which is busy then; the sender needs another
			n.do(func() {
				done <- observed.Observe(ctx, func(s measure.Sample) { samples = append(samples, s) })
			})
		}()
		<-ready
		for range 5 {
			c, err := n.dialFromOutside(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if err := ask(c, 10, 10); err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		cancel()
		return samples, <-done
	}
	samples, err := run(3)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, s := range samples {
		got[s.Quantity.Name]++
	}
	if got["delay"] != 3 || got["jitter"] != 2 || got["wire_bytes"] != 3 || got["handshake_time"] != 3 {
		t.Errorf("got %v", got)
	}
	if samples, err = run(4); !errors.Is(err, ErrMismatch) || len(samples) != 0 {
		t.Errorf("a call too few: got %d samples, %v", len(samples), err)
	}
}

// TestVLAN lays out a ring block by hand, as the kernel does for a frame whose
// VLAN tag it took out: the tag is put back, so that the bytes are those on the wire.
func TestVLAN(t *testing.T) {
	s := newScript(t)
	s.vlan = true
	c, _ := s.dial(cliAddr, srvAddr)
	want := slices.Clone(c.send(synFlag, "").Data)
	stripped := slices.Concat(want[:12], want[16:])

	var h unix.TpacketHdrV1
	h.Num_pkts, h.Offset_to_first_pkt = 1, 64
	words := make([]uint64, 64) // aligned, as the ring is
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	x := (*unix.Tpacket3Hdr)(unsafe.Pointer(&b[64]))
	x.Sec, x.Nsec, x.Mac = 5, 7, 82
	x.Len, x.Snaplen = uint32(len(stripped)), uint32(len(stripped))
	x.Status = unix.TP_STATUS_VLAN_VALID | unix.TP_STATUS_VLAN_TPID_VALID
	x.Hv1.Vlan_tci, x.Hv1.Vlan_tpid = 7, 0x8100
	copy(b[64+82:], stripped)

	tap := &Tap{link: LinkEthernet}
	seen := 0
	err := tap.visitBlock(b, &h, func(p Packet) error {
		seen++
		if !bytes.Equal(p.Data, want) || p.Length != len(want) || p.At != 5*time.Second+7 {
			t.Errorf("got %d B at %v: %x\nwant %x", p.Length, p.At, p.Data, want)
		}
		return nil
	})
	if err != nil || seen != 1 {
		t.Errorf("%d packets, %v", seen, err)
	}
}
