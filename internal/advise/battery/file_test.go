package battery

import (
	"math"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	const good = "title: x\nsleep: {value: 15uW, low: 10uW, high: 20uW, source: s}\nidle: {value: 1mW, source: s}\n" +
		"receive: {value: 90mW, source: s}\nsend: {value: 0.5W, source: s}\nup_rate: {value: 20kbit, source: s}\n" +
		"down_rate: {value: 1Mbit, source: s}\n"
	p, err := Read(Radio, "x", []byte(good))
	if err != nil || p.Title != "x" || len(p.Figures) != 6 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if f := p.Figures[0]; f.Key != "radio.sleep" || f.Value != 15e-6 || f.Low != 10e-6 || f.High != 20e-6 ||
		f.Source != "s" {
		t.Errorf("got %+v", f)
	}
	if p, err = Read(Radio, "x", []byte(good+"note: of a good network\n")); err != nil ||
		p.Says() != "radios/x.yaml: of a good network" {
		t.Errorf("got %q, %v", p.Says(), err)
	}
	for _, tt := range []struct{ text, want string }{
		{good + "note: a\nnote: b\n", "radios/x.yaml:9: note is there twice"},
		{good + "slep: {value: 1W, source: s}\n", `radios/x.yaml:8: unknown key "slep"; did you mean sleep?`},
		{good + "wait: {value: 1s}\n", "radios/x.yaml:8: wait: it names no source"},
		{good + "wait: 1s\n", "radios/x.yaml:8: wait: write {value: …, source: …}"},
		{good + "wait: {value: 1, source: s}\n",
			`radios/x.yaml:8: wait: value "1": write a number and its unit, such as 10s`},
		{good + "wait: {value: -1s, source: s}\n", "a number that is not negative"},
		{good + "wait: {value: 3s, high: 2s, source: s}\n", "is not between low and high"},
		{good + "wait: {value: 3s, low: 4s, high: 2s, source: s}\n", "write the lower one first"},
		{good + "wait: {value: 3s, hi: 2s, source: s}\n", `radios/x.yaml:8: unknown key "hi" of a figure`},
		{good + "idle: {value: 3W, source: s}\n", "radios/x.yaml:8: idle is there twice"},
		{strings.Replace(good, "value: 20kbit", "value: 0bit", 1), "radios/x.yaml:6: up_rate: it is more than 0"},
		{strings.Replace(good, "send:", "wait:", 1), "send is missing"},
		{strings.Replace(good, "title: x\n", "", 1), "the title is missing"},
		{"", "it has no figures"},
		{"[1]", "it has no figures"},
		{"a: [", "radios/x.yaml:"},
	} {
		if _, err := Read(Radio, "x", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestParseQuantity(t *testing.T) {
	for _, tt := range []struct {
		text, unit string
		want       float64
	}{{"15uW", "W", 15e-6}, {"15µW", "W", 15e-6}, {"2.048s", "s", 2.048}, {"5y", "s", 5 * 365.25 * 86400},
		{"20 ms", "s", 0.02},
		{"3min", "s", 180}, {"2500mAh", "Ah", 2.5}, {"1%", "1", 0.01}, {"5Wh", "J", 18000}, {"62kbit", "bit/s", 62e3},
		{"73", "B", 73}, {"30mA", "A", 0.03}, {"3V", "V", 3}} {
		if got, err := ParseQuantity(tt.text, tt.unit); err != nil || math.Abs(got/tt.want-1) > 1e-12 {
			t.Errorf("%s: got %g, %v", tt.text, got, err)
		}
	}
	for _, text := range []string{"", "s", "1e400s", "NaNs", "-1s", "1 W", "0x1ps1"} {
		if got, err := ParseQuantity(text, "s"); err == nil {
			t.Errorf("%q: got %g", text, got)
		}
	}
}

func TestParseSet(t *testing.T) {
	f, err := ParseSet("radio.inactivity=5s..20s")
	if err != nil || f.Value != 12.5 || f.Low != 5 || f.High != 20 {
		t.Errorf("got %+v, %v", f, err)
	}
	for _, tt := range []struct{ text, want string }{
		{"radio.inactivty=5s", "did you mean radio.inactivity"},
		{"radio.inactivity", "write KEY=VALUE"},
		{"radio.inactivity=5", "write a number and its unit"},
		{"radio.inactivity=20s..5s", "write the lower one first"},
		{"battery.self_discharge=100%", "less than 100%"},
		{"device.efficiency=120%", "at most 100%"},
	} {
		if _, err := ParseSet(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

// What strangers write never panics, and what is read can be computed with.
func FuzzRead(f *testing.F) {
	f.Add([]byte("title: x\nsleep: {value: 15uW, low: 10uW, high: 20uW, source: s}\n"))
	f.Add([]byte("a: &a {b: *a}\n"))
	f.Add([]byte("? [x]\n: y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, kind := range []Kind{Radio, Battery} {
			p, err := Read(kind, "x", text)
			for _, x := range p.Figures {
				if err == nil && !(0 <= x.Low && x.Low <= x.Value && x.Value <= x.High && !math.IsInf(x.High, 0)) {
					t.Errorf("%q: %+v", text, x)
				}
			}
		}
	})
}

func TestFiguresStandInTheOrderOfTheirKeys(t *testing.T) {
	for i, name := range [...]string{
		radioSleep: "radio.sleep", radioIdle: "radio.idle", radioReceive: "radio.receive", radioSend: "radio.send",
		radioSetupTime: "radio.setup_time", radioSetupPower: "radio.setup_power", radioUpRate: "radio.up_rate",
		radioDownRate: "radio.down_rate", radioOverhead: "radio.overhead", radioWait: "radio.wait",
		radioMonitor: "radio.monitor", radioInactivity: "radio.inactivity", radioDrxCycle: "radio.drx_cycle",
		radioDrxOn: "radio.drx_on", radioActive: "radio.active", radioPagingCycle: "radio.paging_cycle",
		radioPagingOn: "radio.paging_on", batteryCapacity: "battery.capacity", batteryVoltage: "battery.voltage",
		batterySelfDischarge: "battery.self_discharge", batteryShelfLife: "battery.shelf_life",
		batteryRated: "battery.rated", batteryDerated: "battery.derated", batteryPulse: "battery.pulse",
		deviceSleep: "device.sleep", deviceProcessing: "device.processing", deviceEfficiency: "device.efficiency",
	} {
		if keys[i].name != name {
			t.Errorf("%d is %s, not %s", i, keys[i].name, name)
		}
	}
}
