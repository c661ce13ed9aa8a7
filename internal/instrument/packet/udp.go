package packet

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"time"
)

// A flow is what passes between two UDP endpoints.
type flow struct {
	client   netip.AddrPort
	protocol string
	count    int // exchanges so far
	cur      *UDPCall
	requests map[messageKey]*UDPCall
	answers  map[messageKey]*UDPCall // separate, by their own message id
	tokens   map[tokenKey]*UDPCall

	doubt  string // why no exchange of the flow has figures
	supers bool
	session

	last        [2]lately
	lastSrc     netip.AddrPort
	seen        bool
	iface       int
	ways        [2]Way
	waysSeen    [2]bool
	lastRequest uint32
}

// A session is a DTLS handshake in progress, or past.
type session struct {
	begun     bool
	app       bool // application data was seen
	start     time.Duration
	handAt    time.Duration // last handshake datagram
	bytes     int64         // so far
	handBytes int64         // to the last handshake datagram
	unclaimed bool          // its figures belong to the next exchange
	whole     *Traffic      // all of its datagrams, both ways
}

func (a *Analyzer) addUDP(p *Packet, s *segment) {
	key := pairOf(s.src, s.dst)
	f := a.flows[key]
	if f == nil {
		f = a.newFlow(s)
		a.flows[key] = f
	}
	f.watch(p, s)
	// Subtle: over loopback a sender may hand the kernel many of QUIC's datagrams as one, which fits its MTU.
	f.supers = f.supers || s.ip > a.mtu(s) || f.protocol == "quic" && a.o.MTU == 0 && s.ip > 1500
	switch f.protocol {
	case "coap":
		a.addCoAP(f, p, s)
	case "dtls":
		a.addDTLS(f, p, s)
	case "quic":
		a.addQUIC(f, p, s)
	default:
		a.alternate(f, p, s)
	}
}

func (a *Analyzer) newFlow(s *segment) *flow {
	f := &flow{client: s.src, protocol: "udp"}
	m, isCoAP := parseCoAP(s.data, s.payload)
	wellKnown := s.src.Port() == 5683 || s.dst.Port() == 5683
	switch {
	case a.o.Application == Datagrams:
	case isDTLS(s.data):
		f.protocol = "dtls"
	case isQUIC(s.data):
		f.protocol = "quic"
	case a.o.Application == CoAP, isCoAP && (m.request() || wellKnown):
		f.protocol = "coap"
		f.requests, f.answers, f.tokens = map[messageKey]*UDPCall{}, map[messageKey]*UDPCall{}, map[tokenKey]*UDPCall{}
	}
	if is, known := a.fromServer(s); known && is {
		f.client = s.dst
	}
	return f
}

// watch looks for a datagram captured twice: the same bytes again within a millisecond, with nothing between or with
// the same identification.
func (f *flow) watch(p *Packet, s *segment) {
	i := 0
	if s.src == f.client {
		i = 1
	}
	if f.seen && p.Interface != f.iface {
		f.doubt = "its datagrams were captured on more than one interface; filter the capture to one"
	}
	if f.waysSeen[i] && f.ways[i] != p.Way {
		f.doubt = "its datagrams were captured both leaving and arriving; capture one direction"
	}
	sig := signature{crc32.ChecksumIEEE(s.body), s.id, s.payload}
	if f.last[i].twice(sig, p.At) && (f.lastSrc == s.src || s.id != 0) {
		f.doubt = "the capture has duplicate datagrams, or they were sent twice at once; editcap -d removes duplicates"
	}
	f.seen, f.iface, f.ways[i], f.waysSeen[i] = true, p.Interface, p.Way, true
	f.lastSrc = s.src
}

func (a *Analyzer) newUDPCall(f *flow, p *Packet, s *segment, protocol string) *UDPCall {
	e := &UDPCall{Protocol: protocol, flow: f, index: f.count}
	e.Client, e.Server, e.Start, e.lastACK = s.src, s.dst, p.At, p.At
	e.NoHandshake = "there is none"
	if f.unclaimed {
		f.unclaimed = false
		e.NoHandshake, e.HandshakeBytes, e.HandshakeTime = "", f.handBytes, f.handAt-f.start
	}
	f.count++
	a.udp = append(a.udp, e)
	return e
}

// take counts a datagram of the exchange.
func (e *UDPCall) take(p *Packet, s *segment) {
	t := e.side(s.src == e.Client)
	t.Packets++
	t.Bytes += int64(s.frame)
	t.Payload += int64(s.payload)
	e.tick = max(e.tick, p.Tick)
	e.lastACK = max(e.lastACK, p.At) // of a UDP exchange: its last datagram
}

func (e *UDPCall) finish() {
	e.Delay, e.DelayToData = e.lastACK-e.Start, e.lastData-e.Start
	switch {
	case e.flow.doubt != "":
		e.refuse(e.flow.doubt)
	case e.Reset:
		e.refuse("the server rejected it with a reset")
	case !e.answered:
		e.refuse("no response in this capture")
	case e.Separate && e.responseHow == con && !e.acked:
		setIfEmpty(&e.NoDelay, "the acknowledgement of its response is not in this capture")
		setIfEmpty(&e.NoBytes, "the acknowledgement of its response is not in this capture")
	}
	if e.flow.supers {
		setIfEmpty(&e.NoBytes,
			"a datagram is larger than the MTU, so it stands for several packets; turn UDP segmentation offload off")
	}
}

