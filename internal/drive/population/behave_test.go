package population

import (
	"math"
	"slices"
	"testing"
	"time"
)

// sensors are n devices of one class that report at a period.
func sensors(n int, period time.Duration, phase string) Spec {
	return Spec{Devices: n, Classes: []Class{{Share: 1, Period: period}}, Phase: phase, Timeout: 5 * time.Second, Seed: 7,
		Method: 2}
}

// Reports lie on a grid: after a year they are where they were to be, to the nanosecond.
func TestReportsDoNotDrift(t *testing.T) {
	const period = 60*time.Second + 1
	s := sensors(1000, period, Random)
	for _, device := range []int{0, 1, 999} {
		const year = 365 * 24 * 60
		if got, want := s.due(device, year, 0)-s.due(device, 0, 0), int64(year*period); got != want {
			t.Errorf("device %d: got %d, want %d", device, got, want)
		}
	}
}

func TestDueInstants(t *testing.T) {
	const p = time.Minute
	aligned, jittered, random := sensors(1000, p, Aligned), sensors(1000, p, Aligned), sensors(1000, p, Random)
	jittered.Classes[0].Jitter = 0.1
	ramped := random
	ramped.Ramp = 500
	for _, tt := range []struct {
		name         string
		spec         Spec
		k            int32
		first, width time.Duration // of all devices
	}{
		{"aligned", aligned, 0, 0, 1},
		{"aligned, later", aligned, 3, 3 * p, 1},
		{"jitter", jittered, 0, 0, p / 10},
		{"jitter, later", jittered, 7, 7 * p, p / 10},
		{"ramp", ramped, 1, p, p + 2*time.Second},
		{"random", random, 0, 0, p},
		{"random, later", random, 2, 2 * p, p},
	} {
		var all []time.Duration
		for i := range tt.spec.Devices {
			all = append(all, time.Duration(tt.spec.due(i, tt.k, tt.spec.start(i))))
		}
		slices.Sort(all)
		lo, hi := all[0], all[len(all)-1]
		if lo < tt.first || hi >= tt.first+tt.width || hi-lo < tt.width*98/100-1 {
			t.Errorf("%s: got %v to %v, want %v and %v more", tt.name, lo, hi, tt.first, tt.width)
		}
	}
}

// The first report that counts is that of the period before, where its jitter takes it beyond the instant at which a
// device is switched on: it does so by the share of its period that jitter has.
func TestFirstReports(t *testing.T) {
	const p = time.Minute
	for _, tt := range []struct {
		name   string
		phase  string
		jitter float64
		on     time.Duration
		share  float64 // of devices that begin with the report of the period before
	}{
		{"no jitter", Random, 0, 0, 0},
		{"a little", Random, 0.1, 0, 0.05},
		{"a whole period", Random, 1, 0, 0.5},
		{"switched on later", Random, 1, 7 * time.Hour, 0.5},
		{"with clocks", Aligned, 1, 0, 0},
		{"with clocks, switched on between their instants", Aligned, 1, p / 4, 0.75},
	} {
		s := sensors(20_000, p, tt.phase)
		s.Classes[0].Jitter = tt.jitter
		before := 0
		for i := range s.Devices {
			on := int64(tt.on)
			first := s.first(i, on)
			if s.due(i, first, on) < on || s.due(i, first-1, on) >= on {
				t.Fatalf("%s: device %d is on at %v, report %d is due at %v, the one before at %v", tt.name, i, tt.on, first,
					time.Duration(s.due(i, first, on)), time.Duration(s.due(i, first-1, on)))
			}
			before -= int(first)
		}
		if got := float64(before) / float64(s.Devices); math.Abs(got-tt.share) > 0.02 { // five times its standard error
			t.Errorf("%s: %g, want %g", tt.name, got, tt.share)
		}
	}
}

// Devices that have a clock report at the same instants, however slowly they are switched on.
func TestDevicesThatAreSwitchedOnSlowlyReportTogether(t *testing.T) {
	const p = 10 * time.Second
	s := sensors(10_000, p, Aligned)
	s.Ramp = 1000
	for i := range s.Devices {
		at := time.Duration(s.due(i, 0, s.start(i)))
		if on := time.Duration(s.start(i)); at%p != 0 || at < on || at-on >= p {
			t.Fatalf("device %d is switched on at %v and reports first at %v", i, on, at)
		}
		if next := time.Duration(s.due(i, 3, s.start(i))); next != at+3*p {
			t.Fatalf("device %d: report 3 at %v, the first at %v", i, next, at)
		}
	}
}

// What is drawn at random is uniform, and the devices' draws know nothing of each
// other: Kolmogorov's test at 0.1 % (1.95/√n), and the serial correlation.
func TestDrawsAreUniform(t *testing.T) {
	const n = 20_000
	for _, what := range []uint64{forPhase, forOutage, forJitter, forJitter + 1, forTimeout + 77, forRetry} {
		u := make([]float64, n)
		serial := 0.0
		for i := range u {
			u[i] = share(3, i, what)
			serial += (u[i] - 0.5) * (share(3, i+1, what) - 0.5)
		}
		slices.Sort(u)
		worst := 0.0
		for i, x := range u {
			worst = max(worst, math.Abs(x-float64(i)/n), math.Abs(x-float64(i+1)/n))
		}
		if limit := 1.95 / math.Sqrt(n); worst > limit {
			t.Errorf("draw %d: distance %.4f from uniform, above %.4f", what, worst, limit)
		}
		if r := serial / n * 12; math.Abs(r) > 4/math.Sqrt(n) {
			t.Errorf("draw %d: serial correlation %.4f", what, r)
		}
	}
}

