package instrument

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/devices"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/printable"
)

// A Source is a way to read energy.
type Source struct {
	Name    string
	Says    string // in words, for tables and manuals
	Example string // of a specification
	open    func(ctx context.Context, arg string, o Options) (Meter, error)
}

// All lists every source, best first.
func All() []Source {
	return []Source{
		{"avr", "the energy meter of firmware/energy-meter, at a serial port", "avr:/dev/ttyUSB0?rate=170", openAVR},
		{"ppk2", "Nordic Power Profiler Kit II, ampere or source mode", "ppk2:/dev/ttyACM0?mode=ampere&mV=5000", openPPK2},
		{"exec", "any program that prints readings (doc/energy.md)", `exec:["meter-program","argument"]`, openExec},
		{"iio", "INA219, INA226, INA260 of the kernel's iio class", "iio:ina226", openIIO},
		{"hwmon", "power sensors of the kernel's hwmon class", "hwmon:ina219", openHwmon},
		{"rapl", "a PC's own counter: packages and DRAM", "rapl", openRAPL},
		{"shelly", "Shelly plug, first or second generation", "shelly:http://192.168.1.20", openShelly},
		{"tasmota", "plug with the Tasmota firmware", "tasmota:http://192.168.1.21", openTasmota},
		{"battery", "the fuel gauge of the device's own battery", "battery", openBattery},
		{"model", "no meter: a power profile and the load, always called modelled", "model:raspberry-pi-1", openModel},
	}
}

// Options say where sources look; the zero value is this machine.
type Options struct {
	Root     fs.FS        // "/", for /sys and /proc
	Profiles []fs.FS      // power profiles, NAME.yaml: a later folder hides an earlier one's
	HTTP     *http.Client // for plugs
}

func (o Options) defaults() Options {
	if o.Root == nil {
		o.Root = os.DirFS("/")
	}
	if o.Profiles == nil {
		o.Profiles = []fs.FS{devices.Profiles}
	}
	if o.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		d := &kernel.Dialer{Dialer: net.Dialer{Timeout: 30 * time.Second}}
		t.DialContext = d.DialContext
		o.HTTP = &http.Client{Transport: t}
	}
	return o
}

// Open opens a meter by its specification, SOURCE or SOURCE:ARGUMENT as in All.
// A Meter that is an io.Closer is to be closed.
func Open(ctx context.Context, spec string, o Options) (Meter, error) {
	source, err := find(spec)
	if err != nil {
		return nil, err
	}
	_, arg, _ := strings.Cut(spec, ":")
	m, err := source.open(ctx, arg, o.defaults())
	if err != nil {
		return nil, fmt.Errorf("instrument %s: %w", printable.Redact(spec), advise(err))
	}
	return m, nil
}

// Known says what is wrong with a specification that names no source there is, or a serial port
// without its name.
func Known(spec string) error {
	_, err := find(spec)
	return err
}

func find(spec string) (Source, error) {
	name, arg, _ := strings.Cut(spec, ":")
	var names []string
	for _, s := range All() {
		if s.Name == name && arg == "" && strings.Contains(s.Example, ":/dev/") {
			return s, fmt.Errorf("instrument %s: no port; write, for example, %s", name, s.Example)
		}
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	advice := "available: " + strings.Join(names, ", ")
	if near := meant.Nearest(name, names); near != "" {
		advice = meant.Question(near)
	}
	if strings.HasPrefix(name, "/dev/") && arg == "" {
		advice = "write what is there before it, such as avr:" + name + " or ppk2:" + name
	}
	if _, err := ReadPowerModel(name, devices.Profiles); err == nil {
		advice = meant.Question("model:" + name)
	}
	for _, s := range All() { // a chip's name stands in what reads it
		if arg == "" && len(name) > 3 && strings.Contains(strings.ToLower(s.Says), strings.ToLower(name)) {
			advice = fmt.Sprintf("%s is read by %s; write, for example, %[2]s:%[1]s", strings.ToLower(name), s.Name)
		}
	}
	return Source{}, fmt.Errorf("unknown instrument %q; %s", name, advice)
}

// settings parts PATH?key=value&key=value, and refuses keys nobody knows and keys given twice.
func settings(arg string, known ...string) (path string, set map[string]string, err error) {
	path, rest, _ := strings.Cut(arg, "?")
	set = map[string]string{}
	for pair := range strings.SplitSeq(rest, "&") {
		key, value, ok := strings.Cut(pair, "=")
		if pair == "" {
			continue
		}
		found := false
		for _, k := range known {
			found = found || k == key
		}
		if !ok || !found {
			return path, set, fmt.Errorf("unknown setting %q; available: %s", pair, strings.Join(known, ", "))
		}
		if _, twice := set[key]; twice {
			return path, set, fmt.Errorf("setting %s is given twice; write it once", key)
		}
		set[key] = value
	}
	return path, set, nil
}

func openAVR(ctx context.Context, arg string, _ Options) (Meter, error) {
	path, set, err := settings(arg, "rate")
	if err != nil {
		return nil, err
	}
	rate := 0.0
	if set["rate"] != "" {
		if rate, err = strconv.ParseFloat(set["rate"], 64); err != nil || !(rate > 0) { // 0 would be the meter's own
			return nil, fmt.Errorf("invalid rate %q; write 10 to 500 frames per second", set["rate"])
		}
	}
	m, err := OpenEnergyMeter(ctx, path, rate)
	if err != nil {
		return nil, err
	}
	return m, nil
}
