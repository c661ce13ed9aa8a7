package instrument

import (
	"context"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/devices"
	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// published is the energy and time of two Raspberry Pi model B, as printed in "A
// Study Case of RESTful Frameworks in Raspberry Pi" (2014): time in s and energy
// in J of server and client, in each row one treatment.
var published = []struct{ serverTime, serverEnergy, clientTime, clientEnergy float64 }{
	{15.48, 31.98, 30, 58.73},       // Axis2, 100 KB
	{84.79, 164.41, 128.15, 233.87}, // Axis2, 500 KB
	{18.39, 35.01, 38.64, 70.72},    // CXF, 100 KB
	{81.62, 157.68, 125.22, 223.66}, // CXF, 500 KB
}

// pointsOfPi reads the table as loads: the server works all of its time, the
// client works while the server does not.
func pointsOfPi() (points []Point) {
	s := func(x float64) time.Duration { return time.Duration(x * 1e9) }
	for _, r := range published {
		points = append(points,
			Point{Load{Length: s(r.serverTime), CPU: s(r.serverTime)}, r.serverEnergy},
			Point{Load{Length: s(r.clientTime), CPU: s(r.clientTime - r.serverTime)}, r.clientEnergy})
	}
	return points
}

// The profile in devices/ must be what the fit gives, and its error what it says.
func TestProfileOfThePi(t *testing.T) {
	fit, err := FitPowerModel(pointsOfPi(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("fit: idle %.4f W, busy %.4f W, typical error %.2f %%, worst %.2f %%", fit.IdleW, fit.BusyWPerCore,
		100*fit.Fit.Typical, 100*fit.Fit.Worst)
	kept, err := ReadPowerModel("raspberry-pi-1", devices.Profiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		kept, fit float64
	}{{"idle", kept.IdleW, fit.IdleW}, {"busy", kept.BusyWPerCore, fit.BusyWPerCore},
		{"typical", kept.Fit.Typical, fit.Fit.Typical}, {"worst", kept.Fit.Worst, fit.Fit.Worst}} {
		if math.Abs(c.kept-c.fit) > 0.0005 {
			t.Errorf("%s: devices/raspberry-pi-1.yaml has %g, the fit gives %.4f", c.what, c.kept, c.fit)
		}
	}
	if low, high := kept.IdleW, kept.IdleW+kept.BusyWPerCore; low < 1.6 || high > 2.07 {
		t.Errorf("%.3f to %.3f W; the table's means lie from 1.79 to 2.07", low, high)
	}
}

func TestFitFindsKnownConstants(t *testing.T) {
	truth := PowerModel{IdleW: 2.5, BusyWPerCore: 0.9, RadioJPerB: 3e-7, Cores: 4}
	var points []Point
	for k := range 20 {
		l := Load{Length: time.Duration(2+k%3) * time.Second, CPU: time.Duration(k%5) * 2 * time.Second,
			Bytes: int64(k%4) * 1e6}
		gross, _ := truth.Energy(l)
		points = append(points, Point{l, gross * (1 + 0.001*float64(k%3-1))})
	}
	p, err := FitPowerModel(points, 4)
	if err != nil || math.Abs(p.IdleW-2.5) > 0.01 || math.Abs(p.BusyWPerCore-0.9) > 0.01 ||
		math.Abs(p.RadioJPerB-3e-7) > 2e-8 {
		t.Errorf("%+v, %v", p, err)
	}
	if p.Fit.Worst < 0.0005 || p.Fit.Worst > 0.003 || p.Fit.Typical > p.Fit.Worst ||
		strings.Contains(p.Fit.Lacks, "traffic") {
		t.Errorf("%+v", p.Fit)
	}
	for i := range points {
		points[i].Bytes = 0
	}
	if p, _ := FitPowerModel(points, 4); p.RadioJPerB != 0 || !strings.Contains(p.Fit.Lacks, "traffic") {
		t.Errorf("nothing was sent, and the fit says %+v", p)
	}
	for what, bad := range map[string][]Point{
		"no points":     nil,
		"one load only": {{Load{Length: time.Second}, 1}, {Load{Length: time.Second}, 1}, {Load{Length: time.Second}, 1}},
		"load saves power": {{Load{Length: time.Second}, 3}, {Load{Length: time.Second, CPU: time.Second}, 2},
			{Load{Length: 2 * time.Second, CPU: time.Second}, 5}},
		"nothing used": {{Load{Length: time.Second}, 0}, {Load{Length: time.Second, CPU: time.Second}, 2},
			{Load{Length: 2 * time.Second, CPU: time.Second}, 5}},
	} {
		if p, err := FitPowerModel(bad, 1); err == nil {
			t.Errorf("%s: %+v", what, p)
		}
	}
}

func TestModelFollowsTheLoad(t *testing.T) {
	profiles := tree("toy.yaml power: {idle_W: 2, busy_W_per_core: 0.5, cores: 2, radio_J_per_B: 1e-6}")
	t.Run("named", func(t *testing.T) { followsTheLoad(t, "model:toy", profiles) })
	t.Run("sent", func(t *testing.T) { // to a machine whose own of that name is another
		p, err := ReadPowerModel("toy", profiles)
		if err != nil {
			t.Fatal(err)
		}
		p.Fit.Typical = math.NaN() // nobody needs it there
		followsTheLoad(t, p.Spec(), tree("toy.yaml power: {idle_W: 9, cores: 1}"))
	})
	for _, spec := range []string{"model:{", `model:{"IdleW":1}`, `model:{"IdleW":-1,"Cores":1}`} {
		if _, err := Open(t.Context(), spec, Options{}); err == nil {
			t.Errorf("%s: got no error", spec)
		}
	}
}

func followsTheLoad(t *testing.T, spec string, profiles fs.FS) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		// From 1 s to 2 s one core works and 1 MB goes out; guests and waiting count for nothing.
		load := func() (ticks, bytes int) {
			d := min(max(0, time.Since(began)-time.Second), time.Second)
			return int(d.Seconds() * 100), int(d.Seconds() * 1e6)
		}
		root := moving{tree("proc/stat x\nsys/class/net/eth0/statistics/rx_bytes " +
			"5\nsys/class/net/eth0/statistics/tx_bytes 5\nsys/class/net/lo/statistics/tx_bytes 5"), nil}
		root.read = func(name string) ([]byte, error) {
			ticks, bytes := load()
			switch name {
			case "proc/stat":
				return []byte("cpu  " + itoa(1000+ticks) + " 0 50 " + itoa(99999+ticks) + " " + itoa(500+9*ticks) + " 0 0 " +
					itoa(7*ticks) + " 0 0\ncpu0 1 1 1\n"), nil
			case "sys/class/net/eth0/statistics/tx_bytes":
				return []byte(itoa(5 + bytes)), nil
			case "sys/class/net/lo/statistics/tx_bytes":
				return []byte(itoa(5 + 1000*bytes)), nil
			}
			return nil, nil
		}
		root.MapFS["sys/class/net/eth0"] = &fstest.MapFile{Mode: fs.ModeDir}
		m, err := Open(context.Background(), spec, Options{Root: root, Profiles: []fs.FS{profiles}})
		if err != nil {
			t.Fatal(err)
		}
		if d := m.Describe(); !d.Modelled || d.Name != "model" || d.Overhead <= 0 {
			t.Errorf("%+v", d)
		}
		began = time.Now()
		samples, err := watch(m, 3050*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if samples[0].At < 100*time.Millisecond {
			t.Errorf("the first mean is of the %v since the model began", samples[0].At)
		}
		tr := energy.NewTrace(m.Facts(), samples)
		for _, c := range []struct {
			from, to time.Duration
			want     float64
		}{{100 * time.Millisecond, 900 * time.Millisecond, 2 * 0.8}, {time.Second, 2 * time.Second, 2 + 0.5 + 1},
			{2100 * time.Millisecond, 3 * time.Second, 2 * 0.9}} {
			if j, err := tr.Energy(energy.Window{From: c.from, To: c.to}); err != nil || math.Abs(j-c.want) > 0.02 {
				t.Errorf("%v to %v: %.4f J, want %.4f: %v", c.from, c.to, j, c.want, err)
			}
		}
	})
}

// What goes over a bridge or a tunnel goes over a card, and counts once.
func TestModelCountsEachByteOnce(t *testing.T) {
	const stat = "proc/stat cpu 1 0 1 1 0 0 0 0 0 0\\n\n"
	interfaces := func(names ...string) string {
		var b strings.Builder
		for i, n := range names {
			b.WriteString("sys/class/net/" + n + "/statistics/rx_bytes " + itoa(1000*(i+1)) + "\nsys/class/net/" + n +
				"/statistics/tx_bytes 7\n")
		}
		return b.String()
	}
	for lines, want := range map[string]int64{
		interfaces("eth0", "br0", "lo", "tun0") + "sys/class/net/eth0/device/uevent x":                      1007,
		interfaces("wlan0", "eth0", "lo") + "sys/class/net/eth0/device/a x\nsys/class/net/wlan0/device/a x": 3014,
		interfaces("veth0", "lo"): 1007, // a container
		interfaces("lo"):          0,
	} {
		l, err := readLoad(tree(stat + lines))
		if err != nil || l.bytes != want {
			t.Errorf("%s: got %d B, want %d: %v", lines, l.bytes, want, err)
		}
	}
}

func TestProfilesThatAreWrong(t *testing.T) {
	for content, want := range map[string]string{
		"power: {idle_W: -1, cores: 1}":                    "idle_W -1 is not a plausible power",
		"power: {idle_W: 1}":                               "cores 0; write how many",
		"power: {idle_W: .nan, cores: 1}":                  "not a plausible power",
		"title: something else":                            "has no power profile",
		"power: [":                                         "x.yaml",
		"power: {idle_W: 1, cores: 1, radio_J_per_B: 1e9}": "not a plausible power",
	} {
		if _, err := ReadPowerModel("x", tree("x.yaml "+content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", content, err, want)
		}
	}
}

// A profile of one's own is found beside those in the binary, and hides the one of its name; only files that have
// one are named as available.
func TestProfilesOfTwoFolders(t *testing.T) {
	came := tree("pi.yaml power: {idle_W: 1, cores: 1}\nten.yaml title: ten\nradio.yaml power: {idle_W: 2, cores: 1}\n")
	own := tree("pi.yaml power: {idle_W: 3, cores: 1}\nmine.yaml power: {idle_W: 4, cores: 1}\n")
	for name, want := range map[string]float64{"pi": 3, "radio": 2, "mine": 4} {
		if p, err := ReadPowerModel(name, came, own); err != nil || p.IdleW != want {
			t.Errorf("%s: got %v W, want %v: %v", name, p.IdleW, want, err)
		}
	}
	if _, err := ReadPowerModel("none", came, own); err == nil ||
		!strings.HasSuffix(err.Error(), "available: mine, pi, radio") {
		t.Errorf("got %v", err)
	}
	all, err := PowerModels(came, own, tree("bad.yaml power: ["))
	if err == nil || !strings.Contains(err.Error(), "bad.yaml") || len(all) != 3 || all["pi"].IdleW != 3 {
		t.Errorf("got %+v, %v", all, err)
	}
}

// Every profile in the binary is whole, and says where it comes from.
func TestEveryProfile(t *testing.T) {
	files, err := fs.Glob(devices.Profiles, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, _ := fs.ReadFile(devices.Profiles, f)
		if !strings.Contains(string(b), "power:") {
			continue
		}
		p, err := ReadPowerModel(strings.TrimSuffix(f, ".yaml"), devices.Profiles)
		if err != nil || p.Title == "" || p.Fit.From == "" {
			t.Errorf("%s: %v %+v", f, err, p)
		}
	}
}

// A stage that the meter did not read throughout is left out; one of four may be.
func TestCalibrationWithoutAStage(t *testing.T) {
	var samples []measure.Sample
	for i := range 400 {
		samples = append(samples, sample(energy.Power, time.Duration(i)*10*time.Millisecond, 2))
	}
	var stages []stage
	for i := range 4 {
		from := time.Duration(i) * 900 * time.Millisecond
		stages = append(stages, stage{energy.Window{From: from, To: from + 500*time.Millisecond},
			Load{Length: 500 * time.Millisecond}})
	}
	facts := energy.Facts{Kind: energy.Instant, Interval: 10 * time.Millisecond}
	for holes, want := range []int{4, 3, 2} {
		var told []string
		all := samples
		for i := range holes {
			all = append(all, sample(energy.Gap, time.Duration(i)*900*time.Millisecond+105*time.Millisecond, 1))
		}
		c := Calibrating{Tell: func(s string) { told = append(told, s) }}
		points, err := c.points(energy.NewTrace(facts, all), stages)
		if len(points) != want || (err != nil) != (want < 3) || len(told) != holes {
			t.Errorf("%d holes: %d points, %v, told %q", holes, len(points), err, told)
		}
	}
}

// A counter that was not read around the edges of a stage gives its power between them: it is the same throughout.
func TestCalibrationOverASilentEdge(t *testing.T) {
	var samples []measure.Sample
	for i := range 200 {
		if i < 40 || i > 60 && i < 140 || i > 150 {
			samples = append(samples, sample(energy.Counter, time.Duration(i)*10*time.Millisecond, 0.02*float64(i)))
		}
	}
	trace := energy.NewTrace(energy.Facts{Kind: energy.Cumulative, Interval: 10 * time.Millisecond}, samples)
	at := func(from, to time.Duration) stage {
		return stage{energy.Window{From: from * time.Millisecond, To: to * time.Millisecond}, Load{}}
	}
	points, err := Calibrating{}.points(trace, []stage{at(500, 1450)})
	if err != nil || len(points) != 1 || math.Abs(points[0].Joules-2*0.95) > 1e-9 {
		t.Errorf("got %v, %v; want 1.9 J", points, err)
	}
	if points, err := (Calibrating{}).points(trace, []stage{at(500, 650)}); err == nil { // most of it was not read
		t.Errorf("got %v", points)
	}
}

// A meterOfCPU reads this process's own CPU time as if it were power.
type meterOfCPU struct{ poller }

func newMeterOfCPU(idle, busy float64) *meterOfCPU {
	m := &meterOfCPU{}
	began := time.Now()
	m.poller = poller{name: "of CPU", quantities: []measure.Quantity{energy.Counter},
		facts: energy.Facts{Kind: energy.Cumulative, Interval: 5 * time.Millisecond},
		read: func(context.Context) (reading, error) {
			r := unknown
			r.joules = idle*time.Since(began).Seconds() + busy*kernel.OwnCPUTime().Seconds()
			return r, nil
		}}
	return m
}

func TestCalibrateFindsTheProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for try := 1; ; try++ { // a machine that is busy when a stage begins or ends has its readings late: then once more
		p, points, err := Calibrate(t.Context(), newMeterOfCPU(1.5, 0.8),
			Calibrating{Cores: 2, Length: 300 * time.Millisecond, Rounds: 2})
		if err == nil && len(points) >= 5 && len(points) <= 6 && math.Abs(p.IdleW-1.5) <= 0.05 &&
			math.Abs(p.BusyWPerCore-0.8) <= 0.08 && p.Fit.Worst <= 0.05 && p.Fit.Worst > 0 {
			break
		}
		if try == 6 {
			t.Fatalf("%d points: %+v, %v", len(points), p, err)
		}
		t.Logf("%d points: %+v, %v; once more", len(points), p, err)
	}
	model, err := Open(t.Context(), "model:raspberry-pi-1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Calibrate(t.Context(), model, Calibrating{}); err == nil ||
		!strings.Contains(err.Error(), "cannot be fitted to a model") {
		t.Errorf("fitted to a model: %v", err)
	}
	if _, _, err := Calibrate(t.Context(), newMeterOfCPU(1, 1), Calibrating{Length: time.Millisecond}); err == nil ||
		!strings.Contains(err.Error(), "too short") {
		t.Errorf("stages of a millisecond: %v", err)
	}
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 450*time.Millisecond)
		defer cancel()
		n := 0
		err := Live(ctx, newMeterOfCPU(2, 0), 100*time.Millisecond, func(l Look) {
			n++
			if math.Abs(l.Watts-2) > 0.05 || !math.IsNaN(l.Volts) || l.Quality.Readings < 5 {
				t.Errorf("%+v", l)
			}
		})
		if err != nil || n < 2 {
			t.Errorf("%d looks, %v", n, err)
		}
	})
}

