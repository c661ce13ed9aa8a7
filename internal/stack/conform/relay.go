package conform

import (
	"io"
	"net"
	"sync"
)

// A relay forwards TCP connections to a server and counts them.
type relay struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
	taken    int
}

func newRelay(server string) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, server: server}
	r.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.forward(c) })
		}
	})
	return r, nil
}

// addr is where clients connect to.
func (r *relay) addr() string { return r.listener.Addr().String() }

// count is how many connections brought a byte: a port may be tried before it is used.
func (r *relay) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// close ends all connections and waits for them.
func (r *relay) close() {
	r.listener.Close()
	r.mu.Lock()
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (r *relay) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		return
	}
	defer server.Close()
	r.mu.Lock()
	r.conns = append(r.conns, client, server)
	r.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		io.Copy(client, server)
		client.(*net.TCPConn).CloseWrite()
	})
	first := make([]byte, 1)
	if _, err := io.ReadFull(client, first); err == nil {
		r.mu.Lock()
		r.taken++
		r.mu.Unlock()
		server.Write(first)
		io.Copy(server, client)
	}
	server.(*net.TCPConn).CloseWrite()
	back.Wait()
}
