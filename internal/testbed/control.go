package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// movedAt is the p of a value 3 standard errors off.
const movedAt = 0.0027

// moved says what of a bench's control treatments, which are floors, differs between the first half of
// its blocks and the second; nothing if there are too few.
func (e *Experiment) moved(bench string) (string, error) {
	controls := map[int]string{} // trial to treatment
	for _, t := range e.Lab.Plan.Trials {
		d, ok := e.assembly.bed.FindStack(t.Setup.Client.Stack)
		if !ok || !d.Floor {
			continue
		}
		var words []string
		for _, w := range t.Treatment {
			words = append(words, w.Text)
		}
		controls[t.ID] = strings.Join(words, " ")
	}
	if len(controls) == 0 {
		return "", nil
	}
	own := map[string][]float64{} // in the order of the plan
	for row, err := range e.Lab.Store.Results() {
		if err != nil {
			return "", err
		}
		if name := controls[row.ID]; name != "" && row.Bench == bench && row.Response == "rtt" && row.Side == measure.Client {
			own[name] = append(own[name], row.Median)
		}
	}
	return drifted(own, e.Lab.Plan.Study.Design.Confidence), nil
}

// drifted judges a bench's controls: medians of its blocks, in their order.
func drifted(controls map[string][]float64, confidence float64) string {
	for _, name := range slices.Sorted(maps.Keys(controls)) {
		all := controls[name]
		half := len(all) / 2
		x, err := stat.RatioWelch(all[half:], all[:half], confidence)
		if err == nil && x.P < movedAt/float64(len(controls)) {
			return fmt.Sprintf("its control %s moved by more than 3 standard errors: in the second half of its %d blocks it "+
				"takes %.3g times as long", name, len(all), x.Estimate)
		}
	}
	return ""
}