// The energy meter adjusted to a reference reads what the reference says.
func TestAdjust(t *testing.T) {
	var s script
	s.supply(0, 5, 0)
	s.at(0.01, "i", 12) // an amplifier's offset
	s.at(0.5, "hold", "")
	s.supply(0.5, 5, 0.35)
	s.at(0.5, "i", 1762)
	s.at(600, "end", "")
	sim := s.realTime(t, "-noise", "5")
	m := open(t, sim, 0)
	// A simulator without a CPU answers too few pings within a time; its clock knows nothing of that.
	few := func(err error) bool { return err != nil && strings.Contains(err.Error(), "clock fit by echo") }
	adjust := func(ref Reference, label string) (c Calibration, err error) {
		for length := 1200 * time.Millisecond; length < time.Minute; length *= 2 {
			if c, err = m.Adjust(t.Context(), ref, length, label); !few(err) {
				break
			}
		}
		return c, err
	}
	if _, err := adjust(Reference{Unloaded: true}, "bench"); err != nil {
		t.Fatal(err)
	}
	sim.until(t, sim.goOn(t)+300*time.Millisecond)
	c, err := adjust(Reference{Volts: 4.9, Amps: 0.36}, "bench")
	if err != nil {
		t.Fatal(err)
	}
	var volts, amps float64
	for length := 1200 * time.Millisecond; length < time.Minute; length *= 2 {
		if volts, amps, err = m.average(t.Context(), length); !few(err) {
			break
		}
	}
	if err != nil || math.Abs(volts-4.9) > 0.003 || math.Abs(amps-0.36) > 0.0005 || c.Label != "bench" {
		t.Errorf("reads %.4f V, %.5f A after adjusting to 4.9 V, 0.36 A: %v", volts, amps, err)
	}
	if _, err := adjust(Reference{Volts: 12}, ""); err == nil ||
		!strings.Contains(err.Error(), "wiring") {
		t.Errorf("5 V adjusted to 12: %v", err)
	}
	absurd, _ := m.Calibration()
	absurd.AmpsOffset = 2000 // no reading is possible
	if err := m.Calibrate(t.Context(), absurd); err != nil {
		t.Fatal(err)
	}
	if c, err := adjust(Reference{Unloaded: true}, ""); err == nil {
		t.Errorf("adjusted without a reading: %+v", c)
	}
	if c, _ := m.Calibration(); c.AmpsOffset != 2000 {
		t.Errorf("it has an offset of %g A now", c.AmpsOffset)
	}
}
