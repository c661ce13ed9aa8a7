package capacity

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
)

// A simulated server's figure reaches the bound at its capacity; trials differ by chance,
// which follows from their place, so that a search that goes on sees what it saw.
type simulated struct {
	bears, driver, closed float64 // requests/s
	noise                 float64 // standard deviation of a trial's speed
	trials                []stat.CapacityTrial
	measured              int // trials, by this process
	fails                 int // Trials returns an error once so many were measured; 0: never
	asked                 []string
}

var errSimulated = errors.New("the bench is gone")

func (s *simulated) Driver(context.Context) (float64, error) {
	s.asked = append(s.asked, "driver")
	return s.driver, nil
}

func (s *simulated) Closed(context.Context) (float64, error) {
	s.asked = append(s.asked, "closed")
	return s.closed, nil
}

func (s *simulated) Trials(_ context.Context, blocks [][]float64) ([]stat.CapacityTrial, error) {
	for i, rate := range slices.Concat(blocks...) {
		if i < len(s.trials) {
			continue
		}
		if s.fails > 0 && s.measured >= s.fails {
			return nil, errSimulated
		}
		r := rand.New(rand.NewPCG(1, uint64(i)))
		s.measured++
		s.trials = append(s.trials, stat.CapacityTrial{Rate: rate,
			Margin: math.Pow(s.bears*math.Exp(s.noise*r.NormFloat64())/rate, 4)})
	}
	return s.trials, nil
}

func search() stat.CapacitySearch {
	return stat.CapacitySearch{Least: 10, Most: 1e6, Precision: 0.025, Budget: 60, Confidence: 0.95}
}

