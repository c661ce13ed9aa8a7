package fleet

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A bench is a lab host, and the end of its worker that lives.
type bench struct {
	w      *world
	name   string
	lies   bool
	cut    [2]bool       // its words are lost; it hears nothing
	frozen chan struct{} // closed when it thaws; nil: it is not frozen
	cancel context.CancelFunc
	lives  int
	skew   time.Duration // of its wall clock
}

// A benchEnd is a life of a worker.
type benchEnd struct {
	*bench
	ctx    context.Context
	orders chan Order
	// of its goroutines
	looks, beats, trials, asks *dice
}

func (b *benchEnd) Orders() <-chan Order { return b.orders }

// thaw waits while the bench is frozen, as a stopped process would.
func (b *bench) thaw() {
	b.w.mu.Lock()
	ice := b.frozen
	b.w.mu.Unlock()
	if ice != nil {
		<-ice
	}
}

// reach says whether a message goes through now: up 0, down 1.
func (b *benchEnd) reach(way int) *boardEnd {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.ctx.Err() != nil || b.w.hub.down || b.cut[way] || b.w.hub.board == nil {
		return nil
	}
	return b.w.hub.board
}

// look reads the bench's key again and again.
func (b *benchEnd) look() {
	for b.ctx.Err() == nil {
		b.thaw()
		b.w.mu.Lock()
		lag := time.Duration(0)
		if b.w.hub.lag > 0 && b.looks.chance(0.5) {
			lag = b.w.hub.lag
		}
		o, ok := b.w.hub.newest(b.name, lag)
		ok = ok && !b.w.hub.down && !b.cut[1]
		b.w.mu.Unlock()
		if ok {
			select {
			case b.orders <- o:
			case <-b.ctx.Done():
			}
		}
		pause(b.ctx, time.Second+b.looks.upTo(5*time.Second))
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (b *benchEnd) Beat(_ context.Context, beat Beat) error {
	b.thaw()
	copies := 1
	if b.beats.chance(0.05) {
		copies = 2
	}
	for range copies {
		late := b.beats.upTo(50 * time.Millisecond)
		if b.beats.chance(0.03) {
			late = b.beats.upTo(2 * chaosLease)
		}
		go func() {
			if !pause(b.w.ends, late) {
				return
			}
			if board := b.reach(0); board != nil {
				select {
				case board.alive <- beat:
				case <-time.After(chaosLease):
				}
			}
		}()
	}
	return nil
}

// Deliver leaves a copy of the files with the hub, and asks.
func (b *benchEnd) Deliver(ctx context.Context, r Bundle, dir string) (Answer, error) {
	b.thaw()
	key := fmt.Sprint(r.Task, r.Boot)
	b.w.mu.Lock()
	at, ok := b.w.hub.objects[key]
	if !ok {
		at = filepath.Join(b.w.dir, "hub", fmt.Sprintf("%s-%d", b.name, b.asks.upTo(1<<40)))
		b.w.hub.objects[key] = at
		if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
			b.w.t.Error(err)
		}
	}
	b.w.mu.Unlock()
	if b.lies && b.asks.chance(0.3) {
		r.Attempt += 1 + int(b.asks.upTo(3)) // what was never ordered
	}
	if b.asks.chance(0.1) { // the same once more, whenever
		late := b.asks.upTo(5 * chaosLease)
		go func() {
			if pause(b.w.ends, late) {
				b.w.count("repeated delivery")
				b.ask(b.w.ends, r, at)
			}
		}()
	}
	return b.ask(ctx, r, at)
}

func (b *benchEnd) ask(ctx context.Context, r Bundle, at string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answers := make(chan Answer, 8)
	d := Delivery{Bundle: r}
	d.Fetch = func(ctx context.Context, to string) error {
		if b.asks.chance(0.05) {
			b.w.count("damaged in transit")
			return fmt.Errorf("%w: %s", ErrDamaged, r.Files[0].Name)
		}
		pause(ctx, b.asks.upTo(2*time.Second))
		b.w.mu.Lock()
		defer b.w.mu.Unlock()
		if b.w.hub.down {
			return errors.New("no hub")
		}
		return cmp.Or(ctx.Err(), os.CopyFS(filepath.Join(to, "results"), os.DirFS(at)))
	}
	board := b.reach(0)
	d.Answer = func(a Answer) {
		if board.isDead() || b.asks.chance(0.1) {
			return // the answer is lost
		}
		if b.reach(1) == board {
			answers <- a
		}
	}
	if board == nil {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	select {
	case board.results <- d:
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	select {
	case a := <-answers:
		return a, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// conduct measures a block: every figure says where it comes from.
func (b *benchEnd) conduct(ctx context.Context, o Order, dir string) error {
	h := b.w.header
	h.Plan, h.First = o.Plan, o.Attempt
	h.Trials = slices.DeleteFunc(slices.Clone(h.Trials), func(p store.PlannedTrial) bool { return p.Block != o.Block })
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if b.trials.chance(0.03) {
		b.w.count("bench gave up")
		return errors.New("the meter is gone")
	}
	failing := make([]int, len(h.Trials)) // attempts that are invalid
	for i := range h.Trials {
		for again := true; again; {
			b.thaw()
			if !pause(ctx, trialTime/2+b.trials.upTo(trialTime)) {
				b.stopped(o)
				return ctx.Err()
			}
			b.thaw()
			if again = b.trials.chance(0.1) && failing[i] <= o.Retries; again {
				failing[i]++
			}
			again = again && failing[i] <= o.Retries
		}
	}
	made, err := results(h, b.name, failing)
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(made))
	}
	return cmp.Or(err, b.spoil(dir))
}

// stopped counts blocks that a worker that lives gave up though they are what it is to do.
func (b *benchEnd) stopped(o Order) {
	b.w.mu.Lock()
	now, _ := b.w.hub.newest(b.name, 0)
	b.w.mu.Unlock()
	if b.ctx.Err() == nil && now.Task == o.Task {
		b.w.count("stopped though ordered")
	}
}

// made are results as benches make them, by what they depend on: to make each of
// thousands anew would be most of the test.
var made = map[string]string{}

func results(h store.Header, bench string, failing []int) (string, error) {
	key := fmt.Sprint(h.Trials[0].Block, h.First, bench, failing)
	if dir, ok := made[key]; ok {
		return dir, nil
	}
	dir, err := os.MkdirTemp(memory(), "edgegauge-chaos-")
	if err != nil {
		return "", err
	}
	made[key] = dir
	s, err := store.Create(dir, h)
	if err != nil {
		return "", err
	}
	for i, t := range h.Trials {
		for n := range failing[i] + 1 {
			if n > 2 {
				break
			}
			a, err := s.Begin(t.ID)
			if err == nil && n < failing[i] {
				err = a.Invalidate("it rained", "", nil)
			} else if err == nil {
				err = a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 1,
					Mean: figure(bench, t.ID), Method: store.Measured}}, nil)
			}
			if err != nil {
				return "", err
			}
		}
	}
	return dir, s.Close()
}

