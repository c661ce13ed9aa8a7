package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Times of fabricated services: those that wait for a delayed acknowledgement gather near 40 ms, in nearly all samples;
// those of which a continuum passes 40 ms do not. A rule by the p95 and the median alone found a timer in the latter
// in up to all samples.
func TestTimersAreToldFromWhatPassesThem(t *testing.T) {
	const samples = 300
	r := rand.New(rand.NewPCG(40, 44))
	work := func(median float64) float64 { return median * math.Exp(0.3*r.NormFloat64()) }
	delayed := func(share, median float64) func(int) []float64 {
		return func(n int) (out []float64) {
			for range n {
				s := work(median)
				if r.Float64() < share {
					s += 40e-3 + 4e-3*r.Float64()
				}
				out = append(out, s)
			}
			return out
		}
	}
	each := func(one func() float64) func(int) []float64 {
		return func(n int) (out []float64) {
			for range n {
				out = append(out, one())
			}
			return out
		}
	}
	queue := func(rate float64, service func() float64) func(int) []float64 { // one server, random arrivals (Lindley)
		return func(n int) (out []float64) {
			wait := 0.0
			for range n {
				s := service()
				out = append(out, wait+s)
				wait = max(0, wait+s-r.ExpFloat64()/rate)
			}
			return out
		}
	}
	for _, tt := range []struct {
		name        string
		times       func(int) []float64
		n           int
		least, most float64 // share of samples that gather at 40 ms
	}{
		{"all delayed", delayed(1, 1e-3), 1000, 0.95, 1}, {"all of few delayed", delayed(1, 0.3e-3), 30, 0.95, 1},
		{"half delayed", delayed(0.5, 0.2e-3), 1000, 0.95, 1}, {"a tenth delayed", delayed(0.1, 0.2e-3), 1000, 0.95, 1},
		{"all delayed, slower", delayed(1, 2e-3), 1000, 0.95, 1},
		{"exponential", each(func() float64 { return 13.7e-3 * r.ExpFloat64() }), 1000, 0, 0.01},
		{"few exponential", each(func() float64 { return 13.7e-3 * r.ExpFloat64() }), 40, 0, 0.01},
		{"exponential, median near 40 ms", each(func() float64 { return 62e-3 * r.ExpFloat64() }), 1000, 0, 0.01},
		{"uniform", each(func() float64 { return 45e-3 * r.Float64() }), 1000, 0, 0.01},
		{"uniform, wider", each(func() float64 { return 86e-3 * r.Float64() }), 1000, 0, 0.01},
		{"uniform from 38 ms on", each(func() float64 { return 38.2e-3 + 17e-3*r.Float64() }), 1000, 0, 0.01},
		{"wide log-normal", each(func() float64 { return 15e-3 * math.Exp(0.6*r.NormFloat64()) }), 1000, 0, 0.01},
		{"log-normal around 43 ms", each(func() float64 { return 43e-3 * math.Exp(0.3*r.NormFloat64()) }), 1000, 0, 0.01},
		{"a queue of 5 ms", queue(160, func() float64 { return 5e-3 }), 1600, 0, 0.01},
		{"a busier queue of 5 ms", queue(180, func() float64 { return 5e-3 }), 1600, 0, 0.01},
		{"a queue of random work", queue(120, func() float64 { return 5e-3 * r.ExpFloat64() }), 1000, 0, 0.01},
	} {
		gathered, before := 0, 0
		for range samples {
			var s Spectrum
			times := tt.times(tt.n)
			for _, x := range times {
				s.Add(time.Duration(x * 1e9))
			}
			if DelayedAcknowledgement.Gathers(&s, 0) {
				gathered++
			}
			slices.Sort(times)
			if m, p95 := times[tt.n/2], times[tt.n*95/100]; DelayedAcknowledgement.Holds(m) ||
				DelayedAcknowledgement.Holds(p95) && p95 > 3*m {
				before++
			}
		}
		share := float64(gathered) / samples
		t.Logf("%s: gather in %.1f %%, by p95 and median alone in %.1f %%", tt.name, 100*share, 100*float64(before)/samples)
		if share < tt.least || share > tt.most {
			t.Errorf("%s: gather in %.1f %% of samples, want %g to %g", tt.name, 100*share, tt.least, tt.most)
		}
	}
}

// What a server says that it did lies below what a request waited for.
func TestTimersLieBesideTheWork(t *testing.T) {
	var s Spectrum
	for range 100 {
		s.Add(62 * time.Millisecond)
	}
	if DelayedAcknowledgement.Gathers(&s, 0) || !DelayedAcknowledgement.Gathers(&s, 20e-3) {
		t.Error("62 ms of which 20 ms are work gather at 40 ms")
	}
	s.Add(-1)
	s.Add(time.Hour)
}

// What is shorter than a Spectrum counts lies below the stretch beside each timer.
func TestNoTimerNeedsShorterTimes(t *testing.T) {
	for _, w := range Timers {
		if from := 2*w.From - w.To; from < SpectrumFrom.Seconds()-1e-9 {
			t.Errorf("%s: it is held against times from %g s on", w.Says, from)
		}
	}
}
