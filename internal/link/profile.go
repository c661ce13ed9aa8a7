package link

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/named"
)

// A Profile is a link as a file in links/ describes it, with the source of each figure.
type Profile struct {
	Link
	Title   string
	Figures []SourcedValue
}

// A SourcedValue is one value of a profile and where it is from.
type SourcedValue struct{ Key, Value, Source string }

// profileFile is the file. A figure under both holds for both directions.
type profileFile struct {
	Title string         `yaml:"title"`
	MTU   *profileFigure `yaml:"mtu"`
	// Shaper is no figure, and needs no source.
	Shaper Shaper                   `yaml:"shaper"`
	Both   map[string]profileFigure `yaml:"both"`
	Up     map[string]profileFigure `yaml:"up"`
	Down   map[string]profileFigure `yaml:"down"`
}

type profileFigure struct {
	Value  string `yaml:"value"`
	Source string `yaml:"source"`
}

// Load reads every *.yaml of the folders into profiles by name, which is the
// file's; a later folder hides an earlier one's profile. Broken files are all
// in the error, the others are loaded.
func Load(folders ...fs.FS) (map[string]Profile, error) {
	return named.Load(func(name string, text []byte) (Profile, error) {
		p, err := readProfile(name, text)
		if err != nil {
			err = fmt.Errorf("links/%s.yaml: %w", name, err)
		}
		return p, err
	}, folders...)
}

func readProfile(name string, text []byte) (Profile, error) {
	p := Profile{Link: Link{Name: name}}
	var file profileFile
	if err := named.InWords(yaml.Load(text, &file, yaml.WithKnownFields())); err != nil {
		return p, err
	}
	if p.Title = file.Title; p.Title == "" {
		return p, errors.New("the title is missing")
	}
	p.Shaper = file.Shaper
	var errs []error
	note := func(key string, x profileFigure, set func(string) error) {
		if x.Source == "" {
			errs = append(errs, fmt.Errorf("%s names no source; write {value: …, source: …}", key))
		}
		if err := set(x.Value); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", key, x.Value, err))
		}
		p.Figures = append(p.Figures, SourcedValue{key, x.Value, x.Source})
	}
	if file.MTU != nil {
		note("mtu", *file.MTU, func(v string) (err error) { p.MTU, err = strconv.Atoi(v); return err })
	}
	for _, side := range []struct {
		name    string
		figures map[string]profileFigure
		to      []*Shape
	}{{"", file.Both, []*Shape{&p.Up, &p.Down}}, {"up.", file.Up, []*Shape{&p.Up}},
		{"down.", file.Down, []*Shape{&p.Down}}} {
		for _, key := range slices.Sorted(maps.Keys(side.figures)) {
			note(side.name+key, side.figures[key], func(v string) error {
				var errs []error
				for _, s := range side.to {
					errs = append(errs, s.set(key, v))
				}
				return errs[0]
			})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return p, err
	}
	return p, p.Check()
}

// set gives the figure of one key, as a profile writes it.
func (s *Shape) set(key, v string) (err error) {
	switch key {
	case "delay":
		s.Delay, err = time.ParseDuration(v)
	case "delay_stddev":
		s.DelayStdDev, err = time.ParseDuration(v)
	case "loss":
		s.Loss, err = readShare(v)
	case "loss_burst":
		s.Burst, err = strconv.ParseFloat(v, 64)
	case "rate":
		s.Rate, err = readRate(v)
	case "queue":
		s.Queue, err = strconv.Atoi(v)
	case "overhead":
		s.Overhead, err = strconv.Atoi(v)
	case "frame":
		s.Frame, err = strconv.Atoi(v)
	case "order":
		if v != "kept" && v != "free" {
			return errors.New("write kept or free")
		}
		s.Reorder = v == "free"
	default:
		return errors.New("unknown key; the keys are delay, delay_stddev, loss, loss_burst, rate, queue, order, overhead, " +
			"frame")
	}
	return err
}

func readShare(v string) (float64, error) {
	number, percent := strings.CutSuffix(v, "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	return x, err
}

// mostRate is more than any network has.
const mostRate = 1e15 // bit/s

// readRate reads 9600bit, 60kbit, 1Mbit, 1Gbit: bit/s in powers of 1000.
func readRate(v string) (int64, error) {
	number, ok := strings.CutSuffix(v, "bit")
	if !ok {
		return 0, errors.New("write a rate such as 60kbit")
	}
	unit := 1.0
	for prefix, u := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if n, ok := strings.CutSuffix(number, prefix); ok {
			number, unit = n, u
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if err == nil && !(x == 0 || x*unit >= 1 && x*unit <= mostRate) { // a part of a bit would be no limit
		err = fmt.Errorf("no rate; write 1bit to %dGbit", int64(mostRate/1e9))
	}
	return int64(math.Round(x * unit)), err
}
