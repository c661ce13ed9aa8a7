package instrument

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// tree is a machine's /sys and /proc from lines "path content".
func tree(lines string) fstest.MapFS {
	m := fstest.MapFS{}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		name, content, _ := strings.Cut(strings.TrimSpace(line), " ")
		m[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(content, "\\n", "\n") + "\n")}
	}
	return m
}

// moving is a tree of which some files change at each look.
type moving struct {
	fstest.MapFS
	read func(name string) ([]byte, error) // nil, nil: as in the tree
}

func (m moving) ReadFile(name string) ([]byte, error) {
	if b, err := m.read(name); b != nil || err != nil {
		return b, err
	}
	return m.MapFS.ReadFile(name)
}

// A Raspberry Pi with an INA219 on I2C (hwmon2), besides its own sensors.
const piHwmon = `
sys/class/hwmon/hwmon0/name cpu_thermal
sys/class/hwmon/hwmon0/temp1_input 47774
sys/class/hwmon/hwmon1/name rpi_volt
sys/class/hwmon/hwmon1/in0_lcrit_alarm 0
sys/class/hwmon/hwmon2/name ina219
sys/class/hwmon/hwmon2/in0_input 4
sys/class/hwmon/hwmon2/in1_input 5104
sys/class/hwmon/hwmon2/curr1_input 372
sys/class/hwmon/hwmon2/power1_input 1900000
sys/class/hwmon/hwmon2/shunt_resistor 10000
sys/class/hwmon/hwmon2/update_interval 2`

// A board with an INA226 in the iio class.
const boardIIO = `
sys/bus/iio/devices/iio:device0/name ina226
sys/bus/iio/devices/iio:device0/in_voltage0_raw 1520
sys/bus/iio/devices/iio:device0/in_voltage0_scale 0.002500000
sys/bus/iio/devices/iio:device0/in_voltage1_raw 4080
sys/bus/iio/devices/iio:device0/in_voltage1_scale 1.250000000
sys/bus/iio/devices/iio:device0/in_power2_raw 78
sys/bus/iio/devices/iio:device0/in_power2_scale 25.000000000
sys/bus/iio/devices/iio:device0/in_current3_raw 380
sys/bus/iio/devices/iio:device0/in_current3_scale 1.000000000`

// A laptop on battery.
const laptop = `
sys/class/power_supply/AC/type Mains
sys/class/power_supply/AC/online 0
sys/class/power_supply/BAT0/type Battery
sys/class/power_supply/BAT0/status Discharging
sys/class/power_supply/BAT0/model_name 45N1703
sys/class/power_supply/BAT0/voltage_now 11871000
sys/class/power_supply/BAT0/power_now 8412000
sys/class/power_supply/hidpp_battery_0/type Battery
sys/class/power_supply/hidpp_battery_0/scope Device
sys/class/power_supply/hidpp_battery_0/status Discharging`

// A phone-like board, whose gauge gives current with a sign.
const board = `
sys/class/power_supply/bq27411-0/type Battery
sys/class/power_supply/bq27411-0/status Discharging
sys/class/power_supply/bq27411-0/voltage_now 3891000
sys/class/power_supply/bq27411-0/current_now -245000`

// A desktop PC of two packages with DRAM counters.
const pcRAPL = `
sys/class/powercap/intel-rapl/enabled 1
sys/class/powercap/intel-rapl:0/name package-0
sys/class/powercap/intel-rapl:0/max_energy_range_uj 262143328850
sys/class/powercap/intel-rapl:0/energy_uj 1000000
sys/class/powercap/intel-rapl:0:0/name core
sys/class/powercap/intel-rapl:0:0/max_energy_range_uj 262143328850
sys/class/powercap/intel-rapl:0:0/energy_uj 900000
sys/class/powercap/intel-rapl:0:1/name dram
sys/class/powercap/intel-rapl:0:1/max_energy_range_uj 65712999613
sys/class/powercap/intel-rapl:0:1/energy_uj 500000
sys/class/powercap/intel-rapl:1/name psys
sys/class/powercap/intel-rapl:1/max_energy_range_uj 262143328850
sys/class/powercap/intel-rapl:1/energy_uj 7000000`

