package advise

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge/internal/stat"
)

// An Objective is a figure to make small, or large.
type Objective struct {
	Term
	Maximize bool
}

func (o Objective) String() string {
	if o.Maximize {
		return "largest " + o.Term.String()
	}
	return "smallest " + o.Term.String()
}

// A Figure is one figure of a candidate.
type Figure struct {
	Term
	Unit   string
	Mean   stat.Summary
	Values []float64 // one a trial
}

// A Check is a requirement's verdict for one candidate; the worse side counts
// where both sides have the response.
type Check struct {
	Requirement Condition
	Verdict     stat.Verdict // confirmed: met beyond doubt
	Figure      Figure
	Needed      int // trials that would decide it; 0: cannot be said
	Doubt       string
}

// A Candidate is one treatment.
type Candidate struct {
	Name       string
	Objectives []Figure // in the order asked
	Checks     []Check
	Meets      stat.Verdict // all requirements
	// Ratio compares the first objective with the best candidate's, paired by
	// block; PHolm is over all candidates. Noise: it cannot be told from the best.
	Ratio  stat.Comparison
	PHolm  float64
	Noise  bool
	Needed int  // trials that would tell it from the best; 0: cannot be said
	Front  bool // no other candidate that may meet the requirements is better in one objective and as good in all
	BeatBy string
	Unsure bool // off the front by differences within noise only
}

// A Choice ranks the candidates: those that meet the requirements by the first
// objective, then those undecided, then those that do not.
type Choice struct {
	Candidates []Candidate
	Objectives []Objective
	Left       []string // treatments without the figures, and why
	Confidence float64
}

// ErrNotMeasured says that a figure was asked for that the results do not have.
var ErrNotMeasured = errors.New("not measured")

// Best is the first candidate that meets all requirements beyond doubt.
func (c Choice) Best() (Candidate, bool) {
	if len(c.Candidates) == 0 || c.Candidates[0].Meets != stat.Confirmed {
		return Candidate{}, false
	}
	return c.Candidates[0], true
}

