package fleet

import (
	"context"
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
	mostLag     = 3 * chaosLease // of a replica of the hub
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
			w.killCoordinator(d)
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
			w.set(func() { w.hub.assign, w.hub.objects = map[string][]written{}, map[string]string{} })
			w.count("hub emptied")
		case 4:
			w.set(func() { b.frozen = make(chan struct{}) })
			w.count("worker frozen")
			pause(ctx, d.upTo(3*chaosLease))
			w.set(func() { close(b.frozen); b.frozen = nil })
		case 6:
			w.lagging(ctx, d)
		case 5:
			way := int(d.upTo(3))
			w.set(func() { b.cut = [2]bool{way != 1, way != 0} })
			w.count("partition")
			pause(ctx, d.upTo(3*chaosLease))
			w.set(func() { b.cut = [2]bool{} })
		}
	}
}

// killCoordinator kills it at one of its next operations of the ledger.
func (w *world) killCoordinator(d *dice) {
	w.set(func() {
		if board := w.hub.board; board != nil {
			board.mu.Lock()
			defer board.mu.Unlock()
			board.dies = 1 + int(d.upTo(6))
		}
	})
	w.count("coordinator killed")
}

// lagging has a replica of the hub be behind for a while.
func (w *world) lagging(ctx context.Context, d *dice) {
	lag := d.upTo(mostLag)
	w.set(func() { w.hub.lag = lag })
	w.count("replica behind")
	pause(ctx, d.upTo(3*chaosLease))
	w.set(func() { w.hub.lag = 0 })
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
		board.last.Writer = fmt.Sprint(w.lives)
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
	return schedule(t, seed, faults, (*world).trouble)
}

// schedule is chaos with faults that trouble makes.
func schedule(t *testing.T, seed uint64, faults map[string]int,
	trouble func(*world, context.Context, *sync.WaitGroup)) (trace string, bad error) {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "edgegauge-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, began: time.Now(), seed: seed, dir: dir, run: NewID(), header: chaosHeader(), faults: faults,
			hub: &hub{assign: map[string][]written{}, objects: map[string]string{}}}
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
		lives.Go(func() { trouble(w, calm, &lives) })
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
		n = min(n, 8)
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
	for _, f := range []string{"coordinator killed", "worker killed", "hub killed", "hub emptied",
		"worker frozen", "partition",
		"repeated delivery", "damaged in transit", "lie", "clock set", "replica behind"} {
		if n >= 100 && faults[f] == 0 {
			t.Errorf("no %s in all schedules: nothing was tried", f)
		}
	}
}

// A replica of the hub that answers with what was replaced, by this coordinator or by one before, stops no bench.
func TestAReplicaIsBehind(t *testing.T) {
	defer forget()
	faults := map[string]int{}
	trouble := func(w *world, ctx context.Context, lives *sync.WaitGroup) {
		d := w.dice("trouble")
		for pause(ctx, d.upTo(20*time.Second)) {
			w.lagging(ctx, d)
			if d.chance(0.1) {
				w.killCoordinator(d)
			}
		}
	}
	for seed := range uint64(max(20/fewer, 1)) {
		if _, err := schedule(t, seed, faults, trouble); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if n := faults["stopped though ordered"]; n > 0 || faults["replica behind"] == 0 || faults["coordinator killed"] == 0 {
		t.Errorf("%d blocks were given up though their benches were to measure them; faults: %v", n, faults)
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
