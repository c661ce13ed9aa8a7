package packet

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Run calls visit for each packet until ctx has ended, every packet the kernel
// had counted by then was handed over, and the ring has been quiet. Where the
// traffic never pauses it ends ten quiet times after ctx, with a packet
// stamped later. It returns nil then, visit's error, or an error if the kernel
// withholds packets. Drops are no error: see CaptureStats.
func (t *Tap) Run(ctx context.Context, visit func(Packet) error) error {
	pfd := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN | unix.POLLERR}}
	defer t.end()
	var stop, lastNew time.Time
	for {
		n, err := t.drain(visit)
		if err != nil {
			return err
		}
		now := time.Now()
		if n > 0 || lastNew.IsZero() {
			lastNew = now
		}
		if stop.IsZero() && ctx.Err() != nil {
			stop, lastNew = now, now
		}
		if !stop.IsZero() {
			t.readCounters()
			switch whole := t.delivered >= t.counted; {
			case whole && now.Sub(lastNew) >= t.o.Quiet:
				return nil
			case now.Sub(stop) >= 10*t.o.Quiet && time.Duration(stop.UnixNano()) < t.q.Last:
				return nil
			case !whole && now.Sub(lastNew) >= 10*t.o.Quiet+time.Second:
				return fmt.Errorf("packet capture on %s: the kernel withholds %d packets", t.o.Interface, t.counted-t.delivered)
			}
		}
		if n > 0 {
			continue
		}
		if _, err := unix.Poll(pfd, int(min(t.o.Quiet.Milliseconds()/3+1, 50))); err != nil && err != unix.EINTR {
			return fmt.Errorf("packet capture on %s: %w", t.o.Interface, err)
		}
		if pfd[0].Revents&unix.POLLERR != 0 {
			if errno, _ := unix.GetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_ERROR); errno != 0 {
				return fmt.Errorf("packet capture on %s: %w; the interface went down or disappeared", t.o.Interface,
					unix.Errno(errno))
			}
		}
	}
}

func (t *Tap) end() {
	t.readCounters()
	t.q.Step = kernel.WallClockOffset() - t.q.Offset
}

// readCounters adds up the kernel's counters, which reading resets. Its count
// of packets includes those dropped.
func (t *Tap) readCounters() {
	st, err := unix.GetsockoptTpacketStatsV3(t.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return
	}
	t.counted += uint64(st.Packets - st.Drops)
	t.q.Drops += uint64(st.Drops)
	t.q.Freezes += uint64(st.Freeze_q_cnt)
}

// drain hands over every block the kernel has finished.
func (t *Tap) drain(visit func(Packet) error) (packets int, err error) {
	for {
		b := t.ring[t.block*blockSize : (t.block+1)*blockSize]
		d := (*unix.TpacketBlockDesc)(unsafe.Pointer(&b[0]))
		h := (*unix.TpacketHdrV1)(unsafe.Pointer(&d.Hdr[0]))
		if atomic.LoadUint32(&h.Block_status)&unix.TP_STATUS_USER == 0 {
			return packets, nil
		}
		err := t.visitBlock(b, h, visit)
		packets += int(h.Num_pkts)
		t.delivered += uint64(h.Num_pkts)
		atomic.StoreUint32(&h.Block_status, unix.TP_STATUS_KERNEL) // the kernel writes into it from now on
		t.block = (t.block + 1) % t.o.Blocks
		if err != nil {
			return packets, err
		}
	}
}

func (t *Tap) visitBlock(b []byte, h *unix.TpacketHdrV1, visit func(Packet) error) error {
	off := h.Offset_to_first_pkt
	for range h.Num_pkts {
		x := (*unix.Tpacket3Hdr)(unsafe.Pointer(&b[off]))
		// The sender's sockaddr_ll follows the header, which is a multiple of 16 B long.
		ll := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&b[off+unix.SizeofTpacket3Hdr]))
		start := off + uint32(x.Mac)
		p := Packet{
			At:     time.Duration(x.Sec)*time.Second + time.Duration(x.Nsec),
			Data:   b[start : start+x.Snaplen],
			Length: int(x.Len),
			Link:   t.link,
			Way:    wayOf(ll.Pkttype),
			Stamp:  stampOf(x.Status),
		}
		if x.Status&unix.TP_STATUS_VLAN_VALID != 0 {
			t.retag(&p, x)
		}
		t.q.count(&p)
		if err := visit(p); err != nil {
			return err
		}
		off += x.Next_offset
	}
	return nil
}

func wayOf(pkttype uint8) Way {
	if pkttype == unix.PACKET_OUTGOING {
		return Outbound
	}
	return Inbound
}

func stampOf(status uint32) Stamp {
	switch {
	case status&unix.TP_STATUS_TS_RAW_HARDWARE != 0:
		return ByHardware
	case status&unix.TP_STATUS_TS_SOFTWARE != 0:
		return ByKernel
	}
	return ByRing
}

// retag puts back the VLAN tag that the kernel took out of the frame.
func (t *Tap) retag(p *Packet, x *unix.Tpacket3Hdr) {
	if t.link != LinkEthernet || len(p.Data) < 12 {
		return
	}
	tpid := uint16(0x8100)
	if x.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = x.Hv1.Vlan_tpid
	}
	b := append(t.scratch[:0], p.Data[:12]...)
	b = binary.BigEndian.AppendUint16(b, tpid)
	b = binary.BigEndian.AppendUint16(b, uint16(x.Hv1.Vlan_tci))
	t.scratch = append(b, p.Data[12:]...)
	p.Data, p.Length = t.scratch, p.Length+4
}
