package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Effects are what the factors do to one response of one side, floors aside.
type Effects struct {
	Panel
	Log      bool        // judged on logarithms: effects are ratios
	Medians  bool        // the analysis of variance is of medians of trials, since all are shown so; else of means
	Anova    *stat.Anova // nil: there is nothing to analyse
	Levels   []LevelContrast
	Warnings []string
}

// A LevelContrast compares the best level of a factor with another, averaged
// over the other factors.
type LevelContrast struct {
	Factor, Best, Other string
	// other over best; best over other where more is better; its interval is that of the verdict
	stat.Comparison
	PAdjusted float64          // that of the interval: over all pairs of levels at once, and over the factors
	Strata    []advise.Stratum // the same ratio at each combination of the other factors' levels
	Modelled  bool             // some of it is computed from a model
	Means     bool             // it compares means, where the verdict goes by medians
	OfAll     bool             // it compares medians among all requests, of which some failed
	Fails     string           // the best fails a larger share of its requests than the other; empty: it does not
	Disagree  bool             // strata turn the ratio round: no average applies
	Alike     bool             // proven alike within alikeWithin in every stratum, among all contrasts of the response
	Wide      float64          // the factor that waiting for a CPU may explain; 1: none
	Published float64          // the same ratio of the published figures; NaN: there is none

	alike float64 // p of Alike by itself; NaN: waiting for a CPU may hide a difference
}

// alikeWithin is the share within which levels count as equal, as figures do in compare: one takes at most so much more
// than the other.
const alikeWithin = 0.05

// orderTreatments bounds the time that order effects take: it grows with the
// square of treatments.
const orderTreatments = 40

func (r *Report) effectsOfAll() []Effects {
	var out []Effects
	for _, p := range r.Panels() {
		if e, ok := r.effects(p); ok {
			out = append(out, e)
		}
	}
	return out
}

func (r *Report) effects(p Panel) (Effects, bool) {
	e := Effects{Panel: p, Medians: r.allMedians(p)}
	t, series := r.table(p, e.Medians)
	if len(series) < 2 {
		return e, false
	}
	if i := slices.IndexFunc(series, func(s advise.Series) bool { return s.Longer > 0 }); i >= 0 {
		s := series[i]
		e.Warnings = append(e.Warnings, fmt.Sprintf("levels are not compared: of %s, %d of %d trials ended before they had "+
			"a value, and the others are the better ones", s.Name(), s.Longer, s.Longer+len(s.Trials)))
		return e, true
	}
	if why := withinUnseen(series); why != "" {
		e.Warnings = append(e.Warnings, why)
		return e, true
	}
	if !r.rankAll(&e, &t, series) {
		return e, true
	}
	r.framesDiffer(&e)
	e.Log = !slices.ContainsFunc(t.Rows, func(x stat.Row) bool { return x.Y <= 0 })
	if e.Log {
		for i := range t.Rows {
			t.Rows[i].Y = math.Log(t.Rows[i].Y)
		}
	}
	if r.holed(p) { // its units are no blocks
		e.Warnings = append(e.Warnings, "no analysis of variance: benches lack treatments; see the contrasts of benches")
		if e.Log {
			r.levels(&e, series)
		}
		return e, true
	}
	r.analyze(&e, t, series)
	if len(series) > orderTreatments {
		e.Warnings = append(e.Warnings, fmt.Sprintf("order effects were not tested: %d treatments exceed the limit of %d",
			len(series), orderTreatments))
	} else if r.Benches == nil {
		e.order(t)
	}
	if e.Log {
		r.levels(&e, series)
	}
	return e, true
}

// allMedians reports whether all figures of a panel, floors aside, are shown as medians.
func (r *Report) allMedians(p Panel) bool {
	return !slices.ContainsFunc(r.Cells, func(c Cell) bool {
		return c.Response == p.Response && c.Side == p.Side && !c.ByMedian && !r.isFloor(r.Treatments[c.Treatment].Stack)
	})
}

// table has the trials of a panel in the order they were run, floors aside: medians of requests, or means.
func (r *Report) table(p Panel, medians bool) (stat.Table, []advise.Series) {
	t := stat.Table{Response: p.Response, Factors: r.Factors}
	var series []advise.Series
	type placed struct {
		at int
		stat.Row
	}
	place := map[int]int{}
	for i, x := range r.Trials {
		place[x.ID] = i
	}
	var rows []placed
	for i, s := range r.Series() {
		c := r.Cells[i]
		if s.Floor || s.Response != p.Response || s.Side != p.Side {
			continue
		}
		series = append(series, s)
		for _, x := range c.replicates() {
			at := place[x.Trial]
			if c.on != nil { // a unit is no trial
				at = x.Block
			}
			y := x.Mean
			if medians {
				y = x.Median
			}
			rows = append(rows, placed{at, stat.Row{Levels: s.Levels, Block: fmt.Sprint(x.Block), Y: y}})
		}
	}
	slices.SortFunc(rows, func(a, b placed) int { return a.at - b.at })
	for _, x := range rows {
		t.Rows = append(t.Rows, x.Row)
	}
	return t, series
}

