package fleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// A board whose benches the test itself plays.
type playedBoard struct {
	alive    chan Beat
	results  chan Delivery
	drained  chan string
	mu       sync.Mutex
	assigned map[string]Order
	away     bool          // the hub takes no orders, and says so only after
	patience time.Duration // some time
	tried    int
	mended   int
	slow     string        // "order" or "bucket": the hub takes its time for those, until
	free     chan struct{} // this is closed
}

// Mend counts: a played hub never needs it.
func (b *playedBoard) Mend(context.Context, string) error {
	b.mu.Lock()
	b.mended++
	slow := b.slow == "bucket"
	b.mu.Unlock()
	if slow {
		<-b.free
	}
	return nil
}

func (b *playedBoard) Alive() <-chan Beat       { return b.alive }
func (b *playedBoard) Results() <-chan Delivery { return b.results }
func (b *playedBoard) Drained() <-chan string   { return b.drained }
func (b *playedBoard) Assign(_ context.Context, name string, o Order) error {
	b.mu.Lock()
	b.tried++
	if b.slow == "order" {
		b.mu.Unlock()
		<-b.free
		b.mu.Lock()
	}
	away := b.away
	if !away {
		b.assigned[name] = o
	}
	b.mu.Unlock()
	if away {
		time.Sleep(b.patience)
		return errors.New("no hub")
	}
	return nil
}

// of is what a bench is to do, once all is quiet.
func (b *playedBoard) of(name string) Order {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.assigned[name]
}

// A stage is a coordinator at work, before benches that the test plays.
type stage struct {
	*playedBoard
	ledger *store.Store
	mu     sync.Mutex
	said   []string
	shown  []BenchState
}

// shows is what was shown last of a bench.
func (s *stage) shows(bench string) (x BenchState) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.shown, func(x BenchState) bool { return x.Bench == bench }); i >= 0 {
		x = s.shown[i]
	}
	x.Heard = time.Time{}
	return x
}

func (s *stage) hasSaid(what string) bool {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.said, func(line string) bool { return strings.Contains(line, what) })
}

func (s *stage) beat(bench, boot string, change func(*Beat)) {
	b := Beat{Bench: bench, Boot: boot, Machine: bench, Program: "v1"}
	if change != nil {
		change(&b)
	}
	s.alive <- b
}

// newStage is a stage with a new ledger in dir, which is closed with the test.
func newStage(t *testing.T, dir string) *stage {
	t.Helper()
	ledger, err := store.Create(dir, chaosHeader())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	return &stage{ledger: ledger, playedBoard: &playedBoard{alive: make(chan Beat), results: make(chan Delivery),
		drained: make(chan string), assigned: map[string]Order{}, free: make(chan struct{})}}
}

// onStage runs a play and ends the coordinator.
func onStage(t *testing.T, benches []string, play func(t *testing.T, s *stage), change ...func(*Coordinator)) {
	dir := filepath.Join(t.TempDir(), "results")
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, dir)
		c := Coordinator{Run: NewID(), Program: "v1", Retries: 2, Ledger: s.ledger, Board: s,
			Benches: benches, Tell: func(e Event) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.said = append(s.said, e.Bench+" "+e.What)
			}, Show: func(all []BenchState) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.shown = all
			}}
		for _, change := range change {
			change(&c)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if _, err := c.Conduct(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the coordinator ended: %v", err)
			}
		})
		play(t, s)
		cancel()
		running.Wait()
	})
}

// A bench of another version, on a machine that is one bench already, that is drained, or
// that was not asked gets no orders, and the coordinator says why.
func TestWhoGetsNoOrders(t *testing.T) {
	onStage(t, []string{"a", "b", "c", "e"}, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		s.beat("b", "1", func(b *Beat) { b.Machine = "a" })
		s.beat("c", "1", func(b *Beat) { b.Program = "v0" })
		s.beat("d", "1", nil)
		s.drained <- "e"
		s.beat("e", "1", nil)
		s.beat("e", "2", nil)
		if s.of("a").Attempt == 0 {
			t.Error("a got no order")
		}
		for name, why := range map[string]string{"b": "it is the same machine as bench a",
			"c": "it runs edgegauge v0, this is v1",
			"d": "it was not named", "e": "it is drained"} {
			if s.of(name).Attempt != 0 || !s.hasSaid(name+" gets no orders: "+why) {
				t.Errorf("%s: got the order %v; said %q", name, s.of(name).Task, s.said)
			}
		}
	})
}

