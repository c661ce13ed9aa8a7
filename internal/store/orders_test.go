package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

var onA, onB = Bench{"a", "boot-a"}, Bench{"b", "boot-b"}

// deliver measures an order as its bench does, into results of its own, which are closed
// then; those trials whose number is in failing have an invalid attempt first.
func deliver(t *testing.T, s *Store, o Order, failing ...int) string {
	t.Helper()
	h := header(len(must[[]TrialState](t)(s.Trials())))
	h.Plan, h.First = must[[]byte](t)(s.BlockPlan(o.Block)), o.Attempt
	h.Trials = slices.DeleteFunc(h.Trials, func(p PlannedTrial) bool { return p.Block != o.Block })
	dir := filepath.Join(must[string](t)(s.Incoming(o.Bench.Name)), "results")
	return measured(t, dir, h, failing...)
}

// measured measures all trials of a header into dir, in results that are closed then.
func measured(t *testing.T, dir string, h Header, failing ...int) string {
	t.Helper()
	own := must[*Store](t)(Create(dir, h))
	for _, p := range h.Trials {
		if slices.Contains(failing, p.ID) {
			ok(t, write(t, own, p.ID, 30).Invalidate("it rained", "serve.log", quality))
		}
		a := write(t, own, p.ID, 30)
		ok(t, a.Keep("ready.json", []byte(`{}`)))
		ok(t, os.WriteFile(filepath.Join(a.Dir(), "serve.log"), []byte("hello\n"), 0o644))
		ok(t, a.Commit(results, quality))
	}
	ok(t, own.Close())
	return dir
}

// take examines results and accepts them.
func take(s *Store, o Order, retries int, dir string) (State, error) {
	found, err := s.Examine(o, retries, dir)
	if err != nil {
		return "", err
	}
	return s.Accept(found)
}

// verified fails if the results are not whole.
func verified(t *testing.T, s *Store) {
	t.Helper()
	if found := s.Verify(); found != nil {
		t.Errorf("verify: %v", found)
	}
}

// states are those of all attempts, by trial and attempt.
func states(t *testing.T, s *Store) map[AttemptID]State {
	t.Helper()
	all := map[AttemptID]State{}
	for _, a := range must[[]AttemptState](t)(s.Attempts(0)) {
		all[a.AttemptID] = a.State
	}
	return all
}

// What a bench delivers is as if it had been measured here: files, figures, qualities,
// logs, and the bench's facts. Asked again, Accept answers the same.
func TestAcceptKeepsWhatABenchMeasured(t *testing.T) {
	s := create(t, 4)
	o := must[Order](t)(s.Order(2, onA, 2))
	dir := deliver(t, s, o, 4)
	found := must[Examined](t)(s.Examine(o, 2, dir))
	if got := states(t, s); len(got) != 2 || got[AttemptID{4, 1}] != Running {
		t.Errorf("examined only: got %v", got)
	}
	var mu sync.Mutex
	synced := map[string]bool{}
	s.syncDir = func(dir string) error {
		mu.Lock()
		defer mu.Unlock()
		synced[strings.TrimPrefix(dir, s.Dir()+"/")] = true
		return syncDir(dir)
	}
	for range 2 {
		if got := must[State](t)(s.Accept(found)); got != Valid {
			t.Fatalf("got %s, want it kept", got)
		}
	}
	for _, folder := range []string{"exchanges", "invalid", "trials", "trials/0003", "trials/0004", "trials/0004-2"} {
		if !synced[folder] {
			t.Errorf("what %s names may not be on the disk", folder)
		}
	}
	want := map[AttemptID]State{{3, 1}: Valid, {4, 1}: Invalid, {4, 2}: Valid}
	if got := states(t, s); len(got) != len(want) || got[AttemptID{4, 1}] != Invalid || got[AttemptID{4, 2}] != Valid {
		t.Errorf("got %v, want %v", got, want)
	}
	n := 0
	for batch, err := range s.Exchanges(4, measure.Client) {
		ok(t, err)
		n += len(batch)
	}
	if log, err := os.ReadFile(filepath.Join(s.TrialDir(4, 2), "serve.log")); n != 30 || string(log) != "hello\n" {
		t.Errorf("got %d exchanges and the log %q %v", n, log, err)
	}
	if q := must[[]Quality](t)(s.Quality(4, 1)); len(q) != len(quality) {
		t.Errorf("got qualities %v of the invalid attempt", q)
	}
	if facts, err := s.BenchFacts(); err != nil || !strings.Contains(string(facts["a"]), "6.1") {
		t.Errorf("got facts %s %v", facts, err)
	}
	if bench := must[[]AttemptState](t)(s.Attempts(0))[0].Bench; bench != onA {
		t.Errorf("it ran on %v", bench)
	}
	verified(t, s)
}