// watch observes for a length of a synctest bubble's time.
func watch(m Meter, length time.Duration) (samples []measure.Sample, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	err = m.Observe(ctx, func(s measure.Sample) { samples = append(samples, s) })
	return samples, err
}

func TestSensorsOfTheKernel(t *testing.T) {
	for _, c := range []struct {
		what, spec, tree   string
		watts, volts, amps float64
		interval           time.Duration
	}{
		{"INA219, power shown", "hwmon", piHwmon, 1.9, 5.104, 0.372, 10 * time.Millisecond},
		{"INA219 by name", "hwmon:ina219", piHwmon, 1.9, 5.104, 0.372, 10 * time.Millisecond},
		{"INA219 by folder", "hwmon:hwmon2", piHwmon, 1.9, 5.104, 0.372, 10 * time.Millisecond},
		{"no power shown: volts × amperes", "hwmon", strings.ReplaceAll(piHwmon, "power1_input", "power1_none"),
			5.104 * 0.372, 5.104, 0.372, 10 * time.Millisecond},
		{"a slow sensor", "hwmon", strings.ReplaceAll(piHwmon, "update_interval 2", "update_interval 140"), 1.9, 5.104, 0.372,
			140 * time.Millisecond},
		{"INA226 by iio", "iio:ina226", boardIIO, 1.95, 5.1, 0.38, 10 * time.Millisecond},
		{"laptop, power shown, a mouse ignored", "battery", laptop, 8.412, 11.871, math.NaN(), time.Second},
		{"board, current of negative sign", "battery", board, 3.891 * 0.245, 3.891, 0.245, time.Second},
	} {
		t.Run(c.what, func(t *testing.T) {
			m, err := Open(t.Context(), c.spec, Options{Root: tree(c.tree)})
			if err != nil {
				t.Fatal(err)
			}
			d := m.Describe()
			if d.Interval != c.interval || d.Modelled || !(d.Overhead > 0 && d.Overhead < 0.5) {
				t.Errorf("%+v", d)
			}
			synctest.Test(t, func(t *testing.T) {
				samples, err := watch(m, 10*c.interval+c.interval/2)
				if err != nil {
					t.Fatal(err)
				}
				want := map[measure.Quantity]float64{energy.Power: c.watts, energy.Voltage: c.volts, energy.Current: c.amps}
				n := map[measure.Quantity]int{}
				for _, s := range samples {
					n[s.Quantity]++
					if math.Abs(s.Value-want[s.Quantity]) > 1e-9 {
						t.Fatalf("%v, want %g", s, want[s.Quantity])
					}
				}
				if n[energy.Power] != 11 || math.IsNaN(c.amps) != (n[energy.Current] == 0) {
					t.Errorf("%v samples", n)
				}
				j, err := energy.NewTrace(m.Facts(), samples).Energy(energy.Window{From: 0, To: 9 * c.interval})
				if err != nil || math.Abs(j/(c.watts*9*c.interval.Seconds())-1) > 1e-9 {
					t.Errorf("%g J: %v", j, err)
				}
			})
		})
	}
}

