package energy

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A bench is a supply of known power that a meter reads for some seconds: idle, a run, idle.
type bench struct {
	facts Facts
	power func(at float64) float64 // W, at an instant in s
	reads func(w float64) float64  // what the meter makes of it; nil: what it is
	loses func(k int) bool         // a reading; nil: none
}

// read is what the meter reads in so many seconds, its first reading at a phase of its interval.
func (b bench) read(seconds, phase float64) Trace {
	var s []measure.Sample
	every, joules := b.facts.Interval.Seconds(), 0.0
	reads := b.reads
	if reads == nil {
		reads = func(w float64) float64 { return w }
	}
	for k := 0; ; k++ {
		at := (float64(k) + phase) * every
		if at > seconds {
			return NewTrace(b.facts, s)
		}
		mean := 0.0
		const parts = 20 // so that a step inside lies up to a 40th of the interval off
		for i := range parts {
			mean += b.power(at-every*(float64(i)+0.5)/parts) / parts
		}
		joules += mean * every
		x := measure.Sample{Quantity: Power, At: inSeconds(at)}
		switch b.facts.Kind {
		case Mean:
			x.Value = reads(mean)
		case Instant:
			x.Value = reads(b.power(at))
		default:
			x.Quantity, x.Value = Counter, joules
		}
		if b.loses == nil || !b.loses(k) {
			s = append(s, x)
		}
	}
}

func inSeconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// trial is the energy of a run whose idle is the second before it and the second behind it.
func (b bench) trial(t *testing.T, run Window, phase float64) (Trace, TrialEnergy) {
	t.Helper()
	tr := b.read(run.To.Seconds()+1.5, phase)
	margin := tr.Margin()
	idle, err := tr.MeasureIdle(Window{run.From - margin - time.Second, run.From - margin},
		Window{run.To + margin, run.To + margin + time.Second})
	if err != nil {
		t.Fatal(err)
	}
	e, err := OfTrial(tr, run, idle...)
	if err != nil {
		t.Fatal(err)
	}
	return tr, e
}

func keys(all []error) map[string]bool {
	out := map[string]bool{}
	for _, err := range all {
		var d Doubt
		if errors.As(err, &d) {
			out[d.Key] = true
		}
	}
	return out
}

// A supply whose power never changes has a net energy of exactly 0, whatever rounding makes of the sum: no trial is
// below its idle, and no idle moved. What is above rounding is not lost.
func TestRoundingIsNoEnergy(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for _, kind := range []Kind{Mean, Instant, Cumulative} {
		other := 0
		for range 300 {
			watts := math.Exp(rng.NormFloat64() * 3)
			b := bench{facts: Facts{Kind: kind, Interval: inSeconds(0.002 + 0.02*rng.Float64())},
				power: func(float64) float64 { return watts }}
			if kind == Cumulative {
				b.loses = func(k int) bool { return k%7 == 3 }
			}
			from := inSeconds(1.5 + rng.Float64())
			run := Window{from, from + inSeconds(0.1+2*rng.Float64())}
			phase := rng.Float64()
			tr, e := b.trial(t, run, phase)
			wide := run.Widen(tr.Margin())
			if sum, _ := tr.Energy(wide); sum != e.Idle*wide.Length().Seconds() {
				other++ // rounding makes another sum of it
			}
			if has := keys(e.Doubts); e.Net != 0 || has["below_idle"] || has["idle_moved"] || !(e.Unseen.Net > 0) ||
				math.Abs(e.MeanPower-watts) > 1e-6*watts {
				t.Fatalf("%v, %g W: net %g J ± %g J, %g W, %v", kind, watts, e.Net, e.Unseen.Net, e.MeanPower, e.Doubts)
			}
			more := bench{facts: b.facts, loses: b.loses, power: func(at float64) float64 {
				if at > run.From.Seconds() && at < run.To.Seconds() {
					return watts * (1 + 1e-4)
				}
				return watts
			}}
			if _, e := more.trial(t, run, phase); !(e.Net > 0.5e-4*watts*run.Length().Seconds()) || e.Unseen.Net > e.Net {
				t.Fatalf("%v, %g W and 0.01 %% more: net %g J ± %g J", kind, watts, e.Net, e.Unseen.Net)
			}
		}
		if other < 100 {
			t.Errorf("%v: rounding showed in %d sums of 300", kind, other)
		}
	}
}

