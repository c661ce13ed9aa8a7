package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// A PastAnswer is what a confirmation said of a series.
type PastAnswer struct {
	setup string // a digest
	history.Confirmation
}

// Decided reports whether the blocks of a pilot alone show of each figure that is asked about a change that matters.
// They are looked at once more if the measurement goes on, so they do at a level that adds next to nothing to that of
// the end; versions that drift by themselves seldom differ by so much.
func (c Confirms) Decided(r *Report) bool {
	p := Past{Confirms: &c}
	p.answer(r, DecidedAt, 1+c.Detect)
	return p.Failed == "" && len(p.Answers) > 0 && !slices.ContainsFunc(p.Answers, func(a PastAnswer) bool {
		return a.Verdict != history.Worse && a.Verdict != history.Better
	})
}

// answer computes what a confirmation says, series by series, from its ledger: of changes at a level, beyond a factor.
func (p *Past) answer(r *Report, at, beyond float64) {
	var terms []advise.Term
	for _, text := range p.Confirms.Responses {
		t, err := advise.ParseTerm(text)
		if err != nil {
			p.Failed = err.Error()
			return
		}
		terms = append(terms, t)
	}
	doubts := r.Doubts()
	p.Doubts = slices.Clone(doubts)
	if p.Confirms.Doubt != "" {
		p.Doubts = append(p.Doubts, p.Confirms.Doubt)
	}
	old, new := r.Versions()
	wanted := func(all []advise.Series) []advise.Series {
		return slices.DeleteFunc(all, func(s advise.Series) bool {
			return s.Floor || !slices.ContainsFunc(terms, func(t advise.Term) bool { return t.Matches(s) })
		})
	}
	lost := map[string][]advise.Loss{}
	base, now := r.VersionAttempts()
	losses := advise.Losses(base, now, history.Confidence)
	for _, l := range losses {
		p.Doubts = append(p.Doubts, l.Kind()+": "+l.String())
		if l.Recovered || l.Verdict() == stat.Contradicted { // of that no figure but the recovery is better
			continue
		}
		for _, of := range losses { // one of several treatments is of each that has a part in it
			if of.Together == 0 && !of.Recovered && of.Retried == l.Retried &&
				(l.Together > 0 || slices.Equal(of.Levels, l.Levels)) {
				lost[placeKey(of.Levels)] = append(lost[placeKey(of.Levels)], l)
			}
		}
	}
	failing := p.failing(r)
	old, new = wanted(old), wanted(new)
	level := at / float64(max(1, min(len(old), len(new))))
	p.confidence = 1 - level
	c, err := advise.Compare(old, new, nil, p.confidence, p.Confirms.Detect)
	if err != nil {
		if p.Failed = err.Error(); len(lost) > 0 {
			p.Failed = strings.Join(p.Doubts[len(doubts):], "; ")
		}
		return
	}
	setups := map[string]string{} // by the levels of a series
	for i, s := range r.Series() {
		levels, _ := versioned(s.Levels)
		setups[placeKey(levels)] = setupDigest(r.Treatments[r.Cells[i].Treatment].setup) // one for both versions
	}
	for _, x := range c.Contrasts {
		verdict := history.CannotTell
		if x.Doubt == "" || x.Change == advise.Same {
			verdict = history.Decide(x.Ratio, p.Confirms.Detect, max(1, x.Allowance)*beyond, moreIsBetter(x.Response))
		}
		switch {
		case x.Change == advise.Same:
			verdict = history.NotConfirmed
		case hasNoBetter(x.Response):
			verdict = history.CannotTell
		case math.IsNaN(x.Ratio.Estimate) && (x.Change == advise.Higher || x.Change == advise.Lower): // from 0, or to it
			verdict = history.Better
			if (x.Change == advise.Lower) == moreIsBetter(x.Response) {
				verdict = history.Worse
			}
		}
		why := ""
		if verdict == history.CannotTell {
			why = p.open(x, beyond)
		}
		verdict = p.withMean(verdict, x)
		verdict = p.withAnswered(verdict, x, old, new)
		for _, l := range lost[placeKey(x.Levels)] {
			verdict = withLoss(verdict, l, level)
		}
		verdict = withFailures(verdict, failing[placeKey(x.Levels)], level)
		for _, w := range x.Ratio.Warnings {
			if errors.Is(w, stat.ErrFollow) {
				p.Doubts = append(p.Doubts,
					fmt.Sprintf("%s: %v", figureName(x.Treatment, words(x.Response), x.Side), w))
			}
		}
		p.Answers = append(p.Answers, PastAnswer{setups[placeKey(x.Levels)], history.Confirmation{Treatment: x.Treatment,
			Side: x.Side, Response: x.Response, Verdict: verdict, Ratio: x.Ratio, Dir: p.Dir, Why: whyOpen(verdict, why),
			Blocks: min(x.Trials[0], x.Trials[1])}})
	}
	p.gone(c, old, lost, setups, level)
}

