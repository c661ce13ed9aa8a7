package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

var rtts = []Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 3, Mean: 1, Method: Measured}}

// The ledger says where each attempt ran; editing that is found.
func TestAttemptsSayOnWhichBenchTheyRan(t *testing.T) {
	s := create(t, 3)
	ok(t, must[*Attempt](t)(s.BeginOn(1, Bench{"shelf-2", "b7"})).Commit(rtts, nil))
	ok(t, must[*Attempt](t)(s.Begin(2)).Commit(rtts, nil))
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
	if _, err := s.BeginOn(3, Bench{"../3", "b1"}); err == nil || !strings.Contains(err.Error(), "letters") {
		t.Errorf("a name that is a path: got %v, want it refused", err)
	}
	got := must[[]AttemptState](t)(s.Attempts(0))
	for i := range got {
		got[i].Began, got[i].Ended = time.Time{}, time.Time{}
	}
	want := []AttemptState{{AttemptID: AttemptID{1, 1}, Bench: Bench{"shelf-2", "b7"}, State: Valid},
		{AttemptID: AttemptID{2, 1}, State: Valid}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("attempts: got %+v, want %+v", got, want)
	}
	var benches []string
	for row, err := range s.Results() {
		ok(t, err)
		benches = append(benches, row.Bench)
	}
	if !reflect.DeepEqual(benches, []string{"shelf-2", ""}) {
		t.Errorf("benches of the trial table: got %q", benches)
	}
	execSQL(t, s.Dir(), "UPDATE attempts SET bench = 'shelf-3' WHERE trial = 1")
	if bad := errors.Join(s.Verify()...); !errors.Is(bad, ErrEdited) {
		t.Errorf("a changed bench: got %v, want it found", bad)
	}
}

// An attempt whose block was given away counts for nothing, whether it was running
// or already taken for dead; the trial is whoever's it is now.
func TestASupersededAttemptDoesNotCount(t *testing.T) {
	s := create(t, 2)
	first := write(t, s, 1, 5)
	ok(t, first.Supersede("the lease ran out", nil))
	if all := must[[]TrialState](t)(s.Trials()); all[0].State != Planned || all[0].Refused != 0 {
		t.Errorf("after a superseded attempt: %+v, want it planned and not refused", all[0])
	}
	if _, err := os.Stat(s.path("invalid", "exchanges-0001-1-client.parquet")); err != nil {
		t.Errorf("its raw files: %v", err)
	}
	late := must[*Attempt](t)(s.BeginOn(2, Bench{"a", "1"}))
	fabricate(t, s.Dir(), "UPDATE attempts SET state = 'interrupted' WHERE trial = 2; "+
		"UPDATE trials SET state = 'planned' WHERE id = 2")
	ok(t, must[*Attempt](t)(s.BeginOn(2, Bench{"b", "1"})).Commit(rtts, nil))
	ok(t, late.Supersede("delivered after its lease", nil))
	if all := must[[]TrialState](t)(s.Trials()); all[1].State != Valid {
		t.Errorf("the trial of a late delivery: %+v, want it valid as it was", all[1])
	}
	if err := late.Commit(rtts, nil); err == nil {
		t.Error("a superseded attempt was committed")
	}
	states := map[AttemptID]State{}
	for _, a := range must[[]AttemptState](t)(s.Attempts(0)) {
		states[a.AttemptID] = a.State
	}
	want := map[AttemptID]State{{1, 1}: Superseded, {2, 1}: Superseded, {2, 2}: Valid}
	if !reflect.DeepEqual(states, want) {
		t.Errorf("states: got %v, want %v", states, want)
	}
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
}

// Facts of benches are kept once for each change, in folders of their own.
func TestBenchesKeepTheirFacts(t *testing.T) {
	s := create(t, 1)
	for _, facts := range []string{`{"kernel":"6.1"}`, `{"kernel":"6.1"}`, `{"kernel":"6.2"}`} {
		ok(t, s.AddBench("2", json.RawMessage(facts)))
	}
	ok(t, s.AddBench("shelf", nil))
	if err := s.AddBench("a/b", nil); err == nil {
		t.Error("a bench called a/b was kept")
	}
	all := must[map[string]json.RawMessage](t)(s.BenchFacts())
	var two struct{ Kernel string }
	ok(t, json.Unmarshal(all["2"], &two))
	if len(all) != 2 || two.Kernel != "6.2" {
		t.Errorf("facts: got %s", all)
	}
	files := must[[]string](t)(filepath.Glob(s.path("benches", "*", "*")))
	if len(files) != 3 || s.Verify() != nil {
		t.Errorf("files %v, verify %v", files, s.Verify())
	}
	ok(t, os.WriteFile(s.path("benches", "2", "facts.json"), []byte("{}"), 0o644))
	if bad := errors.Join(s.Verify()...); !errors.Is(bad, ErrEdited) {
		t.Errorf("edited facts: got %v, want them found", bad)
	}
}

// Ledgers of before benches are read, and finished on the one bench they know.
func TestLedgersOlderThanBenchesOpen(t *testing.T) {
	ofFormat1(t)
	dir := finished(t)
	makeOlderThanBenches(t, dir)
	read := must[*Store](t)(OpenReadOnly(dir))
	defer read.Close()
	if bad := read.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
	n := 0
	for row, err := range read.Results() {
		ok(t, err)
		if n++; row.Bench != "" {
			t.Errorf("trial %d ran on %q", row.ID, row.Bench)
		}
	}
	if attempts := must[[]AttemptState](t)(read.Attempts(0)); n == 0 || len(attempts) == 0 {
		t.Errorf("%d rows, %d attempts", n, len(attempts))
	}
	if facts := must[map[string]json.RawMessage](t)(read.BenchFacts()); len(facts) != 0 {
		t.Errorf("facts of benches: %s", facts)
	}
	s := must[*Store](t)(Open(dir, header(5)))
	defer s.Close()
	if _, err := s.BeginOn(4, Bench{"a", "1"}); !errors.Is(err, ErrChanged) {
		t.Errorf("a second bench: got %v, want it refused", err)
	}
	if err := s.AddBench("a", nil); !errors.Is(err, ErrChanged) {
		t.Errorf("its facts: got %v, want them refused", err)
	}
	a := must[*Attempt](t)(s.Begin(4))
	if err := a.Supersede("x", nil); !errors.Is(err, ErrChanged) {
		t.Errorf("superseded: got %v, want it refused", err)
	}
	ok(t, a.Commit(rtts, nil))
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
}

// makeOlderThanBenches puts the rows of a ledger into one as it was made before benches.
func makeOlderThanBenches(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, ledgerFile)
	ok(t, os.Rename(path, path+".new"))
	text := "PRAGMA application_id = 1164199777; PRAGMA user_version = 1; ATTACH '" + path + ".new' AS new;" +
		string(must[[]byte](t)(os.ReadFile("testdata/before-benches.sql")))
	for _, table := range []string{"meta", "runs", "plan", "trials", "files", "results", "quality"} {
		text += "INSERT INTO main." + table + " SELECT * FROM new." + table + ";"
	}
	execSQL(t, dir, text+"INSERT INTO main.attempts SELECT trial, attempt, state, started, ended, host, pid, reason, "+
		"log, "+
		"digest FROM new.attempts")
	ok(t, os.Remove(path+".new"))
}
