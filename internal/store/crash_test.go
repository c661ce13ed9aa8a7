package store

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// TestMain lets this binary be the lab that other tests kill or starve.
func TestMain(m *testing.M) {
	switch os.Getenv("STORE_TEST_ROLE") {
	case "lab":
		os.Exit(role(labour(os.Getenv("STORE_TEST_DIR"))))
	case "full":
		os.Exit(role(fillDisk(os.Getenv("STORE_TEST_DIR"))))
	case "limited":
		os.Exit(role(meetLimits(os.Getenv("STORE_TEST_DIR"))))
	case "hold":
		os.Exit(role(hold(os.Getenv("STORE_TEST_DIR"))))
	}
	os.Exit(m.Run())
}

func role(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

const crashTrials = 600

// labour runs pending trials, saying after each what has been committed.
func labour(dir string) error {
	h := header(crashTrials)
	s, err := Create(dir, h)
	if errors.Is(err, ErrExists) {
		s, err = Open(dir, h)
	}
	if err != nil {
		return err
	}
	pending, err := s.Pending()
	if err != nil {
		return err
	}
	fmt.Println("opened")
	for _, t := range pending {
		if err := runTrial(s, t); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return s.Close()
}

// runTrial finds every seventh trial's first attempt invalid.
func runTrial(s *Store, t TrialState) error {
	a, err := s.Begin(t.ID)
	if err != nil {
		return err
	}
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		w, err := a.Exchanges(side)
		if err != nil {
			return err
		}
		if err := w.Append(exchanges(500, uint64(t.ID))); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	if t.ID%7 == 0 && t.Refused == 0 {
		if err := a.Invalidate("too late", "", nil); err != nil {
			return err
		}
		fmt.Println("invalid", t.ID)
		t.Refused++
		return runTrial(s, t)
	}
	if err := a.Commit([]Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 500, Mean: float64(t.ID),
		Method: Measured}}, quality); err != nil {
		return err
	}
	fmt.Println("valid", t.ID)
	return nil
}

func asRole(role, dir string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "STORE_TEST_ROLE="+role, "STORE_TEST_DIR="+dir)
	return c
}

// A lab killed at random instants, from its first system call on, and started
// again each time, loses nothing it said was committed and repeats nothing.
func TestKilledLabLosesAndRepeatsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	dir := filepath.Join(t.TempDir(), "results")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	said := map[string]int{} // "valid 17" → times said
	inTrial := 0
	for kill := range 50 {
		// The first ten at any instant of starting up, the others after it.
		lines, done := killed(t, dir, kill >= 10, time.Duration(r.IntN(25_000))*time.Microsecond)
		for _, line := range lines {
			said[line]++
		}
		if kill == 0 && done {
			t.Fatal("the lab ended before it could be killed")
		}
		inTrial += checkAfterKill(t, dir, said)
	}
	t.Logf("50 kills: %d while a trial ran, %d things committed meanwhile", inTrial, len(said))
	if inTrial < 10 {
		t.Errorf("only %d of 50 kills hit a running trial: the test shows little", inTrial)
	}
	if out, err := asRole("lab", dir).CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Fatalf("the last run: %v: %s", err, out)
	}
	s := must[*Store](t)(Open(dir, header(crashTrials)))
	defer s.Close()
	n := 0
	for row, err := range s.Results() {
		ok(t, err)
		if n++; row.ID != n || row.Mean != float64(n) {
			t.Fatalf("row %d of the trial table: got trial %d, mean %v", n, row.ID, row.Mean)
		}
		if c := must[*Columns](t)(s.Columns(row.ID, measure.Server)); c.Rows() != 500 {
			t.Errorf("trial %d: got %d exchanges, want 500", row.ID, c.Rows())
		} else {
			c.Close()
		}
	}
	if n != crashTrials {
		t.Errorf("trial table: got %d rows, want %d", n, crashTrials)
	}
	if files := must[[]string](t)(filepath.Glob(s.path("exchanges", "*"))); len(files) != 2*crashTrials {
		t.Errorf("exchanges/: got %d files, want %d", len(files), 2*crashTrials)
	}
}

// killed starts a lab, kills it after a while and returns what it said.
func killed(t *testing.T, dir string, opened bool, after time.Duration) (lines []string, done bool) {
	t.Helper()
	c := asRole("lab", dir)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	ok(t, err)
	ok(t, c.Start())
	kill := func() { c.Process.Kill() }
	if !opened {
		time.AfterFunc(after, kill)
	}
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if sc.Text() == "opened" {
			if opened {
				time.AfterFunc(after, kill)
			}
			continue
		}
		lines = append(lines, sc.Text())
	}
	c.Wait()
	if errs.Len() > 0 {
		t.Fatalf("the lab: %s", errs.String())
	}
	return lines, slices.Contains(lines, "done")
}

// checkAfterKill compares what the lab said with what lies there, and says
// whether a trial was interrupted.
func checkAfterKill(t *testing.T, dir string, said map[string]int) (interrupted int) {
	t.Helper()
	if holdsResults(dir) != nil { // killed before it had a ledger
		if len(said) > 0 {
			t.Fatal("the ledger is gone")
		}
		return 0
	}
	r := must[*Store](t)(OpenReadOnly(dir))
	ok(t, r.db.QueryRow("SELECT count(*) FROM attempts WHERE state = 'running'").Scan(&interrupted))
	ok(t, r.Close())
	s := must[*Store](t)(Open(dir, header(crashTrials)))
	defer s.Close()
	if bad := s.Verify(); bad != nil {
		t.Fatalf("after a kill: %v", bad)
	}
	if left := must[[]string](t)(filepath.Glob(s.path("*", "*"+partialSuffix))); len(left) > 0 {
		t.Fatalf("partial files left: %v", left)
	}
	states := map[int]TrialState{}
	for _, ts := range must[[]TrialState](t)(s.Trials()) {
		if states[ts.ID] = ts; ts.State == Running {
			t.Fatalf("trial %d is still running", ts.ID)
		}
	}
	for what, times := range said {
		state, id, _ := strings.Cut(what, " ")
		n, err := strconv.Atoi(id)
		if err != nil { // done
			continue
		}
		if times > 1 {
			t.Fatalf("%q was said %d times: repeated", what, times)
		}
		if got := states[n]; state == "valid" && got.State != Valid || state == "invalid" && got.Refused != 1 {
			t.Fatalf("the lab said %q, the ledger has %+v: lost", what, got)
		}
	}
	return interrupted
}

// hold keeps a directory locked until its stdin ends.
func hold(dir string) error {
	s, err := Open(dir, header(2))
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("held")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

func TestTheSecondLabIsRefusedAndAKilledOnesLockTakenOver(t *testing.T) {
	s := create(t, 2)
	ok(t, s.Close())
	c := asRole("hold", s.Dir())
	in, err := c.StdinPipe()
	ok(t, err)
	defer in.Close()
	out, err := c.StdoutPipe()
	ok(t, err)
	ok(t, c.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	_, err = Open(s.Dir(), header(2))
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", c.Process.Pid)) {
		t.Errorf("second lab: got %v, want ErrLocked naming pid %d", err, c.Process.Pid)
	}
	must[*Store](t)(OpenReadOnly(s.Dir())).Close() // reports need no lock
	ok(t, c.Process.Kill())
	c.Wait()
	must[*Store](t)(Open(s.Dir(), header(2))).Close()
}