func TestBackoff(t *testing.T) {
	b := func(jitter string) Backoff {
		return Backoff{First: time.Second, Factor: 2, Most: 10 * time.Second, Jitter: jitter}
	}
	for _, tt := range []struct {
		jitter   string
		failures int
		u        float64
		want     time.Duration
	}{
		{None, 1, 0.5, time.Second}, {None, 2, 0.1, 2 * time.Second}, {None, 4, 0.9, 8 * time.Second},
		{None, 5, 0.9, 10 * time.Second}, {None, mostFailures, 0, 10 * time.Second},
		{Equal, 2, 0, time.Second}, {Equal, 2, 0.5, 1500 * time.Millisecond}, {Equal, 9, 0.5, 7500 * time.Millisecond},
		{Full, 1, 0, 0}, {Full, 2, 0.25, 500 * time.Millisecond}, {Full, 20, 0.5, 5 * time.Second},
	} {
		back := b(tt.jitter)
		if got := back.after(tt.failures, tt.u); got != tt.want {
			t.Errorf("%s, %d failures, %g: got %v, want %v", tt.jitter, tt.failures, tt.u, got, tt.want)
		}
	}
}

func TestClassesHaveTheirShares(t *testing.T) {
	s := sensors(1000, time.Minute, Random)
	s.Classes = []Class{{Name: "sensor", Share: 0.9, Period: time.Minute},
		{Name: "tracker", Share: 0.09, Period: time.Second},
		{Name: "camera", Share: 0.01, Period: time.Second}}
	got := map[string]int{}
	for i := range s.Devices {
		got[s.classOf(i).Name]++
	}
	if got["sensor"] != 900 || got["tracker"] != 90 || got["camera"] != 10 {
		t.Errorf("got %v", got)
	}
}

func TestOutageHitsItsShare(t *testing.T) {
	s := sensors(10_000, time.Minute, Random)
	s.Outage = Outage{At: time.Second, For: time.Second, Share: 0.3}
	c := newCore(&s)
	c.begin(Load{For: time.Minute, Record: true}, 1)
	for _, tt := range []struct {
		at   time.Duration
		want float64
	}{{time.Second - 1, 0}, {time.Second, 0.3}, {2*time.Second - 1, 0.3}, {2 * time.Second, 0}} {
		n := 0
		for i := range s.Devices {
			if c.hits(i, int64(tt.at)) {
				n++
			}
		}
		if got := float64(n) / 10_000; got != tt.want {
			t.Errorf("at %v: %g of the devices are cut off, want %g", tt.at, got, tt.want)
		}
	}
}

// However few devices there are, an outage cuts off its share of them, of each class about as many, and
// with another seed others.
func TestOutageIsOfExactlyItsShare(t *testing.T) {
	for n := 1; n <= 300; n++ {
		s := sensors(n, time.Minute, Random)
		s.Outage.Share = 0.1
		l, cut, firstHalf := s.draws(), 0, 0
		for i := range n {
			if l.has(i) {
				if cut++; i < n/2 {
					firstHalf++
				}
			}
		}
		if cut != int(math.Round(float64(n)/10)) || math.Abs(float64(firstHalf)-float64(cut)/2) > 4 {
			t.Errorf("of %d devices %d are cut off, %d of the first half", n, cut, firstHalf)
		}
	}
	first := map[int]bool{}
	for seed := range uint64(100) {
		s := sensors(10, time.Minute, Random)
		s.Seed, s.Outage.Share = seed, 0.1
		l := s.draws()
		for i := range 10 {
			if l.has(i) {
				first[i] = true
			}
		}
	}
	if len(first) != 10 {
		t.Errorf("over 100 seeds, only the devices %v are cut off", first)
	}
}

func TestSpecsThatCannotBe(t *testing.T) {
	good := sensors(10, time.Minute, Random)
	good.Server = server
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Spec){
		"no devices": func(s *Spec) { s.Devices = 0 },
		"too many":   func(s *Spec) { s.Devices = MostDevices + 1 },
		"period":     func(s *Spec) { s.Classes = []Class{{Share: 1}} },
		"shares":     func(s *Spec) { s.Classes = []Class{{Share: 0.5, Period: time.Second}} },
		"phase":      func(s *Spec) { s.Phase = "full" },
		"a body":     func(s *Spec) { s.Body = 1025 },
		"back-off":   func(s *Spec) { s.Retry = Backoff{First: 1, Factor: 0.5, Most: 2, Jitter: Full} },
		"jitter":     func(s *Spec) { s.Retry = Backoff{First: 1, Factor: 2, Most: 2, Jitter: "some"} },
		"outage":     func(s *Spec) { s.Outage = Outage{For: 1} },
		"timeout":    func(s *Spec) { s.Timeout = 0 },
		"elsewhere":  func(s *Spec) { s.Server = elsewhere },
	} {
		s := good
		if spoil(&s); s.Check() == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
