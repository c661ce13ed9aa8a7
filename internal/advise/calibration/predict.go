package calibration

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
)

// A Prediction is what a board would do.
type Prediction struct {
	Value, Lo, Hi float64 // s; the mean of as many trials as the run has lies between Lo and Hi
	By            *File
	Note          string // what it rests on besides; empty: nothing
}

// oldest is how old a calibration may be: boards, their software and this
// machine's change.
const oldest = 180 * 24 * time.Hour

// loadApart is by how many busy CPUs this machine's load may differ from that of
// the calibration where figures follow it.
const loadApart = 0.5

// Predict says what the board would do where m was measured on the emulated
// machine. Facts are those of the run. The error says why nothing can be said.
func (f *File) Predict(m Measured, facts Facts, now time.Time, confidence float64) (Prediction, error) {
	if m.Device() != f.Device {
		return Prediction{}, fmt.Errorf("it was made for %s", f.Device)
	}
	if age := now.Sub(f.Made); age > oldest || age < -24*time.Hour {
		return Prediction{}, fmt.Errorf("it was made on %s and is valid for %d days; recreate it",
			f.Made.Format(time.DateOnly), oldest/(24*time.Hour))
	}
	if err := f.sameMachine(facts); err != nil {
		return Prediction{}, err
	}
	where := m.where()
	if then, now := f.Facts.Stacks[where["stack"]], facts.Stacks[where["stack"]]; then != now {
		return Prediction{}, fmt.Errorf("it was made for %s %s, this is %s", where["stack"], orNothing(then), orNothing(now))
	}
	e, err := f.find(m, where)
	if err != nil {
		return Prediction{}, err
	}
	return f.from(e, m, confidence)
}

func orNothing(s string) string {
	if s == "" {
		return "(not there)"
	}
	return s
}

// varying are facts that may differ from run to run.
func varying(key string) bool {
	return key == "started in" || key == "host load" || strings.HasPrefix(key, "package ") ||
		strings.Contains(key, "edgegauge")
}

// sameMachine says in which fact the machine is another than that which was
// calibrated. The host's CPU and load matter only where it computes as fast as
// this machine emulates it.
func (f *File) sameMachine(facts Facts) error {
	then, now := f.Facts.Emulation, facts.Emulation
	if then["mode"] != now["mode"] {
		return fmt.Errorf("it was made in mode %s, this run used mode %s", orNothing(then["mode"]), orNothing(now["mode"]))
	}
	free := now["mode"] == "free"
	keys := slices.Sorted(maps.Keys(then))
	for k := range now {
		if _, ok := then[k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if varying(k) || k == "host" && !free {
			continue
		}
		if then[k] != now[k] {
			return fmt.Errorf("the machine has changed: its %s was %s, now %s", k, short(then[k]), short(now[k]))
		}
	}
	if !free {
		return nil
	}
	a, err := strconv.ParseFloat(then["host load"], 64)
	b, err2 := strconv.ParseFloat(now["host load"], 64)
	if err != nil || err2 != nil {
		return errors.New("its speed depends on this machine's load, which was not recorded")
	}
	if math.Abs(a-b) > loadApart {
		return fmt.Errorf("its speed depends on this machine's load, which was %.2g then and %.2g now; measure at the "+
			"same load", a, b)
	}
	return nil
}

func short(s string) string {
	if s == "" {
		return "(nothing)"
	}
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// find is the entry of the same conditions. Where there is none the error names
// what the nearest one differs in.
func (f *File) find(m Measured, where map[string]string) (*Entry, error) {
	nearest, apart := "", math.MaxInt
	for i := range f.Entries {
		e := &f.Entries[i]
		if e.Side != m.Side || e.Response != m.Response {
			continue
		}
		differ := differences(e.Where, where)
		if len(differ) == 0 {
			return e, nil
		}
		if len(differ) < apart {
			nearest, apart = strings.Join(differ, "; "), len(differ)
		}
	}
	if nearest == "" {
		return nil, fmt.Errorf("it has no %s of a %s", m.Response, m.Side)
	}
	return nil, fmt.Errorf("it was made with %s", nearest)
}

func differences(then, now map[string]string) (out []string) {
	keys := maps.Clone(then)
	maps.Copy(keys, now)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if then[k] != now[k] {
			out = append(out, fmt.Sprintf("%s %s, not %s", k, orNothing(then[k]), orNothing(now[k])))
		}
	}
	return out
}

// from predicts by the point of the same size, or by those on both sides of it:
// what lies between two sizes is taken to lie between what either would say, and
// nothing is said beyond the smallest and the largest.
func (f *File) from(e *Entry, m Measured, confidence float64) (Prediction, error) {
	size := m.size()
	i, exact := slices.BinarySearchFunc(e.Points, size,
		func(p Point, s int64) int { return int(min(max(p.Size-s, -1), 1)) })
	if exact {
		c, err := stat.Predict(m.Trials, e.Points[i].Emulated, e.Points[i].Real, confidence)
		return Prediction{Value: c.Estimate, Lo: c.Lo, Hi: c.Hi, By: f}, err
	}
	unit := e.Where["size in"]
	if i == 0 || i == len(e.Points) {
		return Prediction{}, fmt.Errorf("it covers %d to %d %s, not %d", e.Points[0].Size,
			e.Points[len(e.Points)-1].Size, unit, size)
	}
	below, above := e.Points[i-1], e.Points[i]
	a, err := stat.Predict(m.Trials, below.Emulated, below.Real, confidence)
	b, err2 := stat.Predict(m.Trials, above.Emulated, above.Real, confidence)
	if err := errors.Join(err, err2); err != nil {
		return Prediction{}, err
	}
	return Prediction{
		Value: math.Sqrt(a.Estimate * b.Estimate), Lo: min(a.Lo, b.Lo), Hi: max(a.Hi, b.Hi), By: f,
		Note: fmt.Sprintf("between those of %d and %d %s", below.Size, above.Size, unit),
	}, nil
}
