package main

import (
	"context"
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

// Programs that know nothing of this lab but its OpenAPI description and its WSDL agree with every server on what is a request and what
// is not: Schemathesis on each that speaks REST in JSON, Zeep on each that speaks SOAP.
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
	asked := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if bed.StackState(t.Context(), d) != "" {
			continue // whether all are built is for the gate's conformance to say
		}
		for _, pair := range [][2]string{{"json", "sort"}, {"json", "monitor"}, {"soap11", "sort"}, {"soap12", "monitor"}} {
			encoding, service := pair[0], pair[1]
			if !serves(d, service, encoding) {
				continue
			}
			asked[encoding]++
			t.Run(name+" "+encoding+" "+service, func(t *testing.T) { foreignClient(t, python, d, service, encoding) })
		}
	}
	if asked["json"] < 2 || asked["soap11"] < 2 || asked["soap12"] < 2 {
		t.Errorf("asked %v", asked)
	}
}

func serves(d stack.Description, service, encoding string) bool {
	return slices.ContainsFunc(d.Serves, func(o stack.Offer) bool {
		return slices.Contains(o.Services, service) && slices.Contains(o.Encodings, encoding) && slices.Contains(o.Security, "none") &&
			slices.Contains(o.Transports, "http") && slices.Contains(o.Sides, "server")
	})
}

func foreignClient(t *testing.T, python string, d stack.Description, service, encoding string) {
	argv, err := d.Serve.Argv(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(argv) == 0 { // a reference stack is a hidden verb of this program
		argv = []string{"/proc/self/exe", lab.StackVerb, d.Name, "serve"}
	} else { // its answers are judged, not its times
		argv = append([]string{"env", quickly}, argv...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	srv := stacktest.Start(t, d.Dir, argv...)
	served, err := srv.Serve(ctx, stack.Serve{Service: service, Encoding: encoding, Security: "none", Transport: "http", Host: "127.0.0.1",
		Limits: stack.Limits{Body: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	contract, err := filepath.Abs("../../stacks/contract")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, python, filepath.Join(contract, "foreign.py"), encoding, service, served.URL)
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Log(strings.TrimSpace(string(out)))
	}
}