func TestSensorsThatAreNotThere(t *testing.T) {
	for _, c := range []struct{ spec, tree, want string }{
		{"rapl", "a b", "no such source on this machine: /sys/class/powercap lists no package"},
		{"hwmon", "sys/class/hwmon/hwmon0/name acpitz", "no such source on this machine"},
		{"iio", "a b", "no such source on this machine"},
		{"battery", "sys/class/power_supply/AC/type Mains", "no such source on this machine"},
		{"hwmon:ina260", piHwmon, `unknown sensor "ina260"; available: hwmon:hwmon2 (ina219)`},
		{"hwmon", piHwmon + "\nsys/class/hwmon/hwmon7/name ina260\nsys/class/hwmon/hwmon7/power1_input 5",
			"there are 2 sensors; name one: hwmon:hwmon2 (ina219), hwmon:hwmon7 (ina260)"},
		{"battery", strings.ReplaceAll(laptop, "Discharging", "Charging"), "unplug the charger"},
		{"hwmon", strings.ReplaceAll(piHwmon, "1900000", "lots"), `holds "lots", not a number`},
		{"iio", strings.ReplaceAll(boardIIO, "in_power2_scale", "in_power2_none"), "the scale of"},
		{"rapl:0", pcRAPL, "takes no argument"},
		{"avr:/dev/ttyUSB-none?rate=fast", "a b", `invalid rate "fast"`},
		{"avr:/dev/ttyUSB-none?rate=-170", "a b", `invalid rate "-170"`},
		{"avr:/dev/ttyUSB-none?rate=NaN", "a b", `invalid rate "NaN"`},
		{"dog", "a b", `unknown instrument "dog"; available: avr, ppk2, exec, iio, hwmon, rapl, shelly, tasmota, battery, model`},
		{"model:toaster", "a b", `unknown power profile "toaster"; available: `},
	} {
		_, err := Open(t.Context(), c.spec, Options{Root: tree(c.tree)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.spec, err, c.want)
		}
		if strings.Contains(c.want, "no such source") && !errors.Is(err, ErrNoData) {
			t.Errorf("%s: %v is not ErrNoData", c.spec, err)
		}
	}
	denied := moving{tree(pcRAPL), func(name string) ([]byte, error) {
		if strings.HasSuffix(name, "energy_uj") {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return nil, nil
	}}
	if _, err := Open(t.Context(), "rapl", Options{Root: denied}); err == nil ||
		!strings.Contains(err.Error(), "run the agent as root") {
		t.Errorf("permission denied: %v", err)
	}
}

// counters makes a PC whose counters move by given J a look.
func counters(t *testing.T, pkg, dram func(look int) float64) Meter {
	t.Helper()
	n := map[string]int{}
	root := moving{tree(pcRAPL), nil}
	root.read = func(name string) ([]byte, error) {
		f := map[string]func(int) float64{"sys/class/powercap/intel-rapl:0/energy_uj": pkg,
			"sys/class/powercap/intel-rapl:0:1/energy_uj": dram,
			// core and psys move as well
			"sys/class/powercap/intel-rapl:0:0/energy_uj": pkg, "sys/class/powercap/intel-rapl:1/energy_uj": pkg}[name]
		if f == nil {
			return nil, nil
		}
		n[name]++
		return fmt.Appendf(nil, "%.0f\n", f(n[name]-1)*1e6), nil
	}
	m, err := Open(t.Context(), "rapl", Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// 20 W of package and 3 W of DRAM, both counters wrapping on the way; the core's
// counter is part of the package's, psys is another sum.
func TestRAPLWraps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrapAt := func(start, step, wrap float64) func(int) float64 {
			return func(look int) float64 { return math.Mod(start+step*float64(look), wrap) }
		}
		m := counters(t, wrapAt(262143.328850-15, 0.2, 262143.328850), wrapAt(65712.999613-1.5, 0.03, 65712.999613))
		samples, err := watch(m, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		j, err := energy.NewTrace(m.Facts(), samples).Energy(energy.Window{From: 50 * time.Millisecond,
			To: 1950 * time.Millisecond})
		if err != nil || math.Abs(j-23*1.9) > 1e-6 {
			t.Errorf("%g J, want %g: %v", j, 23*1.9, err)
		}
		if d := m.Describe(); d.Quantities[0] != energy.Counter || math.Abs(d.Resolution-61e-6) > 1e-9 {
			t.Errorf("%+v", d)
		}
	})
}

func TestRAPLThatCannotBeTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := func(int) float64 { return 5 }
		if _, err := watch(counters(t, still, still), time.Second); err == nil ||
			!strings.Contains(err.Error(), "did not change") {
			t.Errorf("a counter that stands still: %v", err)
		}
		setBack := func(look int) float64 { // by suspend
			if look > 80 {
				look -= 79
			}
			return 1000 + 0.2*float64(look)
		}
		if _, err := watch(counters(t, setBack, still), time.Second); err == nil ||
			!strings.Contains(err.Error(), "went backwards 1 times") {
			t.Errorf("a counter set back: %v", err)
		}
	})
}

