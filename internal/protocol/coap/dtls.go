package coap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/pion/dtls/v3"
	dtlsnet "github.com/pion/dtls/v3/pkg/net"
)

// A Suite is a DTLS 1.2 cipher suite.
type Suite = dtls.CipherSuiteID

// The suites with a pre-shared key that this package speaks. The first is
// mandatory for CoAP: RFC 7252, section 9.1.3.1.
const (
	CCM8 = dtls.TLS_PSK_WITH_AES_128_CCM_8
	CCM  = dtls.TLS_PSK_WITH_AES_128_CCM
	GCM  = dtls.TLS_PSK_WITH_AES_128_GCM_SHA256
)

// A PSK is a pre-shared key and its identity (RFC 4279).
type PSK struct {
	Identity string
	Key      []byte
	Suites   []Suite // in order of preference; none: CCM8, CCM, GCM
	// CID has a listener give connection IDs (RFC 9146) to those who ask for one: it knows
	// their sessions from any address.
	CID bool
}

// cidSize is that of a connection ID, in B.
const cidSize = 8

// handshakeTime is how long a DTLS handshake may take: room for three flights
// to be lost and sent again after 1, 2 and 4 s.
const handshakeTime = 10 * time.Second

var errIdentity = errors.New("unknown PSK identity")

func (k PSK) suites() []Suite {
	if len(k.Suites) == 0 {
		return []Suite{CCM8, CCM, GCM}
	}
	return k.Suites
}

// DialDTLS makes a client of the server at address over DTLS 1.2.
func DialDTLS(ctx context.Context, address string, k PSK, p Params) (*Client, error) {
	udp, err := net.Dial("udp", address)
	if err != nil {
		return nil, fmt.Errorf("coap: %w", err)
	}
	session, err := dtls.ClientWithOptions(dtlsnet.PacketConnFromConn(udp), udp.RemoteAddr(),
		dtls.WithPSK(func([]byte) ([]byte, error) { return k.Key, nil }),
		dtls.WithPSKIdentityHint([]byte(k.Identity)),
		dtls.WithCipherSuites(k.suites()...))
	if err == nil {
		err = handshake(ctx, session)
	}
	if err != nil {
		udp.Close()
		return nil, fmt.Errorf("dtls handshake with %s: %w", address, err)
	}
	return NewClient(session, p), nil
}

// ListenDTLS listens for DTLS 1.2 sessions of those who know the key. Hand the
// listener to ServeListener.
func ListenDTLS(network string, addr *net.UDPAddr, k PSK) (net.Listener, error) {
	options := []dtls.ServerOption{dtls.WithPSK(func(identity []byte) ([]byte, error) {
		if string(identity) != k.Identity {
			return nil, errIdentity
		}
		return k.Key, nil
	}),
		dtls.WithPSKIdentityHint([]byte(k.Identity)),
		dtls.WithCipherSuites(k.suites()...)}
	if k.CID {
		options = append(options, dtls.WithConnectionIDGenerator(dtls.RandomCIDGenerator(cidSize)))
	}
	l, err := dtls.ListenWithOptions(network, addr, options...)
	if err != nil {
		return nil, fmt.Errorf("dtls on %v: %w", addr, err)
	}
	return l, nil
}

// handshake makes a connection ready, if it is one that needs that.
func handshake(ctx context.Context, conn net.Conn) error {
	s, ok := conn.(interface{ HandshakeContext(context.Context) error })
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	return s.HandshakeContext(ctx)
}

// ServeListener answers on the connections of a listener, each of which must
// keep datagrams apart, until ctx ends; then it closes all and returns nil.
// Handlers of different connections run at the same time.
func (s *Server) ServeListener(ctx context.Context, l net.Listener) error {
	// Apart, so that strangers who never finish a handshake do not take the
	// places of those who did.
	open := make(chan struct{}, s.sessions())
	return s.accept(ctx, l, func(ctx context.Context, ep *endpoint, conn net.Conn, leave func()) {
		err := handshake(ctx, conn)
		leave()
		if err != nil || !try(open) {
			ep.s.Counts.Ignored.Add(1)
			conn.Close()
			return
		}
		defer func() { <-open }()
		// A session's end, good or bad, concerns nobody but its peer.
		_ = ep.serveConn(ctx, conn)
	})
}

// sessions is how many are open at once.
func (s *Server) sessions() int {
	limit := s.MaxSessions
	set(&limit, 1024)
	return limit
}

// accept serves each connection of a listener on a goroutine, until ctx ends; then it closes all and returns nil. A
// connection takes one of the places until it leaves.
func (s *Server) accept(ctx context.Context, l net.Listener,
	serve func(ctx context.Context, ep *endpoint, conn net.Conn, leave func())) error {
	ep := s.endpoint(nil)
	defer ep.keepTime()()
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	places := make(chan struct{}, s.sessions())
	return ep.admit(ctx, l, places, func(conn net.Conn) {
		open.Go(func() { serve(ctx, ep, conn, func() { <-places }) })
	})
}

// admit gives serve the listener's connections until ctx ends: those for which a
// place is free, which serve gives back. The others are closed and counted.
func (ep *endpoint) admit(ctx context.Context, l net.Listener, places chan struct{}, serve func(net.Conn)) error {
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("coap server on %v: %w", l.Addr(), err)
		}
		if !try(places) {
			ep.s.Counts.Ignored.Add(1)
			conn.Close()
			continue
		}
		serve(conn)
	}
}

// try takes a place if one is free.
func try(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}
