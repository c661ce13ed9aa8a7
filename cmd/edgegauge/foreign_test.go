package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// Programs that know nothing of this lab but its OpenAPI description and its WSDL agree with every server on what is a
// request and what is not: Schemathesis on each that speaks REST in JSON, Zeep on each that speaks SOAP.
func TestForeignClientsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("starts every server")
	}
	python := os.Getenv("EDGEGAUGE_PYTHON")
	if python == "" {
		t.Skip("EDGEGAUGE_PYTHON is not set; run: make setup")
	}
	bed := localBed(t, "../../stacks")
	all, err := bed.Stacks()
	if err != nil {
		t.Fatal(err)
	}
	clients := startForeignClients(t, python)
	asked := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if bed.StackState(t.Context(), d) != "" {
			continue // whether all are built is for the gate's conformance to say
		}
		var asks [][2]string // encoding and service
		for _, pair := range [][2]string{{"json", "sort"}, {"json", "monitor"}, {"soap11", "sort"}, {"soap12", "monitor"}} {
			if serves(d, pair[1], pair[0]) {
				asked[pair[0]]++
				asks = append(asks, pair)
			}
		}
		t.Run(name, func(t *testing.T) {
			server := foreignServer{t: t, d: d}
			for _, pair := range asks {
				clients.ask(t, pair[0], pair[1], server.serve(pair[0], pair[1]))
			}
		})
	}
	if asked["json"] < 2 || asked["soap11"] < 2 || asked["soap12"] < 2 {
		t.Errorf("asked %v", asked)
	}
}

func serves(d stack.Description, service, encoding string) bool {
	return slices.ContainsFunc(d.Serves, func(o stack.Offer) bool {
		return slices.Contains(o.Services, service) && slices.Contains(o.Encodings, encoding) &&
			slices.Contains(o.Security, "none") &&
			slices.Contains(o.Transports, "http") && slices.Contains(o.Sides, "server")
	})
}

// A foreignServer is a stack's server, one process for all that it is asked if it takes that: a virtual machine takes
// seconds to start.
type foreignServer struct {
	t     *testing.T
	d     stack.Description
	conn  *stack.Conn
	dir   string // for what it writes
	again bool   // it takes another line
}

// serve has it serve, and returns the URL.
func (f *foreignServer) serve(encoding, service string) string {
	f.t.Helper()
	if !f.again {
		argv, err := f.d.Serve.Argv(0)
		if err != nil {
			f.t.Fatal(err)
		}
		if len(argv) == 0 { // a reference stack is a hidden verb of this program
			argv = []string{"/proc/self/exe", lab.StackVerb, f.d.Name, "serve"}
		} else { // its answers are judged, not its times
			argv = append([]string{"env", quickly}, argv...)
		}
		// Of another user's processes, too, which do not reach t.TempDir; removed when the server has ended.
		dir, err := os.MkdirTemp("", "foreign")
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { os.RemoveAll(dir) })
		f.dir = dir
		f.conn = stacktest.Start(f.t, f.d.Dir, argv...)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Minute)
	defer cancel()
	ready, err := f.conn.Serve(ctx, stack.Serve{Service: service, Encoding: encoding, Security: "none", Transport: "http",
		Host: "127.0.0.1", Directory: f.dir, Limits: stack.Limits{Body: 1 << 20}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.again = ready.Again
	return ready.URL
}

// foreignClients is stacks/contract/foreign.py, one process for all that it asks.
type foreignClients struct {
	cmd *exec.Cmd
	in  io.Writer
	out *json.Decoder
}

func startForeignClients(t *testing.T, python string) foreignClients {
	t.Helper()
	program, err := filepath.Abs("../../stacks/contract/foreign.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return foreignClients{cmd, in, json.NewDecoder(out)}
}

// ask has a client ask a server, and fails the test if an answer was wrong.
func (c foreignClients) ask(t *testing.T, encoding, service, url string) {
	t.Helper()
	var found struct {
		Right bool
		Said  string
	}
	late := time.AfterFunc(5*time.Minute, func() { c.cmd.Process.Kill() })
	defer late.Stop()
	if _, err := fmt.Fprintln(c.in, encoding, service, url); err != nil {
		t.Fatal(err)
	}
	if err := c.out.Decode(&found); err != nil {
		t.Fatal(err)
	}
	if said := strings.TrimSpace(found.Said); !found.Right {
		t.Errorf("%s %s:\n%s", encoding, service, said)
	} else {
		t.Logf("%s %s: %s", encoding, service, said)
	}
}