// warnAt is the p below which a check becomes a warning: stricter than 0.05,
// since every response is checked.
const warnAt = 0.01

// order warns where a trial's place in its block, or the treatment before it, matters.
func (e *Effects) order(t stat.Table) {
	place, before, err := stat.OrderEffects(t, e.Log)
	if err != nil {
		return // too few blocks to tell
	}
	for _, x := range []stat.Test{place, before} {
		if x.P < warnAt {
			e.Warnings = append(e.Warnings,
				fmt.Sprintf("order effect: %s matters (F, p = %.2g); add design.cooldown, or look at the time course", x.Name, x.P))
		}
	}
}

// levels compares the best level of each factor with each other one. Every
// pair of a factor's levels is compared at once, since the best is picked from
// the data; Bonferroni over the factors, and over the families of one whose levels are not all alike measured.
func (r *Report) levels(e *Effects, series []advise.Series) {
	if hasNoBetter(e.Response) {
		return
	}
	var families []levelFamily
	for _, f := range r.Study.Factors {
		var names []string
		for _, l := range f.Levels {
			if slices.ContainsFunc(series, func(s advise.Series) bool { return s.Level(f.Name) == l.Text }) {
				names = append(names, l.Text)
			}
		}
		found := alikeLevels(series, f.Name, names)
		e.Warnings = append(e.Warnings, apartWords(found)...)
		families = append(families, found...)
	}
	families = slices.DeleteFunc(families, func(f levelFamily) bool { return len(f.levels) < 2 })
	for _, f := range families {
		for _, c := range r.bestOf(series, f.factor, f.levels, len(families)) {
			e.Levels = append(e.Levels, c)
			for _, w := range c.Warnings {
				if !errors.Is(w, stat.ErrNoSpread) {
					e.Warnings = append(e.Warnings, fmt.Sprintf("%s against %s: %v", c.Best, c.Other, w))
				}
			}
		}
	}
	ps := make([]float64, len(e.Levels))
	for i, c := range e.Levels {
		ps[i] = c.alike
	}
	for i, p := range stat.Holm(ps) {
		e.Levels[i].Alike = p < 1-r.Study.Design.Confidence
	}
}

func moreIsBetter(response string) bool {
	x, _ := measure.FindResponse(response)
	return x.Better() == measure.More
}

// hasNoBetter reports whether no level of a factor is the best in a response.
func hasNoBetter(response string) bool {
	x, _ := measure.FindResponse(response)
	return x.Better() == measure.Neither
}

// bestOf sorts a factor's levels and compares the first with the others; the
// factor is one of a family of that many.
func (r *Report) bestOf(series []advise.Series, factor string, names []string, family int) []LevelContrast {
	order, ok := r.levelOrder(series, factor, names)
	if !ok {
		return nil // no stratum, or no block, in common: the contrasts of treatments say it
	}
	up := moreIsBetter(series[0].Response)
	confidence := r.Study.Design.Confidence
	pairs, incomplete := advise.Levels(series, factor, order, 1-(1-confidence)/float64(family))
	var out []LevelContrast
	compare := func(over, under int) (stat.Comparison, float64, error) {
		if incomplete == nil {
			c, err := pairs.Compare(over, under)
			return c, min(1, c.P*float64(family)), err
		}
		n := float64(family * len(order) * (len(order) - 1) / 2)
		c, err := advise.Marginal(series, factor, order[over], order[under], 1-(1-confidence)/n)
		return c, min(1, c.P*n), err
	}
	for i := range order[1:] {
		best, other := 0, i+1
		over, under := other, best
		if up {
			over, under = best, other
		}
		c, p, err := compare(over, under)
		if err == nil && c.Estimate < 1 { // where levels lack combinations, the best of all may be the worse of two
			best, other, over, under = other, best, under, over
			c, p, err = compare(over, under)
		}
		if err != nil {
			continue
		}
		a, b := order[over], order[under]
		x := LevelContrast{Factor: factor, Best: order[best], Other: order[other], Comparison: c, PAdjusted: p,
			Published: r.publishedRatio(series, factor, a, b)}
		x.Modelled = slices.ContainsFunc(series, func(s advise.Series) bool {
			return s.Modelled && slices.Contains([]string{a, b}, s.Level(factor))
		})
		x.Means = slices.ContainsFunc(r.Cells, func(c Cell) bool {
			return c.ByMedian && c.Response == series[0].Response && c.Side == series[0].Side
		})
		x.OfAll, x.Fails = r.levelLosses(series, factor, x)
		x.Means = x.Means && !x.OfAll
		x.Strata = advise.Strata(series, factor, a, b, confidence)
		x.Wide = advise.Allowance(waitOf(series, factor, a), waitOf(series, factor, b))
		x.Disagree = advise.Disagree(x.Strata)
		if x.alike = advise.Alike(x.Strata, 1/(1+alikeWithin), 1+alikeWithin); x.Wide > 1 {
			x.alike = math.NaN()
		}
		out = append(out, x)
	}
	return out
}

