package energy

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

const ms = time.Millisecond

func samples(q measure.Quantity, every time.Duration, values ...float64) (s []measure.Sample) {
	for i, v := range values {
		s = append(s, measure.Sample{Quantity: q, At: time.Duration(i+1) * every, Value: v})
	}
	return s
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: got %g, want %g ± %g", what, got, want, within)
	}
}

func TestEnergyOfAWindow(t *testing.T) {
	for _, c := range []struct {
		what     string
		kind     Kind
		s        []measure.Sample
		from, to time.Duration
		want     float64
	}{
		{"whole readings", Mean, samples(Power, 10*ms, 1, 2, 3, 4), 10 * ms, 30 * ms, 0.05},
		{"parts of readings", Mean, samples(Power, 10*ms, 1, 2, 3, 4), 5 * ms, 15 * ms, 0.015},
		{"inside one reading", Mean, samples(Power, 10*ms, 1, 2, 3, 4), 12 * ms, 14 * ms, 0.004},
		{"points: trapezoid as steps", Instant, samples(Power, 10*ms, 1, 1, 3, 3), 10 * ms, 40 * ms, 0.06},
		{"a counter", Cumulative, samples(Counter, 10*ms, 5, 5.01, 5.05, 5.06), 10 * ms, 40 * ms, 0.06},
		{"a counter, between its readings", Cumulative, samples(Counter, 10*ms, 5, 5.01, 5.05, 5.06), 15 * ms,
			25 * ms, 0.025},
	} {
		got, err := NewTrace(Facts{Kind: c.kind, Interval: 10 * ms}, c.s).Energy(Window{c.from, c.to})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		near(t, c.what, got, c.want, 1e-12)
	}
}

// Silence must never be filled: a window over a gap, or beyond the record, has no energy.
func TestGapsAreErrors(t *testing.T) {
	s := samples(Power, 10*ms, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	holed := append(append([]measure.Sample{}, s[:5]...), s[6:]...)
	counted := samples(Counter, 10*ms, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	counted = append(counted[:2:2], counted[7:]...) // silent from 20 to 80 ms
	for _, c := range []struct {
		what     string
		kind     Kind
		s        []measure.Sample
		from, to time.Duration
		says     string
	}{
		{"one reading missing", Mean, holed, 20 * ms, 80 * ms, "no reading for 10ms from 50ms on"},
		{"before the record", Mean, s, -10 * ms, 50 * ms, "no reading for 10ms from -10ms on"},
		{"after the record", Mean, s, 50 * ms, 120 * ms, "no reading for 20ms from 100ms on"},
		{"nothing at all", Mean, nil, 0, 50 * ms, "no reading for 50ms"},
		{"backwards", Mean, s, 50 * ms, 20 * ms, "ends before it begins"},
		{"points far apart", Instant, append(append([]measure.Sample{}, s[:3]...), s[8:]...), 20 * ms, 95 * ms,
			"no reading for 60ms from 30ms on"},
		{"a point missing that is told", Instant, append([]measure.Sample{{Quantity: Gap, At: 61 * ms, Value: 1}}, holed...),
			20 * ms, 80 * ms, "no reading for 20ms from 50ms on"},
		{"a counter's silence over the beginning", Cumulative, counted, 50 * ms, 90 * ms,
			"no reading of the counter for 60ms from 20ms on"},
		{"a counter's silence over the end", Cumulative, counted, 10 * ms, 79 * ms, "across an edge of the window"},
		{"a counter's silence over all", Cumulative, counted, 40 * ms, 50 * ms, "how much of the energy lies inside"},
	} {
		if _, err := NewTrace(Facts{Kind: c.kind, Interval: 10 * ms}, c.s).Energy(Window{c.from, c.to}); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.what, err, c.says)
		}
	}
	if _, err := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, holed).Energy(Window{60 * ms, 100 * ms}); err != nil {
		t.Errorf("a gap outside of the window: %v", err)
	}
	if _, err := OfTrial(NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, s), Window{20 * ms, 90 * ms},
		Idle{Power: 1, N: 10}); err == nil {
		t.Error("a trial without idle around it in the record had an excess")
	}
}

