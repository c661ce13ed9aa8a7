package advise

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
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

// Against says that the same response, of a side that both are about, is to be small in one and large in the other.
func (o Objective) Against(p Objective) bool {
	return o.Maximize != p.Maximize && o.Response == p.Response && (o.Side == p.Side || o.Side == "" || p.Side == "")
}

// An Estimate is one figure of a candidate.
type Estimate struct {
	Term
	Unit     string
	Center   stat.Summary // over the trials
	Values   []float64    // one a trial
	Modelled bool         // computed from a model, not measured
	AtMost   bool         // Center and its interval are of a bound, and the figure may be anything below
	Failed   float64      // as Series.Failed
	Requests int          // as Series.Requests
	// Answered says why it is of the answered requests alone, where it would be of all of them; empty: it is as it should.
	Answered string

	waiting float64 // as Series.Waiting, where the trials were starved
	units   bool    // as Series.Units
	unseen  float64 // as Series.Unseen
	ticks   bool    // as Series.Ticks
	step    float64 // as Series.Step
	exact   bool    // as Series.exact

	punctual *Estimate // of a share of requests that failed, without those that may have been late, where it has waiting
}

// A Check is a requirement's verdict for one candidate. Where both sides have the response, it is that of the side
// which is the furthest from meeting it beyond doubt, and of two that are alike that of the worse one.
type Check struct {
	Requirement Condition
	Verdict     stat.Verdict // confirmed: met beyond doubt
	Figure      Estimate     // of that side
	Needed      int          // trials that would decide it; 0: cannot be said
	Doubt       string       // why nothing could be tested; empty: it was

	sides []Estimate   // of all sides that it is about
	worse measure.Side // that with the worse figure
}

// A Need is a requirement on what no trial measures but a model tells, such as a
// battery's life. Judge gives the check of a treatment by its levels.
type Need struct{ Judge func(levels []string) Check }

