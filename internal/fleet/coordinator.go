package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A Coordinator gives the blocks of a plan to benches, until each is measured.
type Coordinator struct {
	Run       string // see Task
	Program   string // version: benches of another get no orders
	Study     []byte
	Overrides []string
	Retries   int
	Ledger    Ledger
	Blocks    int // of the study: the ledger may have more, of when it was longer; 0: all that the ledger has
	Board     Board
	Benches   []string // that take part; empty: all that are heard
	// Drivers is how many benches measure a block together: the first of them has the servers.
	// 0, 1: each measures alone.
	Drivers int
	// More is asked when every block is measured and no bench is at work: it adds up to n
	// blocks to the ledger, and returns how many; 0: that was all. nil: it was.
	More func(n int) (int, error)
	// Moved looks at a bench's control treatments: it says what of them changed while the study ran,
	// or nothing. nil: nobody looks.
	Moved func(bench string) (string, error)
	Lease time.Duration // 0: Lease
	Tell  func(Event)   // from one goroutine; nil: nobody listens
	// Show takes the state of all benches whenever one may have changed, from one
	// goroutine; nil: nobody looks.
	Show func([]BenchState)
}

// An Event is what a person may want to know of a fleet at work.
type Event struct {
	Bench string
	Block int    // 0: of no block
	What  string // in words
	// Done says that the block is measured.
	Done bool
}

// An Outcome counts what a coordinator met.
type Outcome struct {
	Kept, TooLate, Interrupted int            // orders
	Refused, Damaged           int            // deliveries
	Blocks                     map[string]int // kept, by bench
}

// mostFailures in a row is how often a bench may give up or be refused before it gets
// no more orders.
const mostFailures = 3

// mostRetired boots of a bench are remembered: those of which a late word may still come.
const mostRetired = 64

// fetchRate is what a fetch may take at least: a hub that stands still must not hold a
// block for ever.
const fetchRate = 100 << 10 // B/s

// A seat is what a coordinator knows of a bench.
type seat struct {
	beat     Beat
	heard    time.Time    // on this process's monotonic clock, as are all its times
	held     time.Time    // when it was given its order, or last said that it has it in hand
	retired  []string     // boots that a later one has replaced, the last of them
	lost     time.Time    // when its worker was last started again with an order in hand
	waits    time.Time    // it gets no order before
	order    *store.Order // under way, as the ledger has it
	plan     []byte       // of its block; nil: not read yet
	fetching *fetch
	told     *Task // what was assigned last; nil: nothing known
	reached  Task  // the last that was assigned
	failures int
	offered  time.Time // since when it has results that do not arrive, or were last mended; 0: it has none
	team     []string  // benches that help with its order
	helps    string    // the bench whose order this one helps with
	drained  string    // why it gets no more orders, though it could; empty: it does
	claimed  time.Time // since when it says that it is on the machine that its beats name
	barred   string    // why it gets no orders
	said     string    // the last reason that was told
}

// conducting is a Coordinator at work. Only its loop touches it.
type conducting struct {
	*Coordinator
	seats    map[string]*seat
	last     int            // block of the study, with those that were added; 0: not known
	todo     []int          // blocks to be given away, in the order of the plan
	homes    map[int]string // the bench of a block of which a part is valid
	measured map[string]int // blocks of which a bench has valid trials
	fetched  chan *fetch
	outcome  Outcome
	sent     chan message
	sending  bool      // a message is under way
	away     bool      // the hub did not take an order since the last tick
	failed   string    // the bench whose order that was
	stuck    time.Time // since when nobody can measure what is left; zero: somebody can
	shown    time.Time
	passed   time.Time // when the last pass began
	waits    string    // what was said last of benches that are waited for
	short    time.Time // since when they are; zero: they are not
}

