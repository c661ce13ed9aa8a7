package reference

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/stack"
)

// Every stack takes bodies of exactly limits.body, its client refuses an answer that is one byte longer, and its server
// such a request. Sort's answers are as long as its requests, concat's a little shorter.
func TestEveryStackKeepsLimitsBody(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	for _, k := range kinds() {
		for _, transport := range append(slices.Clone(k.versions), k.transport)[:max(len(k.versions), 1)] {
			encoding := k.encodings[draw.IntN(len(k.encodings))]
			// An envelope of DPWS has a header, and the texts of EXI may be longer than the message.
			if testing.Short() && draw.IntN(3) > 0 || k.find != nil || strings.Contains(string(encoding), "exi") {
				continue
			}
			name := []service.Name{service.Sort, service.Echo, service.Concat}[draw.IntN(3)]
			message := stack.Message{Seed: draw.Uint64N(1000), N: 20 + draw.IntN(30)}
			if name == service.Concat {
				message.Letters = 10
			}
			t.Run(fmt.Sprintf("%s %s %s %s", k.name, transport, encoding, name), func(t *testing.T) {
				t.Parallel()
				for _, n := range k.needs {
					if _, err := os.Stat(n.File); n.File != "" && err != nil {
						lacking(t, err)
					}
				}
				out, in, err := Sizes(string(name), encoding, message)
				if err != nil {
					t.Fatal(err)
				}
				whole := int64(max(out, in))
				with := func(served, called int64) string {
					return exchanged(t, k, transport, stack.Serve{Service: string(name), Encoding: string(encoding),
						Message: message, Limits: stack.Limits{Body: served}}, called)
				}
				if why := with(whole, whole); why != "" {
					t.Errorf("of %d and %d B, within limits.body: %s", out, in, why)
				}
				if why := with(whole, int64(in)-1); !strings.Contains(why, "limits.body") {
					t.Errorf("an answer of %d B above limits.body by one: %q", in, why)
				}
				if why := with(int64(out)-1, whole); why == "" {
					t.Errorf("a request of %d B above limits.body by one is answered", out)
				}
			})
		}
	}
}

// exchanged is why one request is not answered, or a program refuses to begin; empty: it is.
func exchanged(t *testing.T, k kind, transport string, s stack.Serve, called int64) (why string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.Transport, s.Security, s.Host, s.Directory = transport, k.security[0], "127.0.0.1", t.TempDir()
	var err error
	if s.Security != "none" {
		s.Credentials, err = stack.NewCredentials(s.Directory, nil, netip.MustParseAddr(s.Host))
		if err != nil {
			t.Fatal(err)
		}
	}
	srv, cl := mayRefuse(t, k.name, "serve"), mayRefuse(t, k.name, "call")
	served, err := srv.Serve(ctx, s)
	if err != nil {
		return err.Error()
	}
	if _, err = cl.Call(ctx, stack.Call{URL: served.URL, Service: s.Service, Encoding: s.Encoding, Transport: transport,
		Security: s.Security, Credentials: s.Credentials, Message: s.Message, Connection: "keep-alive",
		Timeout: int64(20 * time.Second), Limits: stack.Limits{Body: called}}); err != nil {
		return err.Error()
	}
	failure := func(x measure.Exchange) { why = x.Failure }
	if _, err := cl.Run(ctx, stack.Run{Requests: 1, Record: true}, failure); err != nil {
		return err.Error()
	}
	return why
}

// mayRefuse begins a program that may end with an error.
func mayRefuse(t *testing.T, name, verb string) *stack.Conn {
	in, stdin := io.Pipe()
	out, stdout := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); Main([]string{name, verb}, in, stdout, io.Discard) }()
	t.Cleanup(func() { stdin.Close(); <-done })
	return stack.NewConn(stdin, out)
}
