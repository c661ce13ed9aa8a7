package advise

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// noise compares the first objective of each candidate with that of the best,
// paired by block, all pairs at once since the best was picked from the data,
// and says what would tell them apart.
func (c *Choice) noise(all []Series) {
	for i := range c.Candidates {
		c.Candidates[i].Ratio, c.Candidates[i].Centers = none(), math.NaN()
	}
	best := &c.Candidates[0]
	best.Ratio.Estimate, best.Centers = 1, 1
	pairs, rows, series, err := c.pairs(all, 0)
	for i := range c.Candidates[1:] {
		x := &c.Candidates[i+1]
		x.Noise = true
		if err != nil || !x.alikeMeasured(*best, 0) {
			continue
		}
		r, err := pairs.Compare(i+1, 0)
		if err != nil {
			continue
		}
		x.Ratio, x.PAdjusted = r, r.P
		x.Difference = !pairs.Log
		exact := math.IsNaN(r.P) && r.Lo == r.Hi && r.Estimate != r.Even()
		x.Noise = !(r.P < 1-c.Confidence) && !exact
		x.Starved = series[i+1].Starved() || series[0].Starved()
		if wide := Allowance(series[i+1].Waiting, series[0].Waiting); wide > 1 {
			x.Slowed = !x.Noise && !beyondWaiting(pairs, rows, series, i+1, 0, r)
			x.Noise = x.Noise || x.Slowed
			x.waited = true
		}
		x.Centers = RatioOfCommon(rows[i+1], rows[0], func(xs []float64) (stat.Summary, error) {
			of := x.Objectives[0]
			return headlineOf(Series{Response: of.Response, Units: of.units}, c.Objectives[0].Figure, xs, c.Confidence)
		})
		x.Odd = !byMedian(c.Objectives[0].Term, x.Objectives[0].units) && x.odd(c.Objectives[0].Maximize)
		x.Turned = !x.Odd && !c.better(*x, *best, 0) && x.turned(c.Objectives[0].Maximize)
		x.Same = x.Noise && !x.Slowed && !x.Odd && !x.Turned && !r.Hides(r.Even()) &&
			SameFigure(x.Objectives[0].Center.Center, best.Objectives[0].Center.Center)
		if x.Noise && pairs.Log && !x.waited && !x.slight() && !r.Hides(r.Even()) {
			n := float64(len(c.Candidates))
			own := (1 - c.Confidence) / (n * (n - 1) / 2) // over all pairs
			if x.Needed = needed(r.SD(), r.DF, math.Log(r.Estimate), own); x.Needed == 0 && r.Estimate != 1 {
				x.Needed, _ = r.Ticks(own)
			}
		}
	}
}

// Alone reports whether the best is compared with none of the others that meet all requirements, since fewer than two
// blocks have both: it is the first of a list, and no choice.
func (c Choice) Alone() bool {
	best, ok := c.Best()
	others := 0
	for i := 1; ok && i < len(c.Candidates); i++ {
		x := c.Candidates[i]
		switch {
		case x.Meets != stat.Confirmed:
		case !math.IsNaN(x.Ratio.Estimate) || !x.alikeMeasured(best, 0):
			return false
		default:
			others++
		}
	}
	return others > 0
}

// alikeMeasured reports whether an objective of two candidates is measured in both, or modelled in both: the two are
// never compared.
func (x Candidate) alikeMeasured(y Candidate, objective int) bool {
	return x.Objectives[objective].Modelled == y.Objectives[objective].Modelled
}

