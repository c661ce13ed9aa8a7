package packet

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// A verdict says what became of a frame.
type verdict uint8

const (
	decoded   verdict = iota
	other             // neither TCP nor UDP over IP
	fragment          // part of an IP packet; figures need whole ones
	cut               // the snaplen cut a header
	malformed         // a header contradicts itself or its checksum
)

const (
	protoTCP = 6
	protoUDP = 17

	finFlag = 0x01
	synFlag = 0x02
	rstFlag = 0x04
	ackFlag = 0x10
)

// A segment is one TCP segment or UDP datagram, decoded. src and dst are valid
// once the IP header was read, whatever the verdict; their ports only if decoded.
type segment struct {
	src, dst netip.AddrPort
	proto    uint8
	id       uint16 // IPv4 identification
	frame    int    // bytes on the wire, link-layer header included
	ip       int    // bytes of the IP packet
	loopback bool   // an Ethernet frame between zero addresses
	body     []byte // transport header and payload as captured
	whole    bool   // body is all there
	routed   bool   // an IPv6 routing header hides the final destination
	addrs    uint64 // checksum over both addresses

	payload  int    // bytes of payload on the wire
	data     []byte // payload as captured
	seq, ack uint32
	flags    uint8
	window   uint16
	mss      int    // of a SYN; 0 if it named none
	stamp    uint32 // TSval of the timestamps option, RFC 7323
	stamped  bool
}

// bare says whether a segment acknowledges at most: a pure ACK, or a keep-alive probe without a byte.
func (s *segment) bare() bool {
	return s.proto == protoTCP && s.payload == 0 && s.flags&(synFlag|finFlag|rstFlag) == 0
}

// hides says whether decoding ended at an IPv6 extension header, behind which anything may be.
func (s *segment) hides() bool {
	return s.src.Addr().Is6() && slices.Contains([]uint8{0, 43, 44, 51, 60, 135}, s.proto)
}

// decode reads a frame's headers into s. It never panics and keeps no state.
func decode(p *Packet, s *segment) verdict {
	*s = segment{frame: p.Length}
	b, wire := p.Data, p.Length
	version, n, v := linkHeader(p.Link, b, s)
	if v != decoded {
		return short(v, len(b), wire)
	}
	b, wire = b[n:], wire-n
	switch version {
	case 4:
		v = decodeIPv4(b, wire, s)
	case 6:
		v = decodeIPv6(b, wire, s)
	default:
		return other
	}
	return v
}

// short tells a header cut by the snaplen from one that was never whole.
func short(v verdict, have, wire int) verdict {
	if v == cut && have >= wire {
		return malformed
	}
	return v
}

// linkHeader returns the IP version that follows a link-layer header of n
// bytes; version 0 is something else than IP.
func linkHeader(l LinkType, b []byte, s *segment) (version, n int, v verdict) {
	switch l {
	case LinkEthernet:
		return ethernet(b, s)
	case LinkRaw, LinkIPv4, LinkIPv6:
		if len(b) < 1 {
			return 0, 0, cut
		}
		return int(b[0] >> 4), 0, decoded
	case LinkNull, LinkLoop:
		if len(b) < 4 {
			return 0, 0, cut
		}
		return family(b), 4, decoded
	case LinkSLL:
		if len(b) < 16 {
			return 0, 0, cut
		}
		return tagged(b, 14)
	case LinkSLL2:
		if len(b) < 20 {
			return 0, 0, cut
		}
		t, n := binary.BigEndian.Uint16(b), 20
		for isVLAN(t) { // tag control, then the type of what follows
			if len(b) < n+4 {
				return 0, 0, cut
			}
			t, n = binary.BigEndian.Uint16(b[n+2:]), n+4
		}
		return etherType(t), n, decoded
	}
	return 0, 0, malformed
}

func ethernet(b []byte, s *segment) (version, n int, v verdict) {
	if len(b) < 14 {
		return 0, 0, cut
	}
	s.loopback = [12]byte(b) == [12]byte{}
	return tagged(b, 12)
}

// tagged reads the EtherType at off, stepping over VLAN tags.
func tagged(b []byte, off int) (version, n int, v verdict) {
	for range 4 {
		if len(b) < off+2 {
			return 0, 0, cut
		}
		t := binary.BigEndian.Uint16(b[off:])
		if !isVLAN(t) {
			return etherType(t), off + 2, decoded
		}
		off += 4
	}
	return 0, 0, malformed
}

func isVLAN(etherType uint16) bool {
	return etherType == 0x8100 || etherType == 0x88a8 || etherType == 0x9100
}

func etherType(t uint16) int {
	switch t {
	case 0x0800:
		return 4
	case 0x86dd:
		return 6
	}
	return 0
}

// family reads the BSD address family, in either byte order: 2 is IPv4
// everywhere, IPv6 is 10, 24, 28 or 30, depending on the system.
func family(b []byte) int {
	f := binary.LittleEndian.Uint32(b)
	if f > 0xffff {
		f = binary.BigEndian.Uint32(b)
	}
	switch f {
	case 2:
		return 4
	case 10, 24, 28, 30:
		return 6
	}
	return 0
}

func decodeIPv4(b []byte, wire int, s *segment) verdict {
	if len(b) < 20 {
		return short(cut, len(b), wire)
	}
	s.src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), 0)
	s.dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[16:20])), 0)
	s.addrs = sum(b[12:20], 0)
	s.proto = b[9]
	s.id = binary.BigEndian.Uint16(b[4:])
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 != 4 || header < 20 || total < header || total > wire {
		return malformed
	}
	if len(b) < header {
		return cut
	}
	// Note: an offloading sender may leave the checksum 0.
	if binary.BigEndian.Uint16(b[10:]) != 0 && fold(sum(b[:header], 0)) != 0xffff {
		return malformed
	}
	s.ip = total
	if binary.BigEndian.Uint16(b[6:])&0x3fff != 0 { // more fragments, or an offset
		return fragment
	}
	return transport(b[header:min(total, len(b))], total-header, s)
}

