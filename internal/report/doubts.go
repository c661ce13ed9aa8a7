package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/store"
)

// doubts gathers what a reader must know of the whole.
func (r *Report) doubts() {
	for name, d := range r.Facts.Devices {
		for _, x := range d.Doubts {
			r.Warnings = append(r.Warnings, "device "+name+": "+x)
		}
	}
	slices.Sort(r.Warnings)
	r.Warnings = append(slices.Clone(r.Facts.LeftOut), r.Warnings...)
	for _, t := range r.Treatments {
		if t.Valid < t.Wanted {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d of %d trials are valid", t.Name(), t.Valid, t.Wanted))
		}
	}
	if len(r.LeftOut) > 0 {
		r.Warnings = append(r.Warnings, "a copy without raw files ("+strings.Join(r.LeftOut, ", ")+"): it has every trial's "+
			"figures, but no individual requests, readings or packets")
	}
	shown := 0
	for _, t := range r.Trials {
		if t.Reason == "" || t.State == store.Valid {
			continue
		}
		if shown++; shown > 5 {
			r.Warnings = append(r.Warnings, "further invalid trials are in the ledger")
			break
		}
		r.Warnings = append(r.Warnings, t.Reason)
	}
}

// damage is the warning that stands above everything else.
func (r *Report) damage() []string {
	if len(r.Damage) == 0 {
		return nil
	}
	out := []string{"These results have changed since the lab wrote them; do not trust what follows."}
	return append(out, r.Damage...)
}
