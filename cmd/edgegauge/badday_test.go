package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/store"
)

// labCommand is edgegauge in this script's folder.
func labCommand(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(firstPath(ts.Getenv("PATH")), "edgegauge"), args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	return cmd
}

// cmdKillOften runs a lab again and again for a time and kills it with SIGKILL
// at random instants: killoften TIME TRIALS STUDY. After each kill nothing
// may be left running, and no trial that was valid may have changed.
func cmdKillOften(ts *testscript.TestScript, neg bool, args []string) {
	span, err := time.ParseDuration(args[0])
	ts.Check(err)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	kills, whole := 0, 0
	valid := map[int]int{} // trial → attempt
	dir := "killed-0"
	for end := time.Now().Add(span); time.Now().Before(end); kills++ {
		after := time.Duration(random.Int64N(int64(time.Second)))
		if random.IntN(3) == 0 { // while the results are being made, or resumed
			after /= 10
		}
		cmd := labCommand(ts, []string{"run", args[2], "--out", dir})
		ts.Check(cmd.Start())
		timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		cmdLeftover(ts, false, nil)
		valid = keptTrials(ts, dir, valid, fmt.Sprintf("seed %d, kill %d after %v", seed, kills, after))
		if len(valid) == atoi(ts, args[1]) && err == nil {
			whole++
			dir, valid = fmt.Sprintf("killed-%d", whole), map[int]int{}
		}
	}
	ts.Logf("%d kills, %d runs ended whole, seed %d", kills, whole, seed)
	if kills < 5 {
		ts.Fatalf("only %d kills in %v: the machine is too slow to show anything", kills, span)
	}
	cmd := labCommand(ts, []string{"run", args[2], "--out", dir})
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("the last run: %v: %s", err, out)
	}
	if got := keptTrials(ts, dir, valid, "at the end"); len(got) != atoi(ts, args[1]) {
		ts.Fatalf("%d trials are valid at the end, want %s", len(got), args[1])
	}
}

// keptTrials reads which attempt of which trial is valid, and compares with
// what was valid before.
func keptTrials(ts *testscript.TestScript, dir string, before map[int]int, when string) map[int]int {
	now := map[int]int{}
	s, err := store.OpenReadOnly(ts.MkAbs(dir))
	if err != nil { // killed before there was a ledger
		if len(before) > 0 {
			ts.Fatalf("%s: %v", when, err)
		}
		return now
	}
	defer s.Close()
	for row, err := range s.Results() {
		ts.Check(err)
		now[row.ID] = row.Attempt
	}
	for trial, attempt := range before {
		if now[trial] != attempt {
			ts.Fatalf("%s: trial %d was valid with attempt %d, now with %d", when, trial, attempt, now[trial])
		}
	}
	if problems := s.Verify(); len(problems) > 0 {
		ts.Fatalf("%s: the results are not whole: %v", when, problems)
	}
	return now
}

// cmdInterrupt runs a lab and sends it Ctrl-C: interrupt AFTER WITHIN ARGUMENTS.
// It must end within that time, with exit code 3 and advice.
func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	after, err := time.ParseDuration(args[0])
	ts.Check(err)
	within, err := time.ParseDuration(args[1])
	ts.Check(err)
	var said strings.Builder
	cmd := labCommand(ts, args[2:])
	cmd.Stderr = &said
	ts.Check(cmd.Start())
	time.Sleep(after)
	began := time.Now()
	ts.Check(cmd.Process.Signal(syscall.SIGINT))
	cmd.Wait()
	if took := time.Since(began); took > within {
		ts.Fatalf("it took %v to stop: %s", took, said.String())
	}
	if code := cmd.ProcessState.ExitCode(); code != exitUnmeasured ||
		!strings.Contains(said.String(), "run the same command again") {
		ts.Fatalf("exit code %d, it said: %s", code, said.String())
	}
}

// asRoot tells whether mounts and network namespaces can be had.
func asRoot(cond string) (bool, error) {
	if cond != "root" {
		return false, fmt.Errorf("no condition %q", cond)
	}
	return os.Geteuid() == 0 && exec.Command("unshare", "-mn", "true").Run() == nil, nil
}
