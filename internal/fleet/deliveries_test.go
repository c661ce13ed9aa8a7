package fleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A slowLedger takes its time to examine results, as large ones do.
type slowLedger struct {
	Ledger
	takes time.Duration
}

func (l slowLedger) Examine(o store.Order, _ int, _ string) (store.Examined, error) {
	time.Sleep(l.takes)
	return store.Examined{}, store.ErrRefused
}

// While results are examined, benches are heard, those that fall silent are missed, and their blocks
// are given to others. Whose results they are keeps its order.
func TestResultsAreExaminedBesideTheRest(t *testing.T) {
	const takes = 10 * Lease
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		s.beat("b", "1", nil)
		first, second := s.of("a"), s.of("b")
		answers := make(chan Answer, 1)
		s.results <- Delivery{Bundle: Bundle{Task: first.Task, Bench: "a", Boot: "1"},
			Answer: func(a Answer) { answers <- a }, Fetch: func(context.Context, string) error { return nil }}
		synctest.Wait()
		began := time.Now()
		for time.Since(began) < 3*Lease {
			time.Sleep(Lease / beats)
			for name, task := range map[string]Task{"a": first.Task, "c": s.of("c").Task} {
				select {
				case s.alive <- Beat{Bench: name, Boot: "1", Machine: name, Program: "v1", Task: task, Done: name == "a"}:
				case <-time.After(Lease):
					t.Fatalf("nobody has heard %s for %v", name, Lease)
				}
			}
		}
		if x := s.shows("b"); x.Standing != Lost || s.of("c").Attempt == 0 {
			t.Errorf("b fell silent with %v: it is %+v, and c has %v", second.Task, x, s.of("c").Task)
		}
		if s.of("a").Task != first.Task || len(answers) > 0 {
			t.Errorf("a's results are being examined, and it has %v", s.of("a").Task)
		}
		time.Sleep(takes)
		if len(answers) == 0 || (<-answers).Verdict != Refused {
			t.Error("a's results were not refused at the end")
		}
	}, func(c *Coordinator) { c.Ledger = slowLedger{c.Ledger, takes} })
}

// What a bench calls its files ends nobody's study: it is told that they are damaged, and at last it gets no orders.
func TestNamesOfFilesEndNoStudy(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		o := s.of("a")
		for _, kind := range []error{syscall.EEXIST, syscall.ENAMETOOLONG, syscall.ENOTDIR} {
			answers := make(chan Answer, 1)
			s.results <- Delivery{Bundle: Bundle{Task: o.Task, Bench: "a", Boot: "1"},
				Answer: func(a Answer) { answers <- a },
				Fetch:  func(context.Context, string) error { return &fs.PathError{Op: "open", Path: "x", Err: kind} }}
			synctest.Wait()
			if len(answers) == 0 {
				t.Fatalf("%v: no answer", kind)
			}
			if got := <-answers; got.Verdict != Damaged {
				t.Errorf("%v: got %v, want %s", kind, got, Damaged)
			}
		}
		if !s.hasSaid("a gets no orders: 3 orders in a row failed") {
			t.Errorf("said %q", s.said)
		}
	})
}

// failing are results of an order of which each trial had so many invalid attempts and no valid one, in dir.
func failing(t *testing.T, ledger *store.Store, o Order, attempts int, dir string) error {
	h := chaosHeader()
	h.First = o.Attempt
	h.Trials = slices.DeleteFunc(h.Trials, func(p store.PlannedTrial) bool { return p.Block != o.Block })
	var err error
	if h.Plan, err = ledger.BlockPlan(o.Block); err != nil {
		return err
	}
	at := filepath.Join(t.TempDir(), "results")
	own, err := store.Create(at, h)
	if err != nil {
		return err
	}
	for _, p := range h.Trials {
		for range attempts {
			a, begun := own.Begin(p.ID)
			if begun != nil {
				return begun
			}
			err = errors.Join(err, a.Invalidate("it rained", "", nil))
		}
	}
	err = errors.Join(err, own.Close())
	names, listed := store.Files(at)
	err = errors.Join(err, listed)
	for _, name := range names {
		text, read := os.ReadFile(filepath.Join(at, name))
		to := filepath.Join(dir, name)
		err = errors.Join(err, read, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
	}
	return err
}

// Retries that were raised since a block was ordered: it is kept as it was ordered, and its invalid trials are
// run again.
func TestMoreRetriesThanWereOrdered(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		o := s.of("a")
		answers := make(chan Answer, 1)
		s.results <- Delivery{Bundle: Bundle{Task: o.Task, Bench: "a", Boot: "1"},
			Answer: func(a Answer) { answers <- a },
			Fetch: func(_ context.Context, dir string) error {
				return failing(t, s.ledger, o, study.DefaultRetries+1, dir)
			}}
		if got := <-answers; got.Verdict != Kept {
			t.Fatalf("got %+v, want it kept", got)
		}
		if again := s.of("a"); again.Block != o.Block || again.Attempt <= o.Attempt {
			t.Errorf("got %v after %v, want the same block again", again.Task, o.Task)
		}
	}, func(c *Coordinator) { c.Retries = study.DefaultRetries + 1 })
}

// A takingBench is a hub that has results fetched at once, and examined as a coordinator does.
type takingBench struct {
	Bench
	take func(r Bundle, dir string) error
}

func (s takingBench) Deliver(_ context.Context, r Bundle, dir string) (Answer, error) {
	if err := s.take(r, dir); err != nil {
		return Answer{Refused, err.Error()}, nil
	}
	return Answer{Verdict: Kept}, nil
}

// Who reads a bench's results as it closes them, as the page of edgegauge web does, keeps rows in the ledger's log,
// which does not travel. They are offered whole: without these rows they are refused, as of files that no run
// wrote.
func TestResultsThatSomebodyReadsAreOfferedWhole(t *testing.T) {
	dir := t.TempDir()
	ledger, err := store.Create(filepath.Join(dir, "results"), chaosHeader())
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	ordered, err := ledger.Order(1, store.Bench{Name: "a", Boot: "1"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	o := Order{Task: Task{Run: NewID(), Block: 1, Attempt: ordered.Attempt}, Boot: "1"}
	h := chaosHeader()
	h.First = o.Attempt
	h.Trials = slices.DeleteFunc(h.Trials, func(p store.PlannedTrial) bool { return p.Block != o.Block })
	if h.Plan, err = ledger.BlockPlan(o.Block); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "measured")
	own, err := store.Create(at, h)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := store.OpenReadOnly(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range h.Trials {
		for range 3 { // so many as are given up
			a, err := own.Begin(p.ID)
			if err == nil {
				err = a.Invalidate("it rained", "", nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	w := &working{Worker: &Worker{Name: "a", Bench: takingBench{take: func(r Bundle, from string) error {
		to, err := ledger.Incoming("a")
		for _, f := range r.Files {
			text, read := os.ReadFile(filepath.Join(from, f.Name))
			file := filepath.Join(to, f.Name)
			err = errors.Join(err, read, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
		}
		if err == nil {
			_, err = ledger.Examine(ordered, 2, to)
		}
		return err
	}}}}
	for _, when := range []string{"while somebody has them open", "afterwards"} {
		if a, err := w.deliver(t.Context(), o, at); err != nil || a.Verdict != Kept {
			t.Errorf("%s: %+v, %v", when, a, err)
		}
		reader.Close()
	}
}
