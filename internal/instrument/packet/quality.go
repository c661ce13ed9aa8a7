package packet

import (
	"fmt"
	"time"
)

// CaptureStats is what a Tap says of itself. A capture with drops or freezes is not
// to be trusted: some packet is missing, and nobody knows which.
type CaptureStats struct {
	Packets     uint64    // handed over
	Bytes       uint64    // of them on the wire
	Drops       uint64    // passed the filter, found the ring full
	Freezes     uint64    // times the ring was full
	Stamps      [4]uint64 // packets by who stamped them: index Stamp
	Largest     int       // bytes of the largest frame
	MTU         int
	First, Last time.Duration // stamps of the first and last packet, since 1970
	// Offset is CLOCK_REALTIME less CLOCK_MONOTONIC when the tap opened, Step
	// what that difference moved until it closed: see mostStep.
	Offset, Step time.Duration
}

// mostStep is what two readings of a clock that nobody set may differ by. Beyond it the wall clock, which
// stamps packets, was set, or the machine slept: their distances are not the time that passed.
const mostStep = 50 * time.Microsecond

func (q *CaptureStats) count(p *Packet) {
	if q.Packets == 0 {
		q.First = p.At
	}
	q.Packets++
	q.Bytes += uint64(p.Length)
	q.Stamps[p.Stamp&3]++
	q.Largest = max(q.Largest, p.Length)
	q.Last = p.At
}

// Err says why the capture cannot be trusted, or nil.
func (q CaptureStats) Err() error {
	if q.Drops > 0 || q.Freezes > 0 {
		return fmt.Errorf("packet capture: %d of %d packets lost, ring full %d times; give the ring more blocks, or "+
			"capture fewer bytes of each packet",
			q.Drops, q.Packets+q.Drops, q.Freezes)
	}
	if q.Step.Abs() > mostStep {
		return fmt.Errorf("packet capture: the wall clock, by which packets are stamped, was set by %v meanwhile: their "+
			"times and distances are wrong; let the time service slew the clock (chronyd without makestep)", q.Step)
	}
	return nil
}

func (q CaptureStats) String() string {
	return fmt.Sprintf("%d packets, %d drops, %d freezes; timestamps: %d by the ring, %d by the kernel, %d by hardware; "+
		"REALTIME-MONOTONIC %d ns, changed by %d ns",
		q.Packets, q.Drops, q.Freezes, q.Stamps[ByRing], q.Stamps[ByKernel], q.Stamps[ByHardware], q.Offset.Nanoseconds(),
		q.Step.Nanoseconds())
}
