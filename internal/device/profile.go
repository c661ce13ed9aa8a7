package device

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/named"
)

// A Profile is a device as a file in devices/ describes it.
type Profile struct {
	Name, Title string
	Limits      *Limits // of a constrained device; nil: it is another kind
}

// LoadProfiles reads every *.yaml of the folders into profiles by name, which
// is the file's; a later folder hides an earlier one's. Broken files are all in
// the error, the others are loaded.
func LoadProfiles(folders ...fs.FS) (map[string]Profile, error) {
	return named.Load(func(name string, text []byte) (Profile, error) {
		p, err := readProfile(name, text)
		if err != nil {
			err = fmt.Errorf("devices/%s.yaml: %w", name, err)
		}
		return p, err
	}, folders...)
}

// Names are the devices of this machine that a study may name: local, and the
// constrained ones of the profiles.
func Names(all map[string]Profile) []string {
	names := []string{"local"}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if all[n].Limits != nil {
			names = append(names, n)
		}
	}
	return names
}

func readProfile(name string, text []byte) (Profile, error) {
	p := Profile{Name: name}
	var file struct {
		Title       string `yaml:"title"`
		Constrained *struct {
			CPU    string `yaml:"cpu"`
			Memory string `yaml:"memory"`
		} `yaml:"constrained"`
		Power any `yaml:"power"` // which instrument reads
	}
	if err := named.InWords(yaml.Load(text, &file, yaml.WithKnownFields())); err != nil {
		return p, err
	}
	if p.Title = file.Title; file.Constrained == nil && file.Power == nil {
		return p, errors.New("neither limits nor power; write constrained: {cpu: 10%, memory: 64MiB}, or power: {…}")
	}
	if c := file.Constrained; c != nil {
		var err error
		p.Limits = &Limits{}
		if c.CPU == "" && c.Memory == "" {
			return p, errors.New("constrained names neither cpu nor memory; write {cpu: 10%, memory: 64MiB}")
		}
		if p.Limits.CPU, err = readCPUs(c.CPU); err != nil {
			return p, err
		}
		if p.Limits.Memory, err = readMemory(c.Memory); err != nil {
			return p, err
		}
		return p, p.Limits.check()
	}
	return p, nil
}

// mostCPU is more than any machine has.
const mostCPU = 1e6 // % of one CPU

// readCPUs reads 10% as a tenth of one CPU, 150% as one and a half.
func readCPUs(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(x/100 > 0 && x <= mostCPU) { // NaN is neither
		return 0, fmt.Errorf("invalid cpu %q; write 10%% for a tenth of one CPU, 150%% for one and a half", s)
	}
	return x / 100, nil
}

// readMemory reads 64MiB or 512KiB.
func readMemory(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	for suffix, unit := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			if x, err := strconv.ParseInt(number, 10, 32); err == nil && x > 0 {
				return x * unit, nil
			}
		}
	}
	return 0, fmt.Errorf("invalid memory %q; write it like 64MiB", s)
}
