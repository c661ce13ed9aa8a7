package fleet

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// driving makes a stage's coordinator one of teams.
func driving(n int) func(*Coordinator) { return func(c *Coordinator) { c.Drivers = n } }

// holds beats for a bench as its order says.
func (s *stage) holds(bench string, done bool) {
	o := s.of(bench)
	s.beat(bench, o.Boot, func(b *Beat) { b.Task, b.Helps, b.Done = o.Task, o.Helps, done })
}

// The bench that is named first has the servers, and others help with the same order: of no
// block are trials driven by different benches.
func TestATeam(t *testing.T) {
	onStage(t, []string{"c", "a", "b"}, func(t *testing.T, s *stage) {
		s.beat("a", "a1", nil)
		s.beat("b", "b1", nil)
		for range 3 {
			time.Sleep(Lease / 4)
			s.beat("a", "a1", nil)
			s.beat("b", "b1", nil)
		}
		if o := s.of("a"); o.Attempt != 0 || !s.hasSaid("2 of 3 benches that measure together are there") {
			t.Errorf("two of three got %+v; said %q", o, s.said)
		}
		s.beat("c", "c1", nil)
		main := s.of("c")
		if main.Block != 1 || strings.Join(main.Helpers, " ") != "a b" || main.Helps != "" || main.Boot != "c1" {
			t.Fatalf("the first named got %+v", main)
		}
		for _, name := range []string{"a", "b"} {
			if o := s.of(name); o.Task != main.Task || o.Helps != "c" || o.Helpers != nil || o.Boot != name+"1" {
				t.Errorf("%s got %+v, want to help with %+v", name, o, main.Task)
			}
			if x := s.shows(name); x.Helps != "c" || x.Block != 1 {
				t.Errorf("%s is shown as %+v", name, x)
			}
		}
		orders, err := s.ledger.Orders()
		if err != nil || len(orders) != 1 || orders[0].Bench.Name != "c" {
			t.Errorf("the ledger has %+v, %v", orders, err)
		}

		// One that helps is started again: the whole block is measured again.
		for _, name := range []string{"a", "b", "c"} {
			s.holds(name, false)
		}
		s.beat("b", "b2", nil)
		if again := s.of("c"); again.Attempt <= main.Attempt ||
			!s.hasSaid("bench b helped with it: its worker was started again") {
			t.Errorf("got %+v after %+v; said %q", again, main, s.said)
		}
		main = s.of("c")
		if o := s.of("b"); o.Task != main.Task || o.Boot != "b2" {
			t.Errorf("b got %+v, want to help with %+v", o, main.Task)
		}

		// One that could not reach another is not to blame, however often; one that cannot measure is.
		for range 2 * mostFailures {
			o := s.of("a")
			s.beat("a", "a1", func(b *Beat) { b.Task, b.Helps, b.Failed, b.Cut = o.Task, o.Helps, "lost", true })
		}
		if x := s.shows("a"); x.Standing != Up {
			t.Errorf("a is %+v after it lost the others", x)
		}
		for range mostFailures {
			o := s.of("a")
			s.beat("a", "a1", func(b *Beat) { b.Task, b.Helps, b.Failed = o.Task, o.Helps, "no such stack" })
		}
		if x := s.shows("a"); x.Standing != Barred || !strings.Contains(x.Why, "no such stack") {
			t.Errorf("a is %+v", x)
		}
		if o := s.of("c"); o.Attempt != 0 {
			t.Errorf("two of three got %+v", o)
		}
	}, driving(3))
}

// A helper that falls silent takes the order with it after a lease; one whose bench has measured
// already does not.
func TestASilentHelper(t *testing.T) {
	onStage(t, []string{"a", "b"}, func(t *testing.T, s *stage) {
		s.beat("a", "a1", nil)
		s.beat("b", "b1", nil)
		first := s.of("a")
		for range 8 {
			s.holds("a", false)
			time.Sleep(Lease / 6)
		}
		synctest.Wait()
		if !s.hasSaid("bench b helped with it: it was silent") {
			t.Errorf("said %q", s.said)
		}
		if o := s.of("a"); o.Attempt != 0 {
			t.Errorf("a alone got %+v after %+v", o, first)
		}
		s.beat("b", "b1", nil)
		s.beat("a", "a1", nil)
		second := s.of("a")
		if second.Attempt <= first.Attempt {
			t.Fatalf("got %+v after %+v", second, first)
		}
		for range 8 {
			s.holds("a", true)
			time.Sleep(Lease / 6)
		}
		if o := s.of("a"); o.Task != second.Task {
			t.Errorf("measured, but withdrawn: %+v, then %+v", second, o)
		}
	}, driving(2))
}