// A study that is resumed with more blocks and other words takes what benches had in hand, under the text that they
// have; one that nobody ran is another study.
func TestAcceptOfAnEarlierRunsStudy(t *testing.T) {
	s := create(t, 4)
	first, second := must[Order](t)(s.Order(1, onA, 2)), must[Order](t)(s.Order(2, onB, 2))
	under := header(4)
	under.Trials = under.Trials[:2]
	dir := s.Dir()
	ok(t, s.Close())
	grown := header(6)
	grown.Study = append([]byte("# mine\n"), grown.Study...)
	grown.Overrides = []string{"design.replications=5"}
	s = must[*Store](t)(Open(dir, grown))
	defer s.Close()
	under.Plan, under.First = must[[]byte](t)(s.BlockPlan(1)), first.Attempt
	if got := must[State](t)(take(s, first, 2, measured(t, filepath.Join(must[string](t)(s.Incoming("a")), "results"),
		under))); got != Valid {
		t.Errorf("got %s, want it kept", got)
	}
	other := header(4)
	other.Plan, other.First, other.Trials = must[[]byte](t)(s.BlockPlan(2)), second.Attempt, other.Trials[2:]
	other.Overrides = []string{"requests=7"}
	if _, err := take(s, second, 2, measured(t, filepath.Join(must[string](t)(s.Incoming("b")), "results"),
		other)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "another study") {
		t.Errorf("of another study: got %v", err)
	}
	verified(t, s)
}

// Orders outlive the process that gave them, and no number is drawn twice, however many
// attempts of its own a bench has made under one.
func TestOrdersAreDrawnOnce(t *testing.T) {
	s := create(t, 4)
	first := must[Order](t)(s.Order(1, onA, 2))
	if _, err := s.Order(1, onB, 2); !errors.Is(err, ErrNoData) {
		t.Errorf("a block under way was given to another: %v", err)
	}
	dir := s.Dir()
	ok(t, s.Close())
	s = must[*Store](t)(Open(dir, header(4)))
	defer s.Close()
	if got := must[[]Order](t)(s.Orders()); !slices.Equal(got, []Order{first}) {
		t.Fatalf("got %v, want the order %v", got, first)
	}
	late := deliver(t, s, first, 1, 2)
	ok(t, s.Withdraw(first, "silence"))
	second := must[Order](t)(s.Order(1, onB, 2))
	if second.Attempt <= first.Attempt+2 {
		t.Errorf("the second order has attempt %d, which the first may use", second.Attempt)
	}
	found := must[Examined](t)(s.Examine(first, 2, late))
	for range 2 {
		if got := must[State](t)(s.Accept(found)); got != Superseded {
			t.Errorf("the late one: got %s", got)
		}
	}
	ok(t, s.Withdraw(first, "again")) // changes nothing
	if got := must[State](t)(take(s, second, 2, deliver(t, s, second))); got != Valid {
		t.Errorf("the second: got %s", got)
	}
	for row, err := range s.Results() {
		ok(t, err)
		if row.Attempt != second.Attempt {
			t.Errorf("trial %d has results of attempt %d", row.ID, row.Attempt)
		}
	}
	all := must[[]TrialState](t)(s.Trials())
	if all[0].State != Valid || all[0].Attempts != 3 || all[0].Attempt != second.Attempt || all[2].State != Planned ||
		all[2].Attempt != 0 {
		t.Errorf("got %+v", all)
	}
	read := must[*Store](t)(OpenReadOnly(dir))
	defer read.Close()
	ok(t, read.Keep(t.Context(), dir+"-copy"))
	if _, err := os.Stat(filepath.Join(dir+"-copy", trialsDir, trialName(1, second.Attempt), readyFile)); err != nil {
		t.Errorf("a copy lacks what the programs of the valid attempt said: %v", err)
	}
	small := must[*Store](t)(OpenReadOnly(dir + "-copy"))
	defer small.Close()
	verified(t, small)
	if facts := must[map[string]json.RawMessage](t)(small.BenchFacts()); len(facts) != 2 {
		t.Errorf("a copy has the facts of benches %v", facts)
	}
	aside, _ := filepath.Glob(filepath.Join(dir, invalidDir, "exchanges-0001-1-*"))
	if len(aside) != 2 {
		t.Errorf("the raw files of the late one are not in invalid/: %v", aside)
	}
	verified(t, s)
}