// waitOf is how long trials of a level waited for a CPU, the worst treatment's.
func waitOf(series []advise.Series, factor, level string) float64 {
	most := 0.0
	for _, s := range series {
		if s.Level(factor) == level {
			most = max(most, s.Waiting)
		}
	}
	return most
}

// levelOrder is a factor's levels, the best first: by the mean of the logarithms of a level's ratios
// to those with which it has combinations of the other factors in common. Levels that have none with
// any other are left out.
func (r *Report) levelOrder(series []advise.Series, factor string, names []string) ([]string, bool) {
	references := names
	if _, err := advise.Levels(series, factor, names, r.Study.Design.Confidence); err == nil && sameBlocks(series) {
		references = names[:1] // where each has all combinations in all blocks, any one orders them alike
	}
	over, alone := map[string]float64{}, map[string]bool{}
	for _, n := range names {
		sum, others := 0.0, 0.0
		for _, reference := range references {
			c, err := advise.Marginal(series, factor, n, reference, r.Study.Design.Confidence)
			if err == nil && n != reference {
				sum, others = sum+math.Log(c.Estimate), others+1
			}
		}
		over[n], alone[n] = sum/max(1, others), others == 0 && (len(references) > 1 || n != references[0])
	}
	up := moreIsBetter(series[0].Response)
	order := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return alone[n] })
	if len(order) < 2 {
		return nil, false
	}
	slices.SortStableFunc(order, func(a, b string) int {
		if up {
			a, b = b, a
		}
		return cmp.Compare(over[a], over[b])
	})
	return order, true
}

// sameBlocks reports whether no treatment lacks a trial that another one has.
func sameBlocks(series []advise.Series) bool {
	blocks := func(s advise.Series) []int {
		var out []int
		for _, t := range s.Trials {
			out = append(out, t.Block)
		}
		slices.Sort(out)
		return out
	}
	first := blocks(series[0])
	return !slices.ContainsFunc(series, func(s advise.Series) bool { return !slices.Equal(blocks(s), first) })
}

// publishedRatio is a over b of the published figures, averaged over the same
// treatments; NaN where one of them was not published.
func (r *Report) publishedRatio(series []advise.Series, factor, a, b string) float64 {
	if r.Published == nil {
		return math.NaN()
	}
	at := map[string]*[2]float64{}
	for _, s := range series {
		side := slices.Index([]string{a, b}, s.Level(factor))
		if side < 0 {
			continue
		}
		var others string
		for i, f := range s.Factors {
			if f != factor {
				others += s.Levels[i] + "\x00"
			}
		}
		if at[others] == nil {
			at[others] = &[2]float64{math.NaN(), math.NaN()}
		}
		for _, c := range r.Cells {
			if c.Published != nil && c.Response == s.Response && c.Side == s.Side &&
				slices.Equal(r.Treatments[c.Treatment].Levels, s.Levels) {
				at[others][side] = c.Published.Mean
			}
		}
	}
	sum := 0.0
	for _, others := range sortedKeys(at) { // so that the sum is the same to the last digit
		sum += math.Log(at[others][0] / at[others][1])
	}
	return math.Exp(sum / float64(len(at)))
}

// Clear reports whether the two levels differ beyond doubt, on average and not
// turned round by another factor.
func (c LevelContrast) Clear(confidence float64) bool {
	return c.apart(confidence) && !c.Slowed(confidence)
}

func (c LevelContrast) apart(confidence float64) bool {
	return !c.Disagree && (c.PAdjusted < 1-confidence || math.IsNaN(c.PAdjusted) && c.Estimate != 1)
}

