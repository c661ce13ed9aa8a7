package instrument

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/named"
)

// A PowerModel is the power of a device in a few constants. What is computed from
// it is modelled, never measured, and is called so everywhere.
type PowerModel struct {
	Title        string  `yaml:"title"`            // what device it is of
	IdleW        float64 `yaml:"idle_W"`           // W
	BusyWPerCore float64 `yaml:"busy_W_per_core"`  // over idle
	Cores        int     `yaml:"cores"`            // that can be busy at once
	RadioJPerB   float64 `yaml:"radio_J_per_B"`    // J for each byte that is sent or received
	RadioJWake   float64 `yaml:"radio_J_per_wake"` // of Load.Wakes
	// Fit is where the constants come from.
	Fit struct {
		From    string  `yaml:"from"`    // what it was fitted to
		Points  int     `yaml:"points"`  // 0: taken from a data sheet
		Typical float64 `yaml:"typical"` // root mean square of the relative errors
		Worst   float64 `yaml:"worst"`   // largest relative error of a point
		Lacks   string  `yaml:"lacks"`   // what the fit could not see
	} `yaml:"fit"`
}

// PowerModels are the power profiles of the folders by name, which is the file's; a later folder hides an earlier
// one's. Broken files are all in the error; files that have none are left alone.
func PowerModels(folders ...fs.FS) (map[string]PowerModel, error) {
	all, err := named.Load(readPowerModel, folders...)
	maps.DeleteFunc(all, func(_ string, p *PowerModel) bool { return p == nil })
	out := map[string]PowerModel{}
	for name, p := range all {
		out[name] = *p
	}
	return out, err
}

// ReadPowerModel reads the power profile in NAME.yaml of the last folder that has such a file.
func ReadPowerModel(name string, folders ...fs.FS) (PowerModel, error) {
	for _, folder := range slices.Backward(folders) {
		text, err := fs.ReadFile(folder, name+".yaml")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			continue
		}
		if err != nil {
			return PowerModel{}, err
		}
		p, err := readPowerModel(name, text)
		if err == nil && p == nil {
			err = fmt.Errorf("%s.yaml has no power profile; calibrate one: edgegauge devices calibrate", name)
		}
		if err != nil {
			return PowerModel{}, err
		}
		return *p, nil
	}
	all, _ := PowerModels(folders...)
	return PowerModel{}, fmt.Errorf("unknown power profile %q; available: %s", name,
		strings.Join(slices.Sorted(maps.Keys(all)), ", "))
}

// readPowerModel is the profile in the text of NAME.yaml; nil: it has none.
func readPowerModel(name string, text []byte) (*PowerModel, error) {
	var doc struct {
		Power *PowerModel `yaml:"power"`
		// Which device reads.
		Title       any `yaml:"title"`
		Constrained any `yaml:"constrained"`
	}
	if err := named.InWords(yaml.Load(text, &doc, yaml.WithKnownFields())); err != nil {
		return nil, fmt.Errorf("%s.yaml: %w", name, err)
	}
	if doc.Power == nil {
		return nil, nil
	}
	return doc.Power, doc.Power.check(name)
}

func (p PowerModel) check(name string) error {
	for _, c := range []struct {
		key string
		x   float64
	}{{"idle_W", p.IdleW}, {"busy_W_per_core", p.BusyWPerCore}, {"radio_J_per_B", p.RadioJPerB},
		{"radio_J_per_wake", p.RadioJWake}} {
		if !(c.x >= 0 && c.x < 1e4) {
			return fmt.Errorf("%s.yaml: %s %g is not a plausible power", name, c.key, c.x)
		}
	}
	if p.Cores < 1 {
		return fmt.Errorf("%s.yaml: invalid cores %d; write how many the device has", name, p.Cores)
	}
	return nil
}

// A Load is what a device did in a stretch of time.
type Load struct {
	Length time.Duration
	CPU    time.Duration // of all cores
	Bytes  int64         // sent and received
	Wakes  int           // of the radio
}

// Energy is the modelled energy in J, gross, and net of idle.
// Equation: E = idle · length + busy · CPU + J/B · bytes + J/wake · wakes.
func (p PowerModel) Energy(l Load) (gross, net float64) {
	net = p.BusyWPerCore*l.CPU.Seconds() + p.RadioJPerB*float64(l.Bytes) + p.RadioJWake*float64(l.Wakes)
	return net + p.IdleW*l.Length.Seconds(), net
}

