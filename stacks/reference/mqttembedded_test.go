//go:build !board

package reference

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// A connection on which nothing was said yet does not keep the broker from ending.
func TestBrokerEndsBesideASilentConnection(t *testing.T) {
	b, err := openEmbedded(nil, stack.Serve{Host: "127.0.0.1"}, 1<<20, filepath.Join(t.TempDir(), "s"))
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