// open is why a figure by itself tells nothing, and what to do.
func (p *Past) open(x advise.Contrast, beyond float64) string {
	usual := x.Ratio.At(history.Confidence)
	interval := fmt.Sprintf("the %s interval, %s", percentOf(history.Confidence), ratioRange(usual))
	switch alone := history.Decide(x.Ratio, p.Confirms.Detect, beyond, moreIsBetter(x.Response)); {
	case x.Doubt != "":
		return x.Doubt
	case hasNoBetter(x.Response):
		return "more of it is neither better nor worse"
	case math.IsNaN(x.Ratio.Estimate):
		return "it is 0 in some trials, and the means do not differ beyond doubt"
	case alone != history.CannotTell:
		return fmt.Sprintf("%s, alone would say %s, but programs waited for a CPU, which may cause a ratio of up to %.3g; "+
			"confirm again on a quieter machine", interval, alone, x.Allowance)
	}
	return fmt.Sprintf("%s, holds a change of %.6g %% or more, and that of %s no change; confirm again with more blocks "+
		"(--power 0.99)", interval, 100*p.Confirms.Detect, percentOf(p.confidence))
}

// whyOpen keeps a reason where the verdict is still open.
func whyOpen(v history.Verdict, why string) string {
	if v != history.CannotTell {
		return ""
	}
	return why
}

// gone answers for the figures of the old version that the new one lacks, as where no request was answered, or no trial
// is valid: nothing is dismissed there.
func (p *Past) gone(c advise.Comparison, old []advise.Series, lost map[string][]advise.Loss, setups map[string]string,
	level float64) {
	none := math.NaN()
	for _, a := range old {
		key := placeKey(a.Levels)
		if slices.ContainsFunc(c.Contrasts, func(x advise.Contrast) bool {
			return placeKey(x.Levels) == key && x.Side == a.Side && x.Response == a.Response
		}) {
			continue
		}
		verdict := history.CannotTell
		for _, l := range lost[key] {
			verdict = withLoss(verdict, l, level)
		}
		p.Doubts = append(p.Doubts, fmt.Sprintf("the new version has no %s of %s, %s", words(a.Response), a.Name(), a.Side))
		p.Answers = append(p.Answers, PastAnswer{setups[key], history.Confirmation{Treatment: a.Name(), Side: a.Side,
			Response: a.Response, Verdict: verdict, Dir: p.Dir,
			Ratio: stat.Comparison{Estimate: none, Lo: none, Hi: none, P: none}}})
	}
}

// withMean is a verdict on typical trials: they are not called better while the mean, which a user pays, is worse, as
// that of a few slow trials.
func (p *Past) withMean(v history.Verdict, x advise.Contrast) history.Verdict {
	m := x.MeanRatio.Estimate
	if more := m > 1; v != history.Better || !(m > 1 || m < 1) || more == moreIsBetter(x.Response) {
		return v
	}
	p.Doubts = append(p.Doubts, fmt.Sprintf("%s: the means are %s times as much, and typical trials %s: a few trials "+
		"take much longer; look at them", figureName(x.Treatment, words(x.Response), x.Side), ratioText(m),
		ratioText(x.Ratio.Estimate)))
	return history.CannotTell
}

