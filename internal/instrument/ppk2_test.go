package instrument

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// ppk2Text is the metadata of a device, in the form its firmware prints.
const ppk2Text = `Calibrated: 0
R0: 1003.3506
R1: 101.5865
R2: 10.3027
R3: 0.9636
R4: 0.0564
GS0: 0.0000
GS1: 112.7890
GS2: 18.0115
GS3: 2.4217
GS4: 0.0729
GI0: 1.0000
GI1: 0.9695
GI2: 0.9609
GI3: 0.9519
GI4: 0.9582
O0: 112.9420
O1: 75.4627
O2: 64.6020
O3: 50.4983
O4: 87.2177
S0: 0.000000048
S1: 0.000000596
S2: 0.000005281
S3: 0.000062577
S4: 0.002940743
I0: -0.000000104
I1: -0.000001443
I2: 0.000036439
I3: -0.000374119
I4: -0.009388455
UG0: 1.00
UG1: 1.00
UG2: 1.00
UG3: 1.00
UG4: 1.00
HW: 9173
mode: 2
VDD: 3300
IA: 56
END
`

// invert finds the converter's step for a current in a range.
func (c *ppk2Cal) invert(amps float64, k int, vdd float64) uint32 {
	lo, hi := uint32(0), uint32(ppk2Top)
	for lo < hi {
		if mid := (lo + hi) / 2; c.amps(mid, k, vdd) < amps {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 && amps-c.amps(lo-1, k, vdd) < c.amps(lo, k, vdd)-amps {
		lo--
	}
	return lo
}

// rangeOf is the range a PPK2 takes for a current: full scale is about 0.18 V.
func rangeOf(amps float64) int {
	for k, limit := range []float64{50e-6, 500e-6, 5e-3, 60e-3} {
		if amps < limit {
			return k
		}
	}
	return 4
}

// A fakePPK2 answers like the device. Current is what flows at a sample.
type fakePPK2 struct {
	cal     ppk2Cal
	vdd     float64
	current func(n int) float64
	mangle  func(n int, x uint32) []byte // nil: samples as they are
	n       int
	last    int // range
	ring    int // samples since its change

	sent     atomic.Int64 // samples, over a pty
	mu       sync.Mutex
	commands []byte
}

// heard is what the device was told.
func (f *fakePPK2) heard() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.commands)
}

func (f *fakePPK2) next() uint32 {
	amps := f.current(f.n)
	k := rangeOf(amps)
	if k != f.last {
		f.last, f.ring = k, 0
	}
	adc := f.cal.invert(amps, k, f.vdd)
	if f.ring < 2 { // what a change of range rings
		adc = min(ppk2Top-1, adc*3+500)
	} else {
		adc = max(1, min(ppk2Top-1, adc+uint32(f.n*7%3))) - 1 // noise of a step
	}
	f.ring++
	x := adc | uint32(k)<<14 | uint32(f.n&63)<<18
	if f.n/5000%2 == 1 {
		x |= 1 << 24 // D0 toggles every 50 ms
	}
	f.n++
	return x
}

func (f *fakePPK2) bytes(n int) []byte {
	b := make([]byte, 0, 4*n)
	for range n {
		i := f.n
		x := f.next()
		if f.mangle != nil {
			b = append(b, f.mangle(i, x)...)
		} else {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
	}
	return b
}

// serve speaks the protocol on a pty, in real time, until it is closed.
func (f *fakePPK2) serve(pty *os.File, stop <-chan struct{}) {
	streaming := false
	go func() {
		buf := make([]byte, 64)
		for {
			n, err := pty.Read(buf)
			if err != nil {
				return
			}
			f.mu.Lock()
			f.commands = append(f.commands, buf[:n]...)
			switch buf[n-1] {
			case ppk2Metadata:
				pty.WriteString(ppk2Text)
			case ppk2Start:
				streaming = true
			case ppk2Stop:
				streaming = false
			}
			f.mu.Unlock()
		}
	}()
	begun := time.Now()
	sent := 0
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		f.mu.Lock()
		on := streaming
		f.mu.Unlock()
		if !on {
			begun, sent = time.Now(), 0
			continue
		}
		due := int(time.Since(begun) / ppk2Every)
		pty.SetWriteDeadline(time.Now().Add(10 * time.Second)) // nobody may read any more
		pty.Write(f.bytes(due - sent))
		f.sent.Add(int64(due - sent))
		sent = due
	}
}

