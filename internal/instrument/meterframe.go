package instrument

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// The energy meter's serial protocol, format 1; firmware/energy-meter/wire.h
// holds the other side.
//
//	A5 | type | len | payload, len bytes | crc lo | crc hi
const (
	frameSync  = 0xA5
	frameExtra = 5
	frameMax   = 64 // longest payload anybody sends

	frameData = 'D'
	frameEdge = 'M'
	frameEcho = 'E'
	frameInfo = 'I'

	commandPing      = 'P'
	commandStart     = 'S'
	commandStop      = 'X'
	commandRate      = 'R'
	commandQuery     = 'Q'
	commandCalibrate = 'C'
)

// A frame is one message of the meter, its checksum found good.
type frame struct {
	kind    byte
	payload []byte // valid until the decoder goes on
}

// crc16 is CRC-16/CCITT-FALSE: 0x1021, from FFFF, not reflected.
func crc16(p []byte) uint16 {
	crc := uint16(0xFFFF)
	for _, b := range p {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
	}
	return crc
}

var crcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i) << 8
		for range 8 {
			c = c<<1 ^ 0x1021*(c>>15)
		}
		t[i] = c
	}
	return t
}()

func encodeFrame(kind byte, payload []byte) []byte {
	b := append([]byte{frameSync, kind, byte(len(payload))}, payload...)
	return binary.LittleEndian.AppendUint16(b, crc16(b[1:]))
}

// A decoder finds frames in a stream of bytes that may begin anywhere and hold
// anything. It counts what it passes over.
type decoder struct {
	buf     []byte
	frames  uint64
	badCRC  uint64
	garbage uint64 // bytes outside of good frames
}

// write takes bytes as they come and calls f for each good frame in them.
func (d *decoder) write(p []byte, f func(frame)) {
	d.buf = append(d.buf, p...)
	rest := d.buf
	for {
		i := bytes.IndexByte(rest, frameSync)
		if i < 0 {
			i = len(rest)
		}
		d.garbage += uint64(i)
		rest = rest[i:]
		if len(rest) < 3 {
			break
		}
		n := int(rest[2])
		if n > frameMax {
			rest = d.skip(rest)
			continue
		}
		if len(rest) < n+frameExtra {
			break
		}
		if crc16(rest[1:3+n]) != binary.LittleEndian.Uint16(rest[3+n:]) {
			d.badCRC++
			rest = d.skip(rest)
			continue
		}
		d.frames++
		f(frame{rest[1], rest[3 : 3+n]})
		rest = rest[n+frameExtra:]
	}
	d.buf = d.buf[:copy(d.buf, rest)]
}

// skip drops the A5 only: what follows may hold a frame.
func (d *decoder) skip(rest []byte) []byte {
	d.garbage++
	return rest[1:]
}

// data is the sums of one period, over pairs of a voltage and a current.
type data struct {
	seq        uint16
	t          uint32 // ticks, end of the period
	pairs      uint16
	v, i, vi   uint32
	flags, los byte
}

const (
	flagPin    = 1
	flagLimitV = 2
	flagLimitI = 4
)

