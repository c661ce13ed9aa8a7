package instrument

import (
	"encoding/binary"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// cpuOf is the CPU time f takes on one thread.
func cpuOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := kernel.ThreadCPUTime()
	f()
	return kernel.ThreadCPUTime() - before
}

// ReaderCost is the share of a core that reading the energy meter takes at a rate
// in frames a second: system calls on a pipe, decoding, accounting. It is measured
// with that many seconds' worth of frames, each read alone, the worst case. It runs no longer
// than it must.
func ReaderCost(rate, seconds int) float64 {
	n := rate * seconds
	frames := make([][]byte, n)
	for k := range frames {
		p := binary.LittleEndian.AppendUint16(nil, uint16(k))
		p = binary.LittleEndian.AppendUint32(p, uint32(k+1)*11765)
		p = append(p, 28, 0, 0xE4, 0x37, 0, 0x28, 0x27, 0, 0, 0x10, 0x4E, 0, 0, 0)
		frames[k] = encodeFrame(frameData, p)
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 1
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	r := newRecord(info{format: 1, tick: 500, period: 11765, cal: Calibration{VoltsPerStep: 0.01, AmpsPerStep: 0.001}})
	var d decoder
	buf := make([]byte, 4096)
	begin := time.Now()
	took := cpuOf(func() {
		for _, f := range frames {
			unix.Write(fds[1], f) // counted as ours, though it is not
			n, _ := unix.Read(fds[0], buf)
			arrived := time.Since(begin)
			d.write(buf[:n], func(f frame) { r.take(f, arrived) })
		}
	})
	if int(r.q.Readings) != n {
		return 1
	}
	return took.Seconds() / float64(seconds)
}

// PPK2Cost is the share of a core that a PPK2's 100,000 samples a second take, measured
// with that many seconds' worth of them, read from a pipe in pieces of 4 kB.
func PPK2Cost(secondsWorth int) float64 {
	n := secondsWorth * 100_000
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 1
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	r := &ppk2Record{cal: nominalPPK2(), vdd: 3.3}
	out, in := make([]byte, 0, 4096), make([]byte, 4096)
	var took time.Duration
	for k := 0; k < n; {
		for out = out[:0]; len(out) < 4096 && k < n; k++ {
			out = binary.LittleEndian.AppendUint32(out, uint32(2000+k%7)|uint32(k/1000%5)<<14|uint32(k&63)<<18)
		}
		unix.Write(fds[1], out)
		took += cpuOf(func() {
			m, _ := unix.Read(fds[0], in)
			r.write(in[:m], time.Duration(k)*ppk2Every)
		})
	}
	if int(r.q.Readings) != n/ppk2PerBin {
		return 1
	}
	return took.Seconds() / float64(secondsWorth)
}