// What fails now and then is counted, and the gap is one; what fails for good ends it.
func TestSensorsThatFail(t *testing.T) {
	var look atomic.Int64
	fails := func(which func(n int64) error) Meter {
		look.Store(0)
		m, err := Open(t.Context(), "hwmon", Options{Root: moving{tree(piHwmon), func(name string) ([]byte, error) {
			if !strings.HasSuffix(name, "curr1_input") {
				return nil, nil
			}
			n := look.Add(1) - 32 // opening looks 32 times
			if n <= 0 {
				return nil, nil
			}
			return nil, which(n)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	synctest.Test(t, func(t *testing.T) {
		m := fails(func(n int64) error {
			if n >= 10 && n < 14 {
				return errors.New("input/output error")
			}
			return nil
		})
		samples, err := watch(m, 300*time.Millisecond)
		if err != nil || m.Stats().Failed != 4 || len(m.Stats().Doubts()) == 0 {
			t.Errorf("four failures: %v, %+v", err, m.Stats())
		}
		if _, err := energy.NewTrace(m.Facts(),
			samples).Energy(energy.Window{From: 10 * time.Millisecond, To: 200 * time.Millisecond}); err == nil {
			t.Error("the gap was filled")
		}
		m = fails(func(n int64) error {
			if n == 10 {
				return errors.New("input/output error")
			}
			return nil
		})
		samples, err = watch(m, 300*time.Millisecond)
		trace := energy.NewTrace(m.Facts(), samples)
		if _, gap := trace.Energy(energy.Window{From: 10 * time.Millisecond, To: 200 * time.Millisecond}); err != nil ||
			gap == nil || !strings.Contains(gap.Error(), "no reading for 20ms from 80ms on") {
			t.Errorf("one failure: %v, %v", err, gap)
		}
		if _, err := trace.Energy(energy.Window{From: 110 * time.Millisecond, To: 200 * time.Millisecond}); err != nil {
			t.Errorf("a window behind one failure: %v", err)
		}
		if _, err := watch(fails(func(n int64) error { return errors.New("input/output error") }), time.Second); err == nil ||
			!strings.Contains(err.Error(), "input/output") {
			t.Errorf("a sensor that always fails: %v", err)
		}
		if _, err := watch(fails(func(n int64) error { return &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission} }),
			time.Second); err == nil || !strings.Contains(err.Error(), "as root") || m.Stats().Failed > 4 {
			t.Errorf("a sensor taken away: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m, err := Open(t.Context(), "hwmon", Options{Root: tree(strings.ReplaceAll(strings.ReplaceAll(piHwmon, "power1_input",
			"none"), "372", "933000000"))})
		if err != nil {
			t.Fatal(err)
		}
		if samples, _ := watch(m, 50*time.Millisecond); len(samples) > 0 || m.Stats().Impossible == 0 ||
			m.Stats().Err() == nil {
			t.Errorf("933 kA passed: %v, %+v", samples, m.Stats())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m, _ := Open(t.Context(), "hwmon", Options{Root: tree(piHwmon)})
		watch(m, 505*time.Millisecond)
		if d := m.Stats().Doubts(); len(d) != 1 || !strings.Contains(d[0].Error(), "51 readings, all of them, are the same") {
			t.Errorf("a sensor that is stuck: %v", d)
		}
	})
}

// A charger plugged in in mid-trial ends the observation.
func TestChargerInMidTrial(t *testing.T) {
	var charging atomic.Bool
	root := moving{tree(laptop), func(name string) ([]byte, error) {
		if charging.Load() && strings.HasSuffix(name, "BAT0/status") {
			return []byte("Charging\n"), nil
		}
		return nil, nil
	}}
	m, err := Open(t.Context(), "battery", Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(5*time.Second, func() { charging.Store(true) })
		if _, err := watch(m, time.Minute); err == nil || !strings.Contains(err.Error(), "unplug the charger") {
			t.Errorf("got %v", err)
		}
	})
}

// Answers of plugs, as their makers document them.
const (
	shelly2 = `{"id":0,"source":"init","output":true,"apower":8.9,"voltage":237.5,"freq":50.0,"current":0.069,"pf":0.54,"aenergy":{"total":6.532,"by_minute":[45.199,47.141,88.397],"minute_ts":1626935779},"temperature":{"tC":23.5,"tF":74.4}}`
	shelly1 = `{"wifi_sta":{"connected":true,"ssid":"lab"},"relays":[{"ison":true}],"meters":[{"power":12.75,"overpower":0.00,"is_valid":true,"timestamp":1626935779,"counters":[12.1,11.9,12.4],"total":1024}]}`
	tasmota = `{"StatusSNS":{"Time":"2024-05-03T10:11:12","ENERGY":{"TotalStartTime":"2023-01-01T00:00:00","Total":12.345,"Yesterday":0.543,"Today":0.123,"Power":7,"ApparentPower":13,"ReactivePower":11,"Factor":0.54,"Voltage":235,"Current":0.056}}}`
)

func plugServer(t *testing.T, answers map[string]string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.URL.RequestURI()]
		switch {
		case !ok:
			http.NotFound(w, r)
		case a == "401":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(w, a)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestPlugs(t *testing.T) {
	for _, c := range []struct {
		what, spec, path, answer string
		watts                    float64
		says                     string
	}{
		{"Shelly, second generation", "shelly:", "/rpc/Switch.GetStatus?id=0", shelly2, 8.9, ""},
		{"Shelly, first generation", "shelly:", "/status", shelly1, 12.75, ""},
		{"Tasmota", "tasmota:", "/cm?cmnd=Status%208", tasmota, 7, ""},
		{"a relay without a meter", "shelly:", "/rpc/Switch.GetStatus?id=0", `{"id":0,"output":true}`, 0,
			"does this plug measure?"},
		{"a reading that is not valid", "shelly:", "/status",
			strings.Replace(shelly1, `"is_valid":true`, `"is_valid":false`, 1), 0, "not valid"},
		{"a password asked for", "tasmota:", "/cm?cmnd=Status%208", `{"WARNING":"Need user=<username>&password=<password>"}`,
			0, "Need user"},
		{"a password asked for by HTTP", "shelly:", "/rpc/Switch.GetStatus?id=0", "401", 0, "requires a password"},
		{"no JSON", "tasmota:", "/cm?cmnd=Status%208", "<html>", 0, "invalid character"},
		{"null", "tasmota:", "/cm?cmnd=Status%208", `{"StatusSNS":{"ENERGY":{"Power":null}}}`, 0,
			"does not report ENERGY.Power"},
		{"a list for several outlets", "tasmota:", "/cm?cmnd=Status%208", `{"StatusSNS":{"ENERGY":{"Power":[1,2]}}}`, 0,
			"cannot unmarshal array"},
		{"another device", "tasmota:", "/other", "", 0, "404"},
	} {
		t.Run(c.what, func(t *testing.T) {
			m, err := Open(t.Context(), c.spec+plugServer(t, map[string]string{c.path: c.answer}), Options{})
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			samples, err := watch(m, 100*time.Millisecond)
			if err != nil || len(samples) == 0 || samples[0].Quantity != energy.Power || samples[0].Value != c.watts {
				t.Errorf("%v: %v", samples, err)
			}
		})
	}
	if _, err := Open(t.Context(), "shelly:192.168.1.20", Options{}); err == nil ||
		!strings.Contains(err.Error(), "write shelly:http://") {
		t.Error(err)
	}
}

// Every source says what it is, and no name comes twice.
func TestAllSources(t *testing.T) {
	var names []string
	for _, s := range All() {
		if s.Says == "" || !strings.HasPrefix(s.Example, s.Name) || slices.Contains(names, s.Name) {
			t.Errorf("%+v", s)
		}
		names = append(names, s.Name)
	}
}

// On this very machine: each source that is there reads, the others say they are absent.
func TestThisMachine(t *testing.T) {
	for _, spec := range []string{"rapl", "hwmon", "iio", "battery"} {
		m, err := Open(t.Context(), spec, Options{})
		if errors.Is(err, ErrNoData) || errors.Is(err, fs.ErrPermission) {
			t.Log(err)
			continue
		}
		if err != nil {
			t.Errorf("neither absent nor denied: %v", err)
			continue
		}
		if samples, err := watch(m, 2500*time.Millisecond); err == nil && len(samples) == 0 {
			t.Errorf("%s: no sample and no error", spec)
		}
	}
}