// A trial that no attempt made valid is done, and is not given away again.
func TestABlockWithAnAbandonedTrialIsDone(t *testing.T) {
	s := create(t, 2)
	o := must[Order](t)(s.Order(1, onA, 0))
	h := header(2)
	h.First = o.Attempt
	dir := filepath.Join(must[string](t)(s.Incoming("a")), "results")
	own := must[*Store](t)(Create(dir, h))
	ok(t, write(t, own, 1, 10).Commit(results, quality))
	ok(t, write(t, own, 2, 10).Invalidate("it rained", "", nil))
	ok(t, own.Close())
	if got := must[State](t)(take(s, o, 0, dir)); got != Valid {
		t.Fatalf("got %s", got)
	}
	if _, err := s.Order(1, onB, 0); !errors.Is(err, ErrNoData) {
		t.Errorf("it was given away again: %v", err)
	}
	// With more retries only the trial that lacks is.
	o = must[Order](t)(s.Order(1, onA, 1))
	if got := must[map[int]bool](t)(s.ordered(o)); len(got) != 1 || !got[2] {
		t.Errorf("got %v, want trial 2 alone", got)
	}
	verified(t, s)
}

// A block that was ordered before the study got more retries is done as it was ordered, and its invalid trials are left
// to be run again.
func TestRetriesMayBeRaisedMeanwhile(t *testing.T) {
	under := func(retries string, n int) Header {
		h := header(n)
		h.Overrides = []string{"retries=" + retries}
		return h
	}
	dir := filepath.Join(t.TempDir(), "results")
	s := must[*Store](t)(Create(dir, under("1", 2)))
	o := must[Order](t)(s.Order(1, onA, 1))
	ok(t, s.Close())
	s = must[*Store](t)(Open(dir, under("3", 2)))
	defer s.Close()
	h := under("1", 2)
	h.First = o.Attempt
	at := filepath.Join(must[string](t)(s.Incoming("a")), "results")
	own := must[*Store](t)(Create(at, h))
	ok(t, write(t, own, 1, 10).Commit(results, quality))
	ok(t, write(t, own, 2, 10).Invalidate("it rained", "", nil))
	ok(t, own.Close())
	if _, err := s.Examine(o, 3, at); err == nil || !strings.Contains(err.Error(), "trial 2 is not done") {
		t.Errorf("of one attempt, where it may have two: got %v", err)
	}
	own = must[*Store](t)(Open(at, h))
	ok(t, write(t, own, 2, 10).Invalidate("it rained on", "", nil))
	ok(t, own.Close())
	found := must[Examined](t)(s.Examine(o, 3, at))
	if !found.Left(3) || found.Left(1) {
		t.Error("trial 2 had two attempts of four, or of two")
	}
	if got := must[State](t)(s.Accept(found)); got != Valid {
		t.Errorf("got %s", got)
	}
	o = must[Order](t)(s.Order(1, onA, 3))
	if got := must[map[int]bool](t)(s.ordered(o)); len(got) != 1 || !got[2] {
		t.Errorf("got %v, want trial 2 alone", got)
	}
	verified(t, s)
}

