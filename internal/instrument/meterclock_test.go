package instrument

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Short observations on a busy host: a skew made of late echoes must not be
// believed, and one true echo in three that is late must not tilt the line.
func TestFitsOnABusyHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, length := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		var echoes []Echo
		for at := time.Duration(0); at < length; at += 53 * time.Millisecond {
			device := 5*time.Second + time.Duration(float64(at)*(1-200e-6))
			there, back := time.Duration(300e3*rng.Float64()), time.Duration(300e3*rng.Float64())
			if rng.IntN(4) == 0 { // the device seems late, the trip short: a stalled simulator
				device -= time.Duration(30e6 * rng.Float64())
			}
			if rng.IntN(3) == 0 {
				back += time.Duration(20e6 * rng.Float64())
			}
			echoes = append(echoes, Echo{Sent: at, Received: at + there + back + 100*time.Microsecond,
				DeviceReceived: device + there, Replied: device + there + 100*time.Microsecond})
		}
		f, err := FitEcho(echoes)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Duration{0, length / 2, length} {
			host, within := f.DeviceToHost(5*time.Second + time.Duration(float64(at)*(1-200e-6)))
			if off := (host - at).Abs(); off > time.Millisecond {
				t.Errorf("%v: at %v off by %v (said %v), fit %+v", length, at, off, within, f)
			}
		}
	}
}

// Seven echoes in a third of a second, late by up to 2 ms: their slope is off by
// percents, which no clock is.
func TestShortFitsDoNotInventASkew(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		var echoes []Echo
		for at := time.Duration(0); at < 350*time.Millisecond; at += 53 * time.Millisecond {
			late := time.Duration(2e6 * rng.Float64())
			echoes = append(echoes, Echo{Sent: at, Received: at + late, DeviceReceived: at, Replied: at})
		}
		if f, err := FitEcho(echoes); err != nil || math.Abs(f.Skew) > 0.003 {
			t.Fatalf("skew %g: %v", f.Skew, err)
		}
	}
}

func TestFitsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		what string
		fit  func() (Fit, error)
		want string
	}{
		{"no echo", func() (Fit, error) { return FitEcho(nil) }, "0 of at least 5 echoes"},
		{"one point", func() (Fit, error) { return line("echo", []pair{{1, 1}}) }, "too few"},
		{"all at once", func() (Fit, error) { return line("echo", []pair{{1, 1}, {1, 1}}) }, "the same time"},
		{"clocks 10 % apart", func() (Fit, error) { return line("echo", []pair{{1, 1}, {2, 2.1}, {3, 3.2}}) },
			"differ by 10.0 %"},
		{"a clock that runs back", func() (Fit, error) { return line("echo", []pair{{3, 1}, {2, 2}, {1, 3}}) }, "differ by"},
		{"few arrivals", func() (Fit, error) { return FitArrival(make([]time.Duration, 3), make([]time.Duration, 3), 0) },
			"3 of at least 20"},
	} {
		if f, err := c.fit(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want %q", c.what, f, err, c.want)
		}
	}
}

func TestFitByArrival(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var device, arrived []time.Duration
	for at := time.Duration(0); at < 30*time.Second; at += 10 * time.Millisecond {
		late := time.Duration(math.Pow(rng.Float64(), 2) * 20e6)
		device = append(device, 77*time.Second+time.Duration(float64(at)*1.0003))
		arrived = append(arrived, at+late)
	}
	f, err := FitArrival(device, arrived, time.Millisecond)
	if err != nil || math.Abs(f.Skew+0.0003) > 50e-6 {
		t.Fatal(f, err)
	}
	if host, within := f.DeviceToHost(device[1500]); (host-15*time.Second).Abs() > within || within > 3*time.Millisecond {
		t.Errorf("15s became %v ± %v", host, within)
	}
}
