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
