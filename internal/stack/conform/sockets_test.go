package conform

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
)

// bound is a program that has sockets and nothing else.
type bound struct {
	sockets []kernel.Socket
	err     error
}

func (bound) Conn() *stack.Conn                  { return nil }
func (bound) Stop(time.Duration) ([]byte, error) { return nil, nil }
func (b bound) Said() string                     { return "" }

func (b bound) Sockets() ([]kernel.Socket, error) { return b.sockets, b.err }
func on(network, at string) kernel.Socket {
	return kernel.Socket{Network: network, Local: netip.MustParseAddrPort(at)}
}

func TestBoundToHost(t *testing.T) {
	for _, tt := range []struct {
		what, transport string
		program         bound
		want            string // empty: right
	}{
		{"its host", "http", bound{sockets: []kernel.Socket{on("tcp", "127.0.0.1:80"), on("tcp6", "127.0.0.1:81")}}, ""},
		{"in this process", "http", bound{}, ""},
		{"another port", "http", bound{sockets: []kernel.Socket{on("tcp", "127.0.0.1:80"), on("tcp", "0.0.0.0:9010")}},
			"tcp socket is bound to 0.0.0.0:9010"},
		{"every address of IPv6", "coap", bound{sockets: []kernel.Socket{on("udp6", "[::]:5683")}},
			"udp6 socket is bound to [::]"},
		{"another loopback", "coap", bound{sockets: []kernel.Socket{on("udp", "127.0.0.2:5683")}}, "127.0.0.2"},
		{"discovery", "dpws", bound{sockets: []kernel.Socket{on("udp", "239.255.255.250:3702")}}, ""},
		{"discovery of none", "http", bound{sockets: []kernel.Socket{on("udp", "239.255.255.250:3702")}}, "239.255.255.250"},
		{"unreadable", "http", bound{err: errors.New("permission denied")}, "permission denied"},
	} {
		err := suite{wish: stack.Wish{Transport: tt.transport}}.boundToHost(tt.program)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}
