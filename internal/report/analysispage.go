package report

import _ "embed"

// analysisHTML defines the template "analysis": what the page says besides
// plan, figures and facts.
//
//go:embed page/analysis.html
var analysisHTML string

// judgement is what the page concludes, in words.
type judgement struct {
	Paper, Aside, Tally, Setup, Ours string
	Differs                          []string
	Besides                          [][]string
	Claims                           []claimRow
	Effects                          []effectsView
}

func (r *Report) judgement() judgement {
	j := judgement{Effects: r.effectsViews()}
	if s := r.Published; s != nil {
		j.Paper, j.Aside, j.Tally, j.Setup, j.Ours, j.Differs = s.Paper.Reference(), capital(s.Paper.Aside), tally(*s),
			s.Paper.Setup, r.ownSetup(), s.Differs
		j.Besides, j.Claims = r.besideRows(), r.claimRows()
	}
	return j
}
