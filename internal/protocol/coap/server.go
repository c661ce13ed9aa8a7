package coap

import (
	"hash/maphash"
	"net"
	"net/netip"
	"sync"
	"time"
)

// A Request is what a client asked, its body whole. It and all it holds belong
// to the server again when the handler returns.
type Request struct {
	Method Code
	Path   []byte // segments joined by slashes, no leading slash; a slash inside a segment is %2F
	Query  []byte // arguments joined by ampersands
	Format Format // of Body
	Accept Format
	Body   []byte
	Peer   net.Addr // only on connections: see ServeConn
	From   netip.AddrPort
	Type   Type // Confirmable or NonConfirmable
}

// A Response is what the handler answers. Append to Body, which comes empty
// with room to spare: the server keeps and reuses what is left in it.
type Response struct {
	Code   Code // 0: 2.05 to GET and FETCH, 2.02 to DELETE, 2.04 to others
	Format Format
	Body   []byte // cut into blocks when above the block size
}

// A Handler answers a request. With Workers, handlers run at the same time.
type Handler func(*Request, *Response)

// A Server answers CoAP requests. Zero values mean the defaults; change no
// field once it serves. One Server may serve several sockets at once.
type Server struct {
	Handler Handler

	// Workers is how many handlers may run at once. 0: each runs on the
	// goroutine that reads the socket, which is cheapest for quick handlers.
	// While all workers are busy requests wait in the socket's buffer.
	Workers int
	// AckDelay is how long a handler may take before its confirmable request
	// is acknowledged and the response follows separately (RFC 7252, section 5.2.2); 1 s.
	AckDelay time.Duration

	BlockSize    int // largest block sent and asked for, 16 to 1024 bytes; 1024
	MaxBody      int // bytes of a request body, above it 4.13; 16 MiB
	MaxTransfers int // bodies kept in parts at once, per socket; 256
	MaxHeld      int // bytes in those; 64 MiB
	MaxPeers     int // remembered at once, per socket; 4096
	MaxSessions  int // connections of one listener; 1024

	// Keyring, if there is one, makes OSCORE (RFC 8613) a condition: what is not
	// protected is refused with 4.01.
	Keyring *Keyring

	// Observable says which resources can be observed (RFC 7641) over UDP and
	// DTLS; nil: none. Changed tells their observers.
	Observable    func(path []byte) bool
	Notifications Type // Confirmable or NonConfirmable
	MaxObservers  int  // per socket; 1024, at most half of MaxPeers

	Counts Counts

	mu        sync.Mutex // guards endpoints
	endpoints []*endpoint
}

// ExchangeLifetime is how long a message ID is not to be used again between two ends: RFC 7252, section 4.8.2.
const ExchangeLifetime = 247 * time.Second

// Transmission parameters of RFC 7252, section 4.8.
const (
	ackTimeout    = 2 * time.Second
	maxRetransmit = 4
)

// datagrams is what sends through a socket.
type datagrams interface {
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
}

// An endpoint is a server on one socket, or on the connections of one listener.
type endpoint struct {
	s       *Server
	szx     uint8
	udp     datagrams // nil: peers have connections
	began   time.Time
	seed    maphash.Seed
	handler Handler

	ackDelay                                 time.Duration
	maxBody, maxTransfers, maxHeld, maxPeers int

	mu        sync.Mutex // guards all below, and the peers
	peers     map[netip.AddrPort]*peer
	known     byUse[peer, *peer]
	transfers byUse[transfer, *transfer]
	held      int // bytes of room in transfers
	free      []*transfer
	running   []*task
	pending   []*pending
	observers []*observer
	owed      int    // observers that are behind
	changes   uint64 // calls of Changed
}

func (s *Server) endpoint(udp datagrams) *endpoint {
	ep := &endpoint{
		s: s, udp: udp, szx: szxOf(s.BlockSize), began: time.Now(), seed: maphash.MakeSeed(), handler: s.Handler,
		ackDelay: s.AckDelay, maxBody: s.MaxBody, maxTransfers: s.MaxTransfers, maxHeld: s.MaxHeld, maxPeers: s.MaxPeers,
		peers: map[netip.AddrPort]*peer{},
	}
	set(&ep.ackDelay, time.Second)
	set(&ep.maxBody, 16<<20)
	set(&ep.maxTransfers, 256)
	set(&ep.maxHeld, 64<<20)
	set(&ep.maxPeers, 4096)
	return ep
}

// now is the time since the endpoint began.
func (ep *endpoint) now() time.Duration { return time.Since(ep.began) }

// send sends a datagram to a peer. What cannot be sent counts as lost on the
// way: the peer asks again.
func (ep *endpoint) send(p *peer, b []byte) {
	if len(b) == 0 {
		return
	}
	if p.conn != nil {
		_, _ = p.conn.Write(b)
		return
	}
	_, _ = ep.udp.WriteToUDPAddrPort(b, p.addr)
}
