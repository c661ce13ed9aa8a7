package packet

import (
	"net/netip"
	"strings"
)

// A Dissection is a packet's headers, for a person to read.
type Dissection struct {
	From, To netip.AddrPort // addresses without ports where the transport could not be read
	Protocol string         // TCP or UDP; of what this package does not decode: IP, fragment, cut, malformed
	Flags    string         // of TCP: "SYN ACK"
	Seq, Ack uint32         // of TCP
	Payload  int            // B of TCP or UDP, on the wire
	Data     []byte         // the payload as captured, perhaps cut; part of the packet's
}

// Dissect reads a packet's headers.
func Dissect(p *Packet) Dissection {
	var s segment
	d := Dissection{}
	switch decode(p, &s) {
	case decoded:
		d.Protocol = "UDP"
		if s.proto == protoTCP {
			d.Protocol, d.Flags, d.Seq, d.Ack = "TCP", flagNames(s.flags), s.seq, s.ack
		}
		d.Payload, d.Data = s.payload, s.data
	case other:
		d.Protocol = "IP"
	case fragment:
		d.Protocol = "fragment"
	case cut:
		d.Protocol = "cut"
	case malformed:
		d.Protocol = "malformed"
	}
	d.From, d.To = s.src, s.dst
	return d
}

// flagNames are the flags of a TCP header that are set (RFC 9293, section 3.1).
func flagNames(flags uint8) string {
	var set []string
	for i, name := range []string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"} {
		if flags&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, " ")
}