// A study that was made shorter has fewer blocks than its ledger: no bench measures the others.
func TestBlocksThatTheStudyHasNoLonger(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		s.beat("b", "1", nil)
		if o := s.of("a"); o.Block != 1 {
			t.Errorf("a got %v, want block 1", o.Task)
		}
		if o := s.of("b"); o.Attempt != 0 {
			t.Errorf("b got %v, and the study has one block", o.Task)
		}
		if orders, err := s.ledger.Orders(); err != nil || len(orders) != 1 || orders[0].Block != 1 {
			t.Errorf("under way: %v %v, want block 1 alone", orders, err)
		}
	}, func(c *Coordinator) {
		c.Blocks = 1
		if _, err := c.Ledger.Order(2, store.Bench{Name: "a", Boot: "0"}, 2); err != nil {
			t.Fatal(err)
		}
	})
}

// How each bench stands is shown: up with its block, drained, barred and why, lost.
func TestStatesAreShown(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		s.beat("b", "1", func(b *Beat) { b.Program = "v0" })
		s.beat("c", "1", nil)
		s.drained <- "c"
		time.Sleep(Lease / 2)
		s.beat("a", "1", func(b *Beat) { b.Task, b.Done = s.of("a").Task, true })
		for _, want := range []BenchState{{Bench: "a", Standing: Up, Block: 1, Arriving: true},
			{Bench: "b", Standing: Barred, Why: "it runs edgegauge v0, this is v1: install the same on both"},
			{Bench: "c", Standing: Drained, Block: 2}} {
			if got := s.shows(want.Bench); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		time.Sleep(Lease + time.Second)
		s.beat("b", "1", nil)
		if got := s.shows("a"); got.Standing != Lost || got.Block != 0 {
			t.Errorf("a silent bench is %+v", got)
		}
		if got := s.shows("b"); got.Standing != Up || got.Block != 1 {
			t.Errorf("a bench that was mended is %+v", got)
		}
	})
}

// A bench that lives, but never takes up what it is told, does not hold a block; after
// some of it, it gets none.
func TestABenchThatDoesNothing(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		for range 50 {
			s.beat("a", "1", nil)
			time.Sleep(15 * time.Second)
		}
		if s.of("a").Attempt != 0 || !s.hasSaid("did not start it") || !s.hasSaid("a gets no orders: 3 orders in a row") {
			t.Errorf("it has %v; said %q", s.of("a").Task, s.said)
		}
		s.beat("b", "1", nil)
		if s.of("b").Block != 1 {
			t.Errorf("the other bench got %v, want block 1", s.of("b").Task)
		}
	})
}

// A worker that another of its name has replaced is not heard any more, or the two
// would interrupt each other for ever.
func TestTwoWorkersOfOneName(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		first := s.of("a")
		s.beat("a", "2", nil)
		second := s.of("a")
		for range 10 {
			s.beat("a", "1", nil)
			s.beat("a", "2", func(b *Beat) { b.Task = second.Task })
			time.Sleep(15 * time.Second)
		}
		if got := s.of("a"); first.Boot != "1" || second.Boot != "2" || got.Task != second.Task {
			t.Errorf("got %v, then %v, at last %v", first, second.Task, got.Task)
		}
	})
}

