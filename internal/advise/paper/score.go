package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Evidence is what a claim is judged by.
type Evidence struct {
	Kind string // ratio, difference, exponent, slope, share, spread ratio
	Unit string // of a difference or a slope
	stat.Comparison
	Strata []advise.Stratum // of an average over several

	why  string       // there is none
	both [2][]float64 // of a difference: both sides, paired by block

	alike int     // blocks that are all alike, of a figure that a clock gave; 0: they have a spread, or are counted
	off   float64 // by how much the steps of that clock may have shifted it
	apart bool    // and from where both sides are equal, since each has an error of its own: see advise.Series.Unseen

	lost []Evidence // the same with the requests that failed of one side at the limit; nil: none failed
}

// even is what the figure is where both sides are equal.
func (f Evidence) even() float64 {
	if f.Kind == "ratio" || f.Kind == "spread ratio" || f.Kind == "share" {
		return 1
	}
	return 0
}

// None reports whether there is no such figure.
func (f Evidence) None() bool { return f.Kind == "" || math.IsNaN(f.Estimate) }

// TellsNothing says that the interval of a ratio, or of a share, is so wide that its limits tell nothing.
func (f Evidence) TellsNothing() bool {
	switch f.Kind {
	case "ratio", "spread ratio":
		return advise.SaysNothing(f.Lo, f.Hi)
	case "share":
		return advise.TellsNothing(f.Estimate, f.Lo, f.Hi)
	}
	return false
}

// within is the figure with its interval, in words.
func (f Evidence) within() string {
	if f.TellsNothing() {
		return fmt.Sprintf("%.3g (%s)", f.Estimate, advise.Untold)
	}
	return fmt.Sprintf("%.3g (%.3g to %.3g)", f.Estimate, f.Lo, f.Hi)
}

// A Part is one of the tests a claim rests on.
type Part struct {
	Where string // what is compared, and where: "coap over rest, ip ipv6"
	Ours  Evidence
	Holds float64 // p of the part being as claimed
	Fails float64 // p of the contrary
	Why   string  // it could not be tested
	// Published is the ratio of this part alone; nil: the claim has one for all.
	Published []float64

	bounds  []float64  // between which, or on a side of which, it is tested
	several []Evidence // that it rests on, where Ours is none of them
}

// A Judged is a claim with what ours say of it.
type Judged struct {
	Claim
	Verdict stat.Verdict // of direction and size together
	// Direction and Size are judged apart: the side of 1 (or 0) that the claim
	// states, and whether ours lies within SizeBounds. Size is empty where the
	// claim states none.
	Direction, Size  stat.Verdict
	SizeP, SizePHolm float64
	Ours             Evidence // of the whole, where one figure states it
	Parts            []Part
	P, PHolm         float64  // of the verdict; NaN where nothing was tested
	Missing          []string // published treatments that were not measured
	Modelled         bool     // ours is computed from a model
	// Waiting is the longest wait for a CPU of the trials it rests on, in s for
	// each s of the run, where it is over advise's limit or differs between what is compared:
	// what such waiting can explain is not decided.
	Waiting float64
	wide    float64 // the factor that such waiting can explain; 0: none
	Why     []string
	// Decides says what would decide it; empty where it is decided.
	Decides []string
	Needs   Needs // the same, one by one
	// Beyond are figures, in words, that hold less than the paper's even of its own stacks (Paper.Outside): what rests on
	// them stays undecided.
	Beyond []string
	// SizeIs says where ours, or what the model gives, lies beside SizeBounds
	// (Inside, Above, …); empty where that is undecided or no size is claimed.
	SizeIs string
	// AsModelled is the verdict if the model were the truth; empty where ours is
	// measured. It decides nothing.
	AsModelled stat.Verdict
	// Covered says whether the published figure lies in our interval (or, of a
	// range, meets it); nil where it cannot be said.
	Covered *bool

	whole    bool           // missing treatments leave what was measured telling
	apart    string         // OnBoard, where ours ran on no board
	designed string         // ByDesign, where our messages were made after the paper's
	unsteady bool           // some trials it rests on drift
	foreign  []string       // the paper's stacks that others stand for
	standing []string       // which of ours stand for them, in words
	losing   []string       // treatments of which requests failed that a time of it needs
	ended    []string       // how many attempts at which treatments took longer than a trial may
	model    [2]provisional // of direction and size, where ours is modelled
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
	out := Scorecard{Paper: p, Differs: slices.Concat(m.Differs, p.Differs)}
	v := p.view(series, m)
	ps := make([]float64, 2*len(p.Claims)) // of directions, then of sizes
	for i, c := range p.Claims {
		j := v.test(c, confidence)
		out.Claims = append(out.Claims, j)
		ps[i], ps[len(p.Claims)+i] = j.P, j.SizeP
	}
	holm, modelled := stat.Holm(ps), stat.Holm(modelledPs(out.Claims))
	tested := 0
	for _, p := range ps {
		if !math.IsNaN(p) {
			tested++
		}
	}
	for i := range out.Claims {
		j := &out.Claims[i]
		j.conclude(p, holm[i], holm[len(p.Claims)+i], 1-confidence)
		j.asModelled(modelled[i], modelled[len(p.Claims)+i], 1-confidence)
		j.decide(p, tested, 1-confidence)
	}
	return out
}

