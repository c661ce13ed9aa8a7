package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// A study that nobody may measure ends, and says why each bench may not; one whose bench is silent waits.
func TestNobodyIsLeft(t *testing.T) {
	for _, x := range []struct {
		benches []string
		within  time.Duration
	}{{[]string{"a", "b"}, 2 * Lease}, {nil, 12 * Lease}} {
		dir := filepath.Join(t.TempDir(), "results")
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, dir)
			ended := make(chan error, 1)
			c := Coordinator{Run: NewID(), Program: "v1", Ledger: s.ledger, Board: s, Benches: x.benches}
			go func() {
				_, err := c.Conduct(t.Context())
				ended <- err
			}()
			old := func(b *Beat) { b.Program = "v0" }
			s.beat("a", "1", old)
			if x.benches != nil { // the other may come
				for range 40 {
					time.Sleep(Lease / 4)
					s.beat("a", "1", old)
				}
			}
			s.beat("b", "1", old)
			began := time.Now()
			for {
				select {
				case err := <-ended:
					if !errors.Is(err, ErrNobody) || !strings.Contains(err.Error(), "a: it runs edgegauge v0") ||
						!strings.Contains(err.Error(), "b: it runs edgegauge v0") || time.Since(began) < Lease {
						t.Errorf("ended after %v: %v", time.Since(began), err)
					}
					return
				case <-time.After(Lease / 4):
				}
				if time.Since(began) > x.within {
					t.Fatalf("it waits after %v", time.Since(began))
				}
				for _, name := range []string{"a", "b"} {
					select {
					case s.alive <- Beat{Bench: name, Boot: "1", Machine: name, Program: "v0"}:
					case err := <-ended:
						ended <- err
					}
				}
			}
		})
	}
}

// Nobody takes the machine of a bench that was there before, whatever name it has; a bench with results
// was there before a coordinator that begins again.
func TestAMachineIsNotTaken(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.beat("b", "1", nil)
		time.Sleep(time.Second)
		s.beat("a", "1", func(b *Beat) { b.Machine = "x" })
		if s.of("a").Attempt == 0 {
			t.Error("a got no order")
		}
		s.beat("a", "1", func(b *Beat) { b.Machine, b.Task = "b", s.of("a").Task })
		s.beat("b", "1", func(b *Beat) { b.Task, b.Failed = s.of("b").Task, "once" })
		if o := s.of("b"); o.Attempt == 0 || s.hasSaid("b gets no orders") {
			t.Errorf("b got %+v; said %q", o, s.said)
		}
		s.beat("a", "1", func(b *Beat) { b.Machine, b.Task, b.Failed = "b", s.of("a").Task, "once" })
		if !s.hasSaid("a gets no orders: it is the same machine as bench b") {
			t.Errorf("said %q", s.said)
		}
	})
}

// A bench whose control has moved is drained, unless it is the last; it is looked at after 8 blocks, 16, ….
func TestADriftingBenchIsDrained(t *testing.T) {
	looks := 0
	w := &conducting{Coordinator: &Coordinator{Moved: func(bench string) (string, error) {
		looks++
		return "its control moved", nil
	}}, seats: map[string]*seat{}, measured: map[string]int{}}
	var said []string
	w.Tell = func(e Event) { said = append(said, e.Bench+" "+e.What) }
	a := w.seat("a")
	for n := range 20 {
		w.measured["a"] = n + 1
		if err := w.watchControl("a", a); err != nil {
			t.Fatal(err)
		}
	}
	if looks != 2 || a.drained != "" || len(said) != 2 || !strings.Contains(said[0], "it measures on") {
		t.Errorf("alone: %d looks, drained %q; said %q", looks, a.drained, said)
	}
	b := w.seat("b")
	b.beat.Bench, b.heard = "b", time.Now()
	w.measured["a"] = 32
	if err := w.watchControl("a", a); err != nil || !strings.Contains(a.drained, "its control moved") {
		t.Errorf("beside another: %v, drained %q", err, a.drained)
	}
}

// Results that no hub takes are not offered for ever: the bench says why.
func TestLargeResults(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "ledger.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size, want := range map[int64]string{MostResults: "", MostResults +
		1: "have 4294967297 B, and a hub takes 4294967296"} {
		if err := f.Truncate(size); err != nil { // sparse
			t.Fatal(err)
		}
		if err := small(dir); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d B: got %v", size, err)
		}
	}
}

