package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// An ending holds for whoever resumes the same study, and not for one that asks for more.
func TestAnEndingIsKept(t *testing.T) {
	s := create(t, 4)
	dir := s.Dir()
	var begun []*Attempt
	for trial := range 4 {
		begun = append(begun, must[*Attempt](t)(s.Begin(trial+1)))
	}
	for _, a := range begun {
		if !must[bool](t)(s.Left(0)) {
			t.Error("a trial runs, and nothing is left")
		}
		ok(t, a.Commit(results, quality))
	}
	if !must[bool](t)(s.Left(0)) {
		t.Error("every trial is valid, and nothing is left, though the lab did not say so")
	}
	ok(t, s.End("too wide"))
	ok(t, s.Close())
	for _, c := range []struct {
		name   string
		change func(*Header)
		ended  bool
	}{
		{"the same", func(*Header) {}, true},
		{"more precision", func(h *Header) { h.Overrides = []string{"design.precision=0.01"} }, false},
		{"more retries", func(h *Header) { h.Overrides = []string{"retries=9"} }, false},
		{"more blocks", func(h *Header) { *h = header(6); h.Overrides = []string{"design.replications=6"} }, false},
	} {
		h := header(4)
		c.change(&h)
		s = must[*Store](t)(Open(dir, h))
		e := must[*Ending](t)(s.Ending())
		if (e != nil) != c.ended || must[bool](t)(s.Left(0)) == c.ended {
			t.Errorf("%s: got ending %+v", c.name, e)
		}
		if c.ended && (e.Unmet != "too wide" || e.At.IsZero()) {
			t.Errorf("%s: got %+v", c.name, e)
		}
		ok(t, s.End("too wide"))
		ok(t, s.Close())
	}
}

// Abandoned trials are nothing that is left.
func TestAbandonedTrialsAreNotLeft(t *testing.T) {
	s := create(t, 1)
	a := must[*Attempt](t)(s.Begin(1))
	ok(t, a.Invalidate("it broke", "", nil))
	ok(t, s.End(""))
	if must[bool](t)(s.Left(0)) {
		t.Error("a trial that was abandoned is left")
	}
	fabricate(t, s.Dir(), "DELETE FROM meta WHERE key = 'ending'") // as in an older ledger
	if must[bool](t)(s.Left(0)) || !must[bool](t)(s.Left(1)) {
		t.Error("abandoned after no retry, and left with one: got otherwise")
	}
}

// A study that is resumed with fewer blocks has ended when these are measured: what the plan had besides
// is not left.
func TestAShorterPlanEnds(t *testing.T) {
	s := create(t, 6)
	ok(t, s.Close())
	h := header(2)
	h.Overrides = []string{"design.replications=1"}
	s = must[*Store](t)(Open(s.Dir(), h))
	defer s.Close()
	for trial := range 2 {
		ok(t, must[*Attempt](t)(s.Begin(trial+1)).Commit(results, quality))
	}
	ok(t, s.End(""))
	if must[bool](t)(s.Left(0)) {
		t.Error("trials that the plan has no longer are left")
	}
}

// Ledgers of before endings say nothing of them: what is left, the trials tell.
func TestLedgersOlderThanEndings(t *testing.T) {
	ofFormat1(t)
	s := create(t, 1)
	ok(t, must[*Attempt](t)(s.Begin(1)).Commit(results, quality))
	fabricate(t, s.Dir(), "DELETE FROM meta WHERE key = 'ending'")
	if e := must[*Ending](t)(s.Ending()); e == nil || !e.At.IsZero() || must[bool](t)(s.Left(0)) {
		t.Errorf("got %+v, want one without a time, and nothing left", e)
	}
	ok(t, s.Close())
	s = must[*Store](t)(Open(s.Dir(), header(1)))
	defer s.Close()
	if e := must[*Ending](t)(s.Ending()); e != nil {
		t.Errorf("resumed: got %+v, want none until it ends", e)
	}
}

