package drive

import (
	"math"
	"slices"
	"testing"
	"time"
)

func take(s Schedule, n int) []time.Duration {
	var got []time.Duration
	for d := range s {
		if got = append(got, d); len(got) == n {
			break
		}
	}
	return got
}

func TestScheduleInstants(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		schedule Schedule
		want     []time.Duration
	}{
		"closed loop of three":            {ClosedLoop(3, 0), []time.Duration{-1, -1, -1}},
		"closed loop with a pause":        {ClosedLoop(2, 5*ms), []time.Duration{-5 * ms, -5 * ms}},
		"endless closed loop":             {ClosedLoop(0, 0), []time.Duration{-1, -1, -1, -1}},
		"constant, counted":               {Constant(100, 3, 0), []time.Duration{0, 10 * ms, 20 * ms}},
		"constant, for a time":            {Constant(100, 0, 25*ms), []time.Duration{0, 10 * ms, 20 * ms}},
		"constant, end is outside":        {Constant(100, 0, 20*ms), []time.Duration{0, 10 * ms}},
		"constant, the nearer limit wins": {Constant(100, 2, time.Second), []time.Duration{0, 10 * ms}},
		"constant, thirds do not drift":   {Constant(3, 4, 0), []time.Duration{0, 333333333, 666666667, time.Second}},
		"no rate":                         {Constant(0, 5, 0), nil},
		"rate not a number":               {Constant(math.NaN(), 5, 0), nil},
		"Poisson without a rate":          {Poisson(-1, 1, 5, 0), nil},
	} {
		if got := take(c.schedule, 4); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestPoissonIsSeededAndExponential(t *testing.T) {
	const n, rate = 100_000, 50.0
	got := take(Poisson(rate, 7, n, 0), n)
	if again := take(Poisson(rate, 7, n, 0), n); !slices.Equal(got, again) {
		t.Fatal("same seed, other instants")
	}
	if other := take(Poisson(rate, 8, n, 0), n); slices.Equal(got, other) {
		t.Fatal("other seed, same instants")
	}
	if !slices.IsSorted(got) || len(got) != n {
		t.Fatalf("got %d instants, sorted %v", len(got), slices.IsSorted(got))
	}
	// An exponential gap has mean and standard deviation 1/rate, and exceeds the mean with probability 1/e.
	var sum, squares, above float64
	last := time.Duration(0)
	for _, d := range got {
		gap := (d - last).Seconds()
		last = d
		sum, squares = sum+gap, squares+gap*gap
		if gap > 1/rate {
			above++
		}
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	for name, c := range map[string][2]float64{
		"mean": {mean, 1 / rate}, "standard deviation": {deviation, 1 / rate},
		"share above the mean": {above / n, 1 / math.E},
	} {
		if math.Abs(c[0]/c[1]-1) > 0.02 {
			t.Errorf("%s of the gaps: got %g, want %g", name, c[0], c[1])
		}
	}
	if d := take(Poisson(rate, 7, 0, time.Second), n); len(d) == 0 || d[len(d)-1] >= time.Second {
		t.Errorf("Poisson for a second: last of %d at %v", len(d), d[len(d)-1])
	}
}

// Whether laid out beforehand or pulled, the requests are the schedule's.
func TestFeedHandsOutAll(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 200} {
		for name, load := range map[string]Load{
			"laid out": {Record: true}, "warm-up": {}, "ended by time": {Record: true, For: time.Hour},
		} {
			load.Schedule = Constant(1000, n, 0)
			if n == 0 {
				load.Schedule = Constant(0, 0, 0)
			}
			f := newFeed(load, newRecord())
			got := 0
			for seq, due, ok := f.take(); ok; seq, due, ok = f.take() {
				if seq != uint64(got)+1 || due != time.Duration(got)*time.Millisecond {
					t.Errorf("%s, request %d of %d: seq %d, due %v", name, got+1, n, seq, due)
				}
				got++
			}
			f.stop()
			if got != n {
				t.Errorf("%s: %d of %d", name, got, n)
			}
		}
	}
}

// Before a request that is due there are no more whole milliseconds asleep than there are, also where the end of
// another one's time comes first.
func TestNoSleepPastADueInstant(t *testing.T) {
	const µs, ms = time.Microsecond, time.Millisecond
	for _, tt := range []struct {
		wake, due time.Duration
		ms        int
		ok        bool
	}{
		{wake: time.Hour, ms: 100, ok: true}, {wake: 3 * ms, ms: 3, ok: true}, {wake: 200 * µs, ms: 1, ok: true},
		{wake: 200 * µs, due: 900 * µs, ms: 1}, {wake: 200 * µs, due: 1100 * µs, ms: 1, ok: true},
		{wake: 200 * µs, due: 1050 * µs, ms: 1}, {due: 50 * µs},
		{wake: time.Hour, due: 99 * ms, ms: 100}, {wake: time.Hour, due: 101 * ms, ms: 100, ok: true},
	} {
		const now = 7 * time.Second
		due := tt.due
		if due > 0 {
			due += now
		}
		e := events{wake: now + tt.wake}
		if ms, ok := e.asleep(now, due); ms != tt.ms || ok != tt.ok {
			t.Errorf("wake in %v, due in %v: %d ms, %v; want %d, %v", tt.wake, tt.due, ms, ok, tt.ms, tt.ok)
		}
	}
}
