package energy

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The error that is stated of net energy holds whatever the base does beneath the trial: it stays, drifts, steps at any
// instant, warms up or cools down. Net energy has nothing of what a base drifts evenly.
func TestNetEnergyOfAMovingBase(t *testing.T) {
	const noise, load, base, long = 0.02, 0.3, 2.0, 5 // W, s
	type shape = func(s float64) float64              // of the base, over what it is without moving
	even := func(slope float64) func(float64) shape {
		return func(float64) shape { return func(s float64) float64 { return slope * s } }
	}
	settling := func(by, tau float64) func(float64) shape {
		return func(float64) shape { return func(s float64) float64 { return by * math.Exp(-s/tau) } }
	}
	for _, x := range []struct {
		what  string
		moves func(chance float64) shape
		even  bool
		doubt float64 // share of trials whose idle moved, at least
		most  float64 // of the error if all of the move may be a step: what is stated; 0: as much
	}{
		{"stays", even(0), true, 0, 0},
		{"rises by 0.5 % a second", even(0.005), true, 0.9, 0},
		{"rises by 1 % a second", even(0.01), true, 1, 0},
		{"rises by 4 % a second", even(0.04), true, 1, 0.35},
		{"falls by 0.5 % a second", even(-0.005), true, 0.9, 0},
		{"falls by 1 % a second", even(-0.01), true, 1, 0},
		{"falls by 4 % a second", even(-0.04), true, 1, 0.35},
		{"steps up by 5 %", func(chance float64) shape {
			return func(s float64) float64 {
				if s < chance*9 {
					return 0
				}
				return 0.05
			}
		}, false, 0.5, 0},
		{"rises by 1 % a second, and steps up by 5 % in the run", func(chance float64) shape {
			return func(s float64) float64 {
				if s < 2+5*chance {
					return 0.01 * s
				}
				return 0.05 + 0.01*s
			}
		}, false, 0.9, 0},
		{"warms up within a second", settling(-0.1, 1), false, 0.5, 0},
		{"warms up within 3 s", settling(-0.1, 3), false, 1, 0},
		{"warms up within a minute", settling(-0.1, 60), false, 0.5, 0},
		{"cools down within 3 s", settling(0.1, 3), false, 1, 0},
		{"is higher behind the run, and falls, as a radio's tail does", func(float64) shape {
			return func(s float64) float64 {
				if s < 7 {
					return 0
				}
				return 0.1 * math.Exp(-(s-7)/2)
			}
		}, false, 1, 0},
	} {
		rng := rand.New(rand.NewPCG(4, 4))
		run := Window{2 * time.Second, (2 + long) * time.Second}
		var all, stated float64
		held, moved, n := 0, 0, 200
		if testing.Short() {
			n = 50
		}
		for range n {
			at := x.moves(rng.Float64())
			var values []float64
			for k := range 1000 { // 9 s and a little
				s := (float64(k) + 0.5) / 100
				w := base*(1+at(s)) + noise*rng.NormFloat64()
				if s > run.From.Seconds() && s < run.To.Seconds() {
					w += load
				}
				values = append(values, w)
			}
			tr := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, values...))
			m := tr.Margin()
			idle, err := tr.MeasureIdle(Window{run.From - m - time.Second, run.From - m},
				Window{run.To + m, run.To + m + time.Second})
			if err != nil {
				t.Fatal(err)
			}
			r, err := OfTrial(tr, run, idle...)
			if err != nil {
				t.Fatal(err)
			}
			off := r.Net - load*long
			all, stated = all+off, stated+r.NetError/math.Abs(r.Moved)*math.Sqrt(3)/float64(n)
			if math.Abs(off) <= r.NetError {
				held++
			}
			if idleMoved(r) {
				moved++
			}
		}
		if share := float64(held) / float64(n); share < 0.9 {
			t.Errorf("a base that %s: %.0f %% of the trials are within the error that is stated", x.what, 100*share)
		}
		if x.most > 0 && stated > x.most || x.most == 0 && x.doubt == 1 && !x.even && stated < 0.95 {
			t.Errorf("a base that %s: the stated error is %.2f times that of the move", x.what, stated)
		}
		t.Logf("a base that %s: %.1f %% of the trials are within the stated error, %.2f times that of the move", x.what,
			100*float64(held)/float64(n), stated)
		if mean := all / float64(n); x.even && math.Abs(mean) > 0.006 {
			t.Errorf("a base that %s: off by %.4f J in the mean", x.what, mean)
		}
		if share := float64(moved) / float64(n); share < x.doubt || x.doubt == 0 && share > 0.01 {
			t.Errorf("a base that %s: moved in %.0f %% of the trials", x.what, 100*share)
		}
	}
}

// The noise of two idles does not make the error much larger than that of one that lasts as long, nor is it a move of
// the base, though nothing is used beyond that.
func TestNoiseOfTwoIdles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	var one, two float64
	moved := 0
	for range 200 {
		var values []float64
		for range 900 {
			values = append(values, 2+0.02*rng.NormFloat64())
		}
		tr := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, values...))
		run := Window{3 * time.Second, 6 * time.Second}
		for sum, windows := range map[*float64][]Window{&one: {{500 * ms, 2500 * ms}},
			&two: {{1500 * ms, 2500 * ms}, {6500 * ms, 7500 * ms}}} {
			idle, err := tr.MeasureIdle(windows...)
			if err != nil {
				t.Fatal(err)
			}
			r, err := OfTrial(tr, run, idle...)
			if err != nil {
				t.Fatal(err)
			}
			*sum += r.NetError
			if idleMoved(r) {
				moved++
			}
		}
	}
	if two > 1.1*one || two < 0.9*one {
		t.Errorf("two idles: %g J, one: %g J", two/200, one/200)
	}
	if moved > 4 {
		t.Errorf("%d of 200 moved", moved)
	}
}

func idleMoved(r TrialEnergy) bool {
	return slices.ContainsFunc(r.Doubts, func(err error) bool {
		var d Doubt
		return errors.As(err, &d) && d.Key == "idle_moved"
	})
}
