package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/stat"
)

// judgedAt are trials at rates; a negative one was broken.
func judgedAt(rates ...float64) (all []capacity.Trial) {
	for _, r := range rates {
		margin := 2.0
		if r < 0 {
			margin = 0.5
		}
		all = append(all, capacity.Trial{Rate: math.Abs(r), Kept: []slo.Kept{{Margin: margin}}})
	}
	return all
}

// Without an interval the answer tells what single trials say, all of them: not only those that found the place.
func TestCapacityNotFound(t *testing.T) {
	for _, tt := range []struct {
		stage  stat.CapacityStage
		rates  []float64
		wants  []string
		absent string
	}{
		{stat.Exhausted, []float64{6000, -24000, 12710, -14000, 13000, -13500}, []string{
			"between 13000 and 13500 requests/s by single trials of 10s",
			"That is roughly between 780000 and 810000 devices that send once in 1m.",
			"The search ended after 6 trials of 8: the next block needs 3.",
			"against floor-tcp; the search, which ends at half of that, went up to 24000."}, "some broke"},
		{stat.Exhausted, []float64{10350, -12310, -10410, 12000, 11000, 11100, 11200, 11300}, []string{
			"of single trials of 10s, some broke it from 10410 requests/s on, and some kept to it up to 12000",
			"That is roughly between 624600 and 720000 devices"}, "The search ended after"},
		{stat.Exhausted, []float64{100, -100}, []string{"some broke it from 100 requests/s on, and some kept to it up to " +
			"100"}, "between 100 and"},
		{stat.Exhausted, []float64{100, 400, 1600}, []string{"kept to this up to 1600 requests/s, and none broke it",
			"That is at least 96000 devices"}, "between"},
		{stat.Exhausted, []float64{-6400, -1600, -400}, []string{"broke this down to 400 requests/s, and none kept to it",
			"That is fewer than 24000 devices"}, "between"},
		{stat.AboveMost, []float64{400, -900, 700, 950, 1000, 980}, []string{"at least 1000 requests/s",
			"That is at least 60000 devices"}, "It ended"},
		{stat.BelowLeast, []float64{-400, -200, -100}, []string{"even at 100 requests/s",
			"That is fewer than 6000 devices that send once in 1m."}, "roughly"},
	} {
		c := Capacity{capacity.Answer{Length: 10 * time.Second, Period: time.Minute, Budget: 8, Least: 100,
			Driver: 51763, Floor: "floor-tcp", Trials: judgedAt(tt.rates...),
			Step: stat.CapacityStep{Stage: tt.stage, Lo: 10350, Hi: 12310}}}
		text := strings.Join(append([]string{c.Headline()}, c.Says()...), "\n")
		for _, want := range tt.wants {
			if !strings.Contains(text, want) || strings.Contains(text, tt.absent) {
				t.Errorf("%v: no %q, or %q, in\n%s", tt.rates, want, tt.absent, text)
			}
		}
	}
}

// Attempts that were not valid are counted as such, and the answer itself says why they were not.
func TestCapacitySaysWhyAttemptsWereInvalid(t *testing.T) {
	c := Capacity{capacity.Answer{Dir: "r/1", Invalid: 7, Refused: 4, Why: []string{"trial 2: it rained",
		"trial 3: it poured", "trial 5: it snowed", "trial 8: it hailed"}}}
	text := strings.Join(c.Says(), "\n")
	want := "7 attempts of 4 trials were invalid and repeated (logs are below r/1):\ntrial 2: it rained\ntrial 3: it poured\n" +
		"trial 5: it snowed\n… and those of 1 further trial; attempts in ledger.sqlite has them all."
	if !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	c.Invalid = 0
	if text := strings.Join(c.Says(), "\n"); strings.Contains(text, "invalid") {
		t.Error(text)
	}
}

// A search whose budget ended says ± only of an interval that has two like sides.
func TestCapacityOfALopsidedInterval(t *testing.T) {
	for _, x := range []struct {
		lo, hi float64
		want   string
	}{
		{1839, 2497, "The budget of trials ended at ±15.2 %; ±2.5 % was asked for."},
		{1939, 2303, "The budget of trials ended at a half-width of 8.4 %; ±2.5 % was asked for."},
	} {
		c := Capacity{capacity.Answer{Length: 10 * time.Second, Precision: 0.025, Step: stat.CapacityStep{
			Stage: stat.Exhausted, Capacity: stat.Capacity{Rate: 2168, Lo: x.lo, Hi: x.hi, Bent: math.NaN(), Trials: 30}}}}
		if text := strings.Join(c.Says(), "\n"); !strings.Contains(text, x.want) {
			t.Errorf("%v to %v: no %q in\n%s", x.lo, x.hi, x.want, text)
		}
	}
}

// A law that is fitted to throughputs is of whoever asks, too.
func TestAScalingIsOfServerAndClients(t *testing.T) {
	s := Scaling{capacity.Scaling{Trials: []stat.LoadPoint{{N: 1, Throughput: 10}}, Law: stat.USL{Gamma: 10,
		Peak: math.NaN()}, Queue: stat.ClosedQueue{Demand: 0.1}}}
	if text := strings.Join(s.Says(), "\n"); !strings.Contains(text, "of the server and its clients together") {
		t.Error(text)
	}
	s.Law.Peak, s.Law.PeakLo, s.Law.PeakHi = 1, 1, 1
	if got := s.Headline(); !strings.Contains(got, "highest with one request under way, 10.0 requests/s, and falls") {
		t.Error(got)
	}
}

