package packet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Errors of a Reader, wrapped with the place in the file.
var (
	ErrTruncated = errors.New("the file ends inside a packet; capture again, or repair it with tshark -r IN -w OUT")
	ErrCorrupt   = errors.New("not a well-formed capture file; capture again")
	ErrEmpty     = errors.New("the file is empty; capture again")
	ErrFormat    = errors.New("not a pcap or pcapng capture; convert it with tshark -F pcapng -r IN -w OUT")
)

// maxBlock bounds what one packet or block may take of memory.
const maxBlock = 16 << 20

// A Reader reads packets from a capture file: pcapng, or classic pcap with
// microseconds or nanoseconds, in either byte order.
type Reader struct {
	// Dropped counts the packets the capturing side says it lost, as far as read.
	Dropped uint64

	r     *bufio.Reader
	off   int64 // bytes read
	order binary.ByteOrder
	next  func(*Packet) error
	buf   []byte

	classic classicHeader
	ifaces  []ngInterface // of this pcapng section
	base    int           // interfaces of sections before
	lost    []uint64      // per interface of the file
}

// NewReader reads the file header. The reader r is read ahead of need.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{r: bufio.NewReaderSize(r, 1<<16)}
	magic, err := x.r.Peek(4)
	if len(magic) == 0 {
		return nil, ErrEmpty
	}
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w", len(magic), ErrFormat)
	}
	switch le, be := binary.LittleEndian.Uint32(magic), binary.BigEndian.Uint32(magic); {
	case le == blockSection:
		x.next = x.nextNG
		return x, nil
	case le == magicMicro || le == magicNano:
		x.order = binary.LittleEndian
	case be == magicMicro || be == magicNano:
		x.order = binary.BigEndian
	case magic[0] == 0x1f && magic[1] == 0x8b:
		return nil, errors.New("compressed with gzip; decompress it first with gunzip")
	default:
		return nil, fmt.Errorf("starts with %x: %w", magic, ErrFormat)
	}
	x.next = x.nextClassic
	return x, x.readClassicHeader()
}

// Next reads the next packet into p; its Data is valid until the next call.
// It returns io.EOF at a clean end only.
func (x *Reader) Next(p *Packet) error { return x.next(p) }

// read fills n bytes of the buffer. At a clean end before the first byte it
// returns io.EOF if atStart.
func (x *Reader) read(n int, atStart bool) ([]byte, error) {
	if cap(x.buf) < n {
		x.buf = make([]byte, max(n, 4096))
	}
	b := x.buf[:n]
	got, err := io.ReadFull(x.r, b)
	x.off += int64(got)
	switch {
	case err == nil:
		return b, nil
	case err == io.EOF && atStart:
		return nil, io.EOF
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("byte %d: %w", x.off, ErrTruncated)
	}
	return nil, fmt.Errorf("byte %d: %w", x.off, err)
}

func (x *Reader) corrupt(format string, args ...any) error {
	return fmt.Errorf("near byte %d: %s: %w", x.off, fmt.Sprintf(format, args...), ErrCorrupt)
}

const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
)

type classicHeader struct {
	link  LinkType
	scale time.Duration // of a stamp's fraction
}

func (x *Reader) readClassicHeader() error {
	b, err := x.read(24, false)
	if err != nil {
		return err
	}
	x.classic.scale = time.Microsecond
	if x.order.Uint32(b) == magicNano {
		x.classic.scale = time.Nanosecond
	}
	if v := x.order.Uint16(b[4:]); v != 2 {
		return x.corrupt("pcap version %d", v)
	}
	network := x.order.Uint32(b[20:])
	if network&0x04000000 != 0 && network>>28 != 0 {
		return x.corrupt("frames include a check sequence (link type %#x), which is not supported", network)
	}
	x.classic.link = LinkType(network & 0xffff)
	return nil
}

// sec u32 | fraction u32 | captured u32 | on the wire u32 | data
func (x *Reader) nextClassic(p *Packet) error {
	b, err := x.read(16, true)
	if err != nil {
		return err
	}
	sec, frac := x.order.Uint32(b), time.Duration(x.order.Uint32(b[4:]))*x.classic.scale
	have, wire := x.order.Uint32(b[8:]), x.order.Uint32(b[12:])
	if frac >= time.Second || have > maxBlock || wire > math.MaxInt32 || have > wire {
		return x.corrupt("a packet of %d bytes on the wire, %d captured, %v past the second", wire, have, frac)
	}
	data, err := x.read(int(have), false)
	if err != nil {
		return err
	}
	*p = Packet{At: time.Duration(sec)*time.Second + frac, Data: data, Length: int(wire), Link: x.classic.link}
	if x.classic.scale > 1 {
		p.Tick = x.classic.scale
	}
	return nil
}