func TestPPK2Calibration(t *testing.T) {
	c, err := parsePPK2(ppk2Text)
	if err != nil {
		t.Fatal(err)
	}
	// By hand, range 2, raw 2000, 3.3 V: x = (8000 − 64.602)·1.8/163840/10.3027 = 8.461946e-03;
	// x·(18.0115·x + 0.9609) + 5.281e-6·3.3 + 3.6439e-5 = 9.474655e-03.
	if got := c.amps(2000, 2, 3.3); math.Abs(got-9.474655e-03) > 5e-9 {
		t.Errorf("got %.9g A, want 0.00947465", got)
	}
	for _, bad := range []string{"", "hello\nEND", "R0: pear\nEND", "R0: 0\nEND", "R1: NaN\nEND"} {
		if _, err := parsePPK2(bad); err == nil {
			t.Errorf("metadata %q passed", bad)
		}
	}
}

// feed puts a fake's samples into a record.
func feed(f *fakePPK2, n int) *ppk2Record {
	r := &ppk2Record{cal: f.cal, vdd: f.vdd}
	for at := 0; at < n; at += 500 {
		r.write(f.bytes(500), time.Duration(at+500)*ppk2Every+2*time.Millisecond)
	}
	return r
}

func newFake(current func(n int) float64) *fakePPK2 {
	c, err := parsePPK2(ppk2Text)
	if err != nil {
		panic(err)
	}
	return &fakePPK2{cal: c, vdd: 3.3, current: current, last: -1, ring: 9}
}

// A sleeping radio: 2 µA, 8 mA for 2 ms every 50 ms, 40 mA peaks: four ranges.
func sensor(n int) float64 {
	switch n % 5000 {
	case 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009:
		return 40e-3
	}
	if n%5000 > 1000 && n%5000 < 1200 {
		return 8e-3
	}
	return 2e-6
}

func TestPPK2ChangesRange(t *testing.T) {
	f := newFake(sensor)
	r := feed(f, 100_000)
	var got, want float64
	for _, b := range r.bins {
		got += b.amps * ppk2Bin.Seconds() * 3.3
	}
	for n := range 100_000 {
		want += sensor(n) * ppk2Every.Seconds() * 3.3
	}
	if len(r.bins) != 1000 || r.q.Missing+r.q.Impossible+r.q.OverRange > 0 {
		t.Fatalf("%d bins, %+v", len(r.bins), r.q)
	}
	if off := got/want - 1; math.Abs(off) > 0.03 {
		t.Errorf("energy over many changes of range off by %.2f %%, want at most 3 %%", 100*off)
	}
	// Without the filter the ringing counts in full: the fake must show that.
	raw := 0.0
	g := newFake(sensor)
	for range 100_000 {
		x := g.next()
		raw += g.cal.amps(x&ppk2Top, int(x>>14&7), 3.3) * ppk2Every.Seconds() * 3.3
	}
	if math.Abs(raw/want-1) < 0.1 {
		t.Errorf("the fake's ringing is too weak to test the filter: %.2f %%", 100*(raw/want-1))
	}
	t.Logf("energy off by %+.2f %% with the filter, %+.2f %% without", 100*(got/want-1), 100*(raw/want-1))
}

func steady(int) float64 { return 10e-3 }

