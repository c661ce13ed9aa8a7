package drive

import (
	"net/netip"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// A service on a machine that other programs find by multicast DNS, as http://raspberrypi.local, is found here, too.
func TestHostThatDNSDoesNotKnow(t *testing.T) {
	kerneltest.Knows(t, "board.invalid", "ahosts|ahostsv4) echo '192.0.2.1 STREAM board.invalid';;")
	for _, family := range []string{"", "4"} {
		if got, err := resolve(t.Context(), "board.invalid", 80, family); got != netip.MustParseAddrPort("192.0.2.1:80") {
			t.Errorf("IPv%s: got %v, %v", family, got, err)
		}
	}
	if _, err := resolve(t.Context(), "board.invalid", 80, "6"); err == nil ||
		!strings.Contains(err.Error(), "no host is called board.invalid") {
		t.Errorf("got %v", err)
	}
}
