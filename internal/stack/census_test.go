package stack

import (
	"errors"
	"net/netip"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
)

// saying is a program whose kernel knows these connections, from ports of a client's; one below 0 is closed.
type saying []int

func (s saying) Connections(netip.AddrPort) (all []kernel.Connection, err error) {
	for _, port := range s {
		end := netip.AddrPortFrom(netip.IPv6Loopback(), uint16(max(port, -port)))
		all = append(all, kernel.Connection{Client: end, Open: port > 0})
	}
	return all, nil
}

// mute is a program whose kernel does not answer.
type mute struct{}

func (mute) Connections(netip.AddrPort) ([]kernel.Connection, error) { return nil, errors.New("no") }

// A connection counts if it was open when the run began, or came in it; none counts twice, and none of another's.
func TestConnectionsOfARun(t *testing.T) {
	for _, tt := range []struct {
		what        string
		warm, after saying
		want        int
	}{
		{"one is kept", saying{1}, saying{1}, 1},
		{"one is kept, and closed with the run", saying{1}, saying{-1}, 1},
		{"one is made anew", saying{1}, saying{-1, 2}, 2},
		{"one is made anew, and the kernel has forgotten the old one", saying{1}, saying{2}, 2},
		{"each request has its own", saying{-1, -2}, saying{-1, -2, -3, -4, -5}, 3},
		{"the warm-up lost one, and the run none", saying{-1, 2}, saying{-1, 2}, 1},
		{"one that was closed behind the warm-up", saying{-1}, saying{-1, 2}, 1},
		{"no warm-up", nil, saying{1}, 1},
		{"a pool that grows", saying{1, 2}, saying{1, 2, 3, 4}, 4},
		{"another's, closed before the client came", saying{-8, 1}, saying{-8, 1}, 1},
		{"nobody knows", nil, nil, 0},
	} {
		var c Census
		c.Take(WhenWarm, tt.warm, netip.AddrPort{})
		c.Take(AfterRun, tt.after, netip.AddrPort{})
		if got := c.Had(); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.what, got, tt.want)
		}
		for _, when := range []int{WhenWarm, AfterRun} {
			var c Census
			c.Take(when, mute{}, netip.AddrPort{})
			c.Take(AfterRun, tt.after, netip.AddrPort{})
			if c.Had() != 0 {
				t.Errorf("%s: %d of a kernel that did not answer", tt.what, c.Had())
			}
		}
	}
}

// A kernel is asked for the server as its tables have it.
func TestAddressesOfServers(t *testing.T) {
	for url, want := range map[string]string{"http://127.0.0.1:80/x": "127.0.0.1:80", "mqtts://[::1]:8883/x": "[::1]:8883",
		"http://[::ffff:10.0.0.1]:80/": "10.0.0.1:80", "http://localhost:80/": "", "http://127.0.0.1/": "", "": ""} {
		got, ok := ServerOf(url)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: got %v, %v", url, got, ok)
		}
	}
}
