package calibration

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// Confidence of the intervals of overheads in a file.
const Confidence = 0.95

// Fit pairs what was measured on the emulated machine with what was measured on
// the board under the same conditions. The text of left says what was left out.
func Fit(all []Measured, emulated, board string) (entries []Entry, left []string, err error) {
	at := map[string]int{}
	for _, m := range all {
		if m.Device() != emulated {
			continue
		}
		name := fmt.Sprintf("%s at the %s, %s of %s %s", m.Response, m.Side, m.Setup.Service, m.Setup.Encoding, sizeText(m))
		twin := slices.IndexFunc(all, func(x Measured) bool {
			return x.Device() == board && x.Side == m.Side && x.Response == m.Response && x.size() == m.size() &&
				maps.Equal(x.where(), m.where())
		})
		if twin < 0 {
			left = append(left, name+": not measured on "+board)
			continue
		}
		p, err := point(m, all[twin])
		if err != nil {
			left = append(left, name+": "+err.Error())
			continue
		}
		key := fmt.Sprint(m.Side, m.Response, m.where())
		i, ok := at[key]
		if !ok {
			i = len(entries)
			at[key] = i
			entries = append(entries, Entry{Side: m.Side, Response: m.Response, Where: m.where()})
		}
		if !slices.ContainsFunc(entries[i].Points, func(old Point) bool { return old.Size == p.Size }) {
			entries[i].Points = append(entries[i].Points, p)
		}
	}
	if len(entries) == 0 {
		return nil, left, fmt.Errorf("nothing was measured on both %s and %s under the same conditions, in %d trials or more",
			emulated, board, stat.LeastCalibration)
	}
	for _, e := range entries {
		slices.SortFunc(e.Points, func(a, b Point) int { return cmp.Compare(a.Size, b.Size) })
	}
	return entries, left, nil
}

func sizeText(m Measured) string {
	if m.size() == 0 {
		return "messages"
	}
	return fmt.Sprintf("%d %s", m.size(), m.where()["size in"])
}

func point(emulated, real Measured) (Point, error) {
	if n := min(len(emulated.Trials), len(real.Trials)); n < stat.LeastCalibration {
		return Point{}, fmt.Errorf("%s; at least %d per side are needed", plural.Count(n, "trial"), stat.LeastCalibration)
	}
	c, err := stat.RatioWelch(emulated.Trials, real.Trials, Confidence)
	if errors.Is(err, stat.ErrSign) {
		err = errors.New("a time of 0 has no ratio")
	}
	return Point{Size: emulated.size(), Real: real.Trials, Emulated: emulated.Trials, Overhead: c.Estimate, Lo: c.Lo,
		Hi: c.Hi}, err
}