// withAnswered is a verdict on means of answered requests: who answers what the other version gave up is not worse for
// it, nor is who gives up more the better, unless medians among all requests say so, too.
func (p *Past) withAnswered(v history.Verdict, x advise.Contrast, old, new []advise.Series) history.Verdict {
	b := new[slices.IndexFunc(new, func(s advise.Series) bool {
		return slices.Equal(s.Levels, x.Levels) && s.Side == x.Side && s.Response == x.Response
	})]
	a, _ := advise.Find(old, b) // there are both: x compares them
	if !a.OfAnswered() && !b.OfAnswered() || !(v == history.Worse && a.Failed > b.Failed) &&
		!(v == history.Better && a.Failed < b.Failed) {
		return v
	}
	a, why := a.OfAll()
	b, too := b.OfAll()
	if why = cmp.Or(why, too); why == "" {
		c, err := advise.Compare([]advise.Series{a}, []advise.Series{b}, nil, p.confidence, p.Confirms.Detect)
		if err == nil && history.Decide(c.Contrasts[0].Ratio, p.Confirms.Detect, x.Allowance, false) == v {
			return v
		}
		why = "medians among all of them do not say so"
	}
	p.Doubts = append(p.Doubts, fmt.Sprintf("%s: %s by the requests that were answered, %s of all, before %s; %s",
		figureName(x.Treatment, words(x.Response), x.Side), v, answeredPercent(b.Failed), answeredPercent(a.Failed), why))
	return history.CannotTell
}

// withLoss is a verdict on trials of which the new version lost some: those that are left may be the better ones. So
// nothing is dismissed, and a loss beyond chance is a change for the worse.
func withLoss(v history.Verdict, l advise.Loss, level float64) history.Verdict {
	p := l.P
	if !l.Retried && l.New[1] > 0 && l.Together == 0 {
		p = 2 * stat.FisherMore(l.New[1]-l.New[0], l.New[1], l.Old[1]-l.Old[0], l.Old[1])
	}
	if v == history.Worse || l.New[1] > 0 && p < level {
		return history.Worse
	}
	return history.CannotTell
}

// failing are the treatments of which the new version fails a larger share of the requests, or has more of them sent
// again, by their levels: what is the surest.
func (p *Past) failing(r *Report) map[string]advise.Failures {
	const confidence = 0.95 // as that of what dismisses a suspect
	base, now := r.VersionAttempts()
	all := advise.FailuresOfTrials(base, now, confidence)
	for _, f := range all {
		if f.Verdict != stat.Contradicted {
			p.Doubts = append(p.Doubts, f.Kind("failed requests")+": "+f.String())
		}
	}
	return surestOf(all)
}

// surestOf is the surest of what rose, by the levels of the treatments of which it is.
func surestOf(all []advise.Failures) map[string]advise.Failures {
	out := map[string]advise.Failures{}
	for _, f := range all {
		if f.Verdict == stat.Contradicted {
			continue
		}
		for _, of := range all { // that of several treatments is of each that has a part in it
			key := placeKey(of.Levels)
			has := out[key]
			mine := f.Together > 0 && of.Rose() || slices.Equal(of.Levels, f.Levels)
			worse := has.Verdict == "" || f.Verdict == stat.Confirmed && (has.Verdict != stat.Confirmed || f.Silent() ||
				f.P < has.P && !has.Silent())
			if of.Together == 0 && of.Again == f.Again && mine && worse {
				out[key] = f
			}
		}
	}
	return out
}

// withFailures is a verdict on the requests that were answered, where the new version may fail more of them: those that
// are left may be the quicker ones. As with lost trials, nothing is dismissed, and a rise beyond chance is a change for
// the worse.
func withFailures(v history.Verdict, f advise.Failures, level float64) history.Verdict {
	switch {
	case f.Verdict == "" || v == history.Worse:
		return v
	case f.Verdict == stat.Confirmed && (f.P < level || f.Silent()):
		return history.Worse
	}
	return history.CannotTell
}