// Choose ranks treatments, floors aside, by the objectives under the requirements.
func Choose(all []Series, objectives []Objective, requirements []Condition, confidence float64) (Choice, error) {
	c := Choice{Objectives: objectives, Confidence: confidence}
	terms := []Term{}
	for _, o := range objectives {
		terms = append(terms, o.Term)
	}
	for _, r := range requirements {
		terms = append(terms, r.Term)
	}
	if err := measured(all, terms); err != nil {
		return c, err
	}
	for _, name := range treatments(all) {
		x, err := candidate(all, name, objectives, requirements, confidence)
		if err != nil {
			c.Left = append(c.Left, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		c.Candidates = append(c.Candidates, x)
	}
	if len(c.Candidates) == 0 {
		return c, fmt.Errorf("%w: no treatment has all that is asked: %s", ErrNotMeasured, strings.Join(c.Left, "; "))
	}
	judgeChecks(c.Candidates, confidence)
	c.rank()
	c.front()
	c.noise(all)
	return c, nil
}

func measured(all []Series, terms []Term) error {
	have := map[string]bool{}
	for _, s := range all {
		have[s.Response] = true
	}
	for _, t := range terms {
		if !have[t.Response] {
			return fmt.Errorf("%w: no trial has %s; add it to responses: of the study and run it again", ErrNotMeasured, t.Response)
		}
	}
	return nil
}

func treatments(all []Series) []string {
	var out []string
	for _, s := range all {
		if n := s.Name(); !s.Floor && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func candidate(all []Series, name string, objectives []Objective, requirements []Condition, confidence float64) (Candidate, error) {
	c := Candidate{Name: name, Meets: stat.Confirmed, PHolm: math.NaN()}
	for _, o := range objectives {
		f, err := figure(all, name, o.Term, confidence, !o.Maximize)
		if err != nil {
			return c, err
		}
		c.Objectives = append(c.Objectives, f)
	}
	for _, r := range requirements {
		f, err := figure(all, name, r.Term, confidence, r.Less)
		k := Check{Requirement: r, Figure: f, Verdict: stat.Undecided}
		if err != nil {
			k.Doubt = err.Error()
		}
		c.Checks = append(c.Checks, k)
	}
	return c, nil
}

// figure finds a treatment's figure. Without a side in the term it is the worse
// side's: the larger, where small is good.
func figure(all []Series, name string, t Term, confidence float64, small bool) (Figure, error) {
	out, found := Figure{Term: t}, false
	for _, s := range all {
		if s.Name() != name || !t.Matches(s) {
			continue
		}
		xs, err := s.values(t.Figure)
		if err != nil {
			return out, err
		}
		m, err := stat.Mean(xs, confidence)
		if err != nil {
			return out, err
		}
		if !found || (m.Center > out.Mean.Center) == small {
			out = Figure{Term: Term{s.Side, t.Response, t.Figure}, Unit: s.Unit, Mean: m, Values: xs}
		}
		found = true
	}
	if !found {
		return out, fmt.Errorf("it has no valid trial with %s; see why in edgegauge report", t)
	}
	return out, nil
}

// judgeChecks holds every figure against its bound, Holm over all of them.
func judgeChecks(cs []Candidate, confidence float64) {
	var claims []stat.Claim
	var of []*Check
	for i := range cs {
		for j := range cs[i].Checks {
			k := &cs[i].Checks[j]
			claim := stat.Claim{Bound: 0, Below: k.Requirement.Less}
			if k.Doubt == "" {
				bounds := slices.Repeat([]float64{k.Requirement.Bound}, len(k.Figure.Values))
				x, err := stat.DifferencePaired(k.Figure.Values, bounds, confidence)
				if err != nil {
					k.Doubt = err.Error()
				}
				claim.Contrast = x
			}
			claims, of = append(claims, claim), append(of, k)
		}
	}
	alpha := 1 - confidence
	for i, v := range stat.Judge(claims, alpha) {
		k := of[i]
		if k.Verdict = v; k.Doubt != "" {
			k.Verdict = stat.Undecided
		}
		if k.Verdict == stat.Undecided && k.Doubt == "" {
			k.Needed = needed(stat.SD(k.Figure.Values), k.Figure.Mean.Center-k.Requirement.Bound, alpha/float64(len(of)))
		}
	}
	for i := range cs {
		for _, k := range cs[i].Checks {
			switch {
			case k.Verdict == stat.Contradicted:
				cs[i].Meets = stat.Contradicted
			case k.Verdict == stat.Undecided && cs[i].Meets == stat.Confirmed:
				cs[i].Meets = stat.Undecided
			}
		}
	}
}

// rank sorts: who meets, who may, who does not; within each by the first objective.
func (c *Choice) rank() {
	order := map[stat.Verdict]int{stat.Confirmed: 0, stat.Undecided: 1, stat.Contradicted: 2}
	slices.SortStableFunc(c.Candidates, func(a, b Candidate) int {
		if d := cmp.Compare(order[a.Meets], order[b.Meets]); d != 0 {
			return d
		}
		d := cmp.Compare(a.Objectives[0].Mean.Center, b.Objectives[0].Mean.Center)
		if c.Objectives[0].Maximize {
			d = -d
		}
		return d
	})
}

// better reports whether a is better than b in an objective.
func (c *Choice) better(a, b Candidate, objective int) bool {
	x, y := a.Objectives[objective].Mean.Center, b.Objectives[objective].Mean.Center
	if c.Objectives[objective].Maximize {
		return x > y
	}
	return x < y
}

// front marks the Pareto front among those that meet the requirements or may.
func (c *Choice) front() {
	for i := range c.Candidates {
		x := &c.Candidates[i]
		x.Front = x.Meets != stat.Contradicted
		for _, y := range c.Candidates {
			if y.Meets == stat.Contradicted || y.Name == x.Name || !x.Front {
				continue
			}
			wins, loses, clear := 0, 0, false
			for k := range c.Objectives {
				switch {
				case c.better(y, *x, k):
					wins++
					clear = clear || apart(y.Objectives[k], x.Objectives[k], c.Confidence)
				case c.better(*x, y, k):
					loses++
				}
			}
			if wins > 0 && loses == 0 {
				x.Front, x.BeatBy, x.Unsure = false, y.Name, !clear
			}
		}
	}
}

// apart reports whether two figures differ beyond noise.
func apart(a, b Figure, confidence float64) bool {
	x, err := stat.DifferenceWelch(a.Values, b.Values, confidence)
	return err == nil && (x.P < 1-confidence || x.Lo == x.Hi && x.Estimate != 0)
}

// noise compares the first objective of each candidate with that of the best,
// paired by block, and says what would tell them apart.
func (c *Choice) noise(all []Series) {
	best := &c.Candidates[0]
	best.Ratio = stat.Comparison{Estimate: 1, Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}
	var ps []float64
	for i := range c.Candidates[1:] {
		x := &c.Candidates[i+1]
		x.Ratio = stat.Comparison{Estimate: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}
		a, okA := series1(all, x.Name, x.Objectives[0].Term)
		b, okB := series1(all, best.Name, best.Objectives[0].Term)
		if okA && okB {
			if xs, ys, err := blocks(a, b, x.Objectives[0].Figure); err == nil {
				if r, err := stat.RatioPaired(xs, ys, c.Confidence); err == nil {
					x.Ratio = r
				}
			}
		}
		ps = append(ps, x.Ratio.P)
	}
	alpha := 1 - c.Confidence
	for i, p := range stat.Holm(ps) {
		x := &c.Candidates[i+1]
		x.PHolm = p
		exact := math.IsNaN(p) && x.Ratio.Lo == x.Ratio.Hi && x.Ratio.Estimate != 1
		if x.Noise = !(p < alpha) && !exact; x.Noise && !math.IsNaN(x.Ratio.Estimate) {
			a, _ := series1(all, x.Name, x.Objectives[0].Term)
			b, _ := series1(all, best.Name, best.Objectives[0].Term)
			if xs, ys, err := blocks(a, b, x.Objectives[0].Figure); err == nil {
				d := make([]float64, len(xs))
				for j := range xs {
					d[j] = math.Log(xs[j] / ys[j])
				}
				x.Needed = needed(stat.SD(d), math.Log(x.Ratio.Estimate), alpha/float64(max(1, len(ps))))
			}
		}
	}
}

func series1(all []Series, name string, t Term) (Series, bool) {
	i := slices.IndexFunc(all, func(s Series) bool { return s.Name() == name && t.Matches(s) && s.Side == t.Side })
	if i < 0 {
		return Series{}, false
	}
	return all[i], true
}

// Next says what to measure to be surer, the most telling first.
func (c Choice) Next() []string {
	var out []string
	for _, x := range c.Candidates {
		for _, k := range x.Checks {
			if k.Verdict != stat.Undecided {
				continue
			}
			switch {
			case k.Doubt != "":
				out = append(out, fmt.Sprintf("%s, %s: %s", x.Name, k.Requirement.Text, k.Doubt))
			case k.Needed > 0:
				out = append(out, fmt.Sprintf("%s, %s: about %d trials would tell (it has %d)", x.Name, k.Requirement.Text, max(k.Needed, len(k.Figure.Values)+1), len(k.Figure.Values)))
			default:
				out = append(out, fmt.Sprintf("%s, %s: it lies on the bound; no affordable number of trials would tell", x.Name, k.Requirement.Text))
			}
		}
	}
	for _, x := range c.Candidates[1:] {
		if !x.Noise || x.Meets == stat.Contradicted {
			continue
		}
		n := len(x.Objectives[0].Values)
		switch {
		case math.IsNaN(x.Ratio.Estimate):
			out = append(out, fmt.Sprintf("%s against %s: run at least two blocks that have both", x.Name, c.Candidates[0].Name))
		case x.Needed > 0:
			out = append(out, fmt.Sprintf("%s against %s, %.1f %% apart: about %d trials each would tell (there are %d)", x.Name, c.Candidates[0].Name, 100*math.Abs(x.Ratio.Estimate-1), max(x.Needed, n+1), n))
		default:
			out = append(out, fmt.Sprintf("%s against %s: as good as equal; choose by something else", x.Name, c.Candidates[0].Name))
		}
	}
	return out
}
