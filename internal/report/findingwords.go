package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/plural"
)

// claimCell is a claim in a plain sentence, in the paper's own words where they are known, and as it is judged.
func claimCell(c paper.Claim) string {
	text := markdownText(c.Words())
	if c.Says != "" {
		text = fmt.Sprintf("the paper: “%s”<br>%s", markdownText(c.Says), text)
	}
	if c.Plain != "" {
		text = markdownText(c.Plain) + "<br>" + text
	}
	return text
}

// ranOn is what results were measured on and how busy that was, for a figure or a table: "a machine with 2 CPUs
// (AMD EPYC) at load 0.4".
func ranOn(all ...*Report) string {
	var names []string
	loads := map[string][]float64{}
	for _, r := range all {
		for _, name := range sortedKeys(r.Facts.Devices) {
			d := r.Facts.Devices[name]
			text := markdownText(cmp.Or(modelOf(d.Model, d.Emulation), name))
			if len(d.Emulation) == 0 && d.CPUs > 0 {
				text = fmt.Sprintf("a machine with %s (%s)", plural.Count(d.CPUs, "CPU"), text)
			}
			if !slices.Contains(names, text) {
				names = append(names, text)
			}
			if len(d.Emulation) == 0 { // an emulated one has no load of its own
				loads[text] = append(loads[text], d.Load)
			}
		}
	}
	if len(names) == 0 {
		return "an unknown machine"
	}
	whose := " (in part that of the trials before)"
	for i, name := range names {
		of := loads[name]
		if len(of) == 0 {
			continue
		}
		names[i] += fmt.Sprintf(" at load %.1f", slices.Min(of))
		if most := slices.Max(of); most > slices.Min(of) {
			names[i] += fmt.Sprintf(" to %.1f", most)
		}
		names[i] += whose
		whose = "" // said once
	}
	return strings.Join(names, " and ")
}
