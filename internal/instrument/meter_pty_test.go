package instrument

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// open opens a simulated meter, by its clock.
func open(t *testing.T, l *live, rate float64) *EnergyMeter {
	t.Helper()
	m, err := OpenEnergyMeter(t.Context(), l.path, rate)
	if err != nil {
		t.Fatal(err)
	}
	m.now = l.now
	t.Cleanup(func() { m.Close() })
	return m
}

// End to end, in real time: the real firmware on a real port, a load at known
// instants of the host's clock, its energy by the host's clock alone. It may be off by what the meter says of its
// clock, which is more on a busy machine.
func TestEnergyMeterEndToEnd(t *testing.T) {
	var s script
	s.supply(0, 5, 0.12)
	const held = 1.0 // s
	s.at(held, "hold", "")
	type load struct{ at, length float64 } // s, from the end of the hold
	loads := []load{{1, 0.3}, {2, 0.7}, {3.5, 1.5}}
	for _, l := range loads {
		s.supply(held+l.at, 5, 0.35)
		s.at(held+l.at, "m", 1)
		s.supply(held+l.at+l.length, 5, 0.12)
		s.at(held+l.at+l.length, "m", 0)
	}
	s.at(600, "end", "")
	sim := s.realTime(t, "-noise", "6")
	m := open(t, sim, 0)
	if err := m.Calibrate(t.Context(), simCal); err != nil {
		t.Fatal(err)
	}
	if d := m.Describe(); d.Interval != 5882500 || d.Overhead != 0 || d.Resolution < 0.004 || d.Resolution > 0.006 {
		t.Errorf("describes itself as %+v", d)
	}
	var samples []measure.Sample
	offset, end := sim.observe(t, m, func(s measure.Sample) { samples = append(samples, s) })
	sim.streamed(t, 5000) // of some 4 kB in a second
	wentOn := sim.goOn(t)
	sim.until(t, wentOn+6*time.Second)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	q := m.Stats()
	if q.Missing+q.BadCRC+q.Garbage+q.Steps > 0 || q.Err() != nil || q.Clock.Method != "echo" {
		t.Errorf("quality %+v, %v", q, q.Err())
	}
	trace := energy.NewTrace(m.Facts(), samples)
	for _, l := range loads {
		from := wentOn + time.Duration(l.at*1e9) - offset
		w := energy.Window{From: from, To: from + time.Duration(l.length*1e9)}
		idle, err := trace.MeasureIdle(energy.Window{From: from - 550*time.Millisecond, To: from - 50*time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		r, err := energy.OfTrial(trace, w, idle...)
		if err != nil {
			t.Fatal(err)
		}
		off := r.Net/(5*0.23*l.length) - 1
		t.Logf("%.1f s: net %.4f J, %+.2f %%; error stated %.2g J; doubts %v", l.length, r.Net, 100*off, r.NetError, r.Doubts)
		if math.Abs(off) > 0.015+q.Clock.Uncertainty().Seconds()/l.length {
			t.Errorf("load of %v s: net energy off by %.2f %%, clock by %v at most", l.length, 100*off, q.Clock.Uncertainty())
		}
	}
	var edges []time.Duration
	for _, x := range samples {
		if x.Quantity == energy.Marker {
			edges = append(edges, x.At)
		}
	}
	if len(edges) != 2*len(loads) {
		t.Fatalf("%d marker edges, want %d", len(edges), 2*len(loads))
	}
	for i, l := range loads {
		off := (edges[2*i] - (wentOn + time.Duration(l.at*1e9) - offset)).Abs()
		if off > 5*time.Millisecond+q.Clock.Uncertainty() {
			t.Errorf("the edge at %v s is stamped %v off, clock by %v at most", l.at, off, q.Clock.Uncertainty())
		}
	}
	t.Logf("clock: %d echoes, residual %v, bias %v, skew %.0f ppm", q.Clock.Points, q.Clock.Residual, q.Clock.Bias,
		q.Clock.Skew*1e6)
}

// A meter that restarts sends no more data, and says that it booted.
func TestEnergyMeterRestarts(t *testing.T) {
	var s script
	s.at(0.5, "hold", "")
	s.at(0.6, "reset", "")
	s.at(600, "end", "")
	sim := s.realTime(t)
	m := open(t, sim, 500)
	_, end := sim.observe(t, m, func(measure.Sample) {})
	sim.streamed(t, 1000)
	went := sim.goOn(t)
	sim.until(t, went+time.Second)
	if err := end(); err == nil || !strings.Contains(err.Error(), "restarted") {
		t.Errorf("got %v, want: the meter restarted", err)
	}
	// And it can be used again, at its rate.
	n := 0
	_, end = sim.observe(t, m, func(measure.Sample) { n++ })
	sim.streamed(t, 20_000) // of some 12 kB in a second
	err := errors.Join(end(), m.Stats().Err())
	if err != nil || n == 0 || m.Facts().Interval != 2*time.Millisecond {
		t.Errorf("after the restart: %d samples each %v, %v", n, m.Facts().Interval, err)
	}
}

func TestEnergyMeterUnplugged(t *testing.T) {
	var s script
	s.at(0.5, "hold", "")
	s.at(0.6, "end", "") // the simulator ends and takes its pty with it
	sim := s.realTime(t)
	m := open(t, sim, 0)
	ended := make(chan error, 1)
	go func() { ended <- m.Observe(t.Context(), func(measure.Sample) {}) }()
	sim.streamed(t, 500)
	sim.goOn(t)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the port disappeared") {
		t.Errorf("got %v, want: the port disappeared", err)
	}
}

// A meter is not taken for silent since this program stood still.
func TestSilenceOfAMeter(t *testing.T) {
	for _, tt := range []struct {
		length time.Duration
		reads  int
		want   bool
	}{{silence, 20, false}, {silence + 1, 20, true}, {silence + 1, 2, true}, {time.Minute, 1, false}} {
		if got := silent(tt.length, tt.reads); got != tt.want {
			t.Errorf("%v and %d reads: %v", tt.length, tt.reads, got)
		}
	}
}

// ptyPair is a port with nobody, or a test, at the other end.
func ptyPair(t *testing.T) (*os.File, string) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { f.Close() })
	return f, "/dev/pts/" + itoa(n)
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func TestPortsThatAreNoMeter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	says := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	_, err := OpenEnergyMeter(t.Context(), "/dev/ttyUSB-none", 0)
	says("absent", err, "is the meter plugged in?")

	file := t.TempDir() + "/file"
	os.WriteFile(file, nil, 0o600)
	_, err = OpenEnergyMeter(t.Context(), file, 0)
	says("a file", err, "not a serial port")

	quiet, path := ptyPair(t)
	_, err = OpenEnergyMeter(t.Context(), path, 0)
	says("silent", err, "is its firmware flashed")

	go func() { // a device at a speed other: framing errors make random bytes
		b := []byte{0x00, 0xF8, 0x3C, 0xA5, 0xFE, 0x80}
		for {
			if _, err := quiet.Write(b); err != nil && !errors.Is(err, syscall.EAGAIN) {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err = OpenEnergyMeter(t.Context(), path, 0)
	says("a speed other", err, "a speed other than 250000 Bd")

	_, busy := ptyPair(t)
	first, err := openSerial(busy, meterSpeed)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, err = OpenEnergyMeter(t.Context(), busy, 0)
	says("busy", err, fmt.Sprintf("another program has it open: pid %d (", os.Getpid()))

	says("permission", portError("/dev/ttyUSB0", unix.EACCES), "join the group that owns it (dialout on Debian)")
	says("rate", (&EnergyMeter{}).setRate(t.Context(), 900), "rate 900 is not within 10 to 500")
}

// The reader must cost at most 1 % of a core at 500 frames per second.
func TestReaderCost(t *testing.T) {
	cost := ReaderCost(500, 60)
	t.Logf("%.3f %% of a core at 500 frames per second", 100*cost)
	if cost > 0.01 {
		t.Errorf("the reader takes %.2f %% of a core, want at most 1 %%", 100*cost)
	}
}
