package main

import (
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// doubtUnlike takes back what a comparison of two probes decides where the runs of one rise, fall or are of two kinds,
// which probe itself says: their mean depends on how long the service was probed. What each run of one says beside each
// run of the other stands. Of what is undecided anyway it says why more runs would not help. It reports whether a
// figure or a condition is undecided for that.
func doubtUnlike(out *report.Compared, old, new []advise.Series) (doubted bool) {
	for i := range out.Contrasts {
		c := &out.Contrasts[i]
		if why, apart := unlikeBeside(*c, old, new); why != "" {
			for text := range strings.SplitSeq(why, "\n") {
				side, _, _ := strings.Cut(text, ":")
				said := func(w string) bool { // by the probe itself, or of another time of the same runs
					return strings.HasPrefix(w, side+":") && (strings.Contains(w, " from run to run (") ||
						strings.Contains(w, "the runs are of two kinds"))
				}
				if !slices.ContainsFunc(out.Warnings, said) {
					out.Warnings = append(out.Warnings, text)
				}
			}
			margin := 1 + out.Margin
			stands := c.Change == advise.Unknown || c.Change == advise.Higher && apart.lo > 1 ||
				c.Change == advise.Lower && apart.hi < 1 ||
				c.Change != advise.Higher && c.Change != advise.Lower && apart.lo > 1/margin && apart.hi < margin
			if !stands {
				c.Change, c.Doubt, doubted = advise.Unknown, strings.ReplaceAll(why, "\n", "; "), true
			}
		}
	}
	for i := range out.Outcomes {
		o := &out.Outcomes[i]
		why, apart := unlikeBeside(o.Contrast, old, new)
		if why == "" {
			continue
		}
		met := o.Condition.Bound
		if o.Condition.Detect { // any change is
			met = 1
		}
		less := o.Condition.Less
		stands := o.Verdict == stat.Confirmed && (!less && apart.lo > met || less && apart.hi < met) ||
			o.Verdict == stat.Contradicted && (!less && apart.hi < o.Condition.Bound || less && apart.lo > o.Condition.Bound)
		if !stands {
			o.Verdict, o.Doubt = stat.Undecided, advise.Doubt{Why: advise.Unlike}
			o.Contrast.Change, o.Contrast.Doubt, doubted = advise.Unknown, strings.ReplaceAll(why, "\n", "; "), true
		}
	}
	return doubted
}

// ratios are the least and the greatest that a run of the new probe has to one of the old.
type ratios struct{ lo, hi float64 }

// unlikeBeside says, a line a side, why the runs of a figure are no replications; empty: nothing speaks against it, or
// it is none of times. apart is how far the runs of both sides lie from each other.
func unlikeBeside(c advise.Contrast, old, new []advise.Series) (why string, apart ratios) {
	of := func(all []advise.Series) (values []float64) {
		for _, s := range all {
			if s.Response != c.Response {
				continue
			}
			for _, t := range s.Trials {
				v := t.Mean
				switch c.Figure {
				case "median":
					v = t.Median
				case "p95":
					v = t.P95
				}
				values = append(values, v)
			}
		}
		return values
	}
	if c.Unit != "s" && c.Unit != "1/s" {
		return "", apart
	}
	a, b := of(old), of(new)
	if len(a) == 0 || len(b) == 0 {
		return "", apart
	}
	var says []string
	name := strings.ReplaceAll(c.Response, "_", " ")
	if c.Figure != "mean" {
		name = "the " + c.Figure + " of " + name
	}
	for _, side := range []struct {
		name   string
		values []float64
	}{{"old", a}, {"new", b}} {
		if text := unlike(side.values, c.Unit); text != "" {
			says = append(says, side.name+": "+name+" "+text)
		}
	}
	return strings.Join(says, "\n"), ratios{slices.Min(b) / slices.Max(a), slices.Max(b) / slices.Min(a)}
}
