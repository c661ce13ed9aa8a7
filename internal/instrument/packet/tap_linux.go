package packet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// TapOptions say what a Tap captures. The zero value but for Interface
// captures whole TCP and UDP packets of every port into a ring of 16 MiB.
type TapOptions struct {
	Interface string
	Ports     []uint16 // TCP and UDP, source or destination; none: every packet
	Snaplen   int      // bytes kept of each packet; 0: all
	Blocks    int      // of the ring, 256 KiB each; 0: 64
	// Retire is how long a packet may wait in the ring for others; 0: 10ms.
	Retire time.Duration
	// Quiet is how long the ring must stay empty, after the context has ended,
	// before the capture ends; 0: 150ms, which outlasts a delayed ACK.
	Quiet time.Duration
}

const blockSize = 1 << 18

// A Tap captures the packets of one network interface from a TPACKET_V3 ring.
type Tap struct {
	o    TapOptions
	fd   int
	ring []byte
	link LinkType
	q    CaptureStats
	loop bool

	block     int    // the next to read
	delivered uint64 // packets handed over
	counted   uint64 // packets the kernel put into the ring
	scratch   []byte
}

// Open opens a tap in the network namespace of the calling thread, which the
// caller must have locked if that is not the process's own; afterwards the tap
// may be used from any thread. It needs CAP_NET_RAW there.
func Open(o TapOptions) (*Tap, error) {
	if o.Blocks == 0 {
		o.Blocks = 64
	}
	if o.Retire == 0 {
		o.Retire = 10 * time.Millisecond
	}
	if o.Quiet == 0 {
		o.Quiet = 150 * time.Millisecond
	}
	// Subtle: protocol 0, so that nothing comes in before the filter is there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, denied(o.Interface, err)
	}
	t := &Tap{o: o, fd: fd}
	if err := t.setUp(); err != nil {
		t.Close()
		return nil, fmt.Errorf("packet capture on %s: %w", o.Interface, err)
	}
	return t, nil
}

func denied(name string, err error) error {
	if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("packet capture on %s: %w", name, err)
	}
	self, _ := os.Executable()
	return fmt.Errorf("packet capture on %s needs the capability CAP_NET_RAW in its network namespace; run as root, or "+
		"once: setcap cap_net_raw+ep %s: %w", name, self, err)
}

func (t *Tap) setUp() error {
	index, err := t.inspect()
	if err != nil {
		return err
	}
	if t.loop { // each packet passes lo twice, as outgoing and as incoming
		if err := unix.SetsockoptInt(t.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return fmt.Errorf("loopback shows every packet twice before Linux 4.20: %w", err)
		}
	}
	if err := t.mapRing(); err != nil {
		return err
	}
	if err := t.attach(); err != nil {
		return err
	}
	t.q.Offset = kernel.WallClockOffset()
	sa := &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: index}
	return unix.Bind(t.fd, sa)
}

// inspect asks the kernel about the interface. It uses the packet socket, so
// that no other namespace can answer.
func (t *Tap) inspect() (index int, err error) {
	ask := func(req uint) (*unix.Ifreq, error) {
		r, err := unix.NewIfreq(t.o.Interface)
		if err != nil {
			return nil, err
		}
		return r, unix.IoctlIfreq(t.fd, req, r)
	}
	r, err := ask(unix.SIOCGIFINDEX)
	if err != nil {
		return 0, fmt.Errorf("no such interface in this network namespace; ip link shows them: %w", err)
	}
	index = int(r.Uint32())
	if r, err = ask(unix.SIOCGIFFLAGS); err != nil {
		return 0, err
	}
	if r.Uint16()&unix.IFF_UP == 0 {
		return 0, fmt.Errorf("the interface is down; ip link set %s up", t.o.Interface)
	}
	t.loop = r.Uint16()&unix.IFF_LOOPBACK != 0
	if r, err = ask(unix.SIOCGIFMTU); err != nil {
		return 0, err
	}
	t.q.MTU = int(r.Uint32())
	if r, err = ask(unix.SIOCGIFHWADDR); err != nil {
		return 0, err
	}
	switch kind := r.Uint16(); kind {
	case unix.ARPHRD_ETHER, unix.ARPHRD_LOOPBACK:
		t.link = LinkEthernet
	case unix.ARPHRD_NONE, unix.ARPHRD_PPP, unix.ARPHRD_TUNNEL, unix.ARPHRD_RAWIP:
		t.link = LinkRaw
	default:
		return 0, fmt.Errorf("unsupported hardware type %d; capture on an Ethernet, loopback or TUN interface", kind)
	}
	return index, nil
}

func (t *Tap) mapRing() error {
	if err := unix.SetsockoptInt(t.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	req := unix.TpacketReq3{Block_size: blockSize, Block_nr: uint32(t.o.Blocks), Frame_size: 2048,
		Frame_nr: blockSize / 2048 * uint32(t.o.Blocks), Retire_blk_tov: uint32(max(t.o.Retire.Milliseconds(), 1))}
	if err := unix.SetsockoptTpacketReq3(t.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("a ring of %d blocks: %w", t.o.Blocks, err)
	}
	var err error
	if t.ring, err = unix.Mmap(t.fd, 0, blockSize*t.o.Blocks, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map the ring: %w", err)
	}
	return nil
}

func (t *Tap) attach() error {
	prog, err := filter(t.link, t.o.Ports, t.o.Snaplen)
	if err != nil {
		return err
	}
	code := make([]unix.SockFilter, len(prog))
	for i, p := range prog {
		code[i] = unix.SockFilter{Code: p.Op, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	return unix.SetsockoptSockFprog(t.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
}

func htons(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// Link returns the link type of the captured frames.
func (t *Tap) Link() LinkType { return t.link }

// Loopback says whether the interface is lo, where only arrivals are captured.
func (t *Tap) Loopback() bool { return t.loop }

// Stats returns what the tap says of itself; it is final after Run.
func (t *Tap) Stats() CaptureStats { return t.q }

// Close gives the ring back.
func (t *Tap) Close() error {
	if t.ring != nil {
		unix.Munmap(t.ring)
		t.ring = nil
	}
	return unix.Close(t.fd)
}