// Spec is the specification of a meter by this profile on a machine that does not have the lab's profiles, or has
// others of their names.
func (p PowerModel) Spec() string {
	p.Fit = PowerModel{}.Fit
	text, _ := json.Marshal(p) // plain fields, finite ones (check), never fail
	return "model:" + string(text)
}

// sentModel is the profile in the argument of a Spec; nil: it is a profile's name.
func sentModel(arg string) (*PowerModel, error) {
	if !strings.HasPrefix(arg, "{") {
		return nil, nil
	}
	p := new(PowerModel)
	if err := json.Unmarshal([]byte(arg), p); err != nil {
		return nil, fmt.Errorf("a power profile that was sent: %w", err)
	}
	return p, p.check("sent")
}

// openModel watches the whole machine's load in /proc and models its power. It
// counts no wakes: nothing in /proc shows them.
func openModel(ctx context.Context, arg string, o Options) (Meter, error) {
	profile, err := sentModel(arg)
	if err == nil && profile == nil {
		var named PowerModel
		named, err = ReadPowerModel(arg, o.Profiles...)
		profile = &named
	}
	if err != nil {
		return nil, err
	}
	var last machineLoad
	p := &poller{
		name:       "model",
		facts:      energy.Facts{Kind: energy.Mean, Interval: 100 * time.Millisecond},
		quantities: []measure.Quantity{energy.Power},
		modelled:   true,
	}
	p.begin = func() { last, _ = readLoad(o.Root) }
	p.read = func(context.Context) (reading, error) {
		now, err := readLoad(o.Root)
		if err != nil {
			return unknown, err
		}
		r := unknown
		r.watts = profile.watts(last, now)
		last = now
		return r, nil
	}
	return p, p.onDevice(ctx)
}

// A machineLoad is the counters of a machine at an instant.
type machineLoad struct {
	at    time.Time
	busy  time.Duration
	bytes int64
}

func (p PowerModel) watts(last, now machineLoad) float64 {
	length := now.at.Sub(last.at)
	if length <= 0 || last.at.IsZero() {
		return p.IdleW
	}
	cores := min(max(0, (now.busy-last.busy).Seconds()/length.Seconds()), float64(p.Cores))
	return p.IdleW + p.BusyWPerCore*cores + p.RadioJPerB*max(0, float64(now.bytes-last.bytes))/length.Seconds()
}

// hertz is USER_HZ, the unit of /proc/stat on every Linux of today.
const hertz = 100

func readLoad(root fs.FS) (machineLoad, error) {
	l := machineLoad{at: time.Now()}
	stat, err := kernel.ReadText(root, "proc/stat")
	if err != nil {
		return l, err
	}
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 8 || f[0] != "cpu" {
		return l, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var ticks float64
	for _, i := range []int{1, 2, 3, 6, 7} { // user, nice, system, irq, softirq; not idle, iowait, steal, guest
		x, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return l, fmt.Errorf("/proc/stat: %w", err)
		}
		ticks += x
	}
	l.busy = seconds(ticks / hertz)
	links, err := networkCards(root)
	if err != nil {
		return l, err
	}
	for _, dir := range links {
		for _, name := range []string{"rx_bytes", "tx_bytes"} {
			if x, err := kernel.ReadOptional(root, path.Join(dir, "statistics", name), 1); err != nil {
				return l, err
			} else if !math.IsNaN(x) {
				l.bytes += int64(x)
			}
		}
	}
	return l, nil
}

// networkCards are the folders of the interfaces that have a device, or, where none has, of all but the loopback.
// Those of bridges, VLANs and tunnels have none, and what goes over them goes over a card, too.
func networkCards(root fs.FS) (cards []string, err error) {
	all, err := fs.Glob(root, "sys/class/net/*")
	all = slices.DeleteFunc(all, func(dir string) bool { return path.Base(dir) == "lo" })
	for _, dir := range all {
		if _, err := fs.Stat(root, path.Join(dir, "device")); err == nil {
			cards = append(cards, dir)
		}
	}
	if len(cards) == 0 {
		cards = all
	}
	return cards, err
}