// What a meter's steps hide lies within what is stated, however the levels lie between two steps;
// and one value of which nobody knows how coarse it is hides as much as it says.
func TestCoarseMetersSayWhatTheyHide(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	run := Window{2 * time.Second, 3 * time.Second}
	gross, net := 0.0, 0.0
	for range 500 {
		idle, load := 1+rng.Float64(), rng.Float64()/2
		const step = 0.5
		facts := Facts{Kind: Mean, Interval: 10 * ms, Resolution: step}
		b := bench{facts: facts, reads: func(w float64) float64 { return step * math.Round(w/step) },
			power: func(at float64) float64 {
				if at > 2 && at < 3 {
					return idle + load
				}
				return idle
			}}
		_, e := b.trial(t, run, 0)
		gross = max(gross, math.Abs(e.Gross-idle-load)/e.Unseen.Gross)
		net = max(net, math.Abs(e.Net-load)/e.Unseen.Net)
	}
	if gross > 1 || net > 1 || gross < 0.9 || net < 0.8 {
		t.Errorf("the worst is off by %.3g times what gross energy may be off, net by %.3g times", gross, net)
	}
	for _, unknown := range []bool{true, false} {
		b := bench{facts: Facts{Kind: Mean, Interval: 10 * ms}, power: func(float64) float64 { return 2 }}
		want := 2.0
		if !unknown {
			b.facts.Resolution, want = 0.01, 0.01
		}
		_, e := b.trial(t, run, 0)
		near(t, "hidden by a meter that is stuck", e.Unseen.Net, want, 1e-6)
	}
}

// Gross energy and mean power are those of the trial itself: never below its least reading, and
// never above its largest, whatever a spike did to the idle; and with no spike the ends of a run are counted as before.
func TestGrossEnergyIsOfTheTrial(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, kind := range []Kind{Mean, Instant, Cumulative} {
		var worst, bias float64
		const n, load = 300, 1.0
		for range n {
			facts := Facts{Kind: kind, Interval: 10 * ms}
			run := Window{inSeconds(2 + 0.01*rng.Float64()), inSeconds(2.3 + 0.01*rng.Float64())}
			spike := 0.6 + 1.3*rng.Float64() // in the idle before
			if rng.IntN(2) == 0 {
				spike = run.To.Seconds() + 0.1 + rng.Float64()
			}
			power := func(at float64) float64 {
				w := 2.0
				if at > run.From.Seconds() && at < run.To.Seconds() {
					w += load
				}
				return w
			}
			b := bench{facts: facts, power: power}
			_, e := b.trial(t, run, rng.Float64())
			off := e.Gross - (2+load)*run.Length().Seconds()
			worst, bias = max(worst, math.Abs(off)), bias+off/n
			b.power = func(at float64) float64 {
				if math.Abs(at-spike) < 0.02 {
					return 900
				}
				return power(at)
			}
			_, e = b.trial(t, run, rng.Float64())
			if e.MeanPower < 2 || e.MeanPower > 2+load+0.005 || e.Gross < 2*run.Length().Seconds() {
				t.Fatalf("%v: %g W and %g J, of readings from 2 W to %g W", kind, e.MeanPower, e.Gross, 2+load)
			}
		}
		interval := (10 * ms).Seconds()
		if worst > load*interval || math.Abs(bias) > load*interval/5 {
			t.Errorf("%v: off by up to %.3g J, by %.3g J on average", kind, worst, bias)
		}
		t.Logf("%v: off by up to %.3g J, by %.3g J on average", kind, worst, bias)
	}
}

