package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// whyUndecided names every reason that keeps a condition undecided, once.
func (c Compared) whyUndecided() string {
	var out []string
	say := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, l := range c.Lost {
		if l.Verdict() == stat.Undecided {
			what := "valid trials are missing, but "
			switch {
			case l.Recovered:
				what = "devices recovered in fewer trials, but "
			case l.Retried:
				what = "more attempts failed than before, but "
			case l.Unrun > 0:
				what = "of a treatment no trial was run yet; "
			}
			say(what + l.Open())
		}
	}
	for _, f := range c.Failed {
		if f.Verdict == stat.Undecided {
			say(fmt.Sprintf("more requests %s than before, but %s", f.Did(), f.Open()))
		}
	}
	for _, o := range c.Outcomes {
		if o.Verdict == stat.Undecided {
			say(reason(o))
		}
	}
	return strings.Join(out, "; ")
}

// reason is why an outcome is undecided, in a few words.
func reason(o advise.Outcome) string {
	switch d := o.Doubt; d.Why {
	case advise.Untested:
		return "a figure cannot be tested"
	case advise.Unlike:
		return "runs are no replications of one another, since they rise, fall or are of two kinds"
	case advise.Waited:
		return "programs waited for a CPU, which may explain a difference or hide one; such trials cannot decide"
	case advise.Tails:
		spikes := slices.ContainsFunc(d.Open, func(p advise.Part) bool { return p.Name == "spikes" })
		if spikes {
			return "the typical trial is not beyond the bound, but there are more spikes than before"
		}
		return "the typical trial is not beyond the bound, but the " + openNames(o) + " may be"
	case advise.Widened:
		return "the intervals alone would decide, but programs waited for a CPU, which may explain what parts them from " +
			"the bound; measure again on a quieter machine"
	case advise.Together:
		return fmt.Sprintf("%d answers are judged at once, one of each condition, treatment and side, so that each needs "+
			"stronger evidence than alone; more trials would decide", o.Doubt.Among)
	}
	if o.Doubt.Needed > 0 {
		return "the intervals contain the bound; more trials would decide"
	}
	return "the intervals contain the bound; no practical number of trials would decide"
}

func openNames(o advise.Outcome) string {
	var names []string
	for _, p := range o.Doubt.Open {
		names = append(names, p.Name)
	}
	return strings.Join(names, " and the ")
}

// whatNext says what keeps an outcome undecided, and what would decide it; empty where it is
// decided.
func whatNext(o advise.Outcome) string {
	if o.Verdict != stat.Undecided {
		return ""
	}
	switch d := o.Doubt; d.Why {
	case advise.Untested, advise.Unlike:
		return o.Contrast.Doubt
	case advise.Waited:
		explains := "may explain " + waitExplains(o)
		if !slices.ContainsFunc(d.Open, func(p advise.Part) bool { return !p.Tail }) {
			explains = "makes trials or requests slow now and then"
		}
		return fmt.Sprintf("programs waited for a CPU, which %s; more trials on a machine so busy would not help", explains)
	case advise.Widened:
		return fmt.Sprintf("the interval alone would decide (p %.2g), but programs waited for a CPU, which may explain %s; "+
			"measure again on a quieter machine", d.P, waitExplains(o))
	case advise.Together:
		return fmt.Sprintf("alone this would be decided (p %.2g), but %d answers are judged at once, one of each condition, "+
			"treatment and side, so that each needs stronger evidence (p %.2g among all); %s", d.P, d.Among, max(d.Holm, d.P),
			trialsFor(o))
	case advise.Tails:
		return tailsText(o)
	}
	if o.Condition.Detect {
		return detectText(o)
	}
	return "the interval of the " + openNames(o) + " contains the bound" + waitedToo(o) + "; " + trialsFor(o)
}

// detectText is said where the typical trial does not exclude a change.
func detectText(o advise.Outcome) string {
	text := "the interval contains both no change and the bound" + waitedToo(o)
	have := min(o.Contrast.Trials[0], o.Contrast.Trials[1])
	switch n := o.Doubt.Needed; {
	case n > have:
		return fmt.Sprintf("%s; %d blocks find such a change in 4 of 5 studies (there are %d)", text, n, have)
	case n > 0:
		return fmt.Sprintf("%s, though %d blocks are enough in 4 of 5 studies; add some (there are %d)", text, n, have)
	}
	return text + "; no practical number of blocks would decide"
}

// tailsText is said where only tails keep a condition from being excluded.
func tailsText(o advise.Outcome) string {
	var seen []string
	for _, p := range o.Doubt.Open {
		if p.Name == "spikes" {
			s := o.Spikes
			seen = append(seen, fmt.Sprintf("there are more spikes than before (%d of %d trials, %d of %d), which chance may "+
				"explain (p %.2g)", s.New, s.Trials[1], s.Old, s.Trials[0], min(1, 2*s.P)))
			continue
		}
		if math.IsNaN(p.Ratio.Estimate) {
			seen = append(seen, fmt.Sprintf("of some trials the %s is not known now, and was before: %s", p.Name, p.Unknown))
			continue
		}
		seen = append(seen, fmt.Sprintf("the %s is %s times as much (%s)", p.Name, ratioText(p.Ratio.Estimate),
			ratioRange(p.Ratio)))
	}
	text := "the typical trial is not beyond the bound, but " + strings.Join(seen, ", and ")
	switch {
	case o.Condition.Detect:
		return fmt.Sprintf("%s; look at those trials, or judge the typical trial alone: --detect '%s.median %s'", text,
			o.Condition.Response, boundText(o.Condition))
	case o.Doubt.Needed > 0:
		return fmt.Sprintf("%s; about %d trials per side would show whether that stays so (there are %d and %d)", text,
			o.Doubt.Needed, o.Contrast.Trials[0], o.Contrast.Trials[1])
	}
	return text + "; look at those trials: no practical number of further ones would decide"
}

// boundText is the bound of a change as --detect reads it.
func boundText(k advise.Condition) string {
	if k.Less {
		return fmt.Sprintf("< %.4g%%", 100*(k.Bound-1))
	}
	return fmt.Sprintf("> %.4g%%", 100*(k.Bound-1))
}

// trialsFor says how many trials would decide.
func trialsFor(o advise.Outcome) string {
	have := o.Contrast.Trials
	if o.Doubt.Needed == 0 {
		return "no practical number of trials would decide"
	}
	return fmt.Sprintf("about %d trials per side would decide (there are %d and %d)",
		max(o.Doubt.Needed, have[0]+1, have[1]+1), have[0], have[1])
}

// waitedToo widens what is said of an interval by what waiting may explain.
func waitedToo(o advise.Outcome) string {
	if !o.Contrast.Waits() {
		return ""
	}
	return fmt.Sprintf(" or what waiting for a CPU may explain (%s)", waitExplains(o))
}

// waitExplains is what waiting for a CPU may explain.
func waitExplains(o advise.Outcome) string {
	if o.Contrast.Allowance > 1 {
		return fmt.Sprintf("a ratio of up to %.3g", o.Contrast.Allowance)
	}
	return "requests that had no answer in time"
}
