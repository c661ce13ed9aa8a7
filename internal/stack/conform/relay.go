package conform

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// A relay takes TCP connections in a server's place, and makes another to the server for each.
type relay struct {
	listener net.Listener
	server   string
	forward  func(client, server net.Conn)
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

// newRelay begins to take connections. Forward is called with both ends, which are closed when it returns.
func newRelay(server string, forward func(client, server net.Conn)) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, server: server, forward: forward}
	r.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.join(c) })
		}
	})
	return r, nil
}

// addr is where clients connect to.
func (r *relay) addr() string { return r.listener.Addr().String() }

// close ends all connections and waits for them.
func (r *relay) close() {
	r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (r *relay) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		return
	}
	defer server.Close()
	r.mu.Lock()
	closed := r.closed
	r.conns = append(r.conns, client, server)
	r.mu.Unlock()
	if !closed {
		r.forward(client, server)
	}
}

// A countingRelay forwards bytes, and counts connections.
type countingRelay struct {
	*relay
	taken atomic.Int64
}

func newCountingRelay(server string) (*countingRelay, error) {
	r := &countingRelay{}
	var err error
	r.relay, err = newRelay(server, r.copy)
	return r, err
}

// count is how many connections brought a byte: a port may be tried before it is used.
func (r *countingRelay) count() int { return int(r.taken.Load()) }

func (r *countingRelay) copy(client, server net.Conn) {
	var back sync.WaitGroup
	back.Go(func() {
		io.Copy(client, server)
		client.(*net.TCPConn).CloseWrite()
	})
	first := make([]byte, 1)
	if _, err := io.ReadFull(client, first); err == nil {
		r.taken.Add(1)
		server.Write(first)
		io.Copy(server, client)
	}
	server.(*net.TCPConn).CloseWrite()
	back.Wait()
}
