//go:build !board

package reference

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// A connection on which nothing was said yet does not keep the broker from ending.
func TestBrokerEndsBesideASilentConnection(t *testing.T) {
	b, err := openEmbedded(new(program), stack.Serve{Host: "127.0.0.1"}, 1<<20, filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", b.address())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// One that is answered shows that the one before it was accepted.
	second, err := net.Dial("tcp", b.address())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	second.Write([]byte{0xe0, 0x00}) // DISCONNECT before CONNECT: the broker hangs up
	second.Read(make([]byte, 1))
	ended := make(chan bool)
	go func() { b.close(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(8 * time.Second):
		t.Error("the broker waits for a connection that has not said CONNECT")
	}
}

// The broker's own way to close its clients is not gone: its lock is taken twice.
func TestEntranceClosesItsConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := newEntrance("wire", l)
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := e.conns.Accept(); err != nil {
		t.Fatal(err)
	}
	e.Close(func(string) { t.Error("the broker is asked to close its clients") })
	client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %d, %v", n, err)
	}
}

// Clients that leave while the broker ends do not keep it from ending.
func TestBrokerEndsWhileClientsLeave(t *testing.T) {
	connect := []byte{0x10, 14, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 2, 0, 0} // and two octets of a name
	for range 40 {
		b, err := openEmbedded(new(program), stack.Serve{Host: "127.0.0.1"}, 1<<20, filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		var all []net.Conn
		for i := range 60 {
			c, err := net.Dial("tcp", b.address())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			connect[14], connect[15] = 'a'+byte(i/26), 'a'+byte(i%26)
			c.Write(connect)
			all = append(all, c)
		}
		for _, c := range all {
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if n, err := c.Read(make([]byte, 4)); n != 4 {
				t.Fatalf("no CONNACK: %v", err)
			}
		}
		ended := make(chan bool)
		go func() {
			for _, c := range all {
				c.Close()
			}
		}()
		go func() { b.close(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the broker does not end")
		}
	}
}