// The text says what its columns are.
func TestCapacityExplainsItsColumns(t *testing.T) {
	objective, err := slo.Parse("failed < 5%")
	if err != nil {
		t.Fatal(err)
	}
	c := Capacity{capacity.Answer{SLO: objective, Trials: judgedAt(100, -200)}}
	var b bytes.Buffer
	if err := c.Text(&b); err != nil || !strings.Contains(b.String(), " counts: the answer comes from it") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A line that was not fitted does not fail to fit.
func TestCapacityWithoutALine(t *testing.T) {
	for _, tt := range []struct {
		of   stat.Capacity
		want string
	}{
		{stat.Capacity{}, "null"},
		{stat.Capacity{Trials: 9, Lo: math.NaN(), Bent: 0.5}, "true"},
		{stat.Capacity{Trials: 9, Lo: math.NaN()}, "false"},
	} {
		c := Capacity{capacity.Answer{Step: stat.CapacityStep{Stage: stat.AboveMost, Capacity: tt.of}}}
		var b bytes.Buffer
		if err := c.JSON(&b); err != nil || !strings.Contains(b.String(), `"fits": `+tt.want) {
			t.Errorf("%v: want %s in %s", err, tt.want, b.String())
		}
	}
}

// What is said of a throughput is true where it falls from the first request under way on.
func TestScalingThatFallsFromTheFirst(t *testing.T) {
	one := Scaling{capacity.Scaling{Law: stat.USL{Alpha: 1.3, Gamma: 1000, Peak: 1, PeakLo: 1, PeakHi: 1, Largest: 64,
		Confidence: 0.95}}}
	if got := one.Headline(); got != "The throughput is highest with one request under way, 1000 requests/s, "+
		"and falls with more." {
		t.Errorf("got %q", got)
	}
	nan := math.NaN()
	none := Scaling{capacity.Scaling{Law: stat.USL{Gamma: 1000, Peak: nan, PeakLo: nan, PeakHi: nan, Largest: 64}}}
	if got := none.Headline(); !strings.HasPrefix(got, "No peak within reach: up to 64 requests") {
		t.Errorf("got %q", got)
	}
}

// Where no rate by count is known on a side, that is said, and no rate is called "no rate".
func TestCapacityByCount(t *testing.T) {
	for _, x := range []struct {
		below, above float64
		want         string
	}{{900, 1100, "kept to it up to 900 requests/s, and most broke it from 1100 on"},
		{900, 0, "kept to it up to 900 requests/s, and at no higher rate did most break it"},
		{0, 1100, "broke it from 1100 requests/s on, and at no lower rate did most keep to it"},
		{0, 0, "at no rate below the capacity did most trials keep to it"}} {
		c := Capacity{capacity.Answer{Length: time.Second, Step: stat.CapacityStep{Stage: stat.Precise,
			Capacity: stat.Capacity{Rate: 1000, Lo: 990, Hi: 1010, Bent: 1e-3, Below: x.below, Above: x.above, Trials: 20}}}}
		if got := strings.Join(c.Says(), "\n"); !strings.Contains(got, x.want+".") && !strings.Contains(got, x.want+",") ||
			strings.Contains(got, "no rate r") || strings.Contains(got, "no rate o") {
			t.Errorf("%v and %v: no %q in\n%s", x.below, x.above, x.want, got)
		}
	}
}

// A capacity has the digits that its interval supports, in requests and in devices, and times as a user writes them.
func TestCapacityHasTheDigitsOfItsInterval(t *testing.T) {
	for _, x := range []struct {
		rate, lo, hi float64
		want         string
	}{
		{324.36, 301.39, 352.42, "324 requests/s (301 to 352, 95 % interval) in trials of 1m.\n" +
			"That is 19500 devices (18100 to 21100) that send once in 1m."},
		{2168.4, 1839.2, 2497.6, "2170 requests/s (1840 to 2500, 95 % interval) in trials of 1m.\n" +
			"That is 130000 devices (110000 to 150000) that send once in 1m."},
		{2168.4, 2150.2, 2186.6, "2168 requests/s (2150 to 2187, 95 % interval) in trials of 1m.\n" +
			"That is 130100 devices (129000 to 131200) that send once in 1m."},
		{5.026, 4.977, 5.083, "5.03 requests/s (4.98 to 5.08, 95 % interval) in trials of 1m.\n" +
			"That is 301 devices (298 to 304) that send once in 1m."},
		{51763, 0, 61000, "52000 requests/s (0 to 61000, 95 % interval) in trials of 1m.\n"},
	} {
		c := Capacity{capacity.Answer{Length: time.Minute, Period: time.Minute, Confidence: 0.95, Arrival: "poisson",
			Step: stat.CapacityStep{Stage: stat.Precise, Capacity: stat.Capacity{Rate: x.rate, Lo: x.lo, Hi: x.hi,
				Bent: math.NaN(), Trials: 20}}}}
		got := strings.Join(append([]string{c.Headline()}, c.Says()...), "\n")
		if !strings.Contains(got, "capacity is "+x.want) ||
			!strings.Contains(got, "This holds for trials of 1m with poisson") {
			t.Errorf("got %s", got)
		}
	}
}
