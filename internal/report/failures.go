package report

import (
	"cmp"
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// sayFailed says how many requests of each treatment failed, where the study allows failures: who fails at once is not
// quick, and a ranking is of the requests that were answered.
func (r *Report) sayFailed() []string {
	if r.Study.Failures == nil {
		return nil
	}
	var failing []Treatment
	var rest stat.Share
	others := 0
	for _, t := range r.Treatments {
		switch all := stat.Pooled(t.failed); {
		case all.Hits > 0:
			failing = append(failing, t)
		case all.N > 0:
			others++
			rest = stat.Pooled([]stat.Share{rest, all})
		}
	}
	if len(failing) == 0 {
		return nil
	}
	slices.SortStableFunc(failing, func(a, b Treatment) int {
		return cmp.Compare(stat.Pooled(b.failed).Of(), stat.Pooled(a.failed).Of())
	})
	var names []string
	for _, t := range failing {
		all := stat.Pooled(t.failed)
		names = append(names, fmt.Sprintf("%s %d of %d (%.3g %%)", t.Name(), all.Hits, all.N, 100*all.Of()))
	}
	text := "Failed requests: " + list(names, mostNames)
	if others > 0 {
		text += fmt.Sprintf("; of %s none of %d", plural.Count(others, "other treatment"), rest.N)
	}
	return []string{text + ". Times and throughput are of those that were answered; CPU time and energy are per request " +
		"sent, so who fails at once spends little."}
}

// doubtRefused warns where attempts did not count since more of their requests failed than the study allows, and the
// treatment has trials that do: these are the luckier ones.
func (r *Report) doubtRefused(noted map[store.AttemptID][]store.Quality) {
	refused := map[int][]stat.Share{} // by trial
	for id, qualities := range noted {
		m := map[string]float64{}
		for _, q := range qualities {
			m[q.Key] = q.Value
		}
		if m[store.FailuresRefused] > 0 {
			refused[id.Trial] = append(refused[id.Trial], stat.Share{Hits: int(m["failures"]), N: int(m["requests"])})
		}
	}
	of := make([][]stat.Share, len(r.Treatments))
	for _, t := range r.Trials {
		if i := r.TreatmentOf(t.Treatment); i >= 0 {
			of[i] = append(of[i], refused[t.ID]...)
		}
	}
	for i, all := range of {
		if len(all) == 0 || r.Treatments[i].Valid == 0 {
			continue
		}
		worst := slices.MaxFunc(all, func(a, b stat.Share) int { return cmp.Compare(a.Of(), b.Of()) })
		text := fmt.Sprintf("%s did not count, since requests failed (up to %.3g %%): what counts are the luckier trials, "+
			"and their times and shares of failures look better than the service is; write failures: %s, and measure again "+
			"into a new directory", plural.Count(len(all), "attempt"), 100*worst.Of(), study.FailuresFor(worst.Hits, worst.N))
		r.Alarms = append(r.Alarms, r.Treatments[i].Name()+": "+text)
		r.warnCells(i, measure.Client, nil, text)
	}
}
