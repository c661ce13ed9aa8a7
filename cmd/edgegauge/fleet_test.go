package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/measure"
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

// cmdFleet makes keys for benches, and sets HUB to an address for a hub that the script
// starts: fleet NAME…
func cmdFleet(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv("HUB", strings.TrimPrefix(addFleet(ts, args...), "nats://"))
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

// cmdJoint checks what is kept of trials that several benches drove: which benches those were, that the server counted
// the requests that they say they sent, and that their clocks are as far ahead as said, as far as they tell:
// joint DIR HELPER=AHEAD… BENCH.
func cmdJoint(ts *testscript.TestScript, neg bool, args []string) {
	s, err := store.OpenReadOnly(ts.MkAbs(args[0]))
	ts.Check(err)
	defer s.Close()
	trials, err := s.Trials()
	ts.Check(err)
	found := 0
	for _, t := range trials {
		id := store.AttemptID{Trial: t.ID, Attempt: t.Attempt}
		j, err := s.Joint(id)
		if errors.Is(err, store.ErrNoData) {
			continue
		}
		ts.Check(err)
		if found++; len(j.Benches) != len(args)-1 || j.Apart <= 0 || j.Apart > j.Allowed {
			ts.Fatalf("trial %d: got %+v", t.ID, j)
		}
		next := uint64(1)
		for i, b := range j.Benches {
			name, text, helper := strings.Cut(args[i+1], "=")
			ahead, _ := time.ParseDuration(text)
			if b.Bench != name || b.First != next || b.Requests == 0 || (b.Ahead-ahead).Abs() > b.Bound ||
				helper != (b.Bound > 0) {
				ts.Fatalf("trial %d: got %+v for %s, whose requests begin at %d", t.ID, b, args[i+1], next)
			}
			next += uint64(b.Requests)
		}
		ts.Check(allSent(s, t.ID, j))
	}
	if found == 0 {
		ts.Fatalf("no trial was driven from several benches")
	}
}

// allSent compares what the benches of a trial say that they sent with the requests there are, and with what the
// server counted.
func allSent(s *store.Store, trial int, j store.Joint) error {
	said := 0
	for _, b := range j.Benches {
		said += b.Requests
	}
	sent, err := rowsOf(s, trial, measure.Client)
	served, err2 := rowsOf(s, trial, measure.Server)
	if err = errors.Join(err, err2); err == nil && (sent != said || served != sent) {
		err = fmt.Errorf("trial %d: the benches say that they sent %d requests, there are %d, and the server counted %d",
			trial,
			said, sent, served)
	}
	return err
}

func rowsOf(s *store.Store, trial int, side measure.Side) (n int, err error) {
	for batch, err := range s.Exchanges(trial, side) {
		if err != nil {
			return n, err
		}
		n += len(batch)
	}
	return n, nil
}

// No bench's deliveries come into the folder of the workers here.
func TestNoBenchIsNamedAsTheWorkersFolder(t *testing.T) {
	if admit.CheckName(workersDir) == nil {
		t.Errorf("a bench may be called %s, and its folder is emptied before each delivery", workersDir)
	}
}

// What workers here began anew of results that were taken away goes with them; of results that are there it stays, to
// be gone on with.
func TestWorkersLeaveNothingOfResultsTakenAway(t *testing.T) {
	for _, there := range []bool{false, true} {
		temp, err := newScratch(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		work := filepath.Join(out, "incoming", workersDir)
		err = os.MkdirAll(filepath.Join(work, "here-1"), 0o755)
		if there {
			err = errors.Join(err, os.WriteFile(filepath.Join(out, "ledger.sqlite"), nil, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		(&localFleet{temp: temp, work: work}).stop()
		if _, err := os.Stat(work); (err == nil) != there {
			t.Errorf("results there: %v; what workers have: %v", there, err)
		}
		if _, err := os.Stat(out); (err == nil) != there {
			t.Errorf("results there: %v; the folder: %v", there, err)
		}
	}
}
