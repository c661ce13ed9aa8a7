package kernel

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// A host that DNS does not know, and other programs of this machine do, is found. Its addresses are those of the wanted
// version, an address of one wire alone last.
func TestLookUpAsOthersDo(t *testing.T) {
	kerneltest.Knows(t, "board.invalid", `ahosts) echo 'fe80::1 STREAM board'; echo 'fe80::1 DGRAM'; echo '192.0.2.1 STREAM';;
ahostsv6) echo 'fe80::1 STREAM board';;`)
	for network, want := range map[string][]netip.Addr{
		"ip":  {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fe80::1")},
		"ip6": {netip.MustParseAddr("fe80::1")},
		"ip4": nil,
	} {
		got, err := LookUp(t.Context(), network, "board.invalid")
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: got %v, %v, want %v", network, got, err, want)
		}
	}
	for _, host := range []string{"other.invalid", "-s", ""} {
		if got, err := LookUp(t.Context(), "ip", host); err == nil {
			t.Errorf("%q: got %v", host, got)
		}
	}
	if got, err := LookUp(t.Context(), "ip", "192.0.2.7"); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestDialWhomOthersKnow(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	kerneltest.Knows(t, "board.invalid", "ahosts) echo '::ffff:0.0.0.1 STREAM'; echo '127.0.0.1 STREAM board';;")
	c, err := Dial(t.Context(), "tcp", "board.invalid:"+port)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c, err := Dial(t.Context(), "tcp", "other.invalid:"+port); err == nil {
		c.Close()
		t.Error("a host that nobody knows was reached")
	}
}