// RatioOfCommon is the ratio of the centers of two rows, as stat.NewAllPairs has them, in the
// columns that both have; NaN where there is none.
func RatioOfCommon(a, b []float64, center func([]float64) (stat.Summary, error)) float64 {
	var xs, ys []float64
	for i, x := range a {
		if y := b[i]; !math.IsNaN(x) && !math.IsNaN(y) {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	x, err := center(xs)
	y, err2 := center(ys)
	if err != nil || err2 != nil {
		return math.NaN()
	}
	return x.Center / y.Center
}

// SameFigure reports whether two figures are one: unequally many trials of one value have means that may
// differ in the last digit.
func SameFigure(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

// turned reports whether a candidate that ranks behind the best is better in the blocks that both have.
func (x Candidate) turned(maximize bool) bool {
	if maximize {
		return x.Ratio.Lo > x.Ratio.Even()
	}
	return x.Ratio.Hi < x.Ratio.Even()
}

// odd reports whether the means and the typical trials of a candidate and the best
// disagree: the ratio of the means, of the blocks that both have, lies outside the interval of typical
// trials, and these do not say that it is worse.
func (x Candidate) odd(maximize bool) bool {
	if x.Difference || !(x.Ratio.Lo < x.Ratio.Hi) {
		return false
	}
	worse := x.Ratio.Lo > 1
	if maximize {
		worse = x.Ratio.Hi < 1
	}
	return (x.Centers < x.Ratio.Lo || x.Centers > x.Ratio.Hi) && !worse
}

// pairs are all candidates' figures of an objective, one row each.
func (c *Choice) pairs(all []Series, objective int) (*stat.AllPairs, [][]float64, []Series, error) {
	var series []Series
	at := map[int]int{}
	for _, x := range c.Candidates {
		s, _ := series1(all, x.Levels, x.Objectives[objective].Term)
		series = append(series, s)
		for _, t := range s.Trials {
			if _, ok := at[t.Block]; !ok {
				at[t.Block] = len(at)
			}
		}
	}
	for i, block := range slices.Sorted(maps.Keys(at)) { // in the order of time
		at[block] = i
	}
	rows := make([][]float64, len(series))
	for i, s := range series {
		rows[i] = slices.Repeat([]float64{math.NaN()}, len(at))
		for k, v := range c.Candidates[i].Objectives[objective].Values {
			rows[i][at[s.Trials[k].Block]] = v
		}
	}
	p, err := stat.NewAllPairs(rows, c.Confidence)
	if err == nil {
		p.Measured, p.Step = slices.ContainsFunc(series, func(s Series) bool { return s.Ticks }), stepOf(series)
		p.Hide(unseen(series))
	}
	return p, rows, series, err
}

// beyondWaiting reports whether waiting for a CPU does not explain that candidates i and j differ, as r says.
func beyondWaiting(pairs *stat.AllPairs, rows [][]float64, series []Series, i, j int, r stat.Comparison) bool {
	wide := Allowance(series[i].Waiting, series[j].Waiting)
	if wide == 1 || series[i].Response != "failed_share" {
		return wide == 1 || pairs.Log && Beyond(r, wide)
	}
	late := make([][]float64, len(rows))
	for k, row := range rows {
		late[k] = make([]float64, len(row))
		trials := series[k].Trials
		for b, x := range row {
			if !math.IsNaN(x) { // rows are in the order of trials
				late[k][b], trials = trials[0].Late, trials[1:]
			}
		}
	}
	return !LateExplains(rows, late, i, j, pairs.Confidence)
}

// LateExplains reports whether what had no answer in time explains that one of two treatments has the larger share of
// requests that failed, since waiting for a CPU may have made it late: without it, that share is not larger beyond
// chance. rows are the shares of each treatment by block, late the part of each that was late.
func LateExplains(rows, late [][]float64, i, j int, confidence float64) bool {
	sum := 0.0
	for b, x := range rows[i] {
		if d := x - rows[j][b]; !math.IsNaN(d) {
			sum += d
		}
	}
	if sum < 0 {
		i, j = j, i
	}
	least := slices.Clone(rows)
	least[i] = slices.Clone(rows[i])
	for b := range least[i] {
		least[i][b] -= late[i][b]
	}
	pairs, err := stat.NewAllPairs(least, confidence)
	if err != nil {
		return true
	}
	r, err := pairs.Interval(i, j)
	return err != nil || !(r.Lo > r.Even())
}

func series1(all []Series, levels []string, t Term) (Series, bool) {
	i := slices.IndexFunc(all, func(s Series) bool {
		return slices.Equal(s.Levels, levels) && t.Matches(s) && s.Side == t.Side
	})
	if i < 0 {
		return Series{}, false
	}
	return all[i], true
}

// equalWithin is the relative difference below which two candidates are practically equal.
const equalWithin = 0.05

// slight reports whether what was seen of a difference is less than matters. Trials that would confirm it are not worth
// a word: where two are equal, all that was seen is chance.
func (x Candidate) slight() bool {
	return !x.Difference && math.Abs(math.Log(x.Ratio.Estimate)) < math.Log1p(equalWithin)
}

// alike says what is known of a candidate that is not to be told from the best by more trials.
func (x Candidate) alike() string {
	r := x.Ratio
	most := fmt.Sprintf("they differ by at most %.3g %%", 100*(max(r.Hi, 1/r.Lo)-1))
	if max(r.Hi, 1/r.Lo) > 2 {
		most = fmt.Sprintf("one is at most %.3g times the other", max(r.Hi, 1/r.Lo))
	}
	switch {
	case x.Difference || !x.slight():
		return "no practical number of trials would tell them apart"
	case !(r.Lo < r.Hi) || !(r.Lo > 0):
		return "nothing tells them apart"
	case r.Lo > 1/(1+equalWithin) && r.Hi < 1+equalWithin:
		return "practically equal, " + most
	}
	return most + "; more trials would narrow that"
}

// apart is by how much a candidate differs from the best, as it is tested. The figures that are shown are medians of
// trials where the term is a quantile; those of a few slow trials differ otherwise.
func (x Candidate) apart(best Candidate) string {
	const plainly = 0.01
	tested, shown := x.Ratio.Estimate, x.Objectives[0].Center.Center/best.Objectives[0].Center.Center
	text := fmt.Sprintf("%.1f %% apart", 100*math.Abs(tested-1))
	if off := math.Abs(math.Log(tested / shown)); off > plainly && !math.IsInf(off, 0) {
		text += fmt.Sprintf(" on average over the blocks (%.1f %% by the figures above, of the typical trial)",
			100*math.Abs(shown-1))
	}
	return text
}

// mostDoubted is how many treatments a line names.
const mostDoubted = 4

// doubted names the candidates of which a requirement is undecided for the same reason.
func (c Choice) doubted(of Check) string {
	var names []string
	for _, x := range c.Candidates {
		if slices.ContainsFunc(x.Checks, func(k Check) bool {
			return k.Verdict == stat.Undecided && k.Requirement.Text == of.Requirement.Text && k.Doubt == of.Doubt
		}) {
			names = append(names, x.Name)
		}
	}
	if n := len(names) - mostDoubted; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostDoubted], "; "), n)
	}
	return strings.Join(names, "; ")
}

