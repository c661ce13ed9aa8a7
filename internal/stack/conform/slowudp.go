package conform

import (
	"net"
	"sync"
	"time"
)

// slowUDP forwards datagrams between clients and a server; each takes delay more.
type slowUDP struct {
	listener *net.UDPConn
	server   string
	delay    time.Duration
	heard    func(client string, b []byte) // what the server says to a client; may be nil
	wg       sync.WaitGroup
	mu       sync.Mutex
	links    map[string]net.Conn // to the server, by client
	closed   bool
}

func newSlowUDP(server string) (*slowUDP, error) { return newUDPRelay(server, linkDelay, nil) }

func newUDPRelay(server string, delay time.Duration, heard func(string, []byte)) (*slowUDP, error) {
	l, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	s := &slowUDP{listener: l, server: server, delay: delay, heard: heard, links: map[string]net.Conn{}}
	s.wg.Go(s.serve)
	return s, nil
}

// addr is where clients send to.
func (s *slowUDP) addr() string { return s.listener.LocalAddr().String() }

// close ends all links and waits for them.
func (s *slowUDP) close() {
	s.mu.Lock()
	s.closed = true
	for _, l := range s.links {
		l.Close()
	}
	s.mu.Unlock()
	s.listener.Close()
	s.wg.Wait()
}

func (s *slowUDP) serve() {
	for b := make([]byte, 1<<16); ; {
		n, from, err := s.listener.ReadFromUDP(b)
		if err != nil {
			return
		}
		to, err := s.link(from)
		if err != nil {
			return
		}
		s.later(append([]byte(nil), b[:n]...), func(b []byte) { to.Write(b) })
	}
}

// later does send after the delay. What is on its way when the link closes is lost.
func (s *slowUDP) later(b []byte, send func([]byte)) {
	if s.delay == 0 { // in order
		send(b)
		return
	}
	time.AfterFunc(s.delay, func() { send(b) })
}

// link is the connection to the server for a client.
func (s *slowUDP) link(client *net.UDPAddr) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.links[client.String()]; ok || s.closed {
		if !ok {
			return nil, net.ErrClosed
		}
		return l, nil
	}
	l, err := net.Dial("udp4", s.server)
	if err != nil {
		return nil, err
	}
	s.links[client.String()] = l
	s.wg.Go(func() {
		for b := make([]byte, 1<<16); ; {
			n, err := l.Read(b)
			if err != nil {
				return
			}
			if s.heard != nil {
				s.heard(client.String(), b[:n])
			}
			s.later(append([]byte(nil), b[:n]...), func(b []byte) { s.listener.WriteToUDP(b, client) })
		}
	})
	return l, nil
}