func decodeIPv6(b []byte, wire int, s *segment) verdict {
	if len(b) < 40 {
		return short(cut, len(b), wire)
	}
	s.src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), 0)
	s.dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[24:40])), 0)
	s.addrs = sum(b[8:40], 0)
	total := 40 + int(binary.BigEndian.Uint16(b[4:]))
	s.proto = b[6]
	if b[0]>>4 != 6 || total > wire || total == 40 && s.proto == 0 { // a jumbogram has length 0
		return malformed
	}
	s.ip = total
	off, fragmented, v := extensions(b[:min(total, len(b))], total, s)
	if v != decoded {
		return v
	}
	if fragmented {
		return fragment
	}
	return transport(b[off:min(total, len(b))], total-off, s)
}

// extensions steps over IPv6 extension headers (RFC 8200, section 4) and
// leaves the transport protocol in s.proto.
func extensions(b []byte, total int, s *segment) (off int, fragmented bool, v verdict) {
	for off = 40; ; {
		unit, extra := 8, 1
		switch s.proto {
		case 0, 43, 60, 135: // hop-by-hop, routing, destination options, mobility
			s.routed = s.routed || s.proto == 43
		case 51: // authentication header, RFC 4302, section 2.2
			unit, extra = 4, 2
		case 44:
		default:
			return off, fragmented, decoded
		}
		if off+8 > total {
			return 0, false, malformed
		}
		if off+8 > len(b) {
			return 0, false, cut
		}
		n := (int(b[off+1]) + extra) * unit
		if s.proto == 44 {
			// An atomic fragment (offset 0, no more) is a whole packet: RFC 6946.
			n, fragmented = 8, binary.BigEndian.Uint16(b[off+2:])&0xfff9 != 0
		}
		s.proto = b[off]
		if off += n; off > total {
			return 0, false, malformed
		}
		if off > len(b) {
			return 0, false, cut
		}
		if fragmented {
			return off, true, decoded // what follows need not be a header
		}
	}
}

func transport(b []byte, wire int, s *segment) verdict {
	s.body, s.whole = b, len(b) == wire
	var v verdict
	switch s.proto {
	case protoTCP:
		v = decodeTCP(b, wire, s)
	case protoUDP:
		v = decodeUDP(b, wire, s)
	default:
		return other
	}
	if v == decoded {
		s.src = netip.AddrPortFrom(s.src.Addr(), binary.BigEndian.Uint16(b))
		s.dst = netip.AddrPortFrom(s.dst.Addr(), binary.BigEndian.Uint16(b[2:]))
	}
	return v
}

func decodeTCP(b []byte, wire int, s *segment) verdict {
	if len(b) < 20 {
		return short(cut, len(b), wire)
	}
	header := int(b[12]>>4) * 4
	if header < 20 || header > wire {
		return malformed
	}
	if header > len(b) {
		return cut
	}
	s.seq, s.ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	s.flags, s.window = b[13], binary.BigEndian.Uint16(b[14:])
	s.payload, s.data = wire-header, b[header:]
	s.readOptions(b[20:header])
	if !checksumFits(s, binary.BigEndian.Uint16(b[16:])) {
		return malformed
	}
	return decoded
}

// readOptions finds the MSS of a SYN, RFC 9293, section 3.7.1, and the
// timestamp, RFC 7323, section 3.2.
func (s *segment) readOptions(opts []byte) {
	for len(opts) > 0 && opts[0] != 0 {
		n := 1
		if opts[0] != 1 {
			if len(opts) < 2 || opts[1] < 2 || int(opts[1]) > len(opts) {
				return
			}
			n = int(opts[1])
		}
		switch {
		case opts[0] == 2 && n == 4 && s.flags&synFlag != 0:
			s.mss = int(binary.BigEndian.Uint16(opts[2:]))
		case opts[0] == 8 && n == 10:
			s.stamp, s.stamped = binary.BigEndian.Uint32(opts[2:]), true
		}
		opts = opts[n:]
	}
}

func decodeUDP(b []byte, wire int, s *segment) verdict {
	if len(b) < 8 {
		return short(cut, len(b), wire)
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n < 8 || n > wire {
		return malformed
	}
	s.whole = len(b) >= n
	s.body = b[:min(n, len(b))]
	s.payload, s.data = n-8, s.body[8:]
	if !checksumFits(s, binary.BigEndian.Uint16(b[6:])) {
		return malformed
	}
	return decoded
}

// checksumFits verifies a transport checksum, where the whole segment is there.
// A sender that leaves the work to its network card stores only the sum of the
// pseudo-header (on Windows without its length), and so does every packet on
// loopback and veth; 0 says there is none.
func checksumFits(s *segment, field uint16) bool {
	if !s.whole || s.routed {
		return true
	}
	pseudo := s.addrs + uint64(s.proto) + uint64(len(s.body))
	return field == 0 || field == fold(pseudo) || field == fold(s.addrs+uint64(s.proto)) ||
		fold(sum(s.body, pseudo)) == 0xffff
}

// sum adds big-endian 16-bit words, the last one padded, RFC 1071.
func sum(b []byte, acc uint64) uint64 {
	for len(b) >= 4 {
		acc += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		acc += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		acc += uint64(b[0]) << 8
	}
	return acc
}

func fold(acc uint64) uint16 {
	for acc > 0xffff {
		acc = acc>>16 + acc&0xffff
	}
	return uint16(acc)
}
