package drive

import (
	"bufio"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

// A brokerOfOthers lets everybody in, takes every subscription, and remembers which sessions outlive their connections.
type brokerOfOthers struct {
	net.Listener
	version mqtt.Version
	serving sync.WaitGroup

	mu   sync.Mutex
	left map[string]bool // by client identifier
	seen int             // sessions
}

func (b *brokerOfOthers) serve() {
	for {
		c, err := b.Accept()
		if err != nil {
			return
		}
		b.serving.Go(func() { b.talk(c) })
	}
}

func (b *brokerOfOthers) talk(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(r, head); err != nil {
			return
		}
		body := make([]byte, head[1]) // all are short
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		properties := []byte{0}[:min(1, int(b.version)-int(mqtt.V311))]
		switch head[0] >> 4 {
		case 1: // CONNECT: protocol, level, flags, keep alive, properties, identifier
			id := body[10:]
			if b.version == mqtt.V5 {
				id = id[1+int(id[0]):]
			}
			b.mu.Lock()
			if clean := body[7]&2 != 0; !clean {
				b.left[string(id[2:])] = true
				b.seen++
			} else {
				delete(b.left, string(id[2:]))
			}
			b.mu.Unlock()
			c.Write(slices.Concat([]byte{0x20, byte(2 + len(properties)), 0, 0}, properties))
		case 8: // SUBSCRIBE
			c.Write(slices.Concat([]byte{0x90, byte(3 + len(properties)), body[0], body[1]}, properties, []byte{1}))
		case 14: // DISCONNECT
			return
		}
	}
}

// Sessions of QoS 1 and 2 do not stay at a broker that is not the lab's: it would go on to keep for them what later
// trials are answered.
func TestSessionsEndAtABrokerOfOthers(t *testing.T) {
	for protocol, version := range map[string]mqtt.Version{MQTT311: mqtt.V311, MQTT5: mqtt.V5} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b := &brokerOfOthers{Listener: l, version: version, left: map[string]bool{}}
		b.serving.Go(b.serve)
		d, err := Dial(t.Context(), Spec{URL: "mqtt://" + l.Addr().String(), Protocol: protocol, Connection: KeepAlive,
			Concurrency: 20, QoS: 1, Topic: "q", ResponseTopic: "r"})
		if err != nil {
			t.Fatalf("%s: %v", protocol, err)
		}
		d.lanes[3].hangUp() // a connection that breaks, and a session that is not taken up again
		b.mu.Lock()
		if len(b.left) != 20 {
			t.Errorf("%s: %d sessions outlive their connections, want 20", protocol, len(b.left))
		}
		b.mu.Unlock()
		d.Close()
		l.Close()
		b.serving.Wait()
		if len(b.left) > 0 || b.seen != 20 {
			t.Errorf("%s: %d of %d sessions stay at the broker", protocol, len(b.left), b.seen)
		}
	}
}
