package packet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

func quantities(q ...measure.Quantity) []measure.Quantity { return q }

// reheader changes an Ethernet frame's IPv4 header and corrects its checksum.
func reheader(frame []byte, change func(ip []byte)) {
	ip := frame[14:34]
	change(ip)
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip, 0)))
}

// snap cuts every packet as a snaplen would.
func (s *script) snap(n int) {
	for i := range s.pkts {
		s.pkts[i].Data = s.pkts[i].Data[:min(n, len(s.pkts[i].Data))]
	}
}

// extend puts extension headers, the first of type next, into an IPv6 packet.
func (s *script) extend(i int, next byte, headers []byte) {
	b := s.pkts[i].Data
	b = slices.Concat(b[:54], headers, b[54:])
	b[14+6] = next
	binary.BigEndian.PutUint16(b[14+4:], uint16(len(b)-54))
	s.pkts[i].Data, s.pkts[i].Length = b, len(b)
}

// relink gives every packet another link-layer header.
func (s *script) relink(l LinkType, header []byte) {
	for i := range s.pkts {
		p := &s.pkts[i]
		p.Data = slices.Concat(header, p.Data[14:])
		p.Length, p.Link = len(p.Data), l
	}
}

// classic writes the script as a classic pcap file.
func (s *script) classic(big, nano bool) []byte {
	var order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	} = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	magic, unit := uint32(magicMicro), time.Microsecond
	if nano {
		magic, unit = magicNano, time.Nanosecond
	}
	var b []byte
	for _, v := range []uint32{magic, 0, 0, 0, 65535, uint32(s.pkts[0].Link)} {
		b = order.AppendUint32(b, v)
	}
	order.PutUint16(b[4:], 2)
	order.PutUint16(b[6:], 4)
	for _, p := range s.pkts {
		for _, v := range []uint32{uint32(p.At / time.Second), uint32(p.At % time.Second / unit), uint32(len(p.Data)),
			uint32(p.Length)} {
			b = order.AppendUint32(b, v)
		}
		b = append(b, p.Data...)
	}
	return bytes.Clone(b)
}