// A Candidate is one treatment.
type Candidate struct {
	Name       string
	Levels     []string   // of every factor
	Objectives []Estimate // in the order asked
	Checks     []Check
	Meets      stat.Verdict // all requirements
	// Ratio compares the first objective with the best candidate's, paired by
	// block, over all pairs at once; PAdjusted is the p of that. Noise: there is no
	// significant difference from the best.
	Ratio      stat.Comparison
	Difference bool // Ratio is a difference, since some value is not positive
	PAdjusted  float64
	Noise      bool
	Same       bool    // its figure is exactly that of the best, and nothing tells them apart
	Centers    float64 // first objective over the best's in the blocks that both have, which Odd is judged by; or NaN
	Odd        bool    // mean and typical trial disagree: a few trials weigh much
	Turned     bool    // it ranks behind the best, and is better in the blocks that both have
	Starved    bool    // programs waited for a CPU: only what that cannot explain is decided
	Slowed     bool    // the difference from the best is significant, and waiting for a CPU may explain it
	Needed     int     // trials that would tell it from the best; 0: cannot be said
	Front      bool    // no other candidate that may meet the requirements is better in one objective and as good in all
	BeatBy     string  // a candidate that keeps it off the front; empty: it is on it
	Unsure     bool    // none is so beyond noise in every objective in which they differ

	waited bool // waiting for a CPU may explain a difference from the best, even where nothing was starved
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

// Choose ranks treatments, floors aside, by the objectives under the requirements and
// needs. Holm's correction is over the requirements: a model's interval is no test.
func Choose(all []Series, objectives []Objective, requirements []Condition, confidence float64,
	needs ...Need) (Choice, error) {
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
	var failing []Term // of each treatment left out, what is a request that failed
	for _, levels := range treatments(all) {
		x, err := candidate(all, levels, objectives, requirements, confidence)
		if err != nil {
			c.Left = append(c.Left, fmt.Sprintf("%s: %v", x.Name, err))
			if of := (ofFailed{}); errors.As(err, &of) && !of.unseen {
				failing = append(failing, objectives[len(x.Objectives)].Term)
			}
			continue
		}
		c.Candidates = append(c.Candidates, x)
	}
	if len(c.Candidates) == 0 && len(failing) > 0 && len(failing) == len(c.Left) {
		return c, allFail(all, failing)
	}
	if len(c.Candidates) == 0 {
		return c, fmt.Errorf("%w: no treatment has every requested figure: %s", ErrNotMeasured, strings.Join(c.Left, "; "))
	}
	judgeChecks(c.Candidates, confidence)
	for i := range c.Candidates {
		doubtMeans(c.Candidates[i].Checks)
		for _, n := range needs {
			c.Candidates[i].Checks = append(c.Candidates[i].Checks, n.Judge(c.Candidates[i].Levels))
		}
	}
	meet(c.Candidates)
	c.rank()
	c.noise(all)
	c.front(all)
	return c, nil
}

func measured(all []Series, terms []Term) error {
	have := map[string]bool{}
	for _, s := range all {
		have[s.Response] = true
	}
	for _, t := range terms {
		if !have[t.Response] {
			return fmt.Errorf("%w: no trial has %s; add it to the study's responses and run it again",
				ErrNotMeasured, t.Response)
		}
		if err := shown(all, t); err != nil {
			return err
		}
	}
	return nil
}

// treatments are the levels of all but the floors. Names do not tell them apart: "a b", "c" reads as "a", "b c" does.
func treatments(all []Series) [][]string {
	var out [][]string
	for _, s := range all {
		if !s.Floor && !slices.ContainsFunc(out, func(of []string) bool { return slices.Equal(of, s.Levels) }) {
			out = append(out, s.Levels)
		}
	}
	return out
}

func candidate(all []Series, levels []string, objectives []Objective, requirements []Condition,
	confidence float64) (Candidate, error) {
	c := Candidate{Name: strings.Join(levels, " "), Levels: levels, Meets: stat.Confirmed, PAdjusted: math.NaN()}
	for _, o := range objectives {
		f, err := figure(all, levels, o.Term, confidence, !o.Maximize, headlineOf)
		if err != nil {
			return c, err
		}
		c.Objectives = append(c.Objectives, f)
	}
	for _, r := range requirements {
		of, answered := all, ""
		f, err := figure(of, levels, r.Term, confidence, r.Less, meanOf)
		if failed := (ofFailed{}); errors.As(err, &failed) { // they may still break it
			of, answered = AnsweredOnly(all), failed.Error()
			f, err = figure(of, levels, r.Term, confidence, r.Less, meanOf)
		}
		f.Answered = answered
		k := Check{Requirement: r, Figure: f, Verdict: stat.Undecided, worse: f.Side}
		if err == nil {
			k.sides, err = figuresOf(of, levels, r.Term, confidence, meanOf)
			for i := range k.sides {
				k.sides[i].Answered = answered
			}
		}
		if few := (lacking{}); errors.As(err, &few) {
			k.Doubt = fmt.Sprintf("a trial has no %s of %s: %s", few.figure, few.response, few.advice())
		} else if err != nil {
			k.Doubt = err.Error()
		}
		c.Checks = append(c.Checks, k)
	}
	return c, nil
}

// figure finds a treatment's figure. Without a side in the term it is the worse
// side's: the larger, where small is good.
func figure(all []Series, levels []string, t Term, confidence float64, small bool,
	center func(Series, string, []float64, float64) (stat.Summary, error)) (Estimate, error) {
	sides, err := figuresOf(all, levels, t, confidence, center)
	if err != nil {
		nan := math.NaN()
		out := Estimate{Term: t, Center: stat.Summary{Center: nan, Lo: nan, Hi: nan}}
		if own := ofTreatment(all, levels, t); len(own) == 1 {
			out.Side = own[0].Side
		}
		return out, err
	}
	out, modelled := sides[0], false
	for i, f := range sides {
		modelled = modelled || f.Modelled // which one is the worse rests on it
		if i > 0 && (f.Center.Center > out.Center.Center) == small {
			out = f
		}
	}
	out.Modelled = modelled
	return out, nil
}

// ofTreatment are the series of what a term means.
func ofTreatment(all []Series, levels []string, t Term) []Series {
	return slices.DeleteFunc(slices.Clone(all), func(s Series) bool {
		return !slices.Equal(s.Levels, levels) || !t.Matches(s)
	})
}

// figuresOf are a treatment's figures of what a term means, one of each side. Every side that others have must be
// known.
func figuresOf(all []Series, levels []string, t Term, confidence float64,
	center func(Series, string, []float64, float64) (stat.Summary, error)) ([]Estimate, error) {
	own := ofTreatment(all, levels, t)
	for _, side := range sidesOf(all, t) {
		if len(own) > 0 && !slices.Contains(sidesOf(own, t), side) { // which may be the worse one
			return nil, fmt.Errorf("it has no %s of the %s, as others have, and the worse side counts; %s.%[1]s is of all",
				t.Response, side, own[0].Side)
		}
	}
	var out []Estimate
	for _, s := range own {
		xs, err := s.values(t.Figure)
		if err != nil {
			return nil, err
		}
		m, err := center(s, t.Figure, xs, confidence)
		if err != nil {
			return nil, err
		}
		f := Estimate{Term: Term{Side: s.Side, Response: t.Response, Figure: t.Figure}, Unit: s.Unit,
			Center: m.Hiding(s.Unseen), unseen: s.Unseen, Values: xs, Modelled: s.Modelled, Failed: s.Failed,
			Requests: s.Requests, units: s.Units, ticks: s.Ticks, step: s.Step, exact: s.exact()}
		if s.Starved() {
			f.waiting = s.Waiting
			if s.Response == "failed_share" {
				f.punctual = f.withoutLate(s)
			}
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it has no valid trial with %s; edgegauge report shows why", t)
	}
	return out, nil
}

// sidesOf are the sides of which some treatment, floors aside, has what a term means.
func sidesOf(all []Series, t Term) []measure.Side {
	var out []measure.Side
	for _, s := range all {
		if t.Matches(s) && !s.Floor && !slices.Contains(out, s.Side) {
			out = append(out, s.Side)
		}
	}
	return out
}

// headlineOf is the center that report shows: the median of trials' medians and quantiles, else the mean.
func headlineOf(s Series, figure string, xs []float64, confidence float64) (stat.Summary, error) {
	if byMedian(Term{Figure: figure}, s.Units) {
		return stat.Quantile(xs, 0.5, confidence)
	}
	return meanOf(s, figure, xs, confidence)
}

// byMedian reports whether the center of trials is their median. Of few trials it has no interval, and is the one that
// report shows nevertheless. Order statistics would take benches for trials.
func byMedian(t Term, units bool) bool { return (t.Figure == "median" || t.Figure == "p95") && !units }

// Counting are the sides that count in what a term means, for some treatment: those that are the worse one.
func Counting(all []Series, t Term) []measure.Side {
	r, _ := measure.FindResponse(t.Response)
	var out []measure.Side
	for _, levels := range treatments(all) {
		f, err := figure(all, levels, Term{Side: t.Side, Response: t.Response, Figure: "mean"}, 0.95,
			r.Better() != measure.More, meanOf)
		if err == nil && !slices.Contains(out, f.Side) {
			out = append(out, f.Side)
		}
	}
	return out
}

// badness orders verdicts, the best first.
var badness = map[stat.Verdict]int{stat.Confirmed: 0, stat.Undecided: 1, stat.Contradicted: 2}

// judgeChecks holds every figure against its bound, Holm over all of them. A requirement on both sides is met where
// both meet it: the side that is better on average may be the one of which less is known.
func judgeChecks(cs []Candidate, confidence float64) {
	var claims []stat.Claim
	var of []*Check
	var figures []Estimate
	for i := range cs {
		for j := range cs[i].Checks {
			k := &cs[i].Checks[j]
			var own []stat.Claim
			for _, f := range k.sides {
				x, err := f.over(k.Requirement.Bound, confidence)
				if err != nil {
					k.Doubt = err.Error()
				}
				own = append(own, stat.Claim{Contrast: x, Bound: 0, Below: k.Requirement.Less})
			}
			if k.Doubt != "" {
				continue
			}
			k.Verdict = "" // of no side yet
			for n, f := range k.sides {
				claims, of, figures = append(claims, own[n]), append(of, k), append(figures, f)
			}
		}
	}
	alpha := 1 - confidence
	own := alpha / float64(max(1, len(claims))) // of one claim
	for i, v := range stat.Judge(claims, alpha) {
		k, doubt := of[i], ""
		if at := k.Requirement.atBound(figures[i]); at != "" {
			v = at
		}
		if v != stat.Undecided {
			if doubt = k.Requirement.ofFewRequests(figures[i], own); doubt != "" {
				v = stat.Undecided
			}
		}
		if v != stat.Undecided && k.Requirement.waitingExplains(figures[i], own, confidence) {
			v = stat.Undecided
			doubt = "programs waited for a CPU, which may explain it; measure again on a quieter machine"
		}
		if v != stat.Undecided && (v == stat.Confirmed) == k.Requirement.Less { // it is said to lie below
			if is := figures[i].notAnswered(own); is != "" {
				v, doubt = stat.Undecided, is
			}
		}
		if v == stat.Undecided && claims[i].Contrast.Hides(0) {
			doubt = meterHides
		}
		if v == stat.Undecided && claims[i].Contrast.Follows() {
			doubt = "its trials follow each other, as on a machine that drifts, and tell less than so many would; measure " +
				"again on a quieter machine"
		}
		if worse := badness[v] - badness[k.Verdict]; k.Verdict == "" || worse > 0 ||
			worse == 0 && figures[i].Side == k.worse {
			k.Verdict, k.Figure, k.Doubt = v, figures[i], doubt
		}
	}
	for _, k := range of {
		if k.Verdict == stat.Undecided && k.Doubt == "" {
			xs := k.Figure.Values
			k.Needed = needed(stat.SD(xs), float64(len(xs)-1), k.Figure.Center.Center-k.Requirement.Bound, own)
			if c, err := k.Figure.over(k.Requirement.Bound, confidence); err == nil && k.Needed == 0 {
				k.Needed, _ = c.Ticks(own)
			}
		}
	}
}

// over is a figure less a bound. Units of benches have no order.
func (f Estimate) over(bound, confidence float64) (c stat.Comparison, err error) {
	if f.units {
		c, err = stat.DifferencePaired(f.Values, slices.Repeat([]float64{bound}, len(f.Values)), confidence)
	} else {
		c, err = stat.DifferenceOfRun(f.Values, bound, confidence)
	}
	if err == nil && f.ticks {
		c = c.OfClock(f.Values, nil, f.step)
	}
	return c.Hiding(f.Values, nil, f.unseen, 0), err
}

// waitingExplains reports whether the verdict on a figure would turn if programs had not waited for a
// CPU: times would have been shorter, rates higher, and requests without an answer in time might have had one. Alpha is
// the level of one claim.
func (c Condition) waitingExplains(f Estimate, alpha, confidence float64) bool {
	if f.Response == "failed_share" && f.waiting > 0 {
		if f.Center.Center < c.Bound {
			return false
		}
		x, err := f.punctual.over(c.Bound, confidence)
		p := x.Against(0) // NaN: values that do not differ are what they are
		above, _ := f.punctual.failures().Beyond(c.Bound)
		return err != nil || !(x.Estimate > 0) || p >= alpha || f.Requests > 0 && !(above < alpha)
	}
	return WaitingTurns(f.waiting, f.Center.Center, f.Unit, c.Bound)
}

// meet says of each candidate whether it meets all that is asked.
func meet(cs []Candidate) {
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

// rank sorts: candidates that meet the requirements, those that may, those that do
// not; within each by the first objective.
func (c *Choice) rank() {
	slices.SortStableFunc(c.Candidates, func(a, b Candidate) int {
		if d := cmp.Compare(badness[a.Meets], badness[b.Meets]); d != 0 {
			return d
		}
		d := cmp.Compare(a.Objectives[0].Center.Center, b.Objectives[0].Center.Center)
		if c.Objectives[0].Maximize {
			d = -d
		}
		return d
	})
}

// better reports whether a is better than b in an objective.
func (c *Choice) better(a, b Candidate, objective int) bool {
	x, y := a.Objectives[objective].Center.Center, b.Objectives[objective].Center.Center
	if c.Objectives[objective].Maximize {
		return x > y
	}
	return x < y
}