// Results of a bench count only under its own orders, and of this run.
func TestForgedResults(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("a", "1", nil)
		s.beat("b", "1", nil)
		own := s.of("a")
		for name, r := range map[string]Bundle{
			"another's order": {Task: own.Task, Bench: "b", Boot: "1"},
			"another boot":    {Task: own.Task, Bench: "a", Boot: "2"},
			"a made-up order": {Task: Task{own.Run, 3, 9}, Bench: "a", Boot: "1"},
			"another run":     {Task: Task{NewID(), own.Block, own.Attempt}, Bench: "a", Boot: "1"},
		} {
			answers := make(chan Answer, 1)
			s.results <- Delivery{Bundle: r, Answer: func(a Answer) { answers <- a },
				Fetch: func(context.Context, string) error { return nil }}
			want := Refused
			if name == "another run" {
				want = Unknown
			}
			if got := <-answers; got.Verdict != want {
				t.Errorf("%s: got %v, want %s", name, got, want)
			}
		}
		if s.of("a").Task != own.Task {
			t.Errorf("a's order is gone: %v", s.of("a"))
		}
	})
}

// A played bench end: what a worker says, and what it is told.
type playedBench struct {
	orders  chan Order
	mu      sync.Mutex
	beats   []Beat
	still   time.Duration // for which the next beat holds the process up
	answers func(Bundle) (Answer, error)
	offers  []Bundle
}

func (b *playedBench) Orders() <-chan Order { return b.orders }

func (b *playedBench) Beat(_ context.Context, beat Beat) error {
	b.mu.Lock()
	b.beats = append(b.beats, beat)
	still := b.still
	b.still = 0
	b.mu.Unlock()
	time.Sleep(still)
	return nil
}

func (b *playedBench) Deliver(_ context.Context, r Bundle, _ string) (Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offers = append(b.offers, r)
	return b.answers(r)
}

func (b *playedBench) last() Beat {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.beats[len(b.beats)-1]
}

// work runs a worker in dir while play lasts. A block takes it a minute.
func work(t *testing.T, dir string, b *playedBench, play func(boot string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b.orders = make(chan Order)
	w := Worker{Name: "a", Machine: "m", Program: "v1", Bench: b, Dir: dir,
		Conduct: func(ctx context.Context, _ Order, dir string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if !pause(ctx, time.Minute) {
				return ctx.Err()
			}
			return os.WriteFile(filepath.Join(dir, "plan.csv"), []byte("x"), 0o644)
		}}
	var running sync.WaitGroup
	running.Go(func() { w.Work(ctx) })
	play(b.last().Boot)
	cancel()
	running.Wait()
}

// A folder in which anything lies that is no worker's is left as it is.
func TestForeignFolderIsLeftAlone(t *testing.T) {
	own := NewID() + "-1-1"
	for _, foreign := range []string{"photos/holiday.jpg", "thesis.txt", NewID() + "-1-1.bak", ".cache/x"} {
		dir := t.TempDir()
		files := []string{foreign, own + "/results/plan.csv"}
		for _, name := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := (&Worker{Name: "a", Bench: &playedBench{answers: func(Bundle) (Answer, error) { return Answer{}, nil }},
			Dir: dir}).
			Work(ctx)
		name, _, _ := strings.Cut(foreign, "/")
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(name)) || !strings.Contains(err.Error(), "--dir") {
			t.Errorf("%s: got %v", foreign, err)
		}
		for _, name := range files {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Errorf("%s: %v", foreign, err)
			}
		}
	}
}

// Measured results that cannot be read for now, as where descriptors are few, stay where they are.
func TestResultsThatCannotBeReadAreLeft(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, NewID()+"-1-1")
	order := filepath.Join(folder, orderFile)
	err := errors.Join(os.MkdirAll(filepath.Join(folder, "results"), 0o755),
		os.Symlink(orderFile, order)) // it is there, and cannot be opened
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = (&Worker{Name: "a", Bench: &playedBench{}, Dir: dir}).Work(ctx)
	if err == nil || !strings.Contains(err.Error(), "results that were measured cannot be read: open "+order) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "results")); err != nil {
		t.Errorf("the results are gone: %v", err)
	}
}