// Each way to lose or spoil samples leaves a gap and a count.
func TestPPK2LossIsCounted(t *testing.T) {
	le := func(x uint32) []byte { return binary.LittleEndian.AppendUint32(nil, x) }
	for _, c := range []struct {
		what    string
		mangle  func(n int, x uint32) []byte
		missing uint64
		bins    int // of 200
		counted func(MeterStats) uint64
	}{
		{"nothing wrong", func(n int, x uint32) []byte { return le(x) }, 0, 200, nil},
		{"one sample lost", func(n int, x uint32) []byte {
			if n == 5050 {
				return nil
			}
			return le(x)
		}, 1, 199, nil},
		{"40 samples lost, over the end of a bin", func(n int, x uint32) []byte {
			if n >= 5080 && n < 5120 {
				return nil
			}
			return le(x)
		}, 40, 198, nil},
		{"a byte lost: all that follow are shifted", func(n int, x uint32) []byte {
			if n == 5050 {
				return le(x)[1:]
			}
			return le(x)
		}, 1, 199, func(q MeterStats) uint64 { return q.Garbage }},
		{"a range that does not exist", func(n int, x uint32) []byte {
			if n == 5050 {
				x |= 7 << 14
			}
			return le(x)
		}, 0, 199, func(q MeterStats) uint64 { return q.Impossible }},
		{"the converter at its end", func(n int, x uint32) []byte {
			if n >= 5050 && n < 5060 {
				x |= ppk2Top
			}
			return le(x)
		}, 0, 199, func(q MeterStats) uint64 { return q.OverRange }},
		{"a range stuck: one and the same reading", func(n int, x uint32) []byte {
			if n >= 5000 && n < 10000 {
				x = x&^(1<<17-1) | 4<<14 | 3
			}
			return le(x)
		}, 0, 170, func(q MeterStats) uint64 { return q.OverRange }},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := newFake(steady)
			f.mangle = c.mangle
			r := feed(f, 20_000)
			// A byte lost waits for more to decide, so the end may be missing.
			if r.q.Missing != c.missing || len(r.bins) != c.bins {
				t.Errorf("%d missing, %d bins; want %d, %d", r.q.Missing, len(r.bins), c.missing, c.bins)
			}
			if c.counted != nil && c.counted(r.q) == 0 {
				t.Errorf("not counted: %+v", r.q)
			}
			if last := r.bins[len(r.bins)-1].end; last != 200*time.Millisecond {
				t.Errorf("the last bin ends at %v, want 200ms: the device's clock slipped", last)
			}
		})
	}
}

// Samples that were lost early or late, in a number of which the counter shows little or nothing, are not taken for a
// host that was busy: those behind them would be of another time.
func TestPPK2LossBendsItsClock(t *testing.T) {
	const n = 300_000 // 3 s
	for _, lost := range []int{0, 64, 6400, 10_001} {
		for _, at := range []int{n / 10, n * 3 / 10, n / 2, n * 7 / 10, n * 9 / 10} {
			f := newFake(steady)
			f.mangle = func(n int, x uint32) []byte {
				if n >= at && n < at+lost {
					return nil
				}
				return binary.LittleEndian.AppendUint32(nil, x)
			}
			fit, err := feed(f, n).fit()
			refused, bent := err != nil || fit.Residual > 5*time.Millisecond, lost > 500
			if refused != bent {
				t.Errorf("%d samples lost at %d: %v, residual %v, want it refused: %v", lost, at, err, fit.Residual, bent)
			}
		}
	}
}

// Bytes in any pieces make the same bins.
func TestPPK2Pieces(t *testing.T) {
	whole := feed(newFake(sensor), 3000)
	for _, size := range []int{1, 3, 7, 401} {
		r := &ppk2Record{cal: whole.cal, vdd: 3.3}
		for p := range slices.Chunk(newFake(sensor).bytes(3000), size) {
			r.write(p, 0)
		}
		if !slices.Equal(r.bins, whole.bins) {
			t.Errorf("in pieces of %d: %d bins, whole %d", size, len(r.bins), len(whole.bins))
		}
	}
}