// Results that are not what was ordered are refused, and change nothing.
func TestExamineRefusesLies(t *testing.T) {
	edit := func(sql string) func(*testing.T, *Store, Order) string {
		return func(t *testing.T, s *Store, o Order) string {
			dir := deliver(t, s, o)
			fabricate(t, dir, sql)
			return dir
		}
	}
	in := func(change func(h *Header)) func(*testing.T, *Store, Order) string {
		return func(t *testing.T, s *Store, o Order) string {
			h := header(2)
			h.First = o.Attempt
			change(&h)
			dir := filepath.Join(must[string](t)(s.Incoming("a")), "results")
			own := must[*Store](t)(Create(dir, h))
			for _, p := range h.Trials {
				ok(t, write(t, own, p.ID, 10).Commit(results, quality))
			}
			ok(t, own.Close())
			return dir
		}
	}
	for name, lie := range map[string]func(*testing.T, *Store, Order) string{
		"nothing at all": func(t *testing.T, s *Store, o Order) string { return t.TempDir() },
		"a damaged file": func(t *testing.T, s *Store, o Order) string {
			dir := deliver(t, s, o)
			ok(t, os.WriteFile(filepath.Join(dir, "exchanges", "0001-1-client.parquet"), []byte("PAR1"), 0o644))
			return dir
		},
		"an edited figure":  edit("UPDATE results SET mean = mean / 2"),
		"another treatment": edit(`UPDATE trials SET treatment = '{"stack":"b"}'; UPDATE attempts SET digest = NULL`),
		"another study":     in(func(h *Header) { h.Study = []byte("study: u\n") }),
		"another plan": in(func(h *Header) {
			h.Plan = []byte("id,block,replication,stack\n1,1,1,b\n2,1,1,a\n")
			h.Trials[0].Treatment, h.Trials[1].Treatment = h.Trials[1].Treatment, h.Trials[0].Treatment
		}),
		"other overrides": in(func(h *Header) { h.Overrides = []string{"requests=1"} }),
		"half a block": edit("DELETE FROM results; DELETE FROM quality; DELETE FROM files; " +
			"DELETE FROM attempts WHERE trial = 2"),
		"another attempt":  in(func(h *Header) { h.First = 2 }),
		"a path elsewhere": edit("UPDATE files SET path = '../../' || path"),
	} {
		t.Run(name, func(t *testing.T) {
			s := create(t, 4)
			o := must[Order](t)(s.Order(1, onA, 2))
			if _, err := take(s, o, 2, lie(t, s, o)); !errors.Is(err, ErrRefused) {
				t.Fatalf("got %v, want it refused", err)
			}
			if got := must[[]Order](t)(s.Orders()); len(got) != 1 {
				t.Errorf("the order is no longer under way: %v", got)
			}
			verified(t, s)
		})
	}
	s := create(t, 4)
	o := must[Order](t)(s.Order(1, onA, 2))
	dir := deliver(t, s, o)
	for name, other := range map[string]Order{
		"another bench's order":  {o.Block, o.Attempt, onB},
		"another worker's order": {o.Block, o.Attempt, Bench{"a", "later"}},
		"a number never drawn":   {o.Block, o.Attempt + 1, onA},
		"a block never given":    {2, o.Attempt, onA},
	} {
		if _, err := take(s, other, 2, dir); !errors.Is(err, ErrNoData) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Names that travel stay below the directory they are meant for.
func TestPortableNames(t *testing.T) {
	s := create(t, 2)
	o := must[Order](t)(s.Order(1, onA, 2))
	names := must[[]string](t)(Files(deliver(t, s, o, 1)))
	for _, want := range []string{"ledger.sqlite", "facts.json", "plan.csv", "study.yaml", "trials/0001-2/serve.log",
		"exchanges/0001-2-client.parquet", "invalid/samples-0001-1-server-rapl.parquet"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %q", want, names)
		}
	}
	if long := "packets/" + strings.Repeat("x", longestName); !Portable(long) {
		t.Errorf("%q may not travel", long)
	}
	for _, bad := range []string{"lock", "../x", "/etc/passwd", "exchanges/../../x", "trials/x/y", "exchanges/.x",
		"ledger.sqlite-wal", "trials/0001/a/b", "incoming/x", "", "packets/" + strings.Repeat("x", longestName+1),
		"trials/" + strings.Repeat("1", longestName) + "/x"} {
		if Portable(bad) {
			t.Errorf("%q may travel", bad)
		}
	}
}

// A bench that cannot run a treatment says so, where the study allows it: the trial is lacking,
// never attempted, and asked of nobody else.
func TestAcceptOfALackingTrial(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		h := header(4)
		h.Incomplete = allowed
		s := must[*Store](t)(Create(filepath.Join(t.TempDir(), "results"), h))
		defer s.Close()
		o := must[Order](t)(s.Order(2, onA, 2))
		b := header(4)
		b.Incomplete, b.First = true, o.Attempt
		b.Plan, b.Trials = must[[]byte](t)(s.BlockPlan(2)), b.Trials[2:]
		dir := filepath.Join(must[string](t)(s.Incoming("a")), "results")
		own := must[*Store](t)(Create(dir, b))
		ok(t, own.Lack(4, "java is missing"))
		if !allowed {
			ok(t, write(t, own, 3, 30).Commit(results, quality))
			ok(t, own.Close())
			if _, err := take(s, o, 2, dir); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "every treatment") {
				t.Errorf("of a study that wants all: got %v", err)
			}
			continue
		}
		ok(t, own.Close())
		if _, err := take(s, o, 2, dir); !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), "trial 3 is not done") {
			t.Errorf("a trial is neither done nor lacking: got %v", err)
		}
		own = must[*Store](t)(Open(dir, b))
		ok(t, write(t, own, 3, 30).Commit(results, quality))
		ok(t, own.Close())
		found := must[Examined](t)(s.Examine(o, 2, dir))
		for range 2 {
			if got := must[State](t)(s.Accept(found)); got != Valid {
				t.Fatalf("got %s, want it kept", got)
			}
		}
		verified(t, s)
		all := must[[]TrialState](t)(s.Trials())
		if x := all[3]; x.State != Lacking || x.Reason != "java is missing" || x.Attempts != 0 {
			t.Errorf("got %+v", x)
		}
		if left := must[[]TrialState](t)(s.Pending()); len(left) != 2 || left[1].ID != 2 {
			t.Errorf("left to be measured: %+v", left)
		}
		if _, err := s.Order(2, onB, 2); !errors.Is(err, ErrNoData) {
			t.Errorf("the block is done, but ordering it again gave %v", err)
		}
		ok(t, s.Close())
		s = must[*Store](t)(Open(s.Dir(), h)) // the ledger is as it should be
		defer s.Close()
		if x := must[[]TrialState](t)(s.Trials())[3]; x.State != Lacking {
			t.Errorf("opened again: got %+v", x)
		}
	}
}

