// Package packet is the packet clock: it captures what passes a network
// interface and says how long each connection, request or exchange took on the
// wire, and what it cost in bytes and packets.
//
// It does not send, shape or alter traffic, does not decrypt, and does not
// reassemble fragments: what it cannot know it refuses, with the reason.
//
// A Tap captures, a Writer and a Reader keep and read capture files, and an
// Analyzer, which reads no clock and does no I/O, turns packets into a Capture.
package packet

import "time"

// A LinkType says which header a captured frame begins with. The numbers are
// those of the pcap and pcapng formats.
type LinkType uint16

// The link types this package decodes; others are counted as malformed.
const (
	LinkNull     LinkType = 0   // BSD loopback, family in the writer's byte order
	LinkEthernet LinkType = 1   //
	LinkRaw      LinkType = 101 // bare IP, as on a TUN interface
	LinkLoop     LinkType = 108 // OpenBSD loopback, family in network order
	LinkSLL      LinkType = 113 // Linux "cooked" capture
	LinkIPv4     LinkType = 228
	LinkIPv6     LinkType = 229
	LinkSLL2     LinkType = 276
)

// A Packet is one frame as it was captured.
type Packet struct {
	At        time.Duration // since 1970-01-01 UTC, CLOCK_REALTIME of the capturing machine
	Data      []byte        // from the link-layer header on, perhaps cut; valid until the next packet
	Length    int           // bytes of the frame on the wire, without FCS
	Link      LinkType
	Interface int           // index within the capture
	Way       Way           // whether the capturing machine sent or received it
	Stamp     Stamp         // who read the clock
	Tick      time.Duration // between two stamps that its file can tell apart; 0: 1 ns or less
}

// A Way is the direction of a packet as its capturing machine saw it.
type Way uint8

// Unknown is what most capture files say.
const (
	Unknown Way = iota
	Inbound
	Outbound
)

// A Stamp names the clock reading a packet carries.
type Stamp uint8

// ByFile marks a stamp read from a file, which does not tell. The ring stamps
// a packet as it stores it, if nothing asked the kernel for stamps before.
const (
	ByFile Stamp = iota
	ByRing
	ByKernel
	ByHardware
)