// alternate tells exchanges apart where nothing names them: a client datagram
// that follows one of the server begins the next.
func (a *Analyzer) alternate(f *flow, p *Packet, s *segment) {
	e := f.cur
	if s.src != f.client {
		if e == nil {
			a.c.Unmatched++
			return
		}
		e.answered, e.lastData = true, max(e.lastData, p.At)
		e.take(p, s)
		return
	}
	crc := crc32.ChecksumIEEE(s.data)
	if e == nil || e.answered {
		e = a.newUDPCall(f, p, s, f.protocol)
		f.cur = e
	} else if crc == f.lastRequest {
		e.Retransmissions++
	}
	f.lastRequest = crc
	e.take(p, s)
}

// isQUIC says whether a flow's first datagram is QUIC's: an Initial packet of version 1
// or 2, in a datagram filled up to 1200 bytes (RFC 9000, sections 14.1 and 17.2.2; RFC
// 9369, section 3.2).
func isQUIC(b []byte) bool {
	if len(b) < 5 {
		return false
	}
	switch kind := b[0] & 0xf0; binary.BigEndian.Uint32(b[1:]) {
	case 1:
		return kind == 0xc0
	case 0x6b3343cf:
		return kind == 0xd0
	}
	return false
}

// addQUIC counts all datagrams of a connection as one call, since what is a request is hidden.
func (a *Analyzer) addQUIC(f *flow, p *Packet, s *segment) {
	if f.cur == nil {
		f.cur = a.newUDPCall(f, p, s, "quic")
		const why = "QUIC hides where a request begins and ends"
		f.cur.NoDelay, f.cur.NoData, f.cur.NoHandshake = why, why, why
		f.cur.NoRetransmissions = "QUIC encrypts its packet numbers"
	}
	f.cur.take(p, s)
	f.cur.answered = f.cur.answered || s.src != f.client
}

func isDTLS(b []byte) bool {
	return len(b) >= 13 && b[0] >= 20 && b[0] <= 25 && b[1] == 0xfe && (b[2] == 0xff || b[2] == 0xfd)
}

// addDTLS tells the handshake from application data. What is inside a record
// stays hidden, so exchanges are told apart by turns.
func (a *Analyzer) addDTLS(f *flow, p *Packet, s *segment) {
	app, hand, hello, why := dtlsRecords(s.data, len(s.data) < s.payload)
	if why != "" {
		f.doubt = why
		return
	}
	if hello && s.src == f.client && (!f.begun || f.app) {
		f.session = session{begun: true, start: p.At, whole: new(Traffic)}
		f.cur = nil
	}
	f.bytes += int64(s.frame)
	if f.whole != nil {
		f.whole.Packets++
		f.whole.Bytes += int64(s.frame)
	}
	if hand && !f.app {
		f.handAt, f.handBytes = p.At, f.bytes
	}
	if !app {
		return
	}
	if !f.app {
		f.app, f.unclaimed = true, f.begun
	}
	a.alternate(f, p, s)
	if f.cur != nil {
		f.cur.session = f.whole
		f.cur.NoRetransmissions = "DTLS encrypts anew what is sent again"
	}
}

// dtlsRecords says what a datagram's records are (RFC 6347, section 4.1, and
// RFC 9147, section 4): application data, handshake, a first ClientHello.
func dtlsRecords(b []byte, isCut bool) (app, hand, hello bool, why string) {
	for len(b) > 0 {
		var n int
		switch {
		case b[0]&0xf0 == 0x30:
			return app, hand, hello, "DTLS connection ids hide which record is application data"
		case b[0]&0xe0 == 0x20: // unified header: epoch 2 shakes hands, 3 and later carry data
			app, hand = app || b[0]&3 != 2, hand || b[0]&3 == 2
			off := 2 + int(b[0]>>3&1)
			if n = len(b); b[0]&4 != 0 {
				if len(b) < off+2 {
					return app, hand, hello, "a DTLS record header is truncated"
				}
				n = off + 2 + int(binary.BigEndian.Uint16(b[off:]))
			}
		case b[0] == 25:
			return app, hand, hello, "DTLS connection ids hide which record is application data"
		case len(b) < 13:
			return app, hand, hello, "a DTLS record header is truncated"
		case !isDTLS(b) && b[0] != 26:
			return app, hand, hello, "a datagram between these ports is not DTLS"
		default:
			n = 13 + int(binary.BigEndian.Uint16(b[11:]))
			app, hand = app || b[0] == 23, hand || b[0] == 22 || b[0] == 20 || b[0] == 26
			// epoch 0, handshake type 1, message 0
			hello = hello || b[0] == 22 && len(b) >= 19 && b[3] == 0 && b[4] == 0 && b[13] == 1 && b[17] == 0 && b[18] == 0
		}
		if n > len(b) && !isCut {
			return app, hand, hello, "a DTLS record does not fit its datagram"
		}
		b = b[min(n, len(b)):]
	}
	return app, hand, hello, ""
}
