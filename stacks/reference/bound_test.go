package reference

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// discoveryGroup is the one address beside its own that a program may bind: a
// device hears the group, and nothing else of the port.
const discoveryGroup = "239.255.255.250"

// Nothing of a trial is bound to another address than the one it was given:
// every transport and security, both sides, in a network namespace with
// addresses of its own.
func TestProgramsBindOnlyTheirAddress(t *testing.T) {
	ns, err := newNamespace()
	if err == nil {
		err = within(ns, func() error {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "elsewhere" // Note: a dummy would do, but not every kernel has them
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "far"}); err != nil {
				return err
			}
			if err := up("elsewhere", "10.99.0.1/24"); err != nil {
				return err
			}
			return up("lo", "127.0.0.5/8")
		})
	}
	if err != nil {
		lacking(t, fmt.Errorf("a network namespace: %w; run as root", err))
	}
	credentials, err := stack.NewCredentials(t.TempDir(), nil, netip.MustParseAddr("127.0.0.5"))
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, k := range kinds() {
		for _, transport := range append(slices.Clone(k.versions), k.transport)[:max(len(k.versions), 1)] {
			for _, security := range k.security {
				if what := transport + " " + security + " " + fmt.Sprint(k.needs); !tried[what] {
					tried[what] = true
					t.Run(k.name+" "+transport+" "+security, func(t *testing.T) {
						boundOnly(t, ns, k, transport, security, "127.0.0.5", credentials)
					})
				}
			}
		}
	}
	if len(tried) < 12 {
		t.Errorf("only %d combinations were tried: %v", len(tried), tried)
	}
}

func boundOnly(t *testing.T, ns *os.File, k kind, transport, security, host string, credentials map[string]string) {
	for _, n := range k.needs {
		if n.File != "" {
			if _, err := os.Stat(n.File); err != nil {
				lacking(t, err)
			}
		}
	}
	srv, cl := start(t, stack.Description{}, Prefix+k.name, "serve", ns),
		start(t, stack.Description{}, Prefix+k.name, "call", ns)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	encoding, message := string(k.encodings[0]), stack.Message{Seed: 1, N: 3}
	served, err := srv.Serve(ctx, stack.Serve{Service: string(k.services[0]), Encoding: encoding, Transport: transport,
		Security: security, Host: host,
		Message: message, Limits: stack.Limits{Body: 1 << 20}, Credentials: credentials, Directory: t.TempDir(),
		Sensor: "fixed:21.5"})
	if err != nil {
		t.Fatal(err)
	}
	onlyAt(t, ns, "server", host)
	if _, err = cl.Call(ctx, stack.Call{URL: served.URL, Service: string(k.services[0]), Encoding: encoding,
		Transport: transport, Security: security,
		Message: message, Connection: "keep-alive", Timeout: int64(20 * time.Second), Limits: stack.Limits{Body: 1 << 20},
		Credentials: credentials}); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Run(ctx, stack.Run{Requests: 3, Record: true}, func(x measure.Exchange) {
		if x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if onlyAt(t, ns, "both", host) == 0 {
		t.Error("no socket was seen")
	}
}

// onlyAt looks at every socket of a namespace that takes what is sent to it.
func onlyAt(t *testing.T, ns *os.File, whose, host string) int {
	t.Helper()
	var sockets []kernel.Socket
	err := within(ns, func() (err error) {
		sockets, err = kernel.NetworkSockets()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sockets {
		if at := s.Local.Addr().String(); at != host && at != discoveryGroup {
			t.Errorf("%s: a %s socket is bound to %s, not to %s only", whose, s.Network, at, host)
		}
	}
	return len(sockets)
}
