package packet

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// A script writes a capture by hand: what it puts on the wire is made by
// another library, checksums included.
type script struct {
	t    testing.TB
	at   time.Duration
	pkts []Packet
	id   uint16
	vlan bool
	opts []layers.IPv4Option
}

const ms = time.Millisecond

var (
	cliAddr  = netip.MustParseAddrPort("10.0.0.1:40000")
	srvAddr  = netip.MustParseAddrPort("10.0.0.2:80")
	cliAddr6 = netip.MustParseAddrPort("[fd00::1]:40000")
	srvAddr6 = netip.MustParseAddrPort("[fd00::2]:80")
	coapAddr = netip.MustParseAddrPort("10.0.0.2:5683")
)

func newScript(t testing.TB) *script {
	return &script{t: t, at: 1_700_000_000*time.Second + 123_456_789, id: 1}
}

// put appends a frame, 1 ms after the last.
func (s *script) put(from, to netip.AddrPort, transport gopacket.SerializableLayer, payload []byte) *Packet {
	s.t.Helper()
	s.id++
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}}
	ls := []gopacket.SerializableLayer{eth}
	var ip gopacket.SerializableLayer
	proto := layers.IPProtocolTCP
	if _, ok := transport.(*layers.UDP); ok {
		proto = layers.IPProtocolUDP
	}
	eth.EthernetType = layers.EthernetTypeIPv4
	if from.Addr().Is4() {
		ip = &layers.IPv4{Version: 4, TTL: 64, Id: s.id, Protocol: proto, SrcIP: from.Addr().AsSlice(),
			DstIP: to.Addr().AsSlice(), Options: s.opts}
	} else {
		eth.EthernetType = layers.EthernetTypeIPv6
		ip = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: proto, SrcIP: from.Addr().AsSlice(),
			DstIP: to.Addr().AsSlice()}
	}
	if s.vlan {
		ls = append(ls, &layers.Dot1Q{VLANIdentifier: 7, Type: eth.EthernetType})
		eth.EthernetType = layers.EthernetTypeDot1Q
	}
	switch x := transport.(type) {
	case *layers.TCP:
		x.SetNetworkLayerForChecksum(ip.(gopacket.NetworkLayer))
	case *layers.UDP:
		x.SetNetworkLayerForChecksum(ip.(gopacket.NetworkLayer))
	}
	b := gopacket.NewSerializeBuffer()
	o := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, o, append(ls, ip, transport, gopacket.Payload(payload))...); err != nil {
		s.t.Fatal(err)
	}
	s.at += ms
	s.pkts = append(s.pkts, Packet{At: s.at, Data: bytes.Clone(b.Bytes()), Length: len(b.Bytes()), Link: LinkEthernet})
	return &s.pkts[len(s.pkts)-1]
}

// An end is one side of a scripted TCP connection.
type end struct {
	s        *script
	me, peer netip.AddrPort
	seq, ack uint32
	window   uint16
	other    *end
}

// dial scripts two ends of a connection whose sequence numbers wrap soon.
func (s *script) dial(c, v netip.AddrPort) (client, server *end) {
	client = &end{s: s, me: c, peer: v, seq: 0xfffffff0, window: 5000}
	server = &end{s: s, me: v, peer: c, seq: 0xffffff00, window: 5000}
	client.other, server.other = server, client
	return client, server
}

// segment sends a segment at seq without moving on.
func (e *end) segment(flags uint8, seq uint32, payload []byte) *Packet {
	t := &layers.TCP{SrcPort: layers.TCPPort(e.me.Port()), DstPort: layers.TCPPort(e.peer.Port()), Seq: seq,
		Window: e.window,
		SYN:    flags&synFlag != 0, ACK: flags&ackFlag != 0, FIN: flags&finFlag != 0, RST: flags&rstFlag != 0}
	if t.ACK {
		t.Ack = e.ack
	}
	if t.SYN {
		t.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{5, 180}}}
	}
	return e.s.put(e.me, e.peer, t, payload)
}

// send sends a segment and moves on; the other end will acknowledge it.
func (e *end) send(flags uint8, payload string) *Packet {
	p := e.segment(flags, e.seq, []byte(payload))
	e.seq += uint32(len(payload))
	if flags&(synFlag|finFlag) != 0 {
		e.seq++
	}
	e.other.ack = e.seq
	return p
}

// open shakes hands.
func (s *script) open(c, v netip.AddrPort) (client, server *end) {
	client, server = s.dial(c, v)
	client.send(synFlag, "")
	server.send(synFlag|ackFlag, "")
	client.send(ackFlag, "")
	return client, server
}

// call sends a request and its response, the response acknowledged.
func call(c, v *end) {
	c.send(ackFlag, "request")
	v.send(ackFlag, "response")
	c.send(ackFlag, "")
}

// hangUp closes from the client.
func hangUp(c, v *end) {
	c.send(finFlag|ackFlag, "")
	v.send(finFlag|ackFlag, "")
	c.send(ackFlag, "")
}

func (s *script) udp(from, to netip.AddrPort, payload []byte) *Packet {
	return s.put(from, to, &layers.UDP{SrcPort: layers.UDPPort(from.Port()), DstPort: layers.UDPPort(to.Port())}, payload)
}

// coap sends a CoAP message with a payload if its code has a response class.
func (s *script) coap(from, to netip.AddrPort, how, code uint8, id uint16, token string) *Packet {
	m := append([]byte{1<<6 | how<<4 | byte(len(token)), code, byte(id >> 8), byte(id)}, token...)
	if code>>5 >= 2 {
		m = append(m, "\xffvalue"...)
	}
	return s.udp(from, to, m)
}

// file writes the script as a pcapng file.
func (s *script) file() []byte {
	s.t.Helper()
	var b bytes.Buffer
	link := LinkEthernet
	if len(s.pkts) > 0 {
		link = s.pkts[0].Link
	}
	w := NewWriter(&b, Description{Interface: "script", Link: link})
	for _, p := range s.pkts {
		if err := w.Write(p); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := w.Close(CaptureStats{Packets: uint64(len(s.pkts))}); err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
}

func (s *script) analyze(o Options) Capture {
	s.t.Helper()
	c, err := AnalyzeWith(bytes.NewReader(s.file()), o)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// agrees wants every connection's figures to be tshark's.
func (s *script) agrees(t *testing.T, c Capture) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.pcapng")
	if err := os.WriteFile(path, s.file(), 0o600); err != nil {
		t.Fatal(err)
	}
	compareTCP(t, path, c)
}
