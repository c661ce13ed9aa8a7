package javatest

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// hosted are the wars of the GlassFish stacks, each with the client that is made
// with the same framework.
var hosted = []struct{ encoding, war, client string }{
	{"soap11", "", "jaxws-rt"},
	{"text", "", "jaxws-rt"},
	{"protobuf", "", "jersey3"},
	{"soap11", "axis2", "axis2-18"},
	{"xml", "axis2", "axis2-18"},
}

// What TestDelayIsProcessing says, of each war in GlassFish: one server that is
// asked anew, since it takes seconds to start.
func TestHostedDelayIsProcessing(t *testing.T) {
	for _, name := range []string{"glassfish7", "glassfish3"} {
		t.Run(name, func(t *testing.T) {
			cpu := ownCPU(t)
			d := stacktest.Built(t, filepath.Join("..", name))
			server, folder := program(t, cpu, d, d.Serve), t.TempDir() // where its instance lives
			for _, h := range hosted {
				t.Run(h.encoding+" "+h.war, func(t *testing.T) {
					options := maps.Clone(slower)
					if h.war != "" {
						options["war"] = h.war
					}
					host(t, cpu, server, folder, h.client, h.encoding, options).delayed(t)
				})
			}
		})
	}
}

// host makes a started server serve echo, and starts a client for it.
func host(t *testing.T, cpu int, server *stack.Conn, folder, client, encoding string, options map[string]string) pair {
	t.Helper()
	limits := stack.Limits{Body: 16e6}
	ready, err := server.Serve(within(t), stack.Serve{Service: "echo", Encoding: encoding, Security: "none",
		Transport: "http", Host: "127.0.0.1",
		Limits: limits, Directory: folder, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	d := stacktest.Built(t, filepath.Join("..", client))
	p := pair{server, program(t, cpu, d, d.Call)}
	_, err = p.client.Call(within(t), stack.Call{URL: ready.URL, Service: "echo", Encoding: encoding, Security: "none",
		Transport: "http",
		Message:   stack.Message{Seed: 7, N: 100}, Connection: "keep-alive", Timeout: int64(30 * time.Second),
		Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