// Next says what to measure to be surer, the most telling first.
func (c Choice) Next() []string {
	var out []string
	told := map[[2]string]bool{} // requirement and doubt
	for _, x := range c.Candidates {
		for _, k := range x.Checks {
			if k.Verdict != stat.Undecided {
				continue
			}
			switch {
			case told[[2]string{k.Requirement.Text, k.Doubt}]:
			case k.Doubt != "":
				told[[2]string{k.Requirement.Text, k.Doubt}] = true
				out = append(out, fmt.Sprintf("%s, %s: %s", c.doubted(k), k.Requirement.Text, k.Doubt))
			case k.Needed > 0:
				out = append(out, fmt.Sprintf("%s, %s: about %d trials would decide (it has %d)", x.Name, k.Requirement.Text,
					max(k.Needed, len(k.Figure.Values)+1), len(k.Figure.Values)))
			default:
				out = append(out, fmt.Sprintf("%s, %s: too close to the bound; no practical number of trials would decide", x.Name,
					k.Requirement.Text))
			}
		}
	}
	for _, x := range c.Candidates[1:] {
		if !x.Noise || x.Meets == stat.Contradicted {
			continue
		}
		n := len(x.Objectives[0].Values)
		switch {
		case !x.alikeMeasured(c.Candidates[0], 0):
			out = append(out, fmt.Sprintf("%s vs %s: one is measured, the other modelled; measure both with a meter", x.Name,
				c.Candidates[0].Name))
		case math.IsNaN(x.Ratio.Estimate):
			out = append(out, fmt.Sprintf("%s vs %s: run at least two blocks with both", x.Name, c.Candidates[0].Name))
		case x.waited && !x.Same: // else there is no difference to explain
			out = append(out,
				fmt.Sprintf("%s vs %s: programs waited for a CPU, which may explain the difference; measure again on a "+
					"quieter machine", x.Name, c.Candidates[0].Name))
		case x.Odd:
			out = append(out,
				fmt.Sprintf("%s vs %s: mean and typical trial disagree because of a few slow trials; inspect them, or choose by "+
					"%s.median", x.Name, c.Candidates[0].Name, x.Objectives[0].Response))
		case x.Needed > 0:
			out = append(out, fmt.Sprintf("%s vs %s, %s: about %d trials each would decide (there are %d)", x.Name,
				c.Candidates[0].Name, x.apart(c.Candidates[0]), max(x.Needed, n+1), n))
		default:
			out = append(out, fmt.Sprintf("%s vs %s: %s; choose by something else", x.Name, c.Candidates[0].Name, x.alike()))
		}
	}
	return out
}