// Slowed reports whether the two levels differ, and waiting for a CPU may explain it.
func (c LevelContrast) Slowed(confidence float64) bool {
	if c.Disagree {
		return c.Wide > 1 && !slices.ContainsFunc(c.Strata, func(s advise.Stratum) bool { return s.Lo > c.Wide }) ||
			c.Wide > 1 && !slices.ContainsFunc(c.Strata, func(s advise.Stratum) bool { return s.Hi < 1/c.Wide })
	}
	return c.Wide > 1 && c.apart(confidence) && !advise.Beyond(c.Comparison, c.Wide)
}

// compared is Sentence without the requests that failed.
func (c LevelContrast) compared(p Panel, confidence float64) string {
	at := ""
	if p.Side == "server" {
		at = ", at the server"
	}
	if c.Modelled {
		at += ", modelled"
	}
	if c.Means {
		at += ", by means"
	}
	if c.OfAll {
		at += ", by medians among all requests"
	}
	if c.Slowed(confidence) {
		return fmt.Sprintf("%s and %s cannot be distinguished in %s%s, since waiting for a CPU may explain a ratio of up to "+
			"%s: ratio %s (%s%s).", c.best(), c.other(), words(p.Response), at, ratioText(c.Wide), ratioText(c.Estimate),
			ratioRange(c.Comparison), c.overStrata()+c.alsoPublished())
	}
	if c.Disagree {
		return c.whichWhere(p, at)
	}
	if !c.Clear(confidence) {
		what := "show no significant difference in " + words(p.Response)
		if c.Alike {
			what = fmt.Sprintf("are alike within %g %% in %s", 100*alikeWithin, words(p.Response))
		}
		return fmt.Sprintf("%s and %s %s%s: ratio %s (%s%s).", c.best(), c.other(), what, at, ratioText(c.Estimate),
			ratioRange(c.Comparison), c.overStrata()+c.alsoPublished())
	}
	do, ok := doings[p.Response]
	if ok && advise.Differ(c.Strata) && math.IsNaN(c.Published) { // an average would hold nowhere
		switch w := c.where(); {
		case len(w.other)+len(w.neither) == 0:
			return fmt.Sprintf("%s %s %s than %s%s; by how much depends on the other factors: ratio %s is %s.", c.best(),
				do.does, do.better, c.other(), at, c.ratioOf(p), c.perStratum())
		case len(w.other)+len(w.best) > 0: // else waiting may explain each by itself, and not all together
			return c.whichWhere(p, at)
		}
	}
	more, less := c.other(), c.best()
	if moreIsBetter(p.Response) {
		more, less = less, more
	}
	if !ok {
		return fmt.Sprintf("%s of %s is %s times that of %s%s (%s%s).", words(p.Response), more, ratioText(c.Estimate), less,
			at, ratioRange(c.Comparison), c.overStrata()+c.alsoPublished())
	}
	return fmt.Sprintf("%s %s as %s%s (%s%s).", more, fmt.Sprintf(do.times, ratioText(c.Estimate)), less, at,
		ratioRange(c.Comparison), c.overStrata()+c.alsoPublished())
}

// best and other are the two levels as a sentence names them.
func (c LevelContrast) best() string  { return levelWords(c.Factor, c.Best) }
func (c LevelContrast) other() string { return levelWords(c.Factor, c.Other) }

// levelWords names a level, and its factor where it is a mere quantity: "n 1000", since "1000" is nobody's name.
func levelWords(factor, level string) string {
	if level != "" && level[0] >= '0' && level[0] <= '9' {
		return factor + " " + level
	}
	return level
}

// ratioOf says of what to what the ratio is: above 1 where the best is better.
func (c LevelContrast) ratioOf(p Panel) string {
	if moreIsBetter(p.Response) {
		return c.best() + " to " + c.other()
	}
	return c.other() + " to " + c.best()
}

// perStratum is the ratio in each stratum, the least first: "0.50 at dpws, 2.00 at axis2".
func (c LevelContrast) perStratum() string {
	var parts []string
	for _, s := range c.knownStrata() {
		within := withinStratum(s)
		if within != "" {
			within = " (" + within + ")"
		}
		parts = append(parts, ratioText(s.Estimate)+within+" at "+s.Name())
	}
	if n := len(parts); n > 4 {
		parts = append(parts[:2:2], append([]string{"…"}, parts[n-2:]...)...)
	}
	return strings.Join(parts, ", ")
}

// overStrata says how far the ratio ranges where no one figure holds everywhere.
func (c LevelContrast) overStrata() string {
	if !advise.Differ(c.Strata) {
		return ""
	}
	return "; not the same everywhere: " + c.perStratum()
}

func (c LevelContrast) alsoPublished() string {
	if math.IsNaN(c.Published) {
		return ""
	}
	return "; published " + ratioText(c.Published)
}