// Conduct works until every block is measured. Its error is the ledger's, or ctx's: it
// may be called again in another process, and takes up what is under way.
func (c *Coordinator) Conduct(ctx context.Context) (Outcome, error) {
	w := &conducting{Coordinator: c, last: c.Blocks, seats: map[string]*seat{}, fetched: make(chan *fetch),
		sent: make(chan message), outcome: Outcome{Blocks: map[string]int{}}}
	ctx, cancel := context.WithCancel(ctx)
	defer w.settle()
	defer cancel()
	if err := w.resume(); err != nil {
		return w.outcome, err
	}
	tick := time.NewTicker(w.lease() / beats)
	defer tick.Stop()
	for {
		done, err := w.pass(ctx)
		w.show()
		if done || err != nil {
			return w.outcome, err
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case b := <-w.Board.Alive():
			err = w.hear(b)
		case d := <-w.Board.Results():
			err = w.receive(ctx, d)
		case f := <-w.fetched:
			err = w.take(f)
		case m := <-w.sent:
			w.noteSent(m)
		case name := <-w.Board.Drained():
			w.seat(name).drained = "it is drained"
		case <-tick.C:
			w.away = false
			for _, s := range w.seats {
				s.told = nil // a hub may have forgotten it
			}
		}
		if err != nil {
			return w.outcome, err
		}
	}
}

// settle waits for fetches and for a message, whose context has ended.
func (w *conducting) settle() {
	if w.sending {
		<-w.sent
	}
	for _, s := range w.seats {
		if s.fetching != nil {
			f := <-w.fetched
			w.Ledger.RemoveIncoming(f.dir)
		}
	}
}

func (w *conducting) lease() time.Duration { return cmp.Or(w.Lease, Lease) }

func (w *conducting) seat(bench string) *seat {
	s := w.seats[bench]
	if s == nil {
		s = &seat{}
		w.seats[bench] = s
	}
	return s
}

func (w *conducting) tell(e Event) {
	if w.Tell != nil {
		w.Tell(e)
	}
}

// standStill forgives benches what they did not say while this process itself did nothing, since it was
// stopped: what they sent has not been read yet.
func (w *conducting) standStill() {
	now := time.Now()
	if !w.passed.IsZero() && now.Sub(w.passed) > w.lease()/2 {
		for _, s := range w.seats {
			if !s.heard.IsZero() {
				s.heard, s.held = now, now
			}
		}
	}
	w.passed = now
}

// pass makes benches do what the ledger says; true: nothing is left to do.
func (w *conducting) pass(ctx context.Context) (bool, error) {
	w.standStill()
	for _, name := range slices.Sorted(maps.Keys(w.seats)) {
		s := w.seats[name]
		if s.order != nil && s.reached != w.task(*s.order) && time.Since(s.heard) <= w.lease() {
			s.held = time.Now() // it is not the bench's fault that a hub did not take its order yet
		}
		if s.order == nil || s.fetching != nil || time.Since(s.held) <= w.lease() {
			continue
		}
		reason := "its bench was silent for " + study.DurationText(w.lease())
		if time.Since(s.heard) <= w.lease() {
			reason = "its bench did not start it within " + study.DurationText(w.lease())
			if !s.beat.Done { // else it still waits for the answer to what it had before
				w.fail(s, reason)
			}
		}
		if err := w.withdraw(s, reason); err != nil {
			return false, err
		}
	}
	if err := w.missHelpers(); err != nil {
		return false, err
	}
	var free []string
	for _, name := range w.ranked() {
		if s := w.seats[name]; s.order == nil && s.helps == "" && w.fit(name, s) {
			free = append(free, name)
		}
	}
	if err := w.giveAll(free); err != nil {
		return false, err
	}
	done := len(w.todo) == 0
	for _, s := range w.seats {
		done = done && s.order == nil
	}
	w.send(ctx)
	if err := w.nobody(); err != nil {
		return false, err
	}
	if !done || w.sending {
		return false, nil
	}
	if w.More == nil {
		return true, nil
	}
	done, err := w.extend()
	if done || err != nil {
		return done, err
	}
	return w.pass(ctx) // who is to measure them may have said already that it is free
}

// fit says whether a bench may get an order, and tells why not, once.
func (w *conducting) fit(name string, s *seat) bool {
	why := s.barred
	switch twin := w.twin(name, s); {
	case s.beat.Bench == "" || time.Since(s.heard) > w.lease():
		return false // it is not there
	case len(w.Benches) > 0 && !slices.Contains(w.Benches, name):
		why = "it was not named with --benches"
	case s.beat.Program != w.Program:
		why = fmt.Sprintf("it runs edgegauge %s, this is %s: install the same on both", s.beat.Program, w.Program)
	case s.drained != "":
		why = s.drained
	case time.Now().Before(s.waits):
		why = fmt.Sprintf("its worker was started again twice within %s, with a block in hand; it waits",
			study.DurationText(w.lease()))
	case twin != "":
		why = fmt.Sprintf("it is the same machine as bench %s, and one machine is one bench", twin)
	}
	if why != "" && why != s.said {
		w.tell(Event{Bench: name, What: "gets no orders: " + why})
	}
	s.said = why
	return why == ""
}

