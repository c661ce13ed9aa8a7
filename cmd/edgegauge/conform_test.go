package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
)

// runKit runs the conformance kit until so many checks failed.
func runKit(t *testing.T, d stack.Description, most int) (failures []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kit, err := newKit(exe, t.TempDir(), spares(t), d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	conform.Run(ctx, d, kit, func(check string, err error) {
		if err == nil {
			return
		}
		if failures = append(failures, check+": "+err.Error()); len(failures) >= most {
			cancel()
		}
	})
	return failures
}

// spares are supervisors that end with the test.
func spares(t *testing.T) *device.Spares {
	s := new(device.Spares)
	t.Cleanup(func() { s.Close() })
	return s
}

// What it takes to open a connection is looked at behind a slow link in every stack, with every security and
// transport that it offers with a connection for each request.
func TestEveryWayToConnectIsChecked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	elsewhere := map[string]bool{
		// no stack of this binary serves them: stacks/dotnet has gSOAP as the kit's peer
		"dotnet soap11 tls12 http": true, "dotnet soap11 wss-username http": true,
		// a device tells its client where its service is: nothing stands between them
		"reference/dpws soap12 none dpws": true,
	}
	all, err := localBed(t, "../../stacks").Stacks()
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("nothing is started here")
	kit := conform.Kit{
		Start:     func(context.Context, stack.Description, string) (conform.Running, error) { return nil, no },
		StartPeer: func(stack.Description, string, conform.Tap) (conform.Running, error) { return nil, no },
		Peer:      referencePeer, Only: "RTT excludes connecting",
	}
	securities := map[string]bool{}
	for name, d := range all {
		var checks []string
		conform.Run(t.Context(), d, kit, func(check string, _ error) { checks = append(checks, check) })
		for _, o := range d.Serves {
			if !slices.Contains(o.Connections, "per-request") || !slices.Contains(o.Sides, "client") {
				continue
			}
			for _, security := range o.Security {
				for _, transport := range o.Transports {
					securities[security] = true
					way := strings.Join([]string{o.Encodings[0], security, transport}, " ")
					checked := slices.ContainsFunc(checks, func(check string) bool { return strings.HasPrefix(check, way+" ") })
					if checked == elsewhere[name+" "+way] {
						t.Errorf("%s %s: checked by the kit is %v", name, way, checked)
					}
				}
			}
		}
	}
	for _, security := range []string{"none", "tls", "tls12", "dtls-psk", "dtls-x509", "oscore", "wss-rsa"} {
		if !securities[security] {
			t.Errorf("no stack was seen that offers %s and a connection for each request", security)
		}
	}
}

// openBeside passes everything on, and listens on every address meanwhile.
const openBeside = `python3 -c '
import socket, sys
s = socket.socket()
s.bind(("0.0.0.0", 0))
s.listen()
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()'`

// A kit that finds nothing is worth nothing: each of these stacks is a good one
// spoiled on its way out.
func TestKitFindsWhatIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what, filter, want string
		after              int
	}{
		{"counts one too few", `sed -u 's/"count":23/"count":22/'`, `23 records, but "end" says 22`, 1},
		{"prints outside the protocol", `sed -u 's/^{.*"ready".*$/&\nListening .../'`, "violated the protocol", 1},
		{"prints after the end", `cat; echo goodbye`, `printed "goodbye`, 1},
		{"outlives its stdin", `cat; sleep 60`, "did not exit cleanly", 1},
		{"has phases beyond the total", `sed -u 's/"serialization":/"serialization":9/'`, "exceed the total", 1},
		{"has sizes of its own", `sed -u 's/"in":/"in":1/'`, "server received", 1},
		{"is open to the network", openBeside, "socket is bound to 0.0.0.0:", 1},
		{"hides its errors", `sed -u 's/"type":"error"/"type":"mishap"/'`, `want an "error" line`, 1},
	} {
		run := func(verb string) stack.Program {
			return stack.Program{Command: []string{"sh", "-c",
				exe + " stack-program reference/rest-json " + verb + " | (" + tt.filter + ")"}}
		}
		failures := runKit(t, stack.Description{
			Name: "spoiled", Dir: "/", Serve: run("serve"), Call: run("call"),
			Serves: []stack.Offer{{Services: []string{"sum"}, Encodings: []string{"json"}, Security: []string{"none"},
				Transports: []string{"http"},
				Sides:      []string{"server", "client"}, Connections: []string{"keep-alive"}}},
		}, tt.after)
		if !strings.Contains(strings.Join(failures, "\n"), tt.want) {
			t.Errorf("a stack that %s: found %q, want %q", tt.what, failures, tt.want)
		}
	}
}

// A program that does not end is killed, though its threads together wait for a CPU for longer than there is time.
func TestKitEndsAProgramThatWantsTheCPU(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	loop := fmt.Sprintf("nice -n 19 taskset -c %d sh -c 'while :; do :; done' & ", kernel.AllowedCPUs()[0])
	busy := stack.Description{Name: "busy", Dir: dir, Serve: stack.Program{Command: []string{"sh", "-c",
		strings.Repeat(loop, 3) + "echo up; wait"}}}
	p, err := startProgram(t.Context(), device.Local{Exe: exe}, dir, busy, "serve")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.(*runningProgram).stop(time.Second, 3*time.Second)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
		p.(*runningProgram).process.Kill()
	}
}
