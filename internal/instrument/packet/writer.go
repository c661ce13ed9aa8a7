package packet

import (
	"encoding/binary"
	"io"
)

// A Description says what a capture file was captured from.
type Description struct {
	Interface string
	Link      LinkType
	Snaplen   int    // 0: whole frames
	Filter    string // in libpcap's words
	Comment   string
}

// A Writer writes a pcapng file with nanosecond stamps, one interface, in
// little-endian order. It writes from a goroutine of its own, which Close ends.
type Writer struct {
	out *spool
	buf []byte // head and tail of one block
}

// NewWriter writes the section and the interface. w stays the caller's to close,
// after Close.
func NewWriter(w io.Writer, d Description) *Writer {
	x := &Writer{out: newSpool(w)}
	b := binary.LittleEndian.AppendUint32(nil, byteOrderMagic)
	b = append(b, 1, 0, 0, 0)                                    // version 1.0
	b = append(b, 255, 255, 255, 255, 255, 255, 255, 255)        // section length not given
	b = appendOption(b, 4, []byte("edgegauge"), d.Comment != "") // shb_userappl
	if d.Comment != "" {
		b = appendOption(b, optComment, []byte(d.Comment), false)
	}
	x.block(blockSection, b)

	b = binary.LittleEndian.AppendUint16(nil, uint16(d.Link))
	b = append(b, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(d.Snaplen))
	b = appendOption(b, optName, []byte(d.Interface), true)
	if d.Filter != "" {
		b = appendOption(b, optFilter, append([]byte{0}, d.Filter...), true)
	}
	b = appendOption(b, optResolution, []byte{9}, false)
	x.block(blockInterface, b)
	return x
}

// appendOption appends an option, and the end of options unless more follow.
func appendOption(b []byte, code uint16, v []byte, more bool) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(v)))
	b = append(b, v...)
	b = append(b, make([]byte, -len(v)&3)...)
	if !more {
		b = append(b, 0, 0, 0, 0)
	}
	return b
}

func (x *Writer) block(typ uint32, body []byte) {
	b := binary.LittleEndian.AppendUint32(x.buf[:0], typ)
	b = binary.LittleEndian.AppendUint32(b, uint32(12+len(body)))
	b = append(b, body...)
	b = binary.LittleEndian.AppendUint32(b, uint32(12+len(body)))
	x.buf = b
	x.out.write(b)
}

// Write writes one packet, with its direction if known. It returns the error of
// a packet before, if the file could not be written.
func (x *Writer) Write(p Packet) error {
	le := binary.LittleEndian
	pad := -len(p.Data) & 3
	total := uint32(32 + len(p.Data) + pad)
	if p.Way != Unknown {
		total += 12
	}
	b := le.AppendUint32(x.buf[:0], blockEnhanced)
	b = le.AppendUint32(b, total)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, uint32(uint64(p.At)>>32))
	b = le.AppendUint32(b, uint32(p.At))
	b = le.AppendUint32(b, uint32(len(p.Data)))
	b = le.AppendUint32(b, uint32(p.Length))
	x.out.write(b)
	x.out.write(p.Data)
	b = append(b[:0], 0, 0, 0)[:pad]
	if p.Way != Unknown {
		b = le.AppendUint32(b, optFlags|4<<16)
		b = le.AppendUint32(b, uint32(p.Way))
		b = append(b, 0, 0, 0, 0)
	}
	x.buf = le.AppendUint32(b, total)
	x.out.write(x.buf)
	return x.out.err()
}

// Close writes what the tap says of itself, and waits until all is written.
func (x *Writer) Close(q CaptureStats) error {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0)
	b = le.AppendUint32(b, uint32(uint64(q.Last)>>32))
	b = le.AppendUint32(b, uint32(q.Last))
	b = appendOption(b, optComment, []byte(q.String()), true)
	b = appendOption(b, optReceived, le.AppendUint64(nil, q.Packets), true)
	b = appendOption(b, optDropped, le.AppendUint64(nil, q.Drops), false)
	x.block(blockStatistics, b)
	return x.out.close()
}
