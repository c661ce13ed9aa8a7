package conform

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// How a client connects, paces and gives up is checked whether or not its stack has a
// server: a peer's takes its place.
func TestClientsWithoutAServerAreCheckedToo(t *testing.T) {
	no := errors.New("nothing is started here")
	kit := Kit{
		Start:     func(context.Context, stack.Description, string) (Running, error) { return nil, no },
		StartPeer: func(stack.Description, string, Tap) (Running, error) { return nil, no },
		Peer:      func(stack.Wish) (stack.Description, bool) { return stack.Description{Name: "peer"}, true },
	}
	of := func(sides ...string) (checks []string) {
		d := stack.Description{Name: "theirs",
			Serves: []stack.Offer{{Services: []string{"echo", "sum"}, Encodings: []string{"json", "xml"},
				Security: []string{"none", "tls"}, Transports: []string{"http"}, Sides: sides,
				Connections: []string{"keep-alive", "per-request"}}}}
		Run(t.Context(), d, kit, func(check string, _ error) { checks = append(checks, check) })
		return checks
	}
	both, alone := of("server", "client"), of("client")
	for _, aClients := range []string{" connection ", "RTT excludes", "paces", "gives up", " client "} {
		for _, check := range both {
			if strings.Contains(check, aClients) && !slices.Contains(alone, check) {
				t.Errorf("%s: not checked of a stack without a server", check)
			}
		}
		if !slices.ContainsFunc(alone, func(check string) bool { return strings.Contains(check, aClients) }) {
			t.Errorf("no check is named %q", aClients)
		}
	}
	for _, security := range []string{"none", "tls"} {
		if want := "json " + security + " http echo RTT excludes connecting"; !slices.Contains(alone, want) {
			t.Errorf("%s: not checked", want)
		}
	}
}

// The least time of opening a connection has each handshake in it.
func TestOpeningHasEachHandshake(t *testing.T) {
	for _, tt := range []struct {
		security, transport string
		roundTrips          int
		handshake           bool // of TCP
	}{
		{"none", "http", 0, true}, {"tls", "http", 1, true}, {"tls12", "http", 2, true}, {"none", "http3", 1, false},
		{"dtls-psk", "coap", 2, false}, {"none", "coap", 0, false}, {"oscore", "coap", 0, false}, {"none", "mqtt5", 1, true},
		{"tls", "mqtt311", 2, true}, {"none", "grpc", 0, true}, {"tls", "http2", 1, true}, {"none", "coap-tcp", 0, true},
	} {
		got := suite{wish: stack.Wish{Security: tt.security, Transport: tt.transport}}.opening()
		least := time.Duration(tt.roundTrips) * 2 * linkDelay
		if tt.handshake {
			least += handshakeDelay
		}
		if got != least {
			t.Errorf("%s %s: got %v, want %v", tt.security, tt.transport, got, least)
		}
	}
}

// A temperature's request is empty, and nobody knows the answer beforehand: the checks that need more take another
// service, and leave out what they need of a stack that has no other.
func TestTemperatureIsCheckedForWhatItShows(t *testing.T) {
	of := func(services ...string) suite { return suite{offer: stack.Offer{Services: services}} }
	for _, tt := range []struct {
		c     suite
		want  string
		grows bool
	}{
		{of("temperature", "monitor"), "monitor", true}, {of("temperature", "sort", "echo"), "echo", true},
		{of("temperature"), "temperature", false}, {of("io"), "io", true},
		{suite{offer: stack.Offer{Services: []string{"echo"}},
			d: stack.Description{Deviates: map[string]string{largeMessages: "no blocks"}}}, "echo", false},
	} {
		if got := tt.c.principal(); got != tt.want || tt.c.grows(got) != tt.grows {
			t.Errorf("%v: %s, which grows: %v; want %s, %v", tt.c.offer.Services, got, tt.c.grows(got), tt.want, tt.grows)
		}
	}
}

