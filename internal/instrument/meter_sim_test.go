package instrument

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// The promise of the firmware: 170 frames a second for ten minutes, none lost.
func TestTenMinutesOf170FramesASecond(t *testing.T) {
	length := 600.0
	if testing.Short() {
		length = 30
	}
	var s script
	s.supply(0, 5, 0.35)
	s.send(0.1, commandStart)
	pings := uint64(0)
	for at := 0.2; at < length-0.01; at += 0.0531 { // pinged all the while
		s.send(at, commandPing, byte(pings))
		pings++
	}
	s.at(length, "end", "")
	out, at := s.virtual(t, "-noise", "5")
	r := newRecord(simInfo)
	d, err := replay(t, out, at, r)
	if err != nil {
		t.Fatal(err)
	}
	if d.badCRC+d.garbage+r.q.Missing+r.q.DeviceLost+r.q.Steps+r.q.Impossible > 0 {
		t.Errorf("%+v, %d bad checksums, %d bytes of garbage", r.q, d.badCRC, d.garbage)
	}
	if got := d.frames - uint64(len(r.periods)); got != pings+2 { // the description of booting, the echo of start
		t.Errorf("%d frames besides the periods, want %d", got, pings+2)
	}
	first, last := r.periods[0].end, r.periods[len(r.periods)-1].end
	rate := float64(len(r.periods)-1) / (last - first).Seconds()
	if math.Abs(rate-170) > 0.05 {
		t.Errorf("%.3f frames a second, want 170.0", rate)
	}
	if want := (length - 0.1) * 170; math.Abs(float64(len(r.periods))-want) > 0.0005*want+3 {
		t.Errorf("%d frames, want %.0f", len(r.periods), want)
	}
	t.Logf("%d frames in %v of virtual time, %.4f/s, %d pings answered", len(r.periods), last-first, rate, pings)
}

func TestRatesFrom10To500(t *testing.T) {
	for _, rate := range []float64{10, 33, 100, 170, 250, 500} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			ticks := uint32(2e6/rate + 0.5)
			var s script
			s.supply(0, 5, 0.35)
			s.send(0.1, commandRate, byte(ticks), byte(ticks>>8), byte(ticks>>16), 0)
			s.send(0.2, commandQuery)
			s.send(0.3, commandStart)
			s.at(4.3, "end", "")
			out, at := s.virtual(t, "-noise", "5")
			var said info
			var d decoder
			d.write(out, func(f frame) {
				if i, ok := f.info(); ok {
					said = i
				}
			})
			said.cal = simCal
			r := newRecord(said)
			if _, err := replay(t, out, at, r); err != nil {
				t.Fatal(err)
			}
			got := float64(len(r.periods)-1) / (r.periods[len(r.periods)-1].end - r.periods[0].end).Seconds()
			if math.Abs(got/rate-1) > 0.0005 || r.q.Missing+r.q.Steps+r.q.DeviceLost > 0 || len(r.periods) < int(3.8*rate) {
				t.Errorf("%.3f frames a second, %d of them, %+v", got, len(r.periods), r.q)
			}
			for _, p := range r.periods {
				if math.Abs(p.watts-1.75) > 0.02*1.75 {
					t.Fatalf("%.4f W, want 1.75", p.watts)
				}
			}
		})
	}
}

// pulse is a known load.
type pulse struct {
	length        float64 // s
	energy.Window         // device time, as stamped
}

// pulses plays loads of 5 V × (120 → 350 mA), at every phase of the meter's
// period, the marker high during each.
func pulses(t *testing.T, args ...string) ([]pulse, energy.Trace) {
	var s script
	rng := rand.New(rand.NewPCG(6, 1))
	s.supply(0, 5, 0.12)
	s.send(0.1, commandStart)
	var all []pulse
	now := 0.5
	for _, c := range []struct {
		length float64
		n      int
	}{{0.02, 60}, {0.05, 60}, {0.1, 60}, {0.5, 20}, {1, 12}, {2, 8}, {10, 4}} {
		for range c.n {
			now += 0.45 + rng.Float64()/170
			s.at(now, "m", 1)
			s.supply(now, 5, 0.35)
			s.at(now+c.length, "m", 0)
			s.supply(now+c.length, 5, 0.12)
			all = append(all, pulse{length: c.length})
			now += c.length
		}
	}
	s.at(now+1, "end", "")
	out, at := s.virtual(t, args...)
	r := newRecord(simInfo)
	if _, err := replay(t, out, at, r); err != nil || r.q.Missing+r.q.Steps+r.q.Missed > 0 {
		t.Fatal(err, r.q)
	}
	if len(r.edges) != 2*len(all) {
		t.Fatalf("%d marker edges, want %d", len(r.edges), 2*len(all))
	}
	for i := range all {
		all[i].Window = energy.Window{From: r.edges[2*i].at, To: r.edges[2*i+1].at}
	}
	var samples []measure.Sample
	for _, p := range r.periods {
		samples = append(samples, sample(energy.Power, p.end, p.watts))
	}
	tr := energy.NewTrace(simInfo.facts(), samples)
	return all, tr
}

