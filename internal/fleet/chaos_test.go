package fleet

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Whole fleets in virtual time: coordinator, workers and ledger are the real ones; the
// hub and the faults are made here, from a seed.

var (
	schedules = flag.Int("schedules", 200, "how many random schedules of faults TestChaos simulates")
	firstSeed = flag.Uint64("seed", 1, "the first schedule's seed: with -schedules 1 one schedule is replayed")
)

const (
	chaosLease  = time.Minute
	chaosBlocks = 4
	chaosTrials = 2 // of a block
	trialTime   = 20 * time.Second
)

var errKilled = errors.New("killed")

// A world is one schedule.
type world struct {
	t      *testing.T
	seed   uint64
	dir    string
	header store.Header
	run    string
	ends   context.Context

	mu      sync.Mutex // of all below: goroutines of both ends use it
	hub     *hub
	benches []*bench
	faults  map[string]int
	lives   int // of the coordinator
	began   time.Time
	trace   strings.Builder // what the coordinator said, and when
}

// A hub keeps what is assigned, and carries the rest.
type hub struct {
	down    bool
	assign  map[string]Order
	objects map[string]string // of a delivery: a folder
	board   *boardEnd         // nil: no coordinator
}

// Dice are one actor's: what it draws depends on the seed and on what it drew before, not
// on who else draws at the same instant.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (w *world) dice(actor string) *dice {
	h := fnv.New64a()
	h.Write([]byte(actor))
	return &dice{random: rand.New(rand.NewPCG(w.seed, h.Sum64()))}
}

func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64() < p
}

// upTo draws a time, or a number.
func (d *dice) upTo(most time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.random.Int64N(int64(most)))
}

func (w *world) count(fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[fault]++
}

// A boardEnd is a life of the coordinator: once dead, nothing that it does has effect.
type boardEnd struct {
	w       *world
	alive   chan Beat
	results chan Delivery
	mu      sync.Mutex
	dead    bool
	dies    int // with that many operations of the ledger to go; 0: not there
	dice    *dice
	*store.Store
}

func (b *boardEnd) isDead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dead
}

func (b *boardEnd) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = true
}

func (b *boardEnd) Alive() <-chan Beat       { return b.alive }
func (b *boardEnd) Results() <-chan Delivery { return b.results }
func (b *boardEnd) Drained() <-chan string   { return nil }

