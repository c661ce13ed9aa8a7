package energy

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// held are readings, once a second for so long, of a gauge that looks at the power at times of its own.
func held(every, length time.Duration, rng *rand.Rand, power func(at time.Duration) float64) (s []measure.Sample) {
	next, value := -time.Duration(rng.Int64N(int64(every))), 0.0
	for at := time.Duration(0); at < length; at += time.Second {
		for ; next <= at; next += every {
			value = power(next)
		}
		s = append(s, measure.Sample{Quantity: Power, At: at, Value: value})
	}
	return s
}

// How seldom a gauge renews its value is seen in its readings; of one that always reads the same nothing is.
func TestRenewalIsSeen(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	f := Facts{Kind: Instant, Interval: time.Second, Held: true}
	noisy := func(time.Duration) float64 { return 2 + rng.NormFloat64() }
	for _, every := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 7300 * time.Millisecond,
		30 * time.Second} {
		got := NewTrace(f, held(every, 5*time.Minute, rng, noisy)).Renewal
		if want := every; want == time.Second && got != 0 || want > time.Second && (got < want-time.Second ||
			got > want+time.Second) {
			t.Errorf("renewed each %v: got %v", every, got)
		}
	}
	if got := NewTrace(f, held(30*time.Second, 50*time.Second, rng, noisy)).Renewal; got < 19*time.Second {
		t.Errorf("of one or two values in 50 s: got %v", got)
	}
	for what, s := range map[string][]measure.Sample{"nothing": nil, "one reading": held(1, 1, rng, noisy),
		"all the same": held(time.Second, time.Minute, rng, func(time.Duration) float64 { return 2 })} {
		if got := NewTrace(f, s).Renewal; got != 0 {
			t.Errorf("%s: got %v", what, got)
		}
	}
	// What lies beyond a gap is no time between two values.
	s := append(held(2*time.Second, 20*time.Second, rng, noisy), measure.Sample{Quantity: Gap, At: 21 * time.Second})
	for _, x := range held(2*time.Second, 20*time.Second, rng, noisy) {
		x.At += 5 * time.Minute
		s = append(s, x)
	}
	if got := NewTrace(f, s).Renewal; got < time.Second || got > 3*time.Second {
		t.Errorf("with a gap: got %v", got)
	}
	f.Held = false
	if got := NewTrace(f, held(5*time.Second, time.Minute, rng, noisy)).Renewal; got != 0 {
		t.Errorf("of a meter whose readings are all new: got %v", got)
	}
}

// What is stated as the error of a gauge that holds its values is true, though it is read more often.
func TestErrorOfHeldReadings(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	const step, noise = 1.0, 0.05
	for _, every := range []time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second} {
		f := Facts{Kind: Instant, Interval: time.Second, Held: true}
		const n = 400
		hit := 0
		for range n {
			from := 70*time.Second + 20*every + time.Duration(rng.Int64N(int64(every)))
			to := from + 20*every + time.Duration(rng.Int64N(int64(every)))
			tr := NewTrace(f, held(every, to+3*every+10*time.Second, rng, func(at time.Duration) float64 {
				w := 2 + noise*rng.NormFloat64()
				if at >= from && at < to {
					w += step
				}
				return w
			}))
			idle, err := tr.MeasureIdle(Window{10 * time.Second, 50*time.Second + 20*every})
			if err != nil {
				t.Fatal(err)
			}
			r, err := OfTrial(tr, Window{from, to}, idle...)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(r.Net-step*(to-from).Seconds()) <= r.NetError {
				hit++
			}
		}
		if share := float64(hit) / n; share < 0.92 || share > 0.995 {
			t.Errorf("renewed each %v: %.1f %% of the trials are within the error that is stated, want about 95", every,
				100*share)
		}
	}
}

// An idle of ten looks at one value is no idle.
func TestIdleOfHeldReadings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := held(20*time.Second, 5*time.Minute, rng, func(time.Duration) float64 { return 2 + rng.NormFloat64() })
	tr := NewTrace(Facts{Kind: Instant, Interval: time.Second, Held: true}, s)
	if _, err := tr.MeasureIdle(Window{10 * time.Second, 100 * time.Second}); err == nil ||
		!strings.Contains(err.Error(), "4 readings in 1m30s are too few") {
		t.Errorf("got %v", err)
	}
}
