package report

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
)

// headline are the terms of a history for which none were named: the time by which a report of the newest run ranks.
// Runs that lack it, as those of a study that did not ask for it yet, have their RTT beside it.
func (h *History) headline(newest Past) []advise.Term {
	rtt := advise.Term{Response: "rtt"}
	switch {
	case newest.has(newest.Time) && newest.Time != rtt.Response:
		out := []advise.Term{{Response: newest.Time, Side: measure.Client}}
		var without []Past
		for _, p := range h.Runs {
			if !p.has(newest.Time) && p.has(rtt.Response) {
				without = append(without, p)
			}
		}
		if len(without) > 0 {
			h.time = fmt.Sprintf("; %s %s no %s (such as %s), so the RTT, which leaves out %s, is judged, too",
				plural.Count(len(without), "run"), plural.Verb(len(without), "has", "have"), newest.Time,
				without[len(without)-1].Dir, leftOutOf(newest.Time))
			out = append(out, rtt)
		}
		return out
	case newest.has(rtt.Response):
		if newest.Lacks != "" {
			h.time = fmt.Sprintf("; %s has no %s, so the RTT is judged, which leaves out %s", newest.Dir, newest.Lacks,
				leftOutOf(newest.Lacks))
		}
		return []advise.Term{rtt}
	}
	return []advise.Term{{Response: newest.Figures[0].Response}}
}

// Headline is the time by which a report of it ranks, with its side where it may have two.
func (p Past) Headline() string {
	if p.Time == "rtt" {
		return p.Time
	}
	return string(measure.Client) + "." + p.Time
}

// WithoutWait says what the RTT of a result leaves out, where a report would rank by another time that was not
// measured; empty: nothing.
func (p Past) WithoutWait() string {
	if p.Lacks == "" {
		return ""
	}
	return fmt.Sprintf("%s has no %s: the RTT leaves out %s", p.Dir, p.Lacks, leftOutOf(p.Lacks))
}

// leftOutOf is what a response has and an RTT has not.
func leftOutOf(response string) string {
	if response == "total_time" {
		return "connecting"
	}
	return "the wait of requests that were due"
}

// has reports whether a response was measured at the client.
func (p Past) has(response string) bool {
	return slices.ContainsFunc(p.Figures, func(f PastFigure) bool {
		return f.Response == response && f.Side == measure.Client
	})
}

// timeAndLack are the response by which times are ranked, and that which would be, had it been measured; empty: it is.
func (r *Report) timeAndLack() (time, lack string) {
	treatments := r.allRanked()
	time = r.timeOf(treatments)
	if waits := r.withWait(treatments); time == "rtt" && len(waits) > 0 {
		lack = waits[0]
	}
	return time, lack
}
