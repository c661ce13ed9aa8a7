//go:build !board

package reference

import (
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"

	broker5 "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
)

// An embedded broker is mochi's, in this process.
type embedded struct {
	server *broker5.Server
	at     string
}

func openEmbedded(p *program, s stack.Serve, limit int, socket string) (broker, error) {
	l, err := mqttListen(p, s)
	if err != nil {
		return nil, err
	}
	beside, err := kernel.ListenUnix(socket)
	if err != nil {
		l.Close()
		return nil, err
	}
	// Everything it would log is a client's doing, which the client is told.
	server := broker5.New(&broker5.Options{Logger: slog.New(slog.NewTextHandler(io.Discard,
		&slog.HandlerOptions{Level: slog.Level(math.MaxInt)}))})
	server.Options.Capabilities.MaximumPacketSize = uint32(limit)
	server.Options.Capabilities.RetainAvailable = 0 // nothing here needs it, and it would be kept without bound
	err = server.AddHook(new(openToAll), nil)
	if err == nil {
		err = server.AddListener(newEntrance("wire", l))
	}
	if err == nil {
		err = server.AddListener(newEntrance("beside", beside))
	}
	if err == nil {
		err = server.Serve()
	}
	if err != nil {
		server.Close()
		l.Close()
		return nil, err
	}
	return &embedded{server, l.Addr().String()}, nil
}

// openToAll lets everyone in: the lab's brokers are alone with its programs.
type openToAll struct{ broker5.HookBase }

func (*openToAll) ID() string { return "open" }
func (*openToAll) Provides(b byte) bool {
	return b == broker5.OnConnectAuthenticate || b == broker5.OnACLCheck
}
func (*openToAll) OnConnectAuthenticate(*broker5.Client, packets.Packet) bool { return true }

// OnACLCheck refuses what is no filter: the broker itself takes a+b for one.
func (*openToAll) OnACLCheck(_ *broker5.Client, topic string, _ bool) bool {
	levels := strings.Split(topic, "/")
	for i, level := range levels {
		if len(level) > 1 && strings.ContainsAny(level, "+#") || level == "#" && i < len(levels)-1 {
			return false // section 4.7.1
		}
	}
	return true
}

func (e *embedded) address() string { return e.at }

// close ends the broker, which waits for all connections.
func (e *embedded) close() { e.server.Close() }

// An entrance is a listener of the broker that closes its connections itself. The broker would close only those that
// said CONNECT, and it looks them up under a lock that it takes twice: a client that leaves in between holds it up for
// ever (Clients.GetByListener of v2.7.9).
type entrance struct {
	*listeners.Net
	conns *hangingUp
}

func newEntrance(id string, l net.Listener) entrance {
	conns := &hangingUp{Listener: l, open: map[net.Conn]bool{}}
	return entrance{listeners.NewNet(id, conns), conns}
}

// Close implements listeners.Listener.
func (e entrance) Close(listeners.CloseFn) {
	e.conns.hangUp()
	e.Net.Close(func(string) {})
}

// A hangingUp listener can close the connections that it has accepted.
type hangingUp struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]bool
	over bool
}

func (h *hangingUp) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		c.Close()
		return nil, net.ErrClosed
	}
	h.open[c] = true
	return accepted{c, h}, nil
}

func (h *hangingUp) hangUp() {
	h.Listener.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for c := range h.open {
		c.Close()
	}
}

type accepted struct {
	net.Conn
	by *hangingUp
}

func (a accepted) Close() error {
	a.by.mu.Lock()
	delete(a.by.open, a.Conn)
	a.by.mu.Unlock()
	return a.Conn.Close()
}