// What a client must ask for is not checked of a server that nobody here can ask: it would pass whatever it does.
func TestNothingPassesThatNobodyAsks(t *testing.T) {
	no := errors.New("nothing is started here")
	kit := Kit{Start: func(context.Context, stack.Description, string) (Running, error) { return nil, no }}
	d := stack.Description{Name: "theirs", Options: []string{"delay"}, Serves: []stack.Offer{{Services: []string{"echo"},
		Encodings: []string{"json"}, Security: []string{"none"}, Transports: []string{"http"}, Sides: []string{"server"},
		Connections: []string{"keep-alive"}}}}
	Run(t.Context(), d, kit, func(check string, _ error) {
		for _, asked := range []string{"times its phases", "waits for no timer", "known delay", "as defined", "last byte"} {
			if strings.Contains(check, asked) {
				t.Errorf("%s: checked without a client", check)
			}
		}
	})
}

// A stack deviates from a check by its full name, and from all of a kind by that of the kind.
func TestDeviationsAreByNameOrKind(t *testing.T) {
	no := errors.New("nothing is started here")
	kit := Kit{Start: func(context.Context, stack.Description, string) (Running, error) { return nil, no }}
	for _, tt := range []struct{ deviates, goes, stays string }{
		{"connection", "connection per-request", "answers"}, {"answers", "answers", "answers several connections"},
		{"connection per-request", "connection per-request", "connection keep-alive"},
	} {
		d := stack.Description{Name: "theirs", Deviates: map[string]string{tt.deviates: "no"},
			Serves: []stack.Offer{{Services: []string{"echo"}, Encodings: []string{"json"}, Security: []string{"none"},
				Transports: []string{"http"}, Sides: []string{"server", "client"},
				Connections: []string{"keep-alive", "per-request"}}}}
		checks := map[string]bool{}
		Run(t.Context(), d, kit, func(check string, _ error) { checks[check] = true })
		const of = "json none http echo "
		if checks[of+tt.goes] || !checks[of+tt.stays] {
			t.Errorf("deviating from %q: %q is checked: %v, %q: %v", tt.deviates, tt.goes, checks[of+tt.goes], tt.stays,
				checks[of+tt.stays])
		}
	}
}

// A client that keeps no connection is not told to.
func TestClientsConnectAsTheyCan(t *testing.T) {
	for _, tt := range []struct{ offers, want string }{
		{"keep-alive per-request", "keep-alive"}, {"per-request keep-alive", "keep-alive"}, {"per-request", "per-request"},
		{"multiplexed per-request", "multiplexed"},
	} {
		c := suite{offer: stack.Offer{Connections: strings.Fields(tt.offers)}}
		if got := c.call("echo", "http://127.0.0.1:1/echo", 1).Connection; got != tt.want {
			t.Errorf("of %s it is told %s, want %s", tt.offers, got, tt.want)
		}
	}
}

// A peer answers wrongly what it makes of another request: for a temperature there is no other.
func TestNoClientMustDisbelieveATemperature(t *testing.T) {
	no := errors.New("nothing is started here")
	kit := Kit{
		Start:     func(context.Context, stack.Description, string) (Running, error) { return nil, no },
		StartPeer: func(stack.Description, string, Tap) (Running, error) { return nil, no },
		Peer:      func(stack.Wish) (stack.Description, bool) { return stack.Description{Name: "peer"}, true },
	}
	for _, s := range []string{"temperature", "monitor"} {
		d := stack.Description{Name: "theirs", Serves: []stack.Offer{{Services: []string{s}, Encodings: []string{"json"},
			Security: []string{"none"}, Transports: []string{"http"}, Sides: []string{"client"},
			Connections: []string{"keep-alive"}}}}
		checked := false
		Run(t.Context(), d, kit, func(check string, _ error) {
			checked = checked || strings.HasSuffix(check, "client checks its answers")
		})
		if checked != (s != "temperature") {
			t.Errorf("a client of %s: its answers are made wrong: %v", s, checked)
		}
	}
}