// twin is another bench on the same machine, which was there before.
func (w *conducting) twin(name string, s *seat) string {
	for _, other := range slices.Sorted(maps.Keys(w.seats)) {
		o := w.seats[other]
		if other != name && o.beat.Machine == s.beat.Machine && s.beat.Machine != "" && o.said == "" &&
			w.wasThere(other, name) && time.Since(o.heard) <= w.lease() {
			return other
		}
	}
	return ""
}

// wasThere says whether of two benches on one machine the first was there before: whoever has results
// in the ledger, then who claimed to be there first. So nobody can take a machine away from another.
func (w *conducting) wasThere(first, second string) bool {
	if one, other := w.measured[first] > 0, w.measured[second] > 0; one != other {
		return one
	}
	a, b := w.seats[first].claimed, w.seats[second].claimed
	return a.Before(b) || a.Equal(b) && first < second
}

// give draws an order for a bench: the next block that it may measure.
func (w *conducting) give(name string, s *seat) error {
	for i, block := range w.todo {
		// What is left of a block that is measured in part belongs to the bench of that part.
		if home, ok := w.homes[block]; ok && home != name {
			continue
		}
		o, err := w.Ledger.Order(block, store.Bench{Name: name, Boot: s.beat.Boot}, w.Retries)
		if err != nil {
			return err
		}
		w.todo = slices.Delete(w.todo, i, i+1)
		s.order, s.plan, s.held = &o, nil, time.Now()
		return nil
	}
	return nil
}

// withdraw ends an order without results; its block may be given away again.
func (w *conducting) withdraw(s *seat, reason string) error {
	o := *s.order
	if err := w.Ledger.Withdraw(o, reason); err != nil {
		return err
	}
	w.over(o.Bench.Name, s)
	w.outcome.Interrupted++
	w.tell(Event{Bench: o.Bench.Name, Block: o.Block, What: "interrupted: " + reason})
	return w.plan()
}

// hear takes a bench's beat.
func (w *conducting) hear(b Beat) error {
	s := w.seat(b.Bench)
	if slices.Contains(s.retired, b.Boot) {
		return nil // a worker that another of that name has replaced, or its late words
	}
	holds := s.order != nil && b.Task == w.task(*s.order) && b.Helps == ""
	if s.beat.Boot != b.Boot && s.beat.Boot != "" {
		s.retired = append(s.retired[max(len(s.retired)-mostRetired+1, 0):], s.beat.Boot)
		s.failures, s.barred = 0, ""
		if s.order != nil && !(holds && b.Done) {
			if time.Since(s.lost) <= w.lease() { // at each start it would take a block from the others
				s.waits = time.Now().Add(w.lease())
			}
			s.lost = time.Now()
			if err := w.withdraw(s, "its worker was started again"); err != nil {
				return err
			}
			holds = false
		}
		if s.helps != "" {
			if err := w.lose(b.Bench, "its worker was started again"); err != nil {
				return err
			}
		}
	}
	switch {
	case !b.Done || b.Run != w.Run:
		s.offered = time.Time{}
	case s.offered.IsZero() || s.beat.Task != b.Task:
		s.offered = time.Now()
	}
	if s.claimed.IsZero() || s.beat.Machine != b.Machine {
		s.claimed = time.Now()
	}
	s.beat, s.heard = b, time.Now()
	if holds {
		s.held = s.heard
	}
	if holds && b.Failed != "" {
		if !b.Cut {
			w.fail(s, b.Failed)
		}
		return w.withdraw(s, b.Failed)
	}
	return w.hearHelper(b, s)
}

func (w *conducting) task(o store.Order) Task {
	return Task{Run: w.Run, Block: o.Block, Attempt: o.Attempt}
}

// fail counts an order that a bench did not measure as it should have.
func (w *conducting) fail(s *seat, why string) {
	if s.failures++; s.failures == mostFailures {
		s.barred = fmt.Sprintf("%d orders in a row failed; the last one: %s", mostFailures, why)
	}
}
