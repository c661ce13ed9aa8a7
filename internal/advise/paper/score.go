package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge/internal/advise"
	"edgegauge/internal/stat"
)

// A Figure is what a claim is judged by.
type Figure struct {
	Kind string // ratio, difference, exponent, slope, share, spread ratio
	Unit string // of a difference or a slope
	stat.Comparison

	why string // there is none
}

// even is what the figure is where both sides are equal.
func (f Figure) even() float64 {
	if f.Kind == "difference" {
		return 0
	}
	return 1
}

// None reports whether there is no such figure.
func (f Figure) None() bool { return f.Kind == "" || math.IsNaN(f.Estimate) }

// A Part is one of the tests a claim rests on.
type Part struct {
	Where string // what is compared, and where: "coap over rest, ip ipv6"
	Ours  Figure
	Holds float64 // p of the part being as claimed
	Fails float64 // p of the contrary
	Why   string  // it could not be tested
}

// A Judged is a claim with what ours say of it.
type Judged struct {
	Claim
	Verdict  stat.Verdict
	Ours     Figure // of the whole, where one figure states it
	Parts    []Part
	P, PHolm float64  // of the verdict; NaN where nothing was tested
	Missing  []string // published treatments that were not measured
	Modelled bool     // ours is computed from a model
	Why      []string
	// Covered says whether the published figure lies in our interval (or, of a
	// range, meets it); nil where it cannot be said.
	Covered *bool

	whole bool // missing treatments leave what was measured telling
}

// A Scorecard is every claim of a paper with its verdict.
type Scorecard struct {
	Paper   Paper
	Differs []string // in what our set-up differs, as the study says
	Claims  []Judged
}

// Judge gives each claim its verdict, with Holm over all of them: the chance
// that any verdict but undecided is wrong is at most 1-confidence.
//
// A claim that rests on several parts is confirmed if all of them hold (p: the
// largest), and contradicted if any does not (p: the least times their number).
func (p Paper) Judge(series []advise.Series, m Mapping, confidence float64) Scorecard {
	out := Scorecard{Paper: p, Differs: m.Differs}
	v := p.view(series, m)
	ps := make([]float64, len(p.Claims))
	for i, c := range p.Claims {
		j := v.test(c, confidence)
		out.Claims = append(out.Claims, j)
		ps[i] = j.P
	}
	for i, holm := range stat.Holm(ps) {
		out.Claims[i].conclude(holm, 1-confidence)
	}
	return out
}

// test makes the parts of one claim and joins their p values.
func (v view) test(c Claim, confidence float64) Judged {
	j := Judged{Claim: c, P: math.NaN(), PHolm: math.NaN(), Verdict: stat.Undecided}
	t := tester{view: v, claim: c, confidence: confidence, judged: &j}
	for _, f := range forms {
		if f.is(c) {
			f.test(&t)
			break
		}
	}
	j.join()
	if len(j.Parts) == 1 {
		j.Ours = j.Parts[0].Ours
	}
	j.cover()
	return j
}

// join makes P of the parts' p values; its sign in Verdict is provisional.
func (j *Judged) join() {
	if len(j.Parts) == 0 {
		return
	}
	holds, fails := 0.0, 1.0
	for _, p := range j.Parts {
		holds, fails = max(holds, p.Holds), min(fails, p.Fails)
	}
	fails = min(1, fails*float64(len(j.Parts)))
	if len(j.Missing) > 0 {
		holds = 1
		if !j.whole {
			fails = 1
		}
	}
	if j.Modelled {
		holds, fails = 1, 1
	}
	if j.P = min(holds, fails); holds < fails {
		j.Verdict = stat.Confirmed
	} else if fails < holds {
		j.Verdict = stat.Contradicted
	}
}

// conclude keeps the provisional verdict if the adjusted p allows it, and says why not.
func (j *Judged) conclude(holm, alpha float64) {
	j.PHolm = holm
	if len(j.Missing) > 0 {
		j.Why = append(j.Why, "not measured: "+strings.Join(j.Missing, "; "))
	}
	if j.Modelled {
		j.Why = append(j.Why, "ours is modelled, by constants from published tables; only a meter can decide")
	}
	for _, p := range j.Parts {
		if p.Why != "" && len(j.Missing) == 0 && !slices.Contains(j.Why, p.Why) {
			j.Why = append(j.Why, p.Why)
		}
	}
	if holm < alpha && j.Verdict != stat.Undecided {
		return
	}
	j.Verdict = stat.Undecided
	if len(j.Why) == 0 {
		j.Why = append(j.Why, j.doubt(alpha))
	}
}

func (j *Judged) doubt(alpha float64) string {
	if j.P < alpha {
		return fmt.Sprintf("clear by itself (p %.2g), not among all claims of the study (Holm: p %.2g); more trials would tell", j.P, j.PHolm)
	}
	return "the intervals leave both open; more trials would tell"
}

// Void leaves every claim undecided, for one reason.
func (s *Scorecard) Void(why string) {
	for i := range s.Claims {
		s.Claims[i].Verdict, s.Claims[i].Why = stat.Undecided, []string{why}
	}
}

// cover says whether the published figure lies in our interval.
func (j *Judged) cover() {
	lo, hi, ok := j.Published()
	if !ok || j.Ours.None() || math.IsNaN(j.Ours.Lo) {
		return
	}
	in := j.Ours.Lo <= hi && lo <= j.Ours.Hi
	j.Covered = &in
}

// Published is the published figure, or the range of several.
func (c Claim) Published() (lo, hi float64, ok bool) {
	switch {
	case c.Ratio != nil:
		return c.Ratio[0], c.Ratio[1], true
	case c.Exponent != nil:
		return c.Exponent[0], c.Exponent[1], true
	case c.Slope != nil:
		return *c.Slope, *c.Slope, true
	case c.Difference != nil:
		return *c.Difference, *c.Difference, true
	}
	return math.NaN(), math.NaN(), false
}