// conduct bounds and conducts a whole search.
func conduct(t *testing.T, s *simulated, q stat.CapacitySearch) *Conductor {
	t.Helper()
	c := &Conductor{Server: s, Search: q}
	if err := c.Bound(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if err := c.Conduct(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever driver, closed loop and length are, no rate has more than four digits: people read them while a
// search runs, in its results and its messages.
func TestRatesHaveFourDigits(t *testing.T) {
	for needs, length := range map[int]time.Duration{1000: 300 * time.Millisecond, 100: 700 * time.Millisecond,
		999: time.Second, 1000000: 3 * time.Second} {
		exact := float64(needs) / length.Seconds()
		if got := leastRate(needs, length); got < exact || got > 1.0021*exact || got != stat.Readable(got) {
			t.Errorf("at least %d requests in %v: %v requests/s", needs, length, got)
		}
	}
	for _, s := range []*simulated{
		{bears: 700, driver: 20001.0 / 3, closed: 10000.0 / 3, noise: 0.02},
		{bears: 9000, driver: 20000.0 / 3, closed: 20000.0 / 7, noise: 0.02}, // more than the driver does
		{bears: 1, driver: 20000, closed: 10000.0 / 3, noise: 0.02},          // less than a trial can tell
	} {
		q := search()
		q.Least = leastRate(10, 3*time.Second)
		c := conduct(t, s, q)
		for _, x := range append(slices.Clone(s.trials), stat.CapacityTrial{Rate: c.Search.Least},
			stat.CapacityTrial{Rate: c.Search.Most}) {
			if x.Rate != stat.Readable(x.Rate) {
				t.Errorf("a server that bears %v: a rate of %v", s.bears, x.Rate)
			}
		}
	}
}

// From a closed loop's throughput, through the bracket and the blocks, to the truth.
func TestConductorFindsWhatAServerBears(t *testing.T) {
	s := &simulated{bears: 700, driver: 20000, closed: 3000, noise: 0.02}
	c := conduct(t, s, search())
	if got := c.Step.Capacity; c.Step.Stage != stat.Precise || math.Abs(got.Rate/700-1) > 0.03 || got.Lo > 700 ||
		got.Hi < 700 {
		t.Errorf("stage %d, %+v", c.Step.Stage, got)
	}
	if c.Search.First != 1500 || c.Search.Most != 10000 || c.Driver != 20000 {
		t.Errorf("%+v", c.Search)
	}
	if !slices.Equal(s.asked, []string{"driver", "closed"}) || s.measured != len(s.trials) {
		t.Errorf("%v, %d of %d trials", s.asked, s.measured, len(s.trials))
	}
	counting := 0
	for b, rates := range c.Blocks {
		if c.Counts(b + 1) {
			counting += len(rates)
		}
	}
	if counting != c.Step.Capacity.Trials || c.Counts(1) {
		t.Errorf("%d trials count, the line goes through %d", counting, c.Step.Capacity.Trials)
	}
}

// A search that fails after any number of trials goes on from its note and its trials to the same answer.
func TestConductorGoesOnWhereItWas(t *testing.T) {
	whole := conduct(t, &simulated{bears: 700, closed: 900, noise: 0.04}, search())
	n := len(slices.Concat(whole.Blocks...))
	for fails := 1; fails < n; fails++ {
		s := &simulated{bears: 700, closed: 900, noise: 0.04, fails: fails}
		c := &Conductor{Server: s, Search: search()}
		noted := 0
		c.Note = func() error { noted++; return nil }
		if err := errors.Join(c.Bound(t.Context(), time.Second), c.Conduct(t.Context())); !errors.Is(err, errSimulated) {
			t.Fatalf("after %d trials: %v", fails, err)
		}
		if want := len(c.Blocks) - 1; noted != want {
			t.Errorf("after %d trials: noted %d times, not %d", fails, noted, want)
		}
		s.fails = 0
		again := &Conductor{Server: s, Search: c.Search, Blocks: c.Blocks}
		if err := again.Conduct(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Blocks, whole.Blocks) || !reflect.DeepEqual(again.Step, whole.Step) || s.measured != n {
			t.Errorf("after %d trials: %d blocks of %d, %d trials measured of %d", fails, len(again.Blocks),
				len(whole.Blocks), s.measured, n)
		}
	}
}

func TestConductorBounds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server simulated
		first  float64
		stage  stat.CapacityStage
		most   float64
		asked  string
	}{
		{"the study says where to begin", simulated{bears: 300}, 200, stat.Precise, 1e6, "driver"},
		{"the driver is slower than the server", simulated{bears: 3000, driver: 2000, closed: 1500}, 0, stat.AboveMost, 1000,
			"driver closed"},
		{"the driver is faster than any rate", simulated{bears: 300, driver: 1e7}, 200, stat.Precise, 1e6, "driver"},
		{"nothing is answered", simulated{bears: 1}, 0, stat.BelowLeast, 1e6, "driver closed"},
	} {
		q := search()
		q.First = tt.first
		c := conduct(t, &tt.server, q)
		if c.Step.Stage != tt.stage || c.Search.Most != tt.most || strings.Join(tt.server.asked, " ") != tt.asked {
			t.Errorf("%s: stage %d, up to %g, asked %v", tt.name, c.Step.Stage, c.Search.Most, tt.server.asked)
		}
	}
	slow := Conductor{Server: &simulated{driver: 19}, Search: search()}
	if err := slow.Bound(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "19 requests/s") {
		t.Errorf("a driver of 19 requests/s, and trials of at least 10: %v", err)
	}
}

func TestConductorKeepsToItsBudget(t *testing.T) {
	q := search()
	q.Budget = 20
	s := &simulated{bears: 700, closed: 900, noise: 0.2}
	if c := conduct(t, s, q); c.Step.Stage != stat.Exhausted || len(s.trials) > q.Budget {
		t.Errorf("stage %d after %d trials", c.Step.Stage, len(s.trials))
	}
}

// A bench that loses trials is an error, no answer.
func TestConductorCountsTrials(t *testing.T) {
	c := Conductor{Server: losing{&simulated{bears: 700}}, Search: search()}
	c.Search.First = 100
	if err := c.Conduct(t.Context()); err == nil || !strings.Contains(err.Error(), "trials for") {
		t.Errorf("%v", err)
	}
}

type losing struct{ *simulated }

func (l losing) Trials(ctx context.Context, blocks [][]float64) ([]stat.CapacityTrial, error) {
	all, err := l.simulated.Trials(ctx, blocks)
	return all[1:], err
}

// The bound has four digits, and is rounded to either side.
func TestTheDriverBindsAtHalfOfWhatItDoes(t *testing.T) {
	for _, driver := range []float64{74326, 74334, 2000, 1999.7} {
		c := conduct(t, &simulated{bears: driver, driver: driver, closed: driver}, search())
		a := Answer{Step: c.Step, Driver: c.Driver, Most: c.Search.Most}
		if !a.DriverBinds() {
			t.Errorf("a driver of %g requests/s, searched up to %g, does not bind", driver, a.Most)
		}
		a.Driver *= 2
		if a.DriverBinds() {
			t.Errorf("a driver of %g requests/s, searched up to %g, binds", a.Driver, a.Most)
		}
	}
}