func (f frame) data() (d data, ok bool) {
	p := f.payload
	if f.kind != frameData || len(p) != 20 {
		return d, false
	}
	le := binary.LittleEndian
	u24 := func(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
	return data{le.Uint16(p), le.Uint32(p[2:]), le.Uint16(p[6:]), u24(p[8:]), u24(p[11:]), le.Uint32(p[14:]),
		p[18], p[19]}, true
}

// possible says whether a converter of 10 bits can have made these sums.
func (d data) possible() bool {
	n := uint64(d.pairs)
	return n > 0 && uint64(d.v) <= 1023*n && uint64(d.i) <= 1023*n && uint64(d.vi) <= 1023*1023*n
}

// edge is a change of the marker input.
type edge struct {
	rising, late bool // late: stamped by software, some µs after
	t            uint32
	missed       byte // edges that found no room so far
}

func (f frame) edge() (e edge, ok bool) {
	p := f.payload
	if f.kind != frameEdge || len(p) != 6 {
		return e, false
	}
	return edge{p[0]&1 != 0, p[0]&2 != 0, binary.LittleEndian.Uint32(p[1:]), p[5]}, true
}

// echo is the meter's answer to a command.
type echo struct {
	command, token, status byte
	received, reply        uint32 // ticks
}

func (f frame) echo() (e echo, ok bool) {
	p := f.payload
	if f.kind != frameEcho || len(p) != 11 {
		return e, false
	}
	return echo{p[0], p[1], p[2], binary.LittleEndian.Uint32(p[3:]), binary.LittleEndian.Uint32(p[7:])}, true
}

func (e echo) err() error {
	switch e.status {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the meter rejects the value of command %q", e.command)
	case 2:
		return fmt.Errorf("the meter rejects command %q while streaming", e.command)
	}
	return fmt.Errorf("the meter does not know command %q; its firmware is older than this program", e.command)
}

// A Calibration turns the meter's steps into volts and amperes:
// V = (step + 0.5) × VoltsPerStep + VoltsOffset. The half step is there because
// the converter floors.
type Calibration struct {
	VoltsPerStep, VoltsOffset float64
	AmpsPerStep, AmpsOffset   float64
	Bandgap                   uint16 // the meter's reading of its own 1.1 V when calibrated; 0: unknown
	Label                     string // up to 12 bytes
}

func (c Calibration) encode() []byte {
	var b []byte
	for _, x := range []float64{c.VoltsPerStep, c.VoltsOffset, c.AmpsPerStep, c.AmpsOffset} {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	b = binary.LittleEndian.AppendUint16(b, c.Bandgap)
	label := make([]byte, 12)
	copy(label, c.Label)
	return append(b, label...)
}

// info is the meter's description of itself.
type info struct {
	format, firmware, boot byte
	calibrated             bool
	tick                   uint16 // ns
	period                 uint32 // ticks
	bandgap                uint16 // 64 readings of the 1.1 V reference against the supply, summed; 0: not read yet
	cal                    Calibration
}

func (f frame) info() (i info, ok bool) {
	p := f.payload
	if f.kind != frameInfo || len(p) != 42 {
		return i, false
	}
	le := binary.LittleEndian
	real := func(at int) float64 { return float64(math.Float32frombits(le.Uint32(p[at:]))) }
	return info{p[0], p[1], p[2], p[3] != 0, le.Uint16(p[4:]), le.Uint32(p[6:]), le.Uint16(p[10:]), Calibration{
		real(12), real(16), real(20), real(24), le.Uint16(p[28:]), string(bytes.TrimRight(p[30:42], "\x00"))}}, true
}

// check refuses a description that no working meter gives.
func (i info) check() error {
	if i.format != 1 {
		return fmt.Errorf("the meter speaks format %d, this program only 1; flash the firmware that came with this program",
			i.format)
	}
	for _, x := range []float64{i.cal.VoltsPerStep, i.cal.AmpsPerStep} {
		if !(x > 1e-9 && x < 1e3) {
			return fmt.Errorf("invalid calibration of %g per step; calibrate the meter", x)
		}
	}
	if i.tick == 0 || i.period == 0 {
		return fmt.Errorf("invalid tick of %d ns or period of %d ticks", i.tick, i.period)
	}
	return nil
}

// now is the calibration corrected for today's supply, against which the
// converter compares: its 1.1 V reference has not moved.
func (i info) now() Calibration {
	c := i.cal
	if c.Bandgap > 0 && i.bandgap > 0 {
		k := float64(c.Bandgap) / float64(i.bandgap)
		c.VoltsPerStep *= k
		c.AmpsPerStep *= k
	}
	return c
}

// apply gives mean volts, amperes and watts. Power is the mean of products, so a
// supply that sags under load is seen right. Equation, with g and o the gain and
// offset of each channel: P = Σ(gv(v+½)+ov)(gi(i+½)+oi) / n.
func (c Calibration) apply(d data) (volts, amps, watts float64) {
	n := float64(d.pairs)
	v, i := float64(d.v)/n+0.5, float64(d.i)/n+0.5
	vi := float64(d.vi)/n + 0.5*(float64(d.v)+float64(d.i))/n + 0.25
	volts = v*c.VoltsPerStep + c.VoltsOffset
	amps = i*c.AmpsPerStep + c.AmpsOffset
	watts = vi*c.VoltsPerStep*c.AmpsPerStep + v*c.VoltsPerStep*c.AmpsOffset + i*c.AmpsPerStep*c.VoltsOffset +
		c.VoltsOffset*c.AmpsOffset
	return volts, amps, watts
}