// A hub that takes no orders for many leases, though beats come through, is no bench's fault: none is barred, none is
// said to be silent, and each gets its order when the hub is back.
func TestAHubTakesNoOrders(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.playedBoard.mu.Lock()
		s.away, s.patience = true, 5*time.Second
		s.playedBoard.mu.Unlock()
		ends := make(chan struct{})
		var beating sync.WaitGroup
		for i := range 20 {
			beating.Go(func() {
				for {
					select {
					case s.alive <- Beat{Bench: fmt.Sprintf("b%02d", i), Boot: "1", Machine: fmt.Sprint(i), Program: "v1"}:
						time.Sleep(Lease / 4)
					case <-ends:
						return
					}
				}
			})
		}
		time.Sleep(10 * Lease)
		if s.hasSaid("interrupted") || s.hasSaid("gets no orders") {
			t.Errorf("said %q", s.said)
		}
		s.playedBoard.mu.Lock()
		s.away = false
		s.playedBoard.mu.Unlock()
		time.Sleep(Lease / 2)
		orders := 0
		for i := range 20 {
			if o := s.of(fmt.Sprintf("b%02d", i)); o.Block != 0 && o.Attempt == 1 {
				orders++
			}
		}
		if orders != chaosBlocks {
			t.Errorf("%d benches have the first order of a block, want %d", orders, chaosBlocks)
		}
		close(ends)
		beating.Wait()
	})
}

// A worker that starts again and again, or a thief that says so, takes a block from the others twice within a lease and
// no more; what is remembered of it is bounded.
func TestABenchThatStartsAgainAndAgain(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		for i := range 3 * mostRetired {
			s.beat("a", fmt.Sprint(i), nil)
			synctest.Wait()
		}
		all, err := s.ledger.Attempts(0)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 2*chaosTrials {
			t.Errorf("it was given %d trials, want those of two orders", len(all))
		}
		if s.of("a").Attempt != 0 || !s.hasSaid("a gets no orders: its worker was started again twice within 1m, with") {
			t.Errorf("it has %v; said %q", s.of("a").Task, s.said)
		}
		s.beat("b", "1", nil)
		if s.of("b").Block != 1 {
			t.Errorf("the other bench got %v, want block 1", s.of("b").Task)
		}
		for range 5 { // it stays up
			time.Sleep(Lease / 4)
			s.beat("a", fmt.Sprint(3*mostRetired-1), nil)
			s.beat("b", "1", func(b *Beat) { b.Task = s.of("b").Task })
		}
		if s.of("a").Block != 2 {
			t.Errorf("a lease later it has %v, want block 2", s.of("a").Task)
		}
	})
}

// What is left of a block that another bench began is nobody's else: a study whose other bench is not there ends with
// that.
func TestTheRestOfABlockOfAnother(t *testing.T) {
	for _, tt := range []struct {
		todo []int
		ends bool
	}{{[]int{4}, true}, {[]int{4, 5}, false}} {
		synctest.Test(t, func(t *testing.T) {
			w := &conducting{Coordinator: &Coordinator{Benches: []string{"b"}}, seats: map[string]*seat{}, todo: tt.todo,
				homes: map[int]string{4: "a"}, measured: map[string]int{}}
			b := w.seat("b")
			var err error
			for range 12 {
				b.heard = time.Now()
				if err = w.nobody(); err != nil {
					break
				}
				time.Sleep(Lease / 4)
			}
			if ends := errors.Is(err, ErrNobody); ends != tt.ends {
				t.Errorf("blocks %v: %v", tt.todo, err)
			}
			if tt.ends && !strings.Contains(fmt.Sprint(err), "block 4 was measured in part by bench a") {
				t.Errorf("said %v", err)
			}
		})
	}
}

// A coordinator that stood still blames no bench for its own silence; one that is silent afterwards loses its order.
func TestACoordinatorThatStoodStill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	synctest.Test(t, func(t *testing.T) {
		board := newStage(t, dir)
		w := &conducting{Coordinator: &Coordinator{Run: NewID(), Program: "v1", Ledger: board.ledger, Board: board},
			seats: map[string]*seat{}, measured: map[string]int{}, sent: make(chan message, 1)}
		o, err := board.ledger.Order(1, store.Bench{Name: "a", Boot: "1"}, w.Retries)
		if err != nil {
			t.Fatal(err)
		}
		s := w.seat("a")
		s.order, s.heard, s.held = &o, time.Now(), time.Now()
		pass := func() {
			t.Helper()
			if _, err := w.pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			for synctest.Wait(); len(w.sent) > 0; {
				w.noteSent(<-w.sent)
			}
		}
		pass()
		time.Sleep(3 * Lease)
		pass()
		if s.order == nil {
			t.Error("the order was withdrawn after the coordinator had stood still")
		}
		for range 6 {
			time.Sleep(Lease / 4)
			pass()
		}
		if s.order != nil {
			t.Error("a bench that is silent keeps its order")
		}
	})
}
