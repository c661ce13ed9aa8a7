package report

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
)

// firstAsked adds the response that a study names first, where nothing asks for it: it is what the study is about.
func (r *Report) firstAsked(all [][]question) [][]question {
	if len(r.Study.Responses) == 0 {
		return all
	}
	first, ok := measure.FindResponse(r.Study.Responses[0].Text)
	asks := func(row []question) bool {
		return slices.ContainsFunc(row, func(q question) bool { return q.response == first.Name })
	}
	if !ok || first.Better() == measure.Neither || slices.ContainsFunc(slices.Concat(verdictOf, all), asks) {
		return all
	}
	var own [][]question
	best := map[measure.Direction]string{measure.Less: "Least", measure.More: "Highest"}[first.Better()]
	for _, side := range first.Sides {
		own = append(own, []question{{first.Name, fmt.Sprintf("%s %s of the %s", best, words(first.Name), side), side}})
	}
	return slices.Concat(own, all)
}

// timeOf is the response that says how long a request takes: the RTT, or where requests are due at a rate, or
// treatments connect for each, what has the wait for that in it, if it was measured.
func (r *Report) timeOf(treatments []int) string {
	for _, response := range r.withWait(treatments) {
		if slices.ContainsFunc(treatments, func(i int) bool {
			_, ok := r.Cell(i, measure.Client, response)
			return ok
		}) {
			return response
		}
	}
	return "rtt"
}

// withWait are the responses that have a wait in them that no RTT of these treatments has, the best first.
func (r *Report) withWait(treatments []int) (out []string) {
	if r.atRate(treatments) {
		out = append(out, "response_time")
	}
	if r.connecting(treatments) {
		out = append(out, "total_time", "response_time")
	}
	return out
}

// atRate says that requests of some treatments are due at instants that no answer moves: their RTT begins when they
// are sent, however late that is.
func (r *Report) atRate(treatments []int) bool {
	return slices.ContainsFunc(treatments, func(i int) bool {
		s := r.Treatments[i].setup
		return s != nil && (s.Rate > 0 || s.Population.Devices > 0)
	})
}

// connecting says that some treatments connect anew for each request: their RTT begins when the
// connection is there.
func (r *Report) connecting(treatments []int) bool {
	return slices.ContainsFunc(treatments, func(i int) bool {
		s := r.Treatments[i].setup
		return s != nil && s.Connection == "per-request"
	})
}

// allRanked are the treatments that verdicts rank.
func (r *Report) allRanked() (out []int) {
	for _, g := range r.groups() {
		out = append(out, g.treatments...)
	}
	return out
}

// MainResponse is the first, of those that a verdict answers, that was measured, and whether it is a time;
// empty: none was. The time is that of timeOf.
func (r *Report) MainResponse() (name string, time bool) {
	all := slices.Clone(verdictOf)
	if whole := r.timeOf(r.allRanked()); whole != "rtt" {
		all[0] = []question{{whole, "", measure.Client}}
	}
	for row, questions := range slices.Insert(all, 0, outagesOf) {
		for _, q := range questions {
			if slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Response == q.response && c.Side == q.side }) {
				return q.response, row == 1
			}
		}
	}
	return "", false
}