// A worker that cannot read what it measured says so, once for each reason, and not that a hub is away.
func TestResultsThatCannotBeOfferedAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		err := error(&fs.PathError{Op: "open", Path: "ledger.sqlite", Err: syscall.EMFILE})
		b := &playedBench{orders: make(chan Order), answers: func(Bundle) (Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			return Answer{Verdict: Kept}, err
		}}
		w := Worker{Name: "a", Bench: b, Dir: t.TempDir(), Tell: func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e.What)
		}, Conduct: func(_ context.Context, _ Order, dir string) error { return os.MkdirAll(dir, 0o755) }}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.Work(ctx) })
		b.orders <- Order{Task: Task{NewID(), 1, 1}, Boot: b.last().Boot}
		for _, next := range []error{errors.New("no hub"), nil} {
			time.Sleep(5 * time.Minute)
			mu.Lock()
			err = next
			mu.Unlock()
		}
		time.Sleep(5 * time.Minute)
		cancel()
		running.Wait()
		want := []string{"measures", "measured",
			"its results cannot be offered, and stay here until they can: open ledger.sqlite: too many open files", "kept"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// What was measured is offered until it is answered: past a hub that is away, damage on
// the way, a worker that was started again, and other runs meanwhile.
func TestResultsAreOfferedUntilKept(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		verdict := Answer{Verdict: Damaged}
		var away error
		b := &playedBench{answers: func(Bundle) (Answer, error) { return verdict, away }}
		o := Order{Task: Task{NewID(), 1, 1}}
		work(t, dir, b, func(boot string) {
			o.Boot = boot
			b.orders <- o
			time.Sleep(90 * time.Second)
			if got := b.last(); !got.Done || got.Task != o.Task {
				t.Errorf("got the beat %+v", got)
			}
			b.mu.Lock()
			away = errors.New("no hub")
			b.mu.Unlock()
			time.Sleep(10 * time.Minute)
		})
		b.mu.Lock() // what a worker that was stopped delivered may still arrive
		offers := slices.Clone(b.offers)
		verdict, away = Answer{Verdict: Unknown}, nil
		b.mu.Unlock()
		if len(offers) < 10 || offers[0].Files[0].Name != "plan.csv" || offers[0].Boot != o.Boot {
			t.Fatalf("offered %d times: %+v", len(offers), offers)
		}
		work(t, dir, b, func(boot string) { // its coordinator is away: another run is measured
			other := Order{Task: Task{NewID(), 1, 1}, Boot: boot}
			b.orders <- other
			if got := b.last(); got.Task != other.Task || got.Done {
				t.Errorf("got the beat %+v, want the other run's order in hand", got)
			}
			time.Sleep(50 * time.Second)
		})
		work(t, dir, b, func(string) {
			b.mu.Lock()
			verdict = Answer{Verdict: Kept}
			b.mu.Unlock()
			b.orders <- Order{Task: Task{Run: o.Run}}
			time.Sleep(time.Minute)
			b.mu.Lock()
			defer b.mu.Unlock()
			if got := b.offers[len(b.offers)-1]; got.Task != o.Task || got.Boot != o.Boot {
				t.Errorf("offered %+v, want the first run's", got)
			}
		})
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
}

// A worker that stood still for a lease gives its order up, and says so until another
// order comes. Less than a lease changes nothing.
func TestAWorkerThatStoodStill(t *testing.T) {
	for still, stale := range map[time.Duration]bool{50 * time.Second: false, 80 * time.Second: true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := &playedBench{answers: func(Bundle) (Answer, error) { return Answer{}, errors.New("no hub") }}
			work(t, dir, b, func(boot string) {
				o := Order{Task: Task{NewID(), 1, 1}, Boot: boot}
				b.orders <- o
				synctest.Wait()
				b.mu.Lock()
				b.still = still
				b.mu.Unlock()
				time.Sleep(3 * time.Minute)
				for range 2 {
					got := b.last()
					if got.Task != o.Task || got.Done == stale || strings.Contains(got.Failed, "was suspended") != stale {
						t.Errorf("after %v: got the beat %+v", still, got)
					}
					b.orders <- o
				}
				next := Order{Task: Task{o.Run, 1, 4}, Boot: boot}
				b.orders <- next
				if got := b.last(); stale && (got.Task != next.Task || got.Failed != "") {
					t.Errorf("the next order: got the beat %+v", got)
				}
			})
		})
	}
}