// What a counter counted in a silence is known, though not when: a window has the energy that was used in it, or an
// error, wherever the silence lies.
func TestSilentCounterNeverMisleads(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	known := 0
	for range 2000 {
		var used []float64 // J up to each of 100 readings
		sum := 0.0
		for range 100 {
			sum += rng.ExpFloat64()
			used = append(used, sum)
		}
		from := 1 + rng.IntN(80)
		silence := 6 + rng.IntN(10)
		all := samples(Counter, 10*ms, used...)
		tr := NewTrace(Facts{Kind: Cumulative, Interval: 10 * ms}, append(all[:from:from], all[from+silence-1:]...))
		a := rng.IntN(99)
		b := a + 1 + rng.IntN(99-a)
		j, err := tr.Energy(Window{all[a].At, all[b].At})
		if inside := func(i int) bool { return i >= from && i < from+silence-1 }; inside(a) || inside(b) {
			if err == nil {
				t.Fatalf("%d to %d has %g J, though nothing was read from %d to %d", a, b, j, from-1, from+silence-1)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d to %d, silent from %d to %d: %v", a, b, from-1, from+silence-1, err)
		}
		known++
		near(t, "energy", j, used[b]-used[a], 1e-9)
	}
	if known < 500 {
		t.Errorf("only %d windows had an energy", known)
	}
}

// What a meter of instantaneous readings states as its error holds: a step of power falls anywhere between two
// readings.
func TestErrorOfInstantaneousMeters(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	facts := Facts{Kind: Instant, Interval: time.Second}
	const noise, step = 0.01, 1.0 // W
	run := func(l time.Duration) (off, stated float64) {
		from := 60*time.Second + time.Duration(rng.Int64N(int64(facts.Interval)))
		to := from + l
		var s []measure.Sample
		for at := facts.Interval; at < to+10*time.Second; at += facts.Interval {
			w := 2 + noise*rng.NormFloat64()
			if at >= from && at < to {
				w += step
			}
			s = append(s, measure.Sample{Quantity: Power, At: at, Value: w})
		}
		tr := NewTrace(facts, s)
		idle, err := tr.MeasureIdle(Window{10500 * ms, 50500 * ms})
		if err != nil {
			t.Fatal(err)
		}
		if idle[0].N < 38 || idle[0].N > 41 {
			t.Fatalf("%d readings in 40 s", idle[0].N)
		}
		near(t, "noise", idle[0].Noise, noise, 0.006)
		r, err := OfTrial(tr, Window{from, to}, idle...)
		if err != nil {
			t.Fatal(err)
		}
		return r.Net - step*l.Seconds(), r.NetError
	}
	const n = 1000
	hit := 0
	for range n {
		off, stated := run(10*time.Second + time.Duration(rng.Int64N(int64(facts.Interval))))
		if math.Abs(off) <= stated {
			hit++
		}
	}
	if share := float64(hit) / n; share < 0.92 || share > 0.995 {
		t.Errorf("%.1f %% of the trials are within the error that is stated, want about 95", 100*share)
	}
	var s []measure.Sample
	for i := range 10 {
		s = append(s, measure.Sample{Quantity: Power, At: time.Duration(i) * time.Second, Value: 2})
	}
	if _, err := NewTrace(facts, s).MeasureIdle(Window{1500 * ms, 8500 * ms}); err == nil {
		t.Error("seven readings made an idle")
	}
}

// Power whose beats are longer than a reading is known less well than as many independent readings would tell, and
// the error that is stated holds it nevertheless.
func TestErrorOfSlowBeats(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	for _, beat := range []float64{0, 5, 20} { // readings after which 1/e of a deviation is left
		stays := 0.0
		if beat > 0 {
			stays = math.Exp(-1 / beat)
		}
		hit, n := 0, 400
		if testing.Short() {
			n = 100
		}
		for range n {
			var v []float64
			x := rng.NormFloat64()
			for i := range 2600 {
				x = stays*x + math.Sqrt(1-stays*stays)*rng.NormFloat64()
				w := 2 + 0.1*x
				if i >= 1300 && i < 2300 {
					w++
				}
				v = append(v, w)
			}
			tr := NewTrace(Facts{Kind: Mean, Interval: ms}, samples(Power, ms, v...))
			idle, err := tr.MeasureIdle(Window{100 * ms, 1100 * ms})
			if err != nil {
				t.Fatal(err)
			}
			r, err := OfTrial(tr, Window{1300 * ms, 2300 * ms}, idle...)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(r.Net-1) <= r.NetError {
				hit++
			}
		}
		if share := float64(hit) / float64(n); share < 0.85 || share > 0.99 {
			t.Errorf("beats of %g readings: %.1f %% of the trials are within the error that is stated", beat, 100*share)
		}
	}
}

// Two idles are known no better than the mean of both: a short one is not made up for by a long one.
func TestErrorOfUnlikeIdles(t *testing.T) {
	tr := NewTrace(Facts{Kind: Mean, Interval: ms}, samples(Power, ms, make([]float64, 300)...))
	short, long := Idle{Power: 1, Noise: 0.1, N: 10}, Idle{Power: 1, Noise: 0.1, N: 1000}
	r, err := OfTrial(tr, Window{100 * ms, 200 * ms}, short, long)
	if err != nil {
		t.Fatal(err)
	}
	const wide = 0.11 // s
	sum := 0.1 * math.Sqrt(0.001*wide)
	idle := wide * math.Sqrt(0.01/10+0.01/1000) / 2
	near(t, "error", r.NetError, 2*math.Hypot(sum, idle), 1e-9)
}

// A clock that is off by more than the window is widened leaves a part of the trial outside, and the error says so.
func TestErrorOfAClockThatIsOff(t *testing.T) {
	const idle, step, l = 2.0, 1.0, 100 * ms
	run := func(off, known time.Duration) (TrialEnergy, error) {
		var s []measure.Sample
		for at := ms; at < 500*ms; at += ms {
			w := idle
			if at > 300*ms && at <= 300*ms+l {
				w += step
			}
			s = append(s, measure.Sample{Quantity: Power, At: at + off, Value: w})
		}
		tr := NewTrace(Facts{Kind: Mean, Interval: ms, Clock: known}, s)
		still, err := tr.MeasureIdle(Window{100 * ms, 200 * ms})
		if err != nil {
			t.Fatal(err)
		}
		return OfTrial(tr, Window{300 * ms, 300*ms + l}, still...)
	}
	for _, off := range []time.Duration{-20 * ms, -6 * ms, -5 * ms, -2 * ms, 0, 2 * ms, 5 * ms, 6 * ms, 20 * ms} {
		r, err := run(off, off.Abs())
		if err != nil {
			t.Fatal(err)
		}
		missed := step*l.Seconds() - r.Net
		if math.Abs(missed) > r.NetError+1e-12 || r.NetError > math.Abs(missed)+0.0015*step {
			t.Errorf("%v off: it missed %.4f J and says %.4f J", off, missed, r.NetError)
		}
	}
	if r, err := run(0, 104*ms); err == nil {
		t.Errorf("a trial of 100 ms with a clock that may be 104 ms off has %+v", r)
	}
}

// A net energy that drowns in its error is coarse on either side of zero.
func TestDrownedEnergyIsDoubted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	signs := map[bool]int{}
	for range 200 {
		var v []float64
		for range 300 {
			v = append(v, 1+0.05*rng.NormFloat64())
		}
		tr := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, v...))
		idle, err := tr.MeasureIdle(Window{0, 1000 * ms})
		if err != nil {
			t.Fatal(err)
		}
		r, err := OfTrial(tr, Window{1500 * ms, 2500 * ms}, idle...)
		if err != nil {
			t.Fatal(err)
		}
		want := "coarse"
		if r.Net < -r.NetError {
			want = "below_idle"
		}
		var d Doubt
		if len(r.Doubts) != 1 || !errors.As(r.Doubts[0], &d) || d.Key != want {
			t.Fatalf("%g J ± %g J: %v, want %s", r.Net, r.NetError, r.Doubts, want)
		}
		signs[r.Net < 0]++
	}
	if signs[true] < 50 || signs[false] < 50 {
		t.Errorf("below zero or not: %v", signs)
	}
}

