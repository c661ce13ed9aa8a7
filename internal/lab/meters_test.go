package lab

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A gauge is looked at once a second, or every so often, and has a new value each time that renewal has passed. What
// one on a board reads arrives when its observation is over.
type gauge struct {
	renewal time.Duration
	onBoard bool
	clock   instrument.Fit
	every   time.Duration // 0: 1 s
	models  bool          // what it says is computed
}

func (g gauge) interval() time.Duration { return cmp.Or(g.every, time.Second) }

func (g gauge) Describe() measure.Description {
	return measure.Description{Name: "gauge", Modelled: g.models}
}
func (g gauge) Stats() instrument.MeterStats {
	return instrument.MeterStats{Clock: g.clock, Readings: 1}
}
func (g gauge) Facts() energy.Facts {
	return energy.Facts{Kind: energy.Instant, Interval: g.interval(), Held: true}
}

func (g gauge) Observe(ctx context.Context, emit func(measure.Sample)) error {
	began, value, renewed := time.Now(), 1.0, time.Now()
	for ctx.Err() == nil {
		if time.Since(renewed) >= g.renewal {
			value, renewed = rand.Float64(), time.Now()
		}
		if !g.onBoard {
			emit(measure.Sample{Quantity: energy.Power, At: time.Since(began), Value: value})
		}
		select {
		case <-ctx.Done():
		case <-time.After(g.interval()):
		}
	}
	return nil
}

// The idles of a gauge that renews its value seldom last for enough values together, as soon as the lab knows how
// seldom: from its readings, or from those of the trial before. Each lasts for a second at least.
func TestIdleLastsForEnoughValues(t *testing.T) {
	for _, tt := range []struct {
		what string
		g    gauge
		knew time.Duration
		want time.Duration // of both
	}{
		{"each reading is new", gauge{renewal: time.Second}, 0, 40 * time.Second},
		{"a thousand a second", gauge{renewal: time.Millisecond, every: time.Millisecond}, 0, 2 * time.Second},
		{"one in 20 s", gauge{renewal: 20 * time.Second}, 0, 240 * time.Second},
		{"on a board, the first trial", gauge{renewal: 20 * time.Second, onBoard: true}, 0, 40 * time.Second},
		{"on a board, a later one", gauge{renewal: 20 * time.Second, onBoard: true}, 20 * time.Second, 240 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &meters{task: task{lab: &Lab{}}, zero: time.Now()}
			if tt.knew > 0 {
				m.lab.learn("gauge", tt.knew)
			}
			m.sessions = []*meterSession{m.observe(measure.Client, "gauge", tt.g)}
			all := time.Duration(0)
			for when, rest := range []func(context.Context) error{m.idle, m.still} {
				began := time.Since(m.zero)
				if err := rest(t.Context()); err != nil {
					t.Fatal(err)
				}
				s := m.sessions[0]
				idle, margin := s.idle[when], s.facts().Margin()
				all += idle.Length()
				if idle.From < began+margin || time.Since(m.zero) < idle.To+margin {
					t.Errorf("%s: idle of %v, began at %v, ended %v later; want %v on both sides", tt.what, idle, began,
						time.Since(m.zero)-idle.To, margin)
				}
				time.Sleep(time.Minute)
			}
			if all < tt.want || all > tt.want+12*time.Second {
				t.Errorf("%s: idle for %v, want %v", tt.what, all, tt.want)
			}
			m.close()
		})
	}
}

// The error of a trial's energy knows how far the meter's clock may be off.
func TestTraceKnowsItsClock(t *testing.T) {
	s := meterSession{meter: gauge{clock: instrument.Fit{Residual: 3 * time.Millisecond, Bias: 40 * time.Millisecond}}}
	if got := s.trace().Clock; got != 43*time.Millisecond {
		t.Errorf("got %v, want 43ms", got)
	}
}

// What a meter computes from a profile and the load is modelled, wherever it is computed.
func TestWhatAMeterModelsIsNotMeasured(t *testing.T) {
	for method, models := range map[store.Method]bool{store.Measured: false, store.Modelled: true} {
		t.Setenv("TMPDIR", t.TempDir())
		synctest.Test(t, func(t *testing.T) {
			l, _ := fakeLab(t, soundStack(), 1)
			defer l.Store.Close()
			attempt, err := l.Store.Begin(1)
			if err != nil {
				t.Fatal(err)
			}
			r := newTrialRunner(l, l.Plan.Trials[0], attempt)
			defer r.abandon()
			m := r.attachments.meters.(*meters)
			m.sessions = []*meterSession{m.observe(measure.Client, "gauge", gauge{renewal: time.Second, models: models})}
			if err := m.idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.conversation.run.Began = time.Now()
			time.Sleep(time.Minute)
			r.conversation.run.Ended = time.Now()
			f, err := m.after(t.Context())
			if err != nil || len(f.results) == 0 {
				t.Fatalf("%d figures, %v", len(f.results), err)
			}
			for _, x := range f.results {
				if x.Method != method {
					t.Errorf("%s is %s, want %s", x.Response, x.Method, method)
				}
			}
			if err := attempt.Commit(f.results, f.quality); err != nil {
				t.Fatal(err)
			}
			sources, err := l.Store.Sources(1)
			if err != nil || len(sources) != 1 || sources[0].Method != method {
				t.Errorf("readings are of %v, %v, want %s", sources, err, method)
			}
		})
	}
}

