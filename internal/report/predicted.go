package report

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise/calibration"
)

// A Predicted is what a board would do in place of an emulated machine. It is
// no measurement, and decides nothing.
type Predicted struct {
	Cell int // of Cells, which was measured on the machine
	calibration.Prediction
}

// Measured are the report's times in the words of calibration.
func (r *Report) Measured() []calibration.Measured {
	var out []calibration.Measured
	for _, c := range r.Cells {
		out = append(out, r.measured(c))
	}
	return slices.DeleteFunc(out, func(m calibration.Measured) bool { return m.Setup == nil })
}

func (r *Report) measured(c Cell) calibration.Measured {
	if c.Unit != "s" || r.Treatments[c.Treatment].setup == nil || r.isFloor(r.Treatments[c.Treatment].Stack) {
		return calibration.Measured{}
	}
	m := calibration.Measured{Side: c.Side, Response: c.Response, Setup: r.Treatments[c.Treatment].setup,
		WarmUp: r.Study.Design.WarmUp}
	for _, p := range c.Points {
		m.Trials = append(m.Trials, p.Mean)
	}
	return m
}

// MachineFacts are what figures on a device depend on besides the treatment.
func (r *Report) MachineFacts(device string) calibration.Facts {
	f := calibration.Facts{Emulation: r.Facts.Devices[device].Emulation, Stacks: map[string]string{}}
	for name, s := range r.Facts.Stacks {
		made := s.Version
		if len(s.Checksums) > 0 {
			text, _ := json.Marshal(s.Checksums) // in the order of names
			made += fmt.Sprintf(" %x", sha256.Sum256(text))[:13]
		} else if v := r.Facts.Edgegauge["version"]; v != s.Version {
			made += " of edgegauge " + v
		}
		f.Stacks[name] = made
		f.Stacks[strings.TrimPrefix(name, "reference/")] = made // as studies may call it
	}
	return f
}

// Predict says of each time on an emulated machine what a board would do, by the
// newest calibration that holds for it, or why none does.
func (r *Report) Predict(all []calibration.File, now time.Time) {
	slices.SortStableFunc(all, func(a, b calibration.File) int { return b.Made.Compare(a.Made) })
	lacking := map[string][]string{} // responses by reason
	for i, c := range r.Cells {
		m := r.measured(c)
		if m.Setup == nil || len(r.Facts.Devices[m.Device()].Emulation) == 0 {
			continue
		}
		facts := r.MachineFacts(m.Device())
		why := fmt.Sprintf("no calibration of %s; make one with: edgegauge devices calibrate %s --against ssh://…",
			m.Device(), m.Device())
		for k := range all {
			if all[k].Device != m.Device() {
				continue
			}
			p, err := all[k].Predict(m, facts, now, r.Study.Design.Confidence)
			if err == nil {
				r.Predicted = append(r.Predicted, Predicted{i, p})
				why = ""
				break
			}
			why = fmt.Sprintf("calibration %s cannot be used: %v", all[k].Name, err)
		}
		if what := c.Response + " of the " + string(c.Side); why != "" && !slices.Contains(lacking[why], what) {
			lacking[why] = append(lacking[why], what)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(lacking)) {
		r.Unpredicted = append(r.Unpredicted, fmt.Sprintf("No prediction of a board for %s: %s",
			list(lacking[why], 4), why))
	}
}

// predictedRows are the predictions as text.
func (r *Report) predictedRows() [][]string {
	var rows [][]string
	for _, p := range r.Predicted {
		c := r.Cells[p.Cell]
		rows = append(rows, []string{
			r.Treatments[c.Treatment].Name(), string(c.Side), c.Response, Format(c.Mean.Center, c.Unit), Format(p.Value, c.Unit),
			Format(p.Lo, c.Unit) + " to " + Format(p.Hi, c.Unit), p.Note,
		})
	}
	return rows
}

var predictedHead = []string{"treatment", "side", "response", "emulated", "predicted", "interval", ""}

// predictedOf says what the predictions are, in a line each.
func (r *Report) predictedOf() []string {
	if len(r.Predicted) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, p := range r.Predicted {
		seen[fmt.Sprintf("%s (calibration %s, version %d, %s)", p.By.Board, p.By.Name, p.By.Version,
			p.By.Made.Format(time.DateOnly))] = true
	}
	return []string{fmt.Sprintf("PREDICTED, not measured: what %s would do. The mean of as many trials there lies "+
		"within the interval with %s probability if only the board differs. No verdict is based on it.",
		strings.Join(slices.Sorted(maps.Keys(seen)), " or "), percentOf(r.Study.Design.Confidence))}
}

func (r *Report) predicted(b *strings.Builder) {
	for _, line := range r.predictedOf() {
		wrap(b, line, "  ")
	}
	if rows := r.predictedRows(); len(rows) > 0 {
		writeColumns(b, append([][]string{predictedHead}, rows...))
	}
	for _, line := range r.Unpredicted {
		wrap(b, line, "  ")
	}
}

// predictedJSON is a prediction in JSON: what the same trials on the board would
// come to.
type predictedJSON struct {
	Mean        float64   `json:"mean"`
	CI          []float64 `json:"prediction_interval"`
	Calibration string    `json:"calibration"`
	Board       string    `json:"board"`
	Note        string    `json:"note,omitempty"`
}

func (r *Report) predictedJSON(cell int) *predictedJSON {
	for _, p := range r.Predicted {
		if p.Cell == cell {
			return &predictedJSON{p.Value, []float64{p.Lo, p.Hi}, fmt.Sprintf("%s version %d", p.By.Name, p.By.Version),
				p.By.Board, p.Note}
		}
	}
	return nil
}