// Mend forgets what a bench has left with the hub.
func (b *boardEnd) Mend(_ context.Context, name string) error {
	if b.isDead() {
		return errKilled
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.w.hub.down {
		return errors.New("no hub")
	}
	for key, at := range b.w.hub.objects {
		if strings.HasPrefix(filepath.Base(at), name+"-") {
			delete(b.w.hub.objects, key)
		}
	}
	b.w.faults["mended"]++
	return nil
}

func (b *boardEnd) Assign(_ context.Context, name string, o Order) error {
	if b.isDead() {
		return errKilled
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if b.w.hub.down {
		return errors.New("no hub")
	}
	b.w.hub.assign[name] = o
	return nil
}

// op is an operation of the ledger: the coordinator may die right before or right after.
func op[T any](b *boardEnd, do func() (T, error)) (T, error) {
	var none T
	after := false
	b.mu.Lock()
	if b.dies > 0 && !b.dead {
		if b.dies--; b.dies == 0 {
			if after = b.dice.chance(0.5); !after {
				b.dead = true
			}
		}
	}
	dead := b.dead
	b.mu.Unlock()
	if dead {
		return none, errKilled
	}
	v, err := do()
	if after {
		b.kill()
		return none, errKilled
	}
	return v, err
}

func (b *boardEnd) Order(block int, on store.Bench, retries int) (store.Order, error) {
	return op(b, func() (store.Order, error) { return b.Store.Order(block, on, retries) })
}

func (b *boardEnd) Withdraw(o store.Order, reason string) error {
	_, err := op(b, func() (int, error) { return 0, b.Store.Withdraw(o, reason) })
	return err
}

func (b *boardEnd) Fate(o store.Order) (store.State, error) {
	return op(b, func() (store.State, error) { return b.Store.Fate(o) })
}

func (b *boardEnd) Take(o store.Order, retries int, dir string) (store.State, error) {
	return op(b, func() (store.State, error) { return b.Store.Take(o, retries, filepath.Join(dir, "results")) })
}

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
		o, ok := b.w.hub.assign[b.name]
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
func (b *benchEnd) Deliver(ctx context.Context, r Result, dir string) (Answer, error) {
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

func (b *benchEnd) ask(ctx context.Context, r Result, at string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answers := make(chan Answer, 8)
	d := Delivery{Result: r}
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
	return err
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

// trouble makes faults until the schedule ends.
func (w *world) trouble(ctx context.Context, lives *sync.WaitGroup) {
	d := w.dice("trouble")
	for pause(ctx, d.upTo(90*time.Second)) {
		b := w.benches[d.upTo(time.Duration(len(w.benches)))]
		if d.chance(0.05) {
			w.mu.Lock()
			b.skew = []time.Duration{-time.Hour, time.Hour}[d.upTo(2)]
			w.mu.Unlock()
			w.count("clock set")
		}
		switch d.upTo(7) {
		case 0:
			w.mu.Lock()
			if board := w.hub.board; board != nil {
				board.mu.Lock()
				board.dies = 1 + int(d.upTo(6))
				board.mu.Unlock()
			}
			w.mu.Unlock()
			w.count("coordinator killed")
		case 1:
			b.cancel()
			w.count("worker killed")
			if !pause(ctx, d.upTo(2*chaosLease)) {
				return
			}
			b.start(lives)
		case 2:
			w.set(func() { w.hub.down = true })
			w.count("hub killed")
			pause(ctx, d.upTo(2*chaosLease))
			w.set(func() { w.hub.down = false })
		case 3:
			w.set(func() { w.hub.assign, w.hub.objects = map[string]Order{}, map[string]string{} })
			w.count("hub emptied")
		case 4:
			w.set(func() { b.frozen = make(chan struct{}) })
			w.count("worker frozen")
			pause(ctx, d.upTo(3*chaosLease))
			w.set(func() { close(b.frozen); b.frozen = nil })
		case 5:
			way := int(d.upTo(3))
			w.set(func() { b.cut = [2]bool{way != 1, way != 0} })
			w.count("partition")
			pause(ctx, d.upTo(3*chaosLease))
			w.set(func() { b.cut = [2]bool{} })
		}
	}
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// note writes down what the coordinator says.
func (w *world) note(e Event) {
	fmt.Fprintf(&w.trace, "%v %s %d %s\n", time.Since(w.began), e.Bench, e.Block, strings.ReplaceAll(e.What, w.dir, ""))
}

// coordinate lives as often as it is killed, until the plan is done.
func (w *world) coordinate(ctx context.Context) error {
	d := w.dice("coordinator")
	for {
		s, err := store.Create(filepath.Join(w.dir, "results"), w.header)
		if errors.Is(err, store.ErrExists) {
			s, err = store.Open(filepath.Join(w.dir, "results"), w.header)
		}
		if err != nil {
			return err
		}
		board := &boardEnd{w: w, alive: make(chan Beat), results: make(chan Delivery), Store: s, dice: d}
		w.set(func() { w.hub.board = board; w.lives++ })
		c := Coordinator{Run: w.run, Program: "v1", Retries: 2, Ledger: board, Board: board, Lease: chaosLease,
			Tell: w.note}
		_, err = c.Conduct(ctx)
		w.set(func() { w.hub.board = nil })
		if closed := s.Close(); closed != nil {
			return closed
		}
		if !errors.Is(err, errKilled) {
			return err
		}
		if !pause(ctx, d.upTo(2*chaosLease)) {
			return ctx.Err()
		}
	}
}

// chaos runs a schedule and returns what happened, and what is wrong with it; nil: nothing.
func chaos(t *testing.T, seed uint64, faults map[string]int) (trace string, bad error) {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "edgegauge-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, began: time.Now(), seed: seed, dir: dir, run: NewID(), header: chaosHeader(), faults: faults,
			hub: &hub{assign: map[string]Order{}, objects: map[string]string{}}}
		ends, end := context.WithTimeout(t.Context(), 48*time.Hour)
		w.ends = ends
		var lives sync.WaitGroup
		d := w.dice("world")
		for i := range 2 + int(d.upTo(3)) {
			// The first is honest, and one in four of the others lies.
			b := &bench{w: w, name: fmt.Sprintf("b%d", i), lies: i > 0 && d.upTo(4) == 0}
			w.benches = append(w.benches, b)
			b.start(&lives)
		}
		calm, stop := context.WithTimeout(ends, time.Hour) // then all heals, and the plan must end
		lives.Go(func() { w.trouble(calm, &lives) })
		if err := w.coordinate(ends); err != nil {
			bad = fmt.Errorf("it did not end: %w", err)
		}
		stop()
		end()
		lives.Wait()
		if bad == nil {
			bad = w.judge()
		}
		trace = w.trace.String()
	})
	return trace, bad
}

// judge counts: each trial has exactly one valid attempt, with the figure of the bench
// that was given its block, which measured the whole of it.
func (w *world) judge() error {
	s, err := store.Open(filepath.Join(w.dir, "results"), w.header)
	if err != nil {
		return err
	}
	defer s.Close()
	if found := s.Verify(); found != nil {
		return fmt.Errorf("not whole: %v", found)
	}
	trials, err := s.Trials()
	if err != nil {
		return err
	}
	attempts, err := s.Attempts(0)
	if err != nil {
		return err
	}
	count, places, blocks := map[int]int{}, map[int]map[store.Bench]bool{}, map[int]int{}
	given := map[int]bool{} // abandoned trials
	for _, t := range trials {
		blocks[t.ID] = t.Block
		places[t.Block] = map[store.Bench]bool{}
		given[t.ID] = t.Refused > 2
	}
	ran := map[store.AttemptID]string{}
	for _, a := range attempts {
		if a.State == store.Valid {
			count[a.Trial]++
			places[blocks[a.Trial]][a.Bench] = true
			ran[a.AttemptID] = a.Bench.Name
		}
		if a.State == store.Running {
			return fmt.Errorf("trial %d is still running", a.Trial)
		}
	}
	for _, t := range trials {
		if count[t.ID] != 1 && !(count[t.ID] == 0 && given[t.ID]) {
			return fmt.Errorf("trial %d has %d valid attempts", t.ID, count[t.ID])
		}
	}
	for block, on := range places {
		if len(on) > 1 {
			return fmt.Errorf("block %d was measured in parts: %v", block, slices.Collect(maps.Keys(on)))
		}
	}
	for row, err := range s.Results() {
		if err != nil {
			return err
		}
		if on := ran[store.AttemptID{Trial: row.ID, Attempt: row.Attempt}]; row.Mean != figure(on, row.ID) {
			return fmt.Errorf("trial %d of bench %s has the figure %g", row.ID, on, row.Mean)
		}
	}
	plan, err := os.ReadFile(filepath.Join(w.dir, "results", "plan.csv"))
	if err == nil && string(plan) != string(w.header.Plan) {
		err = fmt.Errorf("the plan is %q", plan)
	}
	return err
}

func chaosHeader() store.Header {
	h := store.Header{Study: []byte("study: t\n"), Facts: []byte(`{}`), Program: "v1",
		Plan: []byte("id,block,replication,stack\n")}
	for i := range chaosBlocks * chaosTrials {
		block, stack := i/chaosTrials+1, string(rune('a'+i%chaosTrials))
		h.Trials = append(h.Trials, store.PlannedTrial{ID: i + 1, Block: block, Replication: block,
			Treatment: []store.Level{{Factor: "stack", Text: stack}}})
		h.Plan = fmt.Appendf(h.Plan, "%d,%d,%d,%s\n", i+1, block, block, stack)
	}
	return h
}

// memory is where files need not outlive a power cut.
func memory() string {
	if _, err := os.Stat("/dev/shm"); err == nil {
		return "/dev/shm"
	}
	return ""
}

// Whatever is killed, frozen, cut off, emptied, repeated or lied about: each block has
// exactly one valid result.
func TestChaos(t *testing.T) {
	defer forget()
	faults := map[string]int{}
	bad, n := 0, *schedules
	if testing.Short() {
		n = min(n, 20)
	}
	if *schedules > 1 { // not one that is replayed
		n = max(n/fewer, 1)
	}
	for i := range n {
		seed := *firstSeed + uint64(i)
		if _, err := chaos(t, seed, faults); err != nil {
			bad++
			t.Errorf("seed %d: %v; replay: go test ./internal/fleet -run TestChaos -schedules 1 -seed %[1]d", seed, err)
		}
		if t.Failed() && bad > 20 {
			break
		}
	}
	t.Logf("%d schedules, %d wrong; faults: %v", n, bad, faults)
	for _, f := range []string{"coordinator killed", "worker killed", "hub killed", "hub emptied", "worker frozen", "partition",
		"repeated delivery", "damaged in transit", "lie", "clock set"} {
		if n >= 100 && faults[f] == 0 {
			t.Errorf("no %s in all schedules: nothing was tried", f)
		}
	}
}

// A seed is a schedule: it can be run again.
func TestASeedIsReplayed(t *testing.T) {
	defer forget()
	for seed := range uint64(max(4/fewer, 1)) {
		first, err := chaos(t, 1000+seed, map[string]int{})
		again, err2 := chaos(t, 1000+seed, map[string]int{})
		if first != again || first == "" || err != nil || err2 != nil {
			t.Errorf("seed %d: %v %v; the first time:\n%s\nthen:\n%s", seed, err, err2, first, again)
		}
	}
}

// forget removes what results made.
func forget() {
	for _, dir := range made {
		os.RemoveAll(dir)
	}
	clear(made)
}