// What the windows of the meters reach into behind the run is idle: the programs' records, which cost them energy, are
// fetched when the meters have read that.
func TestRecordsWaitForTheMeters(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, _ := fakeLab(t, soundStack(), 1)
		defer l.Store.Close()
		one, _, _ := attachedTrial(t, l)
		waited := 0
		one.attachments.still = func(context.Context) error {
			if n, m := one.records.sides[atClient].n, one.records.sides[atServer].n; n+m > 0 {
				t.Errorf("%d records of the client and %d of the server were fetched", n, m)
			}
			waited++
			return nil
		}
		if err := alone(t, one, func(string) {}); err != nil || waited != 1 {
			t.Errorf("waited %d times, %v", waited, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &meters{task: task{lab: &Lab{}}, zero: time.Now()}
		m.sessions = []*meterSession{m.observe(measure.Client, "gauge", gauge{renewal: time.Second})}
		time.Sleep(time.Minute)
		ended := time.Now()
		want := m.sessions[0].facts().Margin() + 4*time.Second
		if err := m.still(t.Context()); err != nil || time.Since(ended) < want {
			t.Errorf("waited %v, %v, want %v", time.Since(ended), err, want)
		}
		fetched := time.Now()
		if err := m.still(t.Context()); err != nil || time.Since(fetched) > 0 {
			t.Errorf("waited once more, for %v, %v", time.Since(fetched), err)
		}
		m.close()
	})
}

// A heating board: its idle power rises, or steps under the load, which is 0.3 W.
type heating struct {
	loaded     *atomic.Bool
	rise, step float64 // W a second; W
}

func (heating) Describe() measure.Description { return measure.Description{Name: "heating"} }
func (heating) Stats() instrument.MeterStats  { return instrument.MeterStats{Readings: 1} }
func (heating) Facts() energy.Facts           { return energy.Facts{Interval: 10 * time.Millisecond} }

func (w heating) Observe(ctx context.Context, emit func(measure.Sample)) error {
	began, stepped := time.Now(), 0.0
	for ctx.Err() == nil {
		power := 2 + w.rise*(time.Since(began)-5*time.Millisecond).Seconds() + 0.001*rand.NormFloat64()
		if w.loaded.Load() {
			power += 0.3
			stepped = w.step
		}
		power += stepped
		emit(measure.Sample{Quantity: energy.Power, At: time.Since(began), Value: power})
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// Net energy has none of what the base moves evenly, and says by how much it moved. A step is taken for half of it, and
// doubted.
func TestNetEnergyOfAMovingBase(t *testing.T) {
	for _, base := range []heating{{}, {rise: 0.08}, {rise: -0.08}, {step: 0.4}} {
		rise := base.rise
		t.Setenv("TMPDIR", t.TempDir())
		synctest.Test(t, func(t *testing.T) {
			l, _ := fakeLab(t, soundStack(), 1)
			defer l.Store.Close()
			attempt, err := l.Store.Begin(1)
			if err != nil {
				t.Fatal(err)
			}
			r := newTrialRunner(l, l.Plan.Trials[0], attempt)
			defer r.abandon()
			m := r.attachments.meters.(*meters)
			var loaded atomic.Bool
			base.loaded = &loaded
			m.sessions = []*meterSession{m.observe(measure.Client, "heating", base)}
			if err := m.idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.conversation.run.Began = time.Now()
			loaded.Store(true)
			time.Sleep(5 * time.Second)
			r.conversation.run.Ended = time.Now()
			loaded.Store(false)
			if err := m.still(t.Context()); err != nil {
				t.Fatal(err)
			}
			f, err := m.after(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range f.results {
				if want := 1.5 + 5*base.step/2; x.Response == "energy" && math.Abs(x.Mean-want) > 0.02 {
					t.Errorf("%+v: %g J, want %g", base, x.Mean, want)
				}
			}
			noted := map[string]float64{}
			for _, q := range f.quality {
				noted[q.Key] = q.Value
			}
			// the middles of both idles are 5 s, a second, and two margins of 50 ms apart
			if want := 5*6.1*rise + 5*base.step; math.Abs(noted["client_idle_moved"]-want) > 0.02 {
				t.Errorf("%+v: it moved by %g J, want %g", base, noted["client_idle_moved"], want)
			}
			if got := noted["client_doubt_idle_moved"] > 0; got != (base.step != 0) {
				t.Errorf("%+v: doubted is %v", base, got)
			}
			if a, b := noted["idle_after_from"]-noted["run_to"], noted["idle_after_to"]-noted["idle_after_from"]; a < 0.05 ||
				b < 1 {
				t.Errorf("idle of %g s, %g s behind the run", b, a)
			}
		})
	}
}
