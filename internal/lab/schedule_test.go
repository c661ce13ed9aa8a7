package lab

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// told is what a schedule makes of a client whose requests are due at instants.
func told(run stack.Run, due []time.Duration) string {
	e := evidence{setup: &study.Setup{Rate: run.Rate}, tallies: &tallies{schedule: newSchedule(run)}}
	for i, d := range due {
		e.schedule.add(measure.Exchange{Seq: uint64(i) + 1, Due: d, Sent: d + 1000, Done: d + 2000})
	}
	return e.scheduled()
}

// stands are instants of which all that are due within so long are put off until its end, as by a client that stood
// still and says that they were due when it sent them.
func stands(due []time.Duration, from, long time.Duration) (out []time.Duration) {
	for _, d := range due {
		if d > from && d < from+long {
			d = from + long
		}
		out = append(out, d)
	}
	return out
}

// instants are those of a schedule.
func instantsOf(s drive.Schedule) (due []time.Duration) {
	for d := range s {
		due = append(due, d)
	}
	return due
}

// A client that sends at another rate than it is told, or hides that it stood still, is not believed; one that keeps
// the schedule is, however it rounds.
func TestConstantRateIsKept(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	long := stack.Run{Rate: 100, Arrival: "constant", Duration: int64(2 * s)}
	sound := instantsOf(drive.Constant(100, 0, 2*s))
	every := func(n int, step time.Duration) (due []time.Duration) {
		for i := range n {
			due = append(due, time.Duration(i)*step)
		}
		return due
	}
	for _, tt := range []struct {
		what string
		run  stack.Run
		due  []time.Duration
		want string
	}{
		{"it is kept", long, sound, ""},
		{"twice the rate", long, every(400, 5*ms), "request 2 is due 5ms after request 1, and not 10ms"},
		{"twice as many, said to be due later", long, every(400, 10*ms), "400 of its requests are due, and not 200"},
		{"77 a second", long, every(154, 13*ms), "request 2 is due 13ms after"},
		{"one in seven left out", long, sound[:172], "and not 200"},
		{"it ends early with its number, as it may", stack.Run{Rate: 100, Arrival: "constant", Duration: int64(2 * s),
			Requests: 50}, sound[:50], ""},
		{"a stall of 0.8 s is hidden", long, stands(sound, 500*ms, 800*ms), "request 52 is due 800ms after request 51"},
		{"a stall of 11 ms is hidden", long, stands(sound, 500*ms, 11*ms), "due 11ms after"},
		{"a stall of 2 ms is hidden", long, func() []time.Duration {
			due := instantsOf(drive.Constant(100, 0, 2*s))
			due[50] += 2 * ms
			return due
		}(), "due 12ms after"},
		{"the interval is rounded to microseconds", stack.Run{Rate: 300, Arrival: "constant", Duration: int64(10 * s)},
			every(3000, 3333*time.Microsecond), ""},
		{"the interval is cut to nanoseconds", stack.Run{Rate: 7e5, Arrival: "constant", Duration: int64(s)},
			every(700300, 1428), ""},
		{"it begins late", long, stands(every(200, 10*ms), -1, 800*ms+1), "request 1 is due 800ms after the beginning"},
		{"a rate below one", stack.Run{Rate: 0.5, Arrival: "constant", Requests: 3}, every(3, 2*s), ""},
		{"3 a second for 2 s", stack.Run{Rate: 3, Arrival: "constant", Duration: int64(2 * s)},
			instantsOf(drive.Constant(3, 0, 2*s)), ""},
	} {
		got := told(tt.run, tt.due)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

// Every rate that our own driver keeps is believed.
func TestOurSchedulesAreKept(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		rate := []float64{0.3, 1, 3, 7, 50, 99.9, 333, 1000, 12345, 1e5}[rnd.IntN(10)] * (1 + rnd.Float64())
		over := time.Duration((1 + 2000*rnd.Float64()) / rate * 1e9)
		run := stack.Run{Rate: rate, Arrival: "constant", Duration: int64(over)}
		if why := told(run, instantsOf(drive.Constant(rate, 0, over))); why != "" {
			t.Fatalf("%g/s for %v: %s", rate, over, why)
		}
	}
}

// Random arrivals are drawn by each client, so what is said of them errs: of 4,000 honest clients none is accused, and
// liars of several kinds all are.
func TestRandomArrivals(t *testing.T) {
	const s = time.Second
	accused, honest := 0, 4000
	for seed := range uint64(honest) {
		run := stack.Run{Rate: 100, Arrival: drive.Random, Seed: seed}
		if seed%2 == 0 {
			run.Duration = int64(2 * s)
		} else {
			run.Requests = []int{1, 2, 10, 200}[seed/2%4]
		}
		if why := told(run, instantsOf(drive.Poisson(100, seed, run.Requests, time.Duration(run.Duration)))); why != "" {
			accused++
			t.Log(why)
		}
	}
	if accused > 0 {
		t.Errorf("%d of %d honest clients are accused", accused, honest)
	}
	run := stack.Run{Rate: 100, Arrival: drive.Random, Duration: int64(2 * s)}
	for _, tt := range []struct {
		what string
		due  func(seed uint64) []time.Duration
	}{
		{"twice the rate", func(seed uint64) []time.Duration { return instantsOf(drive.Poisson(200, seed, 0, 2*s)) }},
		{"half the rate", func(seed uint64) []time.Duration { return instantsOf(drive.Poisson(45, seed, 0, 2*s)) }},
		{"a hidden stall", func(seed uint64) []time.Duration {
			return stands(instantsOf(drive.Poisson(100, seed, 0, 2*s)), s/2, 8*s/10)
		}},
		{"it ends early", func(seed uint64) []time.Duration { return instantsOf(drive.Poisson(100, seed, 0, s)) }},
		{"it ends a little early", func(seed uint64) []time.Duration {
			return instantsOf(drive.Poisson(100, seed, 0, 16*s/10))
		}},
	} {
		found := 0
		for seed := range uint64(200) {
			if told(run, tt.due(seed)) != "" {
				found++
			}
		}
		if found < 190 {
			t.Errorf("%s: found in %d of 200 trials", tt.what, found)
		}
	}
}

// What all trials together tell of a rate is noted: how many arrivals there were, and how many there are on average.
// Of honest clients, whether a time ends them or a number, at most one in 1000 is accused of another rate by twelve
// trials; those that are 8 % slow are, of which no trial alone tells.
func TestManyTrialsTellTheRateOfRandomArrivals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const trials, studies, over = 12, 4000, 4 * time.Second
	accused := func(rate float64, requests int) (pooled, alone int) {
		for n := range studies {
			var drawn, expected float64
			one := false
			for trial := range trials {
				run := stack.Run{Rate: 100, Arrival: drive.Random, Requests: requests}
				if requests == 0 {
					run.Duration = int64(over)
				}
				e := evidence{setup: &study.Setup{Rate: 100}, tallies: &tallies{schedule: newSchedule(run)}}
				seed := uint64(n*trials + trial)
				for i, d := range instantsOf(drive.Poisson(rate, seed, requests, time.Duration(run.Duration))) {
					e.schedule.add(measure.Exchange{Seq: uint64(i) + 1, Due: d, Sent: d + 1000, Done: d + 2000})
				}
				one = e.scheduled() != "" || one
				e.schedule.end() // once
				drawn, expected = drawn+e.schedule.drawn, expected+e.schedule.expected
			}
			if one {
				alone++
			}
			if stat.ArrivalsBeside(drawn, expected) < 1e-3 {
				pooled++
			}
		}
		return pooled, alone
	}
	for _, requests := range []int{0, 400} {
		honest, _ := accused(100, requests)
		slow, alone := accused(92, requests)
		t.Logf("%d requests: %d of %d honest studies are accused, %d of those that are slow, %d by a trial alone", requests,
			honest, studies, slow, alone)
		if stat.AtLeast(honest, studies, 1e-3) < 1e-4 || slow < studies*95/100 || alone > studies/100 {
			t.Errorf("%d requests: %d of %d honest studies are accused, %d of those that are slow, %d by a trial alone",
				requests, honest, studies, slow, alone)
		}
	}
}