// A clock that is off, or values that are shown late, leave a part of a run outside of its window: gross energy has it
// nevertheless.
func TestGrossEnergyOfALateMeter(t *testing.T) {
	run := Window{2 * time.Second, 2100 * ms}
	for _, late := range []time.Duration{-4 * ms, -2 * ms, 0, 2 * ms, 4 * ms} {
		b := bench{facts: Facts{Kind: Mean, Interval: ms, Clock: late.Abs()}, power: func(at float64) float64 {
			if at > run.From.Seconds()+late.Seconds() && at < run.To.Seconds()+late.Seconds() {
				return 3
			}
			return 2
		}}
		_, e := b.trial(t, run, 0)
		near(t, late.String()+" late", e.Gross, 0.3, 1e-6)
	}
}

// A meter that shows one of two neighbouring values, whatever the power, hides as much as one that shows one value, and
// so does one whose noise is less than its steps; whether it says how large they are or its readings do. Where noise
// dithers them, or readings have no steps, nothing is hidden.
func TestNeighbouringValuesHideAStep(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	rng := rand.New(rand.NewPCG(3, 0))
	run := Window{2 * time.Second, 3 * time.Second}
	const step, n = 0.01, 300
	for _, x := range []struct {
		what  string
		noise float64 // of a reading, in steps
		turns bool    // the meter shows the one and the other value in turn
		kind  Kind
		least float64 // of trials in which something is hidden
		wrong float64 // most of trials whose net energy is further off than what is hidden and three standard errors
		exact bool    // readings have no steps
	}{
		{"in turn", 0, true, Mean, 1, 0, false},
		{"in turn, read at instants", 0, true, Instant, 1, 0, false},
		{"noise of a tenth", 0.1, false, Mean, 0.8, 0.08, false}, // in the others each stretch has one value
		{"noise of a fifth", 0.2, false, Mean, 0.9, 0.01, false},
		{"noise of two fifths", 0.4, false, Mean, 0.5, 0.02, false},
		{"noise of a step", 1, false, Mean, 0, 0.01, false},
		{"no steps", 1, false, Mean, 0, 0.01, true},
	} {
		for _, says := range []bool{true, false} {
			wrong, hidden, k := 0, 0, 0
			for range n {
				idle, load := 3+step*rng.Float64(), step*rng.Float64()
				if x.turns {
					load = 0
				}
				facts := Facts{Kind: x.kind, Interval: 10 * ms}
				if says && !x.exact {
					facts.Resolution = step
				}
				b := bench{facts: facts, power: func(at float64) float64 {
					if at > 2 && at < 3 {
						return idle + load
					}
					return idle
				}, reads: func(w float64) float64 {
					switch k++; {
					case x.exact:
						return w + x.noise*step*rng.NormFloat64()
					case x.turns:
						return step * (math.Round(3/step) + float64(k%2))
					}
					return step * math.Round(w/step+x.noise*rng.NormFloat64())
				}}
				_, e := b.trial(t, run, rng.Float64())
				if e.Unseen.Net > step/10 {
					hidden++
				}
				// two sums of 100 readings, and their idle of 200
				se := math.Max(x.noise, 0.3) * step * math.Sqrt(0.01+0.005)
				if math.Abs(e.Net-load) > e.Unseen.Net+3*se {
					wrong++
				}
			}
			t.Logf("%s, says it %v: something is hidden in %d of %d, net energy is off by more in %d", x.what, says, hidden,
				n, wrong)
			if hidden < int(x.least*n) || x.least == 0 && hidden > 0 || wrong > int(x.wrong*n) {
				t.Errorf("%s, says it %v: something is hidden in %d of %d, net energy is off by more in %d", x.what, says, hidden,
					n, wrong)
			}
		}
	}
}
