// Package dotnet_test asks gSOAP's servers from .NET: levels that no reference stack serves, so that the conformance
// kit finds no partner for them.
package dotnet_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

func TestAgainstGSOAP(t *testing.T) {
	stacktest.Built(t, "../gsoap")
	d := stacktest.Built(t, ".")
	credentials, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, security := range d.Serves[0].Security {
		clients := map[string]*stack.Conn{} // by the use of connections, for all services: Mono takes long to start
		for _, connection := range []string{"per-request", "keep-alive"} {
			clients[connection] = stacktest.Start(t, "", "mono", "build/dotnet.exe", "call")
		}
		first := time.Millisecond // what an invocation takes at least for which the runtime compiles
		for _, service := range d.Serves[0].Services {
			t.Run(security+" "+service, func(t *testing.T) {
				if security == "none" && service != "echo" {
					return // the kit crosses these with reference/soap
				}
				ask(t, clients, first, security, service, credentials)
				first = 1
			})
		}
	}
}

// ask has clients of both uses of connections ask a service.
func ask(t *testing.T, clients map[string]*stack.Conn, first time.Duration, security, service string,
	credentials map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ready, err := stacktest.Start(t, "", "../gsoap/build/gsoap", "serve").Serve(ctx,
		stack.Serve{Service: service, Encoding: "soap11", Security: security, Transport: "http",
			Host: "127.0.0.1", Limits: stack.Limits{Body: 1e6}, Credentials: credentials, Sensor: "fixed:21.5",
			Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for connection, client := range clients {
		_, err = client.Call(ctx, stack.Call{URL: ready.URL, Service: service, Encoding: "soap11", Security: security,
			Message:    stack.Message{Seed: 7, N: 40},
			Connection: connection, Timeout: int64(10 * time.Second), Credentials: credentials})
		if err != nil {
			t.Fatal(err)
		}
		end, err := client.Run(ctx, stack.Run{Requests: 1}, nil)
		if err != nil || end.Phases.FirstInvoke < first {
			t.Errorf("the first call is told as %v: %v", end.Phases.FirstInvoke, err)
		}
		var rtt, total []time.Duration
		end, err = client.Run(ctx, stack.Run{Requests: 23, Record: true}, func(x measure.Exchange) {
			if x.Failure != "" {
				t.Errorf("request %d: %s", x.Seq, x.Failure)
			}
			if x.Connection <= 0 && connection == "per-request" {
				t.Errorf("request %d opened a connection in no time", x.Seq)
			}
			rtt, total = append(rtt, x.RTT()), append(total, x.Total)
		})
		if err != nil || end.Count != 23 || end.Phases.FirstInvoke != 0 {
			t.Errorf("%d requests, want 23, and a first call of %v again: %v", end.Count, end.Phases.FirstInvoke, err)
		}
		t.Logf("%s: first RTT %v total %v, last %v %v", connection, rtt[0], total[0], rtt[22], total[22])
	}
}

// To compare many numbers takes longer than all that is in no phase: it follows
// the total, and lies between two requests.
func TestTotalHasNoCheck(t *testing.T) {
	stacktest.Built(t, "../gsoap")
	stacktest.Built(t, ".")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	limits := stack.Limits{Body: 16e6}
	ready, err := stacktest.Start(t, "", "../gsoap/build/gsoap", "serve").Serve(ctx, stack.Serve{Service: "sort",
		Encoding: "soap11", Security: "none", Transport: "http", Host: "127.0.0.1", Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	client := stacktest.Start(t, "", "mono", "build/dotnet.exe", "call")
	_, err = client.Call(ctx, stack.Call{URL: ready.URL, Service: "sort", Encoding: "soap11", Security: "none",
		Message: stack.Message{Seed: 7, N: 60_000}, Connection: "keep-alive", Timeout: int64(10 * time.Second),
		Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	var all []measure.Exchange
	_, err = client.Run(ctx, stack.Run{Requests: 30, Record: true}, func(x measure.Exchange) {
		if x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
		}
		all = append(all, x)
	})
	if err != nil || len(all) != 30 {
		t.Fatalf("%d records, want 30: %v", len(all), err)
	}
	var within, after []time.Duration
	for i, x := range all[1:] {
		before := all[i]
		within = append(within, before.Total-before.Connection-before.Serialization-before.RTT()-before.Deserialization)
		after = append(after, x.Due-before.Due-before.Total)
	}
	slices.Sort(within)
	slices.Sort(after)
	if got, check := within[len(within)/2], after[len(after)/2]; got > check {
		t.Errorf("%v of the total are in no phase, and %v lie between two requests: it contains the check", got, check)
	}
}

// What the conformance kit checks of a client's connections where it finds a peer, here also for the levels
// that only gSOAP serves: behind a slow link the handshakes of TCP and of TLS are in connection and not in the RTT.
func TestConnectsAsToldToGSOAP(t *testing.T) {
	gsoap, d := stacktest.Built(t, "../gsoap"), stacktest.Built(t, ".")
	credentials, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []string{"connection per-request", "connection keep-alive", "RTT excludes connecting",
		"handshakes are whole"} {
		stacktest.Between(t, d, gsoap, credentials, check)
	}
}

// A wrong password is a failure with the server's reason, and no crash.
func TestWrongPassword(t *testing.T) {
	stacktest.Built(t, "../gsoap")
	stacktest.Built(t, ".")
	credentials, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ready, err := stacktest.Start(t, "", "../gsoap/build/gsoap", "serve").Serve(t.Context(),
		stack.Serve{Service: "echo", Encoding: "soap11", Security: "wss-username",
			Transport: "http", Host: "127.0.0.1", Limits: stack.Limits{Body: 1e6}, Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	client := stacktest.Start(t, "", "mono", "build/dotnet.exe", "call")
	_, err = client.Call(t.Context(), stack.Call{URL: ready.URL, Service: "echo", Encoding: "soap11",
		Security: "wss-username", Message: stack.Message{Seed: 7, N: 5},
		Connection: "keep-alive", Timeout: int64(10 * time.Second),
		Credentials: map[string]string{"user": credentials["user"], "password": "guess"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Run(t.Context(), stack.Run{Requests: 2, Record: true}, func(x measure.Exchange) {
		if !strings.Contains(x.Failure, "SoapHeaderException") && !strings.Contains(x.Failure, "security token") {
			t.Errorf("got %q, want the server's reason", x.Failure)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