// A clock that is off by 1 % must not open gaps, and NaN is no reading.
func TestReadingsOffTheirInterval(t *testing.T) {
	s := samples(Power, 10100*time.Microsecond, 2, 2, 2, 2, 2, 2)
	j, err := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, s).Energy(Window{5 * ms, 60 * ms})
	if err != nil {
		t.Error(err)
	}
	near(t, "energy", j, 0.11, 1e-12)
	s[3].Value = math.NaN()
	if _, err := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, s).Energy(Window{5 * ms, 60 * ms}); err == nil {
		t.Error("NaN was integrated")
	}
}

func TestIdleNeedsReadingsAndDriftIsADoubt(t *testing.T) {
	var v []float64
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		p := 1.0
		if i >= 100 && i < 200 {
			p = 2
		}
		if i >= 200 {
			p = 1.1 // never settles
		}
		v = append(v, p+0.001*rng.NormFloat64())
	}
	tr := NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, v...))
	if _, err := tr.MeasureIdle(Window{0, 50 * ms}); err == nil {
		t.Error("five readings made an idle")
	}
	both, err := tr.MeasureIdle(Window{100 * ms, 900 * ms}, Window{2100 * ms, 2900 * ms})
	if err != nil {
		t.Fatal(err)
	}
	before, after := both[0], both[1]
	near(t, "idle", before.Power, 1, 0.001)
	r, err := OfTrial(tr, Window{1000 * ms, 2000 * ms}, before, after)
	if err != nil || len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0].Error(), "idle power changed by 0.1") {
		t.Errorf("%v, doubts %v", err, r.Doubts)
	}
	if r, _ := OfTrial(tr, Window{1000 * ms, 2000 * ms}, before, before); len(r.Doubts) != 0 {
		t.Errorf("idle that agrees: %v", r.Doubts)
	}
	if r, _ := OfTrial(tr, Window{200 * ms, 300 * ms}, after); len(r.Doubts) == 0 {
		t.Error("net energy below zero without a doubt")
	}
}