// figure is what a trial comes to on a bench.
func figure(bench string, trial int) float64 { return float64(trial)*1000 + float64(bench[1]) }

// spoil sets the clock of what was measured, and makes lies of it.
func (b *benchEnd) spoil(dir string) error {
	if b.skew == 0 && !b.lies {
		return nil
	}
	statement := fmt.Sprintf("UPDATE attempts SET started = strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', started, '%+d seconds')",
		int(b.skew.Seconds()))
	if b.lies {
		b.w.count("lie")
		statement = []string{"UPDATE results SET mean = 1", "DELETE FROM results; DELETE FROM attempts WHERE trial % 2 = 0",
			"UPDATE attempts SET attempt = attempt + 1", "UPDATE plan SET csv = x'00'"}[b.trials.upTo(4)]
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "ledger.sqlite"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(context.Background(), statement)
	return errors.Join(err, store.Reseal(dir))
}

// start begins a life of the bench's worker.
func (b *bench) start(lives *sync.WaitGroup) {
	ctx, cancel := context.WithCancel(b.w.ends)
	b.cancel = cancel
	b.lives++
	who := fmt.Sprintf("%s-%d-", b.name, b.lives)
	end := &benchEnd{bench: b, ctx: ctx, orders: make(chan Order), looks: b.w.dice(who + "looks"),
		beats: b.w.dice(who + "beats"), trials: b.w.dice(who + "trials"), asks: b.w.dice(who + "asks")}
	lives.Go(end.look)
	lives.Go(func() {
		pause(ctx, end.beats.upTo(time.Second)) // two that tick at one instant would not be repeatable
		w := Worker{Name: b.name, Machine: b.name, Program: "v1", Bench: end, Dir: filepath.Join(b.w.dir, b.name),
			Lease: chaosLease, Conduct: end.conduct}
		if err := w.Work(ctx); !errors.Is(err, context.Canceled) {
			b.w.t.Errorf("seed %d: worker of %s: %v", b.w.seed, b.name, err)
		}
	})
}