// The time that earlier runs worked is counted, not the time between them.
func TestSpentIsTheTimeOfEarlierRuns(t *testing.T) {
	ofFormat1(t)
	s := create(t, 4)
	dir := s.Dir()
	for trial := range 2 {
		ok(t, must[*Attempt](t)(s.Begin(trial+1)).Commit(results, quality))
	}
	if d := must[time.Duration](t)(s.Spent()); d != 0 {
		t.Errorf("the first run: got %v", d)
	}
	must[*Attempt](t)(s.Begin(3))
	ok(t, s.Close())
	at := func(second int) string {
		return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC).Format(time.RFC3339Nano)
	}
	s = must[*Store](t)(Open(dir, header(4)))
	// Run 1: 0 to 30 s, when a trial began in which it was killed; run 2, an hour later, 70 s long.
	fabricate(t, dir, "DELETE FROM meta WHERE key = 'run_digests';"+
		"UPDATE runs SET started = '"+at(0)+"', host = 'a', pid = 1 WHERE run = 1;"+
		"UPDATE runs SET started = '"+at(3600)+"', host = 'a', pid = 2 WHERE run = 2;"+
		"UPDATE attempts SET host = 'a', pid = 1, started = '"+at(10)+"', ended = '"+at(20)+"';"+
		"UPDATE attempts SET started = '"+at(30)+"', ended = '"+at(3600)+"' WHERE trial = 3;")
	ok(t, must[*Attempt](t)(s.Begin(3)).Commit(results, quality))
	fabricate(t, dir, "UPDATE attempts SET host = 'a', pid = 2, started = '"+at(3610)+"', ended = '"+at(3670)+"' "+
		"WHERE attempt = 2")
	if d := must[time.Duration](t)(s.Spent()); d != 30*time.Second {
		t.Errorf("run 1: got %v, want 30s", d)
	}
	ok(t, s.Close())
	s = must[*Store](t)(Open(dir, header(4)))
	defer s.Close()
	if d := must[time.Duration](t)(s.Spent()); d != 100*time.Second {
		t.Errorf("both runs: got %v, want 100s", d)
	}
	if d := must[time.Duration](t)(s.Took()); d != 80*time.Second {
		t.Errorf("all attempts that ended took %v, want 10 s twice and a minute", d)
	}
	// Of a bench the process is another, and only its clock tells.
	fabricate(t, dir, "UPDATE attempts SET host = 'b', pid = 7, bench = 'b'")
	if d := must[time.Duration](t)(s.Spent()); d != 100*time.Second {
		t.Errorf("both runs, on a bench: got %v, want 100s", d)
	}
	if of := must[map[AttemptID]int](t)(s.RunOf(must[[]Run](t)(s.Runs()))); len(of) > 0 {
		t.Errorf("what a bench measured is of our runs %v", of)
	}
}

// How long runs worked with benches does not depend on the clocks of these.
func TestSpentWithBenchesOfOtherClocks(t *testing.T) {
	ofFormat1(t)
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		s := create(t, 4)
		dir := s.Dir()
		o := must[Order](t)(s.Order(1, onA, 2))
		if got := must[State](t)(take(s, o, 2, deliver(t, s, o))); got != Valid {
			t.Fatalf("got %s", got)
		}
		ok(t, s.Close())
		at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
		fabricate(t, dir, "UPDATE attempts SET started = '"+at(off-time.Minute)+"', ended = '"+at(off)+"';"+
			"DELETE FROM meta WHERE key = 'run_digests'; UPDATE runs SET started = '"+at(-10*time.Minute)+"'")
		s = must[*Store](t)(Open(dir, header(4)))
		fabricate(t, dir, "UPDATE runs SET started = '"+at(10*time.Hour)+"' WHERE run = 2")
		if d := must[time.Duration](t)(s.Spent()); d < 9*time.Minute || d > 15*time.Minute {
			t.Errorf("a clock that is %v off: got %v, want some 10 minutes", off, d)
		}
		ok(t, s.Close())
	}
}

// Who only finds that a study has ended leaves nothing behind: neither a run nor its facts.
func TestALookAtAnEndedStudyIsNoRun(t *testing.T) {
	s := create(t, 2)
	for trial := range 2 {
		ok(t, must[*Attempt](t)(s.Begin(trial+1)).Commit(results, quality))
	}
	ok(t, s.End(""))
	ok(t, s.Close())
	h := header(2)
	for load := range 2 {
		h.Facts = fmt.Appendf(nil, `{"load": %d}`, load+15)
		s = must[*Store](t)(Open(s.Dir(), h))
		ok(t, s.End(""))
		ok(t, s.Close())
	}
	h = header(4)
	h.Overrides, h.Facts = []string{"design.replications=2"}, []byte(`{"load": 20}`)
	s = must[*Store](t)(Open(s.Dir(), h)) // it asks for more
	defer s.Close()
	runs := must[[]Run](t)(s.Runs())
	if len(runs) != 2 || runs[1].FactsFile != "facts-2.json" || !strings.Contains(string(must[json.RawMessage](t)(
		s.Facts(runs[1]))), "20") {
		t.Errorf("got %+v", runs)
	}
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
}

// A trial that begins in a study that had ended has a run, with its facts.
func TestATrialAfterTheEndHasARun(t *testing.T) {
	s := create(t, 2)
	ok(t, s.End(""))
	ok(t, s.Close())
	h := header(2)
	h.Facts = []byte(`{"load": 15}`)
	s = must[*Store](t)(Open(s.Dir(), h))
	defer s.Close()
	for trial := range 2 {
		a := must[*Attempt](t)(s.Begin(trial + 1))
		ok(t, a.Commit(results, quality))
	}
	runs := must[[]Run](t)(s.Runs())
	if len(runs) != 2 || runs[1].FactsFile != "facts-2.json" {
		t.Errorf("got %+v", runs)
	}
	for id, i := range must[map[AttemptID]int](t)(s.RunOf(runs)) {
		if i != 1 {
			t.Errorf("%+v is of run %d", id, i+1)
		}
	}
	if bad := s.Verify(); bad != nil {
		t.Errorf("verify: %v", bad)
	}
}
