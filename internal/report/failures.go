package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	return []string{text + ". Times and throughput are of those that were answered" + r.wireOfAnswered() +
		"; CPU time and energy are per request sent, so who fails at once spends little."}
}

// wireOfAnswered says of which requests the figures of packets are, where there are any.
func (r *Report) wireOfAnswered() string {
	if !slices.ContainsFunc(r.Cells, func(c Cell) bool {
		return slices.Contains([]string{"wire_bytes", "packets", "retransmissions"}, c.Response)
	}) {
		return ""
	}
	return ", and so are bytes and packets on the wire where those of a request can be told apart"
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

// lostTo are the counts of a quality record that say why devices got no answers.
var lostTo = []struct{ key, says string }{
	{"lost_asleep", "%.0f messages came while devices slept"}, {"lost_at_nat", "%.0f were lost at the NAT"},
	{"lost_by_link", "%.0f were lost by the link"}, {"answers_late", "%.0f answers came after timeouts.request"},
	{"handshakes_failed", "%.0f handshakes failed"}, {"connections_failed", "%.0f connections could not be opened"},
	{"connections_broken", "%.0f connections ended, or were given up"},
}

// doubtUnanswered says of devices of which no request was answered in some trials what was seen of the reason.
func (r *Report) doubtUnanswered(treatment int, trials []map[string]float64) {
	if s := r.Treatments[treatment].setup; s == nil || s.Population.Devices == 0 {
		return
	}
	n, requests, lost := 0, 0.0, map[string]float64{}
	for _, m := range trials {
		if m["requests"] == 0 || m["failures"] < m["requests"] {
			continue
		}
		n++
		requests += m["requests"]
		for _, x := range lostTo {
			lost[x.key] += m[x.key]
		}
	}
	if n == 0 {
		return
	}
	var why []string
	for _, x := range lostTo {
		if lost[x.key] > 0 {
			why = append(why, fmt.Sprintf(x.says, lost[x.key]))
		}
	}
	if len(why) == 0 {
		why = []string{"nothing came back; look whether the service is there"}
	}
	text := fmt.Sprintf("in %d of %s none of %.0f requests was answered: %s", n, plural.Count(len(trials), "trial"),
		requests, strings.Join(why, ", "))
	r.Warnings = append(r.Warnings, r.Treatments[treatment].Name()+": "+text)
}
