package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// An Agreement is what a repetition says of one figure: Agrees and Differs are
// both proven, against the same bounds.
type Agreement string

// The words for an agreement.
const (
	Agrees     Agreement = "agrees"
	Differs    Agreement = "differs"
	CannotTell Agreement = "cannot tell"
)

// A Repeated is a figure of kept results (Old) beside that of their repetition (New).
type Repeated struct {
	Contrast
	Agreement Agreement
	// P is that of the agreement's word, of CannotTell that of the word that is nearer; a difference's is adjusted by
	// Holm. NaN: there is none.
	P   float64
	Why Why // of CannotTell: Untested, Waited, Together, Hidden or Straddles
}

// A Repetition is how results compare with those that they repeat.
type Repetition struct {
	Figures []Repeated // of each treatment, side and response
	Ratios  []Repeated // of each treatment to the first, likewise
	// OnlyOld are treatments that the repetition lacks, and OnlyNew those that only it has.
	OnlyOld, OnlyNew []string
	Gone             []string // figures, of treatments both have, that the repetition lacks
	Lost             []Loss   // trials that the repetition lacks: those that are left may be the better ones
	// Failed are treatments of which another share of the requests failed than before, less or more, beyond chance or
	// perhaps so.
	Failed  []Failures
	NoRatio []string // figures of two treatments that have none, since a value is not above 0
	Margin  float64  // share within which figures agree
	Tests   int      // differences that are judged at once
}

// Repeat sets results against those that they repeat. A figure agrees if it is
// proven to lie within the margin of the old one, and differs if it is proven to
// lie outside, Welch on logarithms. Differences are adjusted by Holm over all
// figures and ratios between treatments, since one is enough for the whole to
// differ. Agreements are not: the whole agrees only if each figure
// does, which errs no more often than one of them. On another machine the figures
// may all differ and the ratios still agree. Where requests failed in either, a time
// is that of medians among all requests, with those as the slowest.
func Repeat(old, new []Series, confidence, margin float64) (Repetition, error) {
	shared, err := compareBy(ofAllIfFailed, old, new, confidence, margin)
	if err != nil {
		return Repetition{}, err
	}
	out := Repetition{OnlyOld: shared.OnlyOld, OnlyNew: shared.OnlyNew, Gone: shared.Gone, Margin: margin}
	var ratios []Contrast
	before, none := relative(old)
	now, too := relative(new)
	for _, b := range now {
		if a, ok := Find(before, b); ok {
			ratios = append(ratios, contrast(a, b, ofAllIfFailed(a, b), confidence))
		}
	}
	out.NoRatio = slices.Compact(slices.Sorted(slices.Values(append(none, too...))))
	judgeChanges(ratios, confidence, margin)
	all, n := slices.Concat(shared.Contrasts, ratios), len(shared.Contrasts)
	judged, tests := agreements(all, confidence, margin)
	out.Figures, out.Ratios, out.Tests = judged[:n], judged[n:], tests
	return out, nil
}

// ofAllIfFailed is the figure by which two series are held against each other: of times of which requests failed, in
// either, the median, which is that among all requests.
func ofAllIfFailed(a, b Series) string {
	if a.OfAnswered() || b.OfAnswered() {
		return "median"
	}
	return "mean"
}

// FailuresDiffer are the treatments of which a larger share of the requests failed, or was sent again, in one of two
// results than in the other, beyond chance or perhaps so: old is what was kept.
func FailuresDiffer(old, new []Attempts, confidence float64) []Failures {
	var out []Failures
	for _, f := range FailuresOfTrials(old, new, confidence) {
		if f.Verdict != stat.Contradicted {
			out = append(out, f)
		}
	}
	for _, f := range FailuresOfTrials(new, old, confidence) {
		if f.Verdict != stat.Contradicted {
			f.Old, f.New, f.fell = f.New, f.Old, true
			out = append(out, f)
		}
	}
	return out
}

// agreements judges one family of contrasts, of which some have a difference to test: what never varies has none.
func agreements(cs []Contrast, confidence, margin float64) (out []Repeated, tests int) {
	inside, alone := make([]float64, len(cs)), make([]float64, len(cs))
	for i, c := range cs {
		if inside[i], alone[i] = c.within(margin); c.Change == Same {
			alone[i] = math.NaN()
		}
		if !math.IsNaN(alone[i]) {
			tests++
		}
	}
	alpha, outside := 1-confidence, stat.Holm(alone)
	for i, c := range cs {
		r := Repeated{Contrast: c, Agreement: CannotTell}
		switch {
		case c.Change == Same || inside[i] < alpha:
			r.Agreement, r.P = Agrees, inside[i]
		case outside[i] < alpha:
			r.Agreement, r.P = Differs, outside[i]
		default:
			if r.P = min(outside[i], inside[i]); math.IsNaN(r.P) {
				r.P = outside[i]
			}
			r.Why = c.whyNot(alone[i], alpha, margin)
		}
		out = append(out, r)
	}
	return out, tests
}