// The whole driver at a fake on a pty, in real time: 100,000 samples a second,
// none lost.
func TestPPK2EndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("its clock is true where it has a CPU in time: make test runs it alone")
	}
	pty, path := ptyPair(t)
	f := newFake(steady)
	stop := make(chan struct{})
	defer close(stop)
	go f.serve(pty, stop)
	m, err := Open(t.Context(), "ppk2:"+path+"?mode=source&mV=3300", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var samples []measure.Sample
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil && f.sent.Load() < int64(4*time.Second/ppk2Every) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if err := m.Observe(ctx, func(s measure.Sample) { samples = append(samples, s) }); err != nil {
		t.Fatal(err)
	}
	q := m.Stats()
	if q.Missing+q.Garbage+q.Impossible > 0 || q.Readings < 3200 || q.Err() != nil {
		t.Errorf("%+v", q)
	}
	tr := energy.NewTrace(m.Facts(), samples)
	j, err := tr.Energy(energy.Window{From: time.Second, To: 3 * time.Second})
	if err != nil || math.Abs(j/(2*3.3*10e-3)-1) > 0.005 {
		t.Errorf("%.5f J, want 0.066: %v", j, err)
	}
	edges := 0
	for _, s := range samples {
		if s.Quantity == energy.Marker {
			edges++
		}
	}
	if want := int(q.Readings / 50); edges < want-2 || edges > want+2 { // one every 50 ms, of readings of 1 ms
		t.Errorf("%d marker edges in %d readings, want about %d", edges, q.Readings, want)
	}
	m.(*PPK2).Close()
	want := string([]byte{ppk2Stop, ppk2Metadata, ppk2Voltage, 0x0C, 0xE4, ppk2Mode, 2, ppk2Power, 1, ppk2Start,
		ppk2Stop, ppk2Stop})
	for end := time.Now().Add(20 * time.Second); f.heard() != want && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the fake reads in its own time
	}
	if got := f.heard(); got != want {
		t.Errorf("commands % x, want % x", got, want)
	}
	t.Logf("%d readings; clock residual %v", q.Readings, q.Clock.Residual)
}

func TestPPK2Refusals(t *testing.T) {
	_, path := ptyPair(t)
	for spec, want := range map[string]string{
		"ppk2:" + path:                                   "unknown mode \"\"",
		"ppk2:" + path + "?mode=source&mV=9000":          "not within 800 to 5000",
		"ppk2:" + path + "?mode=source&mv=3300":          "unknown setting \"mv=3300\"",
		"ppk2:" + path + "?mode=source&mV=3300&power=of": "unknown power \"of\"",
		"ppk2:" + path + "?mode=ampere&mV=5000":          "is it a PPK2?",
	} {
		if _, err := Open(t.Context(), spec, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", spec, err, want)
		}
	}
}

func TestPPK2Cost(t *testing.T) {
	cost := PPK2Cost(5)
	t.Logf("%.2f %% of a core at 100,000 samples a second", 100*cost)
	if cost > 0.15 {
		t.Errorf("%.1f %% of a core, want at most 15 %%", 100*cost)
	}
}

func FuzzPPK2(f *testing.F) {
	f.Add(newFake(sensor).bytes(300), 3)
	f.Add([]byte(strings.Repeat("\xff", 200)), 1)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		r := &ppk2Record{cal: nominalPPK2(), vdd: 3.3}
		for p := range slices.Chunk(b, max(1, size&63)) {
			r.write(p, 0)
		}
		for _, bin := range r.bins {
			if math.IsNaN(bin.amps) || math.Abs(bin.amps) > 1e3 {
				t.Fatal(bin)
			}
		}
		parsePPK2(string(b))
		_ = fmt.Sprint(r.q.Items())
	})
}
