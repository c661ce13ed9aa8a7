package testbed

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// A service is looked for where the client will send: in the version of IP that the study asks for, and at no other
// address of its host.
func TestServicesAreLookedForWhereTheyAreAsked(t *testing.T) {
	b := bed(t)
	here, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	go func() { // ends with the listener
		for {
			c, err := here.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(here.Addr().String())
	for _, x := range []struct {
		study, want string
		machine     bool // that lacks it
	}{
		{"server: {url: 'http://127.0.0.1:" + port + "/'}", "", false},
		{"server: {url: 'http://127.0.0.1:" + port + "/'}\nip: ipv4", "", false},
		{"server: {url: 'http://127.0.0.1:" + port + "/'}\nip: ipv6", "s.yaml:3:5: http://127.0.0.1:" + port +
			"/: 127.0.0.1 is not an IPv6 address; write one, or remove the IP version", false},
		{"server: {url: 'http://127.0.0.1:" + port + "/'}\nfactors: {ip: [ipv4, ipv6]}", "exclude: [{ip: ipv6}]", false},
		{"server: {url: 'http://127.0.0.2:" + port + "/'}", "s.yaml:2:15: nothing listens at 127.0.0.2:" + port +
			": connect: connection refused; start the service", true},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\n"+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		found := b.Obstacles(t.Context(), p)
		if got := fmt.Sprint(found); (len(found) == 0) != (x.want == "") || !strings.Contains(got, x.want) ||
			len(found) > 0 && found.Here() != x.machine {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}
