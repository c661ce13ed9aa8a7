package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/store"
)

// A part is a process of a fleet that is killed and started again.
type part struct {
	args  []string
	cmd   *exec.Cmd
	ended chan error
}

func (p *part) start(ts *testscript.TestScript) {
	p.cmd = labCommand(ts, p.args)
	if p.args[0] == "edgegauge-hub" {
		p.cmd = labCommand(ts, p.args[1:])
		p.cmd.Path, p.cmd.Args[0] = filepath.Join(filepath.Dir(p.cmd.Path), "edgegauge-hub"), "edgegauge-hub"
	}
	p.cmd.Stdout, p.cmd.Stderr = nil, nil
	log, err := os.OpenFile(filepath.Join(p.cmd.Dir, "fleet.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	p.cmd.Stderr = log
	ts.Check(p.cmd.Start())
	log.Close()
	p.ended = make(chan error, 1)
	cmd, ended := p.cmd, p.ended
	go func() { ended <- cmd.Wait() }()
}

func (p *part) kill() {
	p.cmd.Process.Signal(syscall.SIGCONT)
	p.cmd.Process.Kill()
	<-p.ended
	p.ended <- nil
}

// over says whether the process has ended.
func (p *part) over() (bool, error) {
	select {
	case err := <-p.ended:
		p.ended <- err
		return true, err
	default:
		return false, nil
	}
}

// cmdKillFleet has two benches measure a study while hub, coordinator and workers are
// killed, frozen and emptied at random: killfleet TIME STUDY OUT. Then it lets them end.
func cmdKillFleet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: killfleet TIME STUDY OUT")
	}
	span, err := time.ParseDuration(args[0])
	ts.Check(err)
	const lease = "4s"
	url := addFleet(ts, "one", "two")
	hub := &part{args: []string{"edgegauge-hub", "-store", "store", "-keys", "fleet/keys.json", "-listen",
		strings.TrimPrefix(url, "nats://")}}
	coordinator := &part{args: []string{"run", args[1], "--out", args[2], "--benches", "one,two", "--creds",
		"fleet/coordinator.json", "--lease", lease}}
	parts := []*part{hub, coordinator}
	for _, name := range []string{"one", "two"} {
		parts = append(parts, &part{args: []string{"worker", "--creds", name + ".json", "--dir", "work-" + name, "--lease", lease,
			"--turn", "turn"}})
	}
	for _, p := range parts {
		p.start(ts)
	}
	defer func() {
		for _, p := range parts {
			p.kill()
		}
	}()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	faults := map[string]int{}
	for end := time.Now().Add(span); time.Now().Before(end); {
		time.Sleep(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		p := parts[random.IntN(len(parts))]
		switch what := random.IntN(4); {
		case what == 0 && p != hub && p != coordinator:
			p.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(random.Int64N(int64(6 * time.Second))))
			p.cmd.Process.Signal(syscall.SIGCONT)
			faults["frozen"]++
			continue
		case what == 1 && p == hub:
			p.kill()
			ts.Check(os.RemoveAll(ts.MkAbs("store")))
			faults["emptied"]++
		default:
			p.kill()
		}
		faults["killed "+p.args[0]]++
		p.start(ts)
	}
	ts.Logf("seed %d: %v", seed, faults)
	restart(ts, coordinator, hub)
}

// restart lets a coordinator end, which is started again as long as it was only the hub
// that was not there.
func restart(ts *testscript.TestScript, coordinator, hub *part) {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if over, _ := hub.over(); over {
			ts.Fatalf("the hub has ended: %s", ts.ReadFile("fleet.log"))
		}
		over, err := coordinator.over()
		if over && err == nil {
			return
		}
		if over {
			coordinator.start(ts)
			time.Sleep(500 * time.Millisecond)
		}
	}
	ts.Fatalf("the study did not end in time: %s", ts.ReadFile("fleet.log"))
}

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
		_, rest, _ := strings.Cut(said.String(), "echo ")
		secret, _, _ := strings.Cut(rest, " ")
		text, err := base64.StdEncoding.DecodeString(secret)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".json"), text, 0o600))
	}
	return url
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
	_, seed, err := wire.NewKey()
	ts.Check(err)
	ts.Check(wire.Credentials{URL: said.URL, Bench: "one", Seed: seed}.Write(ts.MkAbs("stranger.json")))
}

// cmdOnePerTrial checks that each trial has one valid attempt, all of a block on one
// bench, and that at least so many benches took part: onepertrial DIR BENCHES.
func cmdOnePerTrial(ts *testscript.TestScript, neg bool, args []string) {
	s, err := store.OpenReadOnly(ts.MkAbs(args[0]))
	ts.Check(err)
	defer s.Close()
	trials, err := s.Trials()
	ts.Check(err)
	attempts, err := s.Attempts(0)
	ts.Check(err)
	blocks, valid, places, benches := map[int]int{}, map[int]int{}, map[int]store.Bench{}, map[string]bool{}
	for _, t := range trials {
		blocks[t.ID] = t.Block
	}
	states := map[store.State]int{}
	for _, a := range attempts {
		states[a.State]++
		if a.State != store.Valid {
			continue
		}
		valid[a.Trial]++
		benches[a.Bench.Name] = true
		block := blocks[a.Trial]
		if on, ok := places[block]; ok && on != a.Bench {
			ts.Fatalf("block %d was measured on %v and %v", block, on, a.Bench)
		}
		places[block] = a.Bench
	}
	for _, t := range trials {
		if valid[t.ID] != 1 {
			ts.Fatalf("trial %d has %d valid attempts", t.ID, valid[t.ID])
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