// modelledPs are the p values that models give, of directions, then of sizes.
func modelledPs(claims []Judged) []float64 {
	ps := make([]float64, 2*len(claims))
	for i, j := range claims {
		ps[i], ps[len(claims)+i] = math.NaN(), math.NaN()
		if j.Modelled {
			ps[i], ps[len(claims)+i] = j.model[0].p, j.model[1].p
		}
	}
	return ps
}

// test makes the parts of one claim and joins their p values.
func (v view) test(c Claim, confidence float64) Judged {
	j := Judged{Claim: c, P: math.NaN(), PHolm: math.NaN(), SizeP: math.NaN(), SizePHolm: math.NaN(),
		Verdict: stat.Undecided, Direction: stat.Undecided, model: [2]provisional{{p: math.NaN()}, {p: math.NaN()}}}
	t := tester{view: v, claim: c, confidence: confidence, judged: &j}
	if slices.ContainsFunc(t.boardSides(), func(s measure.Side) bool { return !v.mapping.Board[s] }) {
		j.apart = c.OnBoard
	}
	if v.mapping.designed(v.paper) {
		j.designed = c.ByDesign
	}
	for _, f := range forms {
		if f.is(c) {
			f.test(&t)
			break
		}
	}
	j.join()
	j.joinSize()
	if len(j.Parts) == 1 {
		j.Ours = j.Parts[0].Ours
	}
	j.cover()
	return j
}

// join makes P of the parts' p values; its sign in Direction is provisional.
func (j *Judged) join() {
	if len(j.Parts) == 0 || j.apart == "claim" || j.designed == "claim" {
		return
	}
	holds, fails := 0.0, 1.0
	for _, p := range j.Parts {
		holds, fails = max(holds, p.Holds), min(fails, p.Fails)
	}
	j.P, j.Direction, j.model[0] = j.weigh(holds, min(1, fails*float64(len(j.Parts))))
}

// conclude keeps the provisional verdicts if the adjusted p allow it, and says why not.
func (j *Judged) conclude(paper Paper, holm, sizeHolm, alpha float64) {
	j.PHolm, j.SizePHolm = holm, sizeHolm
	if !(holm < alpha) {
		j.Direction = stat.Undecided
	}
	if _, _, ok := j.SizeBounds(); (ok || j.Size != "") && !(sizeHolm < alpha) {
		j.Size = stat.Undecided
	}
	j.Verdict = both(j.Direction, j.Size)
	j.SizeIs = j.place(j.Size, j.SizeP, sizeHolm, alpha)
	_, open := j.turnable()
	told := len(j.ended) == 0 // of attempts that were ended
	switch {
	case j.Verdict != stat.Undecided:
	case j.ofDesign():
		text := "our messages were made of the published sizes (" + strings.Join(paper.Designed, ", ") + "): "
		if j.designed == "size" {
			text = "the direction is confirmed; " + text + "the size "
		} else {
			text += "this "
		}
		j.Why = append(j.Why, text+"tests our message format, not the claim")
	case j.apart == "claim":
		j.Why = append(j.Why, "it is about a board like the paper's, and ours ran on none")
	case j.needsBoard():
		j.Why = append(j.Why, "the direction is confirmed; the size is that of a board like the paper's, and ours ran on "+
			"none")
	case open:
		told = true
		j.Why = append(j.Why, j.lostWords()+": had these requests been answered when nobody waited for them any longer, the "+
			"answer may be another one")
	case j.Waiting > 0 && !j.Modelled: // a meter decides that
		j.Why = append(j.Why,
			"programs waited for a CPU during our run; differences that this could explain are not decided; measure again on "+
				"a quieter machine, or one with more CPUs")
	}
	if !told {
		j.Why = append(j.Why, "attempts were ended by timeouts.trial, and are in no figure: "+strings.Join(j.ended, "; "))
	}
	if len(j.Missing) > 0 {
		j.Why = append(j.Why, "not measured: "+strings.Join(j.Missing, "; "))
	}
	if j.Modelled {
		j.Why = append(j.Why, cmp.Or(paper.Modelled, "ours is modelled with constants from published tables")+
			"; only a meter can decide")
	}
	if len(j.standing) > 0 {
		j.Why = append(j.Why, standIn+": "+strings.Join(j.standing, "; "))
	}
	for _, p := range j.Parts {
		if p.Why != "" && p.Why != standIn && len(j.Missing) == 0 && !slices.Contains(j.Why, p.Why) {
			j.Why = append(j.Why, p.Why)
		}
	}
	if j.Verdict == stat.Undecided && len(j.Why) == 0 {
		j.Why = append(j.Why, j.doubt(alpha))
	}
	if j.unsteady && len(j.Parts) > 0 {
		j.Why = append(j.Why, "it rests on unsteady trials, whose means depend on how long they and their warm-up are")
	}
}