func FuzzTrial(f *testing.F) {
	f.Add(int64(1), 1.0, int64(20), 2.0, int64(30), 3.0, int64(5), int64(25), 0)
	f.Add(int64(-1<<63), 1e308, int64(1<<62), -1e308, int64(0), math.Inf(1), int64(1), int64(2), 2)
	f.Fuzz(func(t *testing.T, a int64, x float64, b int64, y float64, c int64, z float64, from, to int64, kind int) {
		bound := func(d int64) time.Duration { return time.Duration(d % int64(240*time.Hour)) }
		var s []measure.Sample
		for i, at := range []int64{a, b, c} {
			v := []float64{x, y, z}[i]
			s = append(s, measure.Sample{Quantity: Power, At: bound(at), Value: v},
				measure.Sample{Quantity: Counter, At: bound(at), Value: v})
		}
		tr := NewTrace(Facts{Kind: Kind(kind & 3 % 3), Interval: 10}, s)
		for i := 1; i < len(tr.Segments); i++ {
			if tr.Segments[i].From < tr.Segments[i-1].To {
				t.Fatalf("segments overlap: %v", tr.Segments)
			}
		}
		OfTrial(tr, Window{bound(from), bound(to)})
		OfTrial(tr, Window{bound(from), bound(to)}, Idle{Power: 1, N: 10})
	})
}

// Idle power is slow from where one in a hundred of independent readings would vary as much: by the table, χ² of 8
// degrees of freedom reaches 20.090 for the ten parts of two idles, each about its own mean, and of 9 21.666 for those
// of one.
func TestSlowIsWhatOneInAHundredIs(t *testing.T) {
	const part = 4 // readings
	means := []float64{1, 3, 2, 5, 4, 9, 7, 8, 5, 6}
	var values []float64
	for _, m := range means {
		values = append(values, m, m, m, m)
	}
	tr := NewTrace(Facts{Kind: Mean, Interval: ms}, samples(Power, ms, values...))
	to := func(parts int) time.Duration { return time.Duration(parts*part) * ms }
	about := func(xs []float64) (squares float64) {
		var mean float64
		for _, x := range xs {
			mean += x / float64(len(xs))
		}
		for _, x := range xs {
			squares += (x - mean) * (x - mean)
		}
		return squares
	}
	for _, x := range []struct {
		windows []Window
		squares float64 // of the means of parts about those of their windows
		df      float64
		limit   float64 // 99 % of χ²
	}{
		{[]Window{{0, to(5)}, {to(5), to(10)}}, about(means[:5]) + about(means[5:]), 8, 20.090},
		{[]Window{{0, to(10)}}, about(means), 9, 21.666},
	} {
		for _, at := range []float64{0.99, 1.01} { // how far beyond the limit
			// A mean of four independent readings of this standard deviation has a quarter of their variance.
			sd := math.Sqrt(part * x.squares / (at * x.limit))
			want := 1.0
			if at > 1 {
				want = at * x.limit / x.df
			}
			near(t, fmt.Sprintf("%g of the limit, %d idles", at, len(x.windows)), tr.slowness(x.windows, sd, 10*part), want,
				1e-9)
		}
	}
}
