package report

import (
	"cmp"
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// doubtFaults finds the attempts that do not count for what the programs did, and warns where trials of the treatment
// count all the same: they do not tell how often its programs fail. Of attempts of which requests failed, or that
// timeouts.trial ended, other warnings speak.
func (r *Report) doubtFaults(recorded map[store.AttemptID][]store.Quality, attempts []store.AttemptState) {
	at := map[int]store.TrialState{}
	for _, t := range r.Trials {
		at[t.ID] = t
	}
	type account struct {
		had, inTime map[int]bool // trials
		told        int          // attempts of which other warnings speak
		why         string       // the first of which none does
	}
	of := make([]account, len(r.Treatments))
	for i := range of {
		of[i] = account{had: map[int]bool{}, inTime: map[int]bool{}}
	}
	for _, a := range attempts {
		t := at[a.Trial]
		i := r.TreatmentOf(t.Treatment)
		if i < 0 || r.isAside(a.Trial) || Dropped(r.Study, t) || !a.IsFault() {
			continue
		}
		f, x := &r.Treatments[i].faults, &of[i]
		f.Attempts++
		f.First = cmp.Or(f.First, a.Why())
		if x.had[a.Trial] = true; !a.MayBeLate() {
			x.inTime[a.Trial] = true
		}
		if study.WasTooLong(a.Reason) || slices.ContainsFunc(recorded[a.AttemptID], func(q store.Quality) bool {
			return q.Key == store.FailuresRefused
		}) {
			x.told++
		} else {
			x.why = cmp.Or(x.why, a.Why())
		}
	}
	for i := range r.Treatments {
		t, x := &r.Treatments[i], of[i]
		t.faults.Trials, t.faults.InTime = len(x.had), len(x.inTime)
		for trial := range x.had {
			if at[trial].State == store.Valid {
				t.faults.Saved++
			}
		}
		if n := t.faults.Attempts - x.told; n > 0 && t.Valid > 0 {
			text := fmt.Sprintf("%d of %s at its trials failed for what its programs did, and others were taken: the figures "+
				"are of those that worked; the first: %s", n, plural.Count(t.faults.Attempts+t.Valid, "attempt"), x.why)
			r.Alarms = append(r.Alarms, t.Name()+": "+text)
			r.warnCells(i, measure.Client, nil, text)
		}
	}
}
