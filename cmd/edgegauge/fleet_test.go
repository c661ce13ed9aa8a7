package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/store"
)

// addFleet makes keys for benches, as their lines to paste would, and returns the URL of
// a hub that is to be started.
func addFleet(ts *testscript.TestScript, names ...string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a hub that is killed comes back to where it was
	ts.Check(err)
	url := "nats://" + l.Addr().String()
	ts.Check(l.Close())
	for _, name := range names {
		var said bytes.Buffer
		cmd := labCommand(ts, []string{"benches", "add", name, "--nats", url})
		cmd.Stdout = &said
		ts.Check(cmd.Run())
		text, err := pasted(said.String())
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".json"), text, 0o600))
	}
	return url
}

// pasted are the credentials in the line that benches add prints.
func pasted(line string) ([]byte, error) {
	_, rest, _ := strings.Cut(line, "echo ")
	secret, _, _ := strings.Cut(rest, " ")
	return base64.StdEncoding.DecodeString(secret)
}

// cmdHub starts a hub for benches, which ends with the script: hub NAME… It also makes
// credentials that it does not know, in stranger.json.
func cmdHub(ts *testscript.TestScript, neg bool, args []string) {
	url := addFleet(ts, args...)
	cmd := labCommand(ts, []string{"-child", "-store", "store", "-keys", "fleet/keys.json", "-listen",
		strings.TrimPrefix(url, "nats://")})
	cmd.Path, cmd.Args[0] = filepath.Join(filepath.Dir(cmd.Path), "edgegauge-hub"), "edgegauge-hub"
	cmd.Stdout = nil
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		in.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	ts.Check(err)
	go io.Copy(io.Discard, out)
	var said struct{ URL string }
	ts.Check(json.Unmarshal(line, &said))
	_, seed, err := admit.NewKey()
	ts.Check(err)
	ts.Check(wire.Credentials{URL: said.URL, Bench: "one", Seed: seed}.Write(ts.MkAbs("stranger.json")))
}

// cmdOnePerTrial checks that each trial has one valid attempt, all of a block on one
// bench, and that at least so many benches took part: onepertrial DIR BENCHES.
func cmdOnePerTrial(ts *testscript.TestScript, neg bool, args []string) {
	s, err := store.OpenReadOnly(ts.MkAbs(args[0]))
	ts.Check(err)
	defer s.Close()
	_, wrong, states, err := countBlocks(s)
	ts.Check(err)
	if wrong > 0 {
		ts.Fatalf("%d blocks have other than one valid result", wrong)
	}
	attempts, err := s.Attempts(0)
	ts.Check(err)
	benches := map[string]bool{}
	for _, a := range attempts {
		if a.State == store.Valid {
			benches[a.Bench.Name] = true
		}
	}
	if len(benches) < atoi(ts, args[1]) {
		ts.Fatalf("only %v took part", benches)
	}
	if found := s.Verify(); found != nil {
		ts.Fatalf("the results are not whole: %v", found)
	}
	ts.Logf("attempts: %v", states)
}
