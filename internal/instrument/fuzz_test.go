package instrument

import (
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// looked reads a sensor twice, and finds samples that are no figures.
func looked(t *testing.T, p *poller) {
	t.Helper()
	var same repeats
	for i := range 2 {
		r, err := p.read(t.Context())
		if err != nil {
			return
		}
		p.take(r.fill(), time.Duration(i), &same, func(s measure.Sample) {
			if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
				t.Fatalf("%s %v is %v", p.name, s.Quantity, s.Value)
			}
		})
	}
}

// Whatever the files of a kernel's sensors hold: readings are figures or are refused, and there is time between two.
func FuzzSensorFiles(f *testing.F) {
	f.Add("1900000", "5104", "372", "2", "262143328850")
	f.Add("-1e308", "1e308", "-0", "1e300", "NaN")
	f.Add("0x1p1023", "1_000", "", "-7", "\n7\n")
	f.Fuzz(func(t *testing.T, watts, volts, amps, interval, most string) {
		root := fstest.MapFS{}
		put := func(name, text string) { root[name] = &fstest.MapFile{Data: []byte(text)} }
		const hwmon, iio, battery = "sys/class/hwmon/hwmon0", "sys/bus/iio/devices/iio:device0", "sys/class/power_supply/b"
		put(hwmon+"/power1_input", watts)
		put(hwmon+"/in1_input", volts)
		put(hwmon+"/curr1_input", amps)
		put(hwmon+"/update_interval", interval)
		put(iio+"/in_power2_raw", watts)
		put(iio+"/in_power2_scale", interval)
		put(battery+"/status", "Discharging")
		put(battery+"/voltage_now", volts)
		put(battery+"/current_now", amps)
		put("sys/class/powercap/intel-rapl:0/name", "package-0")
		put("sys/class/powercap/intel-rapl:0/energy_uj", watts)
		put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", most)
		put("proc/stat", "cpu "+strings.Join([]string{watts, volts, amps, "4", "5", "6", "7"}, " "))
		put("sys/class/net/eth0/statistics/rx_bytes", volts)
		if every := hwmonInterval(root, hwmon); every < 10*time.Millisecond || every > 10*time.Second {
			t.Fatalf("update_interval %q makes %v", interval, every)
		}
		instant := energy.Facts{Kind: energy.Instant, Interval: time.Second}
		looked(t, &poller{name: "hwmon", facts: instant,
			read: func(context.Context) (reading, error) { return readHwmon(root, hwmon) }})
		looked(t, &poller{name: "battery", facts: instant,
			read: func(context.Context) (reading, error) { return readBattery(root, battery) }})
		if c, err := findChannel(root, iio, "in_power*_raw", 0); err == nil {
			looked(t, &poller{name: "iio", facts: instant, read: func(context.Context) (reading, error) {
				r := unknown
				var err error
				r.watts, err = c.read(root)
				return r, err
			}})
		}
		if zones, err := raplZones(root); err == nil {
			q, first := MeterStats{}, true
			looked(t, &poller{name: "rapl", facts: energy.Facts{Kind: energy.Cumulative, Interval: time.Second},
				read: func(context.Context) (reading, error) {
					r := unknown
					err := zones[0].look(root, first, time.Second, &q)
					first, r.joules = false, zones[0].sum
					root["sys/class/powercap/intel-rapl:0/energy_uj"].Data = []byte(volts)
					return r, err
				}})
		}
		if l, err := readLoad(root); err == nil {
			model := PowerModel{Cores: 2, IdleW: 1, BusyWPerCore: 9, RadioJPerB: 1e-6}
			for _, last := range []machineLoad{{}, {at: l.at.Add(-time.Second)},
				{at: l.at.Add(-1), busy: l.busy, bytes: -l.bytes}} {
				if w := model.watts(last, l); !(w >= 0) || math.IsInf(w, 0) {
					t.Fatalf("%+v after %+v is %v W", l, last, w)
				}
			}
		}
	})
}

// A power profile that is taken gives figures.
func FuzzPowerProfile(f *testing.F) {
	f.Add([]byte("power: {cores: 4, idle_W: 1.5, busy_W_per_core: 0.4, radio_J_per_B: 1e-7}\n"))
	f.Add([]byte("power: {cores: 1, idle_W: .nan}\n"))
	f.Add([]byte("power: {cores: 9223372036854775807, idle_W: 9999, radio_J_per_wake: .inf}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadPowerModel("x", fstest.MapFS{"x.yaml": {Data: text}})
		if err != nil {
			return
		}
		gross, net := p.Energy(Load{Length: time.Hour, CPU: time.Minute, Bytes: 1 << 40, Wakes: 1e6})
		if !(gross >= net && net >= 0) || math.IsInf(gross, 0) {
			t.Fatalf("%s: %v J, net of idle %v J", text, gross, net)
		}
	})
}

// answers is a plug that says the same to everything.
type answers struct {
	status int
	body   string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Request: r,
		Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// Whatever a plug answers is a reading or an error.
func FuzzPlug(f *testing.F) {
	f.Add(200, `{"apower":1.5,"voltage":230,"current":0.01}`)
	f.Add(200, `{"meters":[{"power":1.5,"is_valid":true}]}`)
	f.Add(200, `{"StatusSNS":{"ENERGY":{"Power":5,"Voltage":230,"Current":0.03}}}`)
	f.Add(200, `{"Warning":"Need user=<username>&password=<password>"}`)
	f.Add(401, "")
	f.Add(200, `{"apower":1e309}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		c := &plugClient{http: &http.Client{Transport: answers{status, body}}, base: "http://plug"}
		for _, read := range []func(context.Context) (reading, error){c.readShelly1, c.readShelly2, c.readTasmota} {
			looked(t, &poller{name: "plug", facts: energy.Facts{Kind: energy.Instant, Interval: time.Second}, read: read})
		}
	})
}