// The promise of the estimator: net energy of known pulses within 1.5 % from
// 100 ms and 0.7 % from 1 s on, each of them, whatever its phase.
func TestEnergyOfKnownPulses(t *testing.T) {
	const step, base = 5 * 0.23, 5 * 0.12 // W
	for _, c := range []struct{ name, noise string }{{"undithered", "0"}, {"dithered by 5 mV", "5"}} {
		t.Run(c.name, func(t *testing.T) {
			all, trace := pulses(t, "-noise", c.noise)
			stated := 0
			net, gross, clip := map[float64][]float64{}, map[float64][]float64{}, map[float64][]float64{}
			for _, p := range all {
				idle, err := trace.MeasureIdle(energy.Window{From: p.From - 300*time.Millisecond, To: p.From - 50*time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				r, err := energy.OfTrial(trace, p.Window, idle...)
				if err != nil {
					t.Fatal(err)
				}
				e, err := energy.OfTrial(trace, p.Window)
				if err != nil {
					t.Fatal(err)
				}
				off := 100 * (r.Net/(step*p.length) - 1)
				net[p.length] = append(net[p.length], off)
				gross[p.length] = append(gross[p.length], 100*(r.Gross/((step+base)*p.length)-1))
				clip[p.length] = append(clip[p.length], 100*(e.Gross/((step+base)*p.length)-1))
				const gain = 0.001 // simavr takes whole millivolts, a calibration error of its own
				if math.Abs(r.Net-step*p.length) <= r.NetError+gain*r.Net {
					stated++
				}
				limit := 1.5
				if p.length >= 1 {
					limit = 0.7
				}
				if p.length >= 0.1 && math.Abs(off) > limit {
					t.Errorf("pulse of %v s: net off by %.2f %%, limit %.1f %%", p.length, off, limit)
				}
				if math.Abs(e.Gross-(step+base)*p.length) > e.Error+0.005*(step+base)*p.length {
					t.Errorf("pulse of %v s: clipped energy %.4f J is off by more than its error %.4f J", p.length, e.Gross, e.Error)
				}
			}
			if share := float64(stated) / float64(len(all)); share < 0.9 {
				t.Errorf("the error stated covers %.0f %% of the pulses, want 95", 100*share)
			} else {
				t.Logf("the error stated covers %.1f %% of %d pulses", 100*share, len(all))
			}
			for _, l := range []float64{0.02, 0.05, 0.1, 0.5, 1, 2, 10} {
				t.Logf("%5v s × %2d: net %s, gross %s; clipped gross %s", l, len(net[l]), spread(net[l]), spread(gross[l]),
					spread(clip[l]))
			}
		})
	}
}

// spread is the median and range of errors in percent.
func spread(x []float64) string {
	slices.Sort(x)
	return fmt.Sprintf("%+.2f %% (%+.2f … %+.2f)", x[len(x)/2], x[0], x[len(x)-1])
}

// truth is the device time of boot, from marker edges at known times.
func TestMarkerStampsAreExact(t *testing.T) {
	var s script
	s.supply(0, 5, 0.12)
	s.send(0.1, commandStart)
	rng := rand.New(rand.NewPCG(7, 7))
	var want []time.Duration
	now := 0.5
	for i := range 400 {
		now += 0.001 + 0.01*rng.Float64()
		s.at(now, "m", (i+1)%2)
		want = append(want, time.Duration(now*1e9))
	}
	s.at(now+1, "end", "")
	out, at := s.virtual(t)
	r := newRecord(simInfo)
	if _, err := replay(t, out, at, r); err != nil {
		t.Fatal(err)
	}
	if len(r.edges) != len(want) {
		t.Fatalf("%d edges, want %d", len(r.edges), len(want))
	}
	var pairs []pair
	for i, e := range r.edges {
		pairs = append(pairs, pair{e.at.Seconds(), want[i].Seconds()})
	}
	f, err := line("marker", pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range r.edges {
		host, _ := f.DeviceToHost(e.at)
		if d := (host - want[i]).Abs(); d > 10*time.Microsecond {
			t.Fatalf("edge %d: off by %v, want at most 10µs", i, d)
		}
	}
	if f.Residual > 10*time.Microsecond || math.Abs(f.Skew) > 1e-6 {
		t.Errorf("residual %v, skew %g", f.Residual, f.Skew)
	}
	t.Logf("400 edges: residual %v, skew %.2g", f.Residual, f.Skew)
}

// Edges while the timer wraps, before its interrupt has run, must not be stamped
// a period early. A first run finds when it wraps; two runs are the same.
func TestMarkerStampsAcrossTheWrap(t *testing.T) {
	run := func(edges []time.Duration) *record {
		var s script
		s.send(0.1, commandStart)
		for i, at := range edges {
			s.at(at.Seconds(), "m", (i+1)%2)
		}
		s.at(2, "end", "")
		out, at := s.virtual(t)
		r := newRecord(simInfo)
		if _, err := replay(t, out, at, r); err != nil || len(r.edges) != len(edges) {
			t.Fatalf("%d of %d edges: %v", len(r.edges), len(edges), err)
		}
		return r
	}
	first := []time.Duration{500 * time.Millisecond, 600 * time.Millisecond}
	r := run(first)
	offset := first[0] - r.edges[0].at
	var edges []time.Duration
	for k := range 120 { // from 10 µs before to 20 µs after, in steps of 0.25 µs
		edges = append(edges, r.periods[80+k].end+offset+time.Duration(k-40)*250*time.Nanosecond)
	}
	for i, e := range run(edges).edges {
		if off := (e.at + offset - edges[i]).Abs(); off > 3*time.Microsecond {
			t.Errorf("an edge %v from the wrap is stamped %v off", edges[i]-r.periods[80+i].end-offset, off)
		}
	}
}

// A burst of edges closer than frames can carry must be counted, none lost unsaid.
func TestMarkerRingOverflowIsCounted(t *testing.T) {
	var s script
	s.send(0.1, commandStart)
	now := 0.5
	for i := range 600 { // every 60 µs: 11 bytes of frame take 440 µs
		now += 60e-6
		s.at(now, "m", (i+1)%2)
	}
	s.at(2, "end", "")
	out, at := s.virtual(t)
	r := newRecord(simInfo)
	if _, err := replay(t, out, at, r); err != nil {
		t.Fatal(err)
	}
	if r.q.Missed == 0 || r.q.Err() == nil {
		t.Errorf("%d of 600 edges arrived, %d counted as missed, Err %v", len(r.edges), r.q.Missed, r.q.Err())
	}
}

// Echoes through a port of 0.2 to 3 ms latency each way, a host clock that runs
// 80 ppm fast: the fit must be within a millisecond of the truth.
func TestClockByEcho(t *testing.T) {
	const skew = 80e-6
	var s script
	s.supply(0, 5, 0.12)
	s.send(0.1, commandStart)
	rng := rand.New(rand.NewPCG(3, 3))
	latency := func() time.Duration { return time.Duration(200e3 + 2.8e6*math.Pow(rng.Float64(), 3)) }
	host := func(virtual time.Duration) time.Duration { return time.Duration(float64(virtual) * (1 + skew)) }
	r := newRecord(simInfo)
	token := byte(0)
	for at := 0.2; at < 20; at += 0.0531 { // tokens wrap, as they do on a long trial
		token++
		s.send(at, commandPing, token)
	}
	var edges []time.Duration
	for at := 1.0; at < 20; at += 1.7 {
		s.at(at, "m", (len(edges)+1)%2)
		edges = append(edges, time.Duration(at*1e9))
	}
	s.at(20, "end", "")
	out, at := s.virtual(t)
	var d decoder
	next := 0.2
	for i := range out {
		d.write(out[i:i+1], func(f frame) {
			if e, ok := f.echo(); ok && e.command == commandPing {
				r.sent[e.token] = host(time.Duration(next*1e9)) - latency()
				next += 0.0531
			}
			if _, ok := f.info(); !ok {
				r.take(f, host(at[i])+latency())
			}
		})
	}
	f, err := FitEcho(r.echoes)
	if err != nil {
		t.Fatal(err)
	}
	var worst time.Duration
	for i, e := range r.edges {
		got, within := f.DeviceToHost(e.at)
		off := (got - host(edges[i])).Abs()
		worst = max(worst, off)
		if off > within {
			t.Errorf("edge %d: off by %v, said %v", i, off, within)
		}
	}
	if len(r.edges) != len(edges) || worst > time.Millisecond || f.Residual > time.Millisecond ||
		math.Abs(f.Skew-skew) > 20e-6 {
		t.Errorf("%d edges, off by up to %v; fit %+v", len(r.edges), worst, f)
	}
	t.Logf("%d echoes used of %d: off by at most %v, residual %v, bias %v, skew %.0f ppm (truth 80)", f.Points,
		len(r.echoes), worst, f.Residual, f.Bias, f.Skew*1e6)
}

func TestCalibrationIsKept(t *testing.T) {
	ee := filepath.Join(t.TempDir(), "eeprom")
	var s script
	s.supply(0, 5, 0.35)
	want := simCal
	want.Bandgap = 14400
	s.send(0.1, commandCalibrate, want.encode()...)
	s.send(0.5, commandQuery)
	s.send(0.8, commandStart)
	s.send(0.9, commandCalibrate, want.encode()...) // refused while streaming
	s.at(1, "end", "")
	out, _ := s.virtual(t, "-eeprom", ee)
	var said []info
	var statuses []byte
	read := func(f frame) {
		if i, ok := f.info(); ok {
			said = append(said, i)
		}
		if e, ok := f.echo(); ok && e.command == commandCalibrate {
			statuses = append(statuses, e.status)
		}
	}
	var d decoder
	d.write(out, read)
	if len(said) != 2 || said[0].calibrated || !said[1].calibrated || string(statuses) != "\x00\x02" {
		t.Fatalf("descriptions %+v, statuses %v", said, statuses)
	}
	// The next power-up.
	var again script
	again.supply(0, 5, 0.35)
	again.at(0.2, "end", "")
	out, _ = again.virtual(t, "-eeprom", ee)
	said = nil
	d = decoder{}
	d.write(out, read)
	if len(said) != 1 || !said[0].calibrated || said[0].boot == 0 || said[0].cal.Label != "simavr" ||
		said[0].cal.Bandgap != 14400 ||
		math.Abs(said[0].cal.VoltsPerStep/simCal.VoltsPerStep-1) > 1e-6 ||
		math.Abs(said[0].cal.AmpsPerStep/simCal.AmpsPerStep-1) > 1e-6 {
		t.Errorf("after power-up: %+v", said)
	}
	if b := said[0].bandgap; b < 14300 || b > 14500 { // 1.1 V of 5 V: 225 × 64
		t.Errorf("bandgap %d, want about 14400", b)
	}
}

func TestConverterAtItsEndIsNoReading(t *testing.T) {
	var s script
	s.supply(0, 5, 0.2)
	s.send(0.1, commandStart)
	s.supply(1, 5, 1.2) // 6 V at a converter of 5 V
	s.supply(2, 5, 0.2)
	s.at(3, "end", "")
	out, at := s.virtual(t)
	r := newRecord(simInfo)
	if _, err := replay(t, out, at, r); err != nil {
		t.Fatal(err)
	}
	if r.q.OverRange < 169 || r.q.OverRange > 172 {
		t.Errorf("%d readings out of range, want 171", r.q.OverRange)
	}
	for _, p := range r.periods {
		if p.watts > 1.1 {
			t.Fatalf("a saturated reading of %.3f W passed", p.watts)
		}
	}
}

func TestRestartInMidTrialIsAnError(t *testing.T) {
	var s script
	s.supply(0, 5, 0.2)
	s.send(0.1, commandStart)
	s.at(1, "reset", "")
	s.send(1.2, commandStart)
	s.at(2, "end", "")
	out, at := s.virtual(t)
	r := newRecord(simInfo)
	if _, err := replay(t, out, at, r); err == nil || !strings.Contains(err.Error(), "restarted") {
		t.Errorf("got %v, want: the meter restarted", err)
	}
	if r.q.Err() == nil {
		t.Error("numbers and ticks that begin anew passed as sound")
	}
}