// ofDesign reports whether our own messages keep it from being decided.
func (j *Judged) ofDesign() bool {
	return j.designed == "claim" || j.designed == "size" && j.Direction == stat.Confirmed
}

// needsBoard reports whether only a board can decide what is undecided.
func (j *Judged) needsBoard() bool {
	return j.apart == "claim" || j.apart == "size" && j.Direction == stat.Confirmed
}

// bounds are those of a size in words, with the unit of a difference or slope.
func (j *Judged) bounds(lo, hi float64) string {
	text := fmt.Sprintf("%.4g to %.4g", lo, hi)
	if kind := j.Kind(); kind == "difference" || kind == "slope" {
		text += " " + j.Unit
	}
	return text
}

func (j *Judged) doubt(alpha float64) string {
	switch {
	case j.Direction == stat.Confirmed:
		if lo, hi, ok := j.SizeBounds(); ok {
			return fmt.Sprintf("the direction is confirmed; whether the size is within %s is open", j.bounds(lo, hi))
		}
		return "the direction is confirmed; whether the sizes are near the published ones is open"
	case j.P < alpha && j.Direction == stat.Undecided:
		return fmt.Sprintf("significant by itself (p %.2g), but not among all claims of the study (Holm: p %.2g)", j.P,
			j.PHolm)
	}
	return "the intervals allow both" + j.openest()
}

// openest is the part that is furthest from being shown, with its interval; empty where it has no figure.
func (j *Judged) openest() string {
	var open Part
	for _, p := range j.Parts {
		if p.Holds >= open.Holds && !p.Ours.None() {
			open = p
		}
	}
	if len(open.bounds) == 0 {
		return ""
	}
	text := fmt.Sprintf(": %s is %s", open.Where, open.Ours.within())
	if open.Ours.Unit != "" {
		text += " " + open.Ours.Unit
	}
	if len(open.bounds) == 1 {
		return text + fmt.Sprintf(", shown neither below nor above %.4g", open.bounds[0])
	}
	return text + fmt.Sprintf(", shown neither within %.4g to %.4g nor outside", open.bounds[0], open.bounds[1])
}

// Void leaves every claim undecided, for one reason.
func (s *Scorecard) Void(why string) {
	for i := range s.Claims {
		c := &s.Claims[i]
		c.Verdict, c.Direction, c.Why = stat.Undecided, stat.Undecided, []string{why}
		c.AsModelled, c.SizeIs, c.Needs = "", "", Needs{}
		c.Decides = []string{"results as the lab wrote them: run the study again"}
		if c.Size != "" {
			c.Size = stat.Undecided
		}
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
	case len(c.Ratio) > 0:
		return c.Ratio[0], c.Ratio[1], true
	case len(c.Share) > 0:
		return c.Share[0], c.Share[1], true
	case len(c.Exponent) > 0:
		return c.Exponent[0], c.Exponent[1], true
	case c.Slope != nil:
		return *c.Slope, *c.Slope, true
	case c.Difference != nil:
		return *c.Difference, *c.Difference, true
	}
	return math.NaN(), math.NaN(), false
}
