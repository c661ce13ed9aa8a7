package drive

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// A service on a machine that other programs find by multicast DNS, as http://raspberrypi.local, is found here, too.
func TestHostThatDNSDoesNotKnow(t *testing.T) {
	kerneltest.Knows(t, "board.invalid", "ahosts|ahostsv4) echo '192.0.2.1 STREAM board.invalid';;")
	for _, family := range []string{"", "4"} {
		got, err := resolve(t.Context(), "board.invalid", 80, family, true)
		if got != netip.MustParseAddrPort("192.0.2.1:80") {
			t.Errorf("IPv%s: got %v, %v", family, got, err)
		}
	}
	if _, err := resolve(t.Context(), "board.invalid", 80, "6", true); err == nil ||
		!strings.Contains(err.Error(), "no host is called board.invalid") {
		t.Errorf("got %v", err)
	}
}

// Of a name's addresses the first counts at which somebody listens, as of localhost, which is ::1 and 127.0.0.1; where
// nobody does, the first of all.
func TestHostOfSeveralAddresses(t *testing.T) {
	kerneltest.Knows(t, "board.invalid", "ahosts|ahostsv4) echo '127.0.0.3 STREAM board.invalid'; echo '127.0.0.3 DGRAM'; "+
		"echo '127.0.0.2 STREAM'; echo '127.0.0.1 STREAM';;")
	tcp, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for _, tt := range []struct {
		at      net.Addr
		overTCP bool
	}{{tcp.Addr(), true}, {udp.LocalAddr(), false}} {
		want := netip.MustParseAddrPort(tt.at.String())
		if got, err := resolve(t.Context(), "board.invalid", want.Port(), "", tt.overTCP); got != want {
			t.Errorf("%v: got %v, %v", want, got, err)
		}
	}
	port := netip.MustParseAddrPort(tcp.Addr().String()).Port()
	tcp.Close()
	if got, err := resolve(t.Context(), "board.invalid", port, "", true); got.Addr().String() != "127.0.0.3" {
		t.Errorf("nobody listens: got %v, %v", got, err)
	}
}