// Several clients, one after the other, each keep the schedule from when they began.
func TestSchedulesOfSeveralClients(t *testing.T) {
	const ms = time.Millisecond
	run := stack.Run{Rate: 100, Arrival: "constant", Duration: int64(50 * ms)}
	for _, tt := range []struct {
		what  string
		wrong int // the client that sends at another rate
		want  bool
	}{{"all keep it", -1, false}, {"the first does not", 0, true}, {"the last does not", 2, true}} {
		e := evidence{setup: &study.Setup{Rate: 100}, tallies: &tallies{schedule: newSchedule(run)}}
		for client := range 3 {
			from := time.Duration(client) * 3 * ms
			e.schedule.anew(from, uint64(5*client))
			step := 10 * ms
			if client == tt.wrong {
				step = 9 * ms
			}
			for i := range 5 {
				e.schedule.add(measure.Exchange{Seq: uint64(5*client + i + 1), Due: from + time.Duration(i)*step})
			}
		}
		if got := e.scheduled(); (got != "") != tt.want {
			t.Errorf("%s: got %q", tt.what, got)
		}
	}
}

// A request that failed before its client knew when it was due says nothing of the schedule, and counts.
func TestFailuresKeepTheSchedule(t *testing.T) {
	run := stack.Run{Rate: 100, Arrival: "constant", Duration: int64(30 * time.Millisecond)}
	e := evidence{setup: &study.Setup{Rate: 100}, tallies: &tallies{schedule: newSchedule(run)}}
	for i, x := range []measure.Exchange{{Sent: 1, Done: 2}, {Failure: "refused"}, {Due: 20 * time.Millisecond}} {
		x.Seq = uint64(i) + 1
		e.schedule.add(x)
	}
	if got := e.scheduled(); got != "" {
		t.Error(got)
	}
}