// whyNot is why a contrast is not decided, whose difference has such a p by itself.
func (c Contrast) whyNot(alone, alpha, margin float64) Why {
	inside, outside := c.idle().within(margin)
	switch {
	case math.IsNaN(alone):
		return Untested
	case alone < alpha:
		return Together
	case inside < alpha || outside < alpha:
		return Waited
	case c.Ratio.HidesBetween(1/(1+margin), 1+margin):
		return Hidden
	}
	return Straddles
}

// within are the p of the answers that the ratio lies within the margin of 1, and
// outside. What waiting for a CPU may have done proves neither.
func (c Contrast) within(margin float64) (inside, outside float64) {
	most := 1 + margin
	if c.zeros != nil {
		return math.NaN(), c.zeros.apart(most * max(1, c.Allowance))
	}
	if math.IsNaN(c.Ratio.Estimate) {
		return math.NaN(), math.NaN()
	}
	inside, outside, err := c.Ratio.Between(1/most, most)
	if err != nil {
		return math.NaN(), math.NaN()
	}
	if c.Allowance > 1 {
		_, outside, err = c.Ratio.Between(1/(most*c.Allowance), most*c.Allowance)
		if inside = 1; err != nil {
			outside = math.NaN()
		}
	}
	return inside, outside
}

// relative are the ratios of each treatment to the first one that has the same response at the same side, block by
// block, measured as it is or modelled as it is. Where some value is not above 0 there are none, which without says: of
// the other blocks alone they would be those of trials in which something happened.
func relative(all []Series) (out []Series, without []string) {
	type figure struct {
		side     measure.Side
		response string
		modelled bool
	}
	first := map[figure]Series{}
	for _, s := range all {
		key := figure{s.Side, s.Response, s.Modelled}
		base, ok := first[key]
		if !ok {
			first[key] = s
			continue
		}
		r := Series{Factors: []string{"over"}, Levels: []string{s.Name() + " over " + base.Name()}, Stack: s.Stack,
			Floor: s.Floor, Side: s.Side, Response: s.Response, Unit: "1", Modelled: s.Modelled,
			Waiting: max(s.Waiting, base.Waiting), Longer: s.Longer + base.Longer, Failed: max(s.Failed, base.Failed)}
		zero := false
		for _, t := range s.Trials {
			if i := slices.IndexFunc(base.Trials, func(b TrialSummary) bool { return b.Block == t.Block }); i >= 0 {
				of := base.Trials[i]
				zero = zero || !(t.Mean > 0) || !(of.Mean > 0)
				x := TrialSummary{ID: t.ID, Block: t.Block, Mean: t.Mean / of.Mean, P95: math.NaN(), SD: math.NaN(),
					Median: cmp.Or(t.AllMedian, t.Median) / cmp.Or(of.AllMedian, of.Median)}
				if t.unseen("median") || of.unseen("median") {
					x.AllMedian = math.NaN()
				} else if math.IsInf(max(t.AllMedian, of.AllMedian), 1) {
					x.AllMedian = math.Inf(1)
				}
				r.Trials = append(r.Trials, x)
			}
		}
		switch {
		case zero:
			without = append(without, fmt.Sprintf("%s of %s", s.Response, r.Levels[0]))
		case len(r.Trials) > 0:
			r.Unseen = stat.OffOfLog(r.means(), s.logUnseen()+base.logUnseen())
			out = append(out, r)
		}
	}
	return out, without
}

// Count is how many of the figures are judged so.
func Count(all []Repeated, a Agreement) int {
	n := 0
	for _, r := range all {
		if r.Agreement == a {
			n++
		}
	}
	return n
}

// Held counts the figures whose interval of new over old has 1 in it, of those
// that have an interval. Where nothing changed between the runs, that share should
// be the intervals' confidence. A figure that is the same in all trials has none.
func Held(all []Repeated) (held, of int) {
	for _, r := range all {
		if !(r.Ratio.Hi > r.Ratio.Lo) {
			continue
		}
		of++
		if r.Ratio.Lo <= 1 && 1 <= r.Ratio.Hi {
			held++
		}
	}
	return held, of
}

// Agreement is that of the whole: it differs if any figure or ratio does, or another share of the requests failed or
// was sent again, and agrees if all do, each was measured again, and no trial was lost.
func (r Repetition) Agreement() Agreement {
	all := slices.Concat(r.Figures, r.Ratios)
	failed := func(f Failures) bool { return f.Verdict == stat.Confirmed }
	switch {
	case Count(all, Differs) > 0 || slices.ContainsFunc(r.Failed, failed):
		return Differs
	case Count(all, Agrees) == len(all) && len(r.Lost)+len(r.Gone)+len(r.Failed) == 0:
		return Agrees
	}
	return CannotTell
}