// A bench throws away what is refused. So where it is this machine that can open no more files, a bench's results are
// not refused, and are taken once it can.
func TestWhatThisMachineCannotReadIsNotRefused(t *testing.T) {
	s := create(t, 4)
	o := must[Order](t)(s.Order(2, onA, 2))
	dir := deliver(t, s, o)
	few := func(more int) error { // as where so many more files can be opened
		var limit syscall.Rlimit
		ok(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
		low := limit
		low.Cur = 256
		ok(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low))
		defer func() { ok(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
		var taken []*os.File
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				break
			}
			defer f.Close()
			taken = append(taken, f)
		}
		for range more {
			taken[0].Close()
			taken = taken[1:]
		}
		_, err := s.Examine(o, 2, dir)
		return err
	}
	failed := 0
	for more := range 16 {
		err := few(more)
		if errors.Is(err, ErrRefused) {
			t.Errorf("with %d descriptors more: %v", more, err)
		}
		if err != nil {
			if failed++; !strings.Contains(fmt.Sprint(err), "bench a cannot be read here: ") {
				t.Errorf("with %d descriptors more: %v", more, err)
			}
		}
	}
	if failed == 0 {
		t.Error("there were descriptors for all")
	}
	if got := must[State](t)(take(s, o, 2, dir)); got != Valid {
		t.Errorf("got %s, want it kept", got)
	}
	verified(t, s)
}

// Results that are taken away while a bench's are fetched leave nothing that stands in the way of the next run.
func TestResultsTakenAwayLeaveNothing(t *testing.T) {
	s := create(t, 2)
	incoming := must[string](t)(s.Incoming("a"))
	ok(t, os.RemoveAll(s.Dir()))
	ok(t, os.MkdirAll(incoming, 0o755)) // by what unpacks
	ok(t, s.RemoveIncoming(incoming))
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	ok(t, closed(Create(s.Dir(), header(2))))
}

// What travels of a ledger that was closed while it was read is whole once nobody reads what was there before.
func TestWhole(t *testing.T) {
	s := create(t, 2)
	reader, err := OpenReadOnly(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rows, err := reader.db.Query("SELECT id FROM trials")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	rows.Next() // and it goes on reading
	a, err := s.Begin(1)
	if err == nil {
		err = a.Invalidate("it rained", "", nil)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	travels := func() (invalid int) {
		t.Helper()
		to := t.TempDir()
		if err := copyFile(filepath.Join(to, ledgerFile), filepath.Join(s.Dir(), ledgerFile)); err != nil {
			t.Fatal(err)
		}
		db, err := openAndTry(dsn(filepath.Join(to, ledgerFile)))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT count(*) FROM attempts WHERE state = 'invalid'").Scan(&invalid); err != nil {
			t.Fatal(err)
		}
		return invalid
	}
	if n := travels(); n != 0 {
		t.Errorf("%d rows travel already: the ledger has no log", n)
	}
	if err := Whole(s.Dir()); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is read: %v, want that another program reads it", err)
	}
	rows.Close()
	if err := Whole(s.Dir()); err != nil {
		t.Error(err)
	}
	if n := travels(); n != 1 {
		t.Errorf("%d rows travel, want 1", n)
	}
	if err := Whole(t.TempDir()); err != nil {
		t.Errorf("where no log is: %v", err)
	}
}