// Verdict is that of a confirmation as a whole: worse if any figure is, else better if any
// is, else not confirmed if all are so.
func (p Past) Verdict() history.Verdict {
	has := func(v history.Verdict) bool {
		return slices.ContainsFunc(p.Answers, func(a PastAnswer) bool { return a.Verdict == v })
	}
	for _, v := range []history.Verdict{history.Worse, history.CannotTell, history.Better, history.NotConfirmed} {
		if has(v) {
			return v
		}
	}
	return history.CannotTell
}

// ConfirmationText writes what a confirmation said, a line a figure.
func (p Past) ConfirmationText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.Verdict())
	wrap(&b, fmt.Sprintf("  old: the version of %s; new: that of %s; both in %s, interleaved: %s in %s", p.Confirms.OldDir,
		p.Confirms.NewDir, p.Dir, plural.Count(p.Trials, "trial"), tookText(p.Took)), "  ")
	b.WriteByte('\n')
	rows := [][]string{{"figure", "blocks", "new/old", "interval", "verdict"}}
	for _, a := range p.Answers {
		rows = append(rows, []string{figureName(a.Treatment, words(a.Response), a.Side), fmt.Sprint(a.Blocks),
			ratioText(a.Ratio.Estimate), ratioRange(a.Ratio), string(a.Verdict)})
	}
	writeColumns(&b, rows)
	wrap(&b, fmt.Sprintf("intervals of %s, paired by block; not confirmed is what excludes a change of %g %% either way, "+
		"at 95 %%", percentOf(p.confidence), 100*p.Confirms.Detect), "  ")
	for _, a := range p.Answers {
		if a.Why != "" {
			wrap(&b, fmt.Sprintf("%s, %s: %s", figureName(a.Treatment, words(a.Response), a.Side), a.Verdict, a.Why), "  ")
		}
	}
	for _, text := range p.Doubts {
		wrap(&b, "! "+text, "  ")
	}
	return PrintText(w, b.String())
}

// tookText is how long something took: 12.3 s, 40m12s.
func tookText(d time.Duration) string {
	if d < time.Minute {
		return Format(d.Seconds(), "s")
	}
	return study.DurationText(d.Round(time.Second))
}

// ConfirmationJSON writes the same for programs.
func (p Past) ConfirmationJSON(w io.Writer) error {
	type answer struct {
		Treatment string        `json:"treatment"`
		Side      string        `json:"side"`
		Response  string        `json:"response"`
		Verdict   string        `json:"verdict"` // confirmed worse, confirmed better, not confirmed, cannot tell
		Why       string        `json:"why,omitempty"`
		Blocks    int           `json:"blocks"`
		Ratio     stat.Number   `json:"ratio"`
		CI        stat.Interval `json:"ratio_ci"`
	}
	out := struct {
		Format     int      `json:"format"`
		Verdict    string   `json:"verdict"`
		Dir        string   `json:"dir"`
		Old        string   `json:"old"`
		New        string   `json:"new"`
		Trials     int      `json:"trials"`
		Took       float64  `json:"took_s"`
		Confidence float64  `json:"confidence"`
		Detect     float64  `json:"detect"`
		Figures    []answer `json:"figures"`
		Warnings   []string `json:"warnings"`
	}{1, string(p.Verdict()), p.Dir, p.Confirms.OldDir, p.Confirms.NewDir, p.Trials, p.Took.Seconds(), p.confidence,
		p.Confirms.Detect, []answer{}, orEmpty(p.Doubts)}
	for _, a := range p.Answers {
		out.Figures = append(out.Figures, answer{a.Treatment, string(a.Side), a.Response, string(a.Verdict), a.Why, a.Blocks,
			stat.Number(a.Ratio.Estimate), stat.Interval{a.Ratio.Lo, a.Ratio.Hi}})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
