package ssh

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	crypto "golang.org/x/crypto/ssh"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/rpc"
)

// hungConn is the connection of an agent that ends only when the connection does.
type hungConn struct {
	crypto.Conn
	once    sync.Once
	session io.Closer
	ended   chan struct{}
}

func (c *hungConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.session.Close()
}

// keptOpen is a channel whose end the agent does not notice.
type keptOpen struct{ io.ReadWriteCloser }

func (keptOpen) Close() error { return nil }

// An agent that does not end is cut off after the farewell, also one that is
// refused before the board is in use.
func TestHungAgentIsCutOff(t *testing.T) {
	for _, build := range []string{"this", "another"} {
		t.Run(build, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab, agent := net.Pipe()
				defer lab.Close()
				defer agent.Close()
				go rpc.Greet(agent, rpc.Agent, rpc.Hello{Build: "this"})
				r, err := device.Connect(t.Context(), "its agent", keptOpen{lab}, build, 0)
				if err != nil {
					t.Fatal(err)
				}
				c := &hungConn{session: lab, ended: make(chan struct{})}
				b := &Board{Build: build}
				began := time.Now()
				err = b.accept(&connection{Client: &crypto.Client{Conn: c}}, r, c.ended, device.Sent{})
				if refused := build != "this"; (err != nil) != refused {
					t.Errorf("got %v", err)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != farewell || b.client != nil || b.remote != nil {
					t.Errorf("took %v, client %v, agent %v", took, b.client, b.remote)
				}
			})
		})
	}
}
