package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"edgegauge/internal/advise"
	"edgegauge/internal/stat"
)

// Effects are what the factors do to one response of one side, floors aside.
type Effects struct {
	Panel
	Log      bool        // judged on logarithms: effects are ratios
	Anova    *stat.Anova // nil: there is nothing to analyse
	Levels   []LevelContrast
	Warnings []string
}

// A LevelContrast compares the best level of a factor with another, averaged
// over the other factors.
type LevelContrast struct {
	Factor, Best, Other string
	stat.Comparison     // other over best; best over other where more is better
	PHolm               float64
	Alike               bool    // proven alike within alikeWithin
	Published           float64 // the same ratio of the published figures; NaN: there is none
}

// alikeWithin is the share within which levels count as equal.
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
	e := Effects{Panel: p}
	t, series := r.table(p)
	if len(series) < 2 {
		return e, false
	}
	e.Log = !slices.ContainsFunc(t.Rows, func(x stat.Row) bool { return x.Y <= 0 })
	if e.Log {
		for i := range t.Rows {
			t.Rows[i].Y = math.Log(t.Rows[i].Y)
		}
	}
	a, err := stat.AnalyzeVariance(t, stat.AnovaOptions{Confidence: r.Study.Design.Confidence})
	if err == nil {
		e.Anova = &a
		for _, w := range a.Warnings {
			e.Warnings = append(e.Warnings, w.Error())
		}
	} else {
		e.Warnings = append(e.Warnings, err.Error())
	}
	if len(series) > orderTreatments {
		e.Warnings = append(e.Warnings, fmt.Sprintf("order effects were not looked for: %d treatments are over %d", len(series), orderTreatments))
	} else {
		e.order(t)
	}
	if e.Log {
		r.levels(&e, series)
	}
	return e, true
}

// table has the trials of a panel in the order they were run, floors aside.
func (r *Report) table(p Panel) (stat.Table, []advise.Series) {
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
		for _, x := range c.Points {
			rows = append(rows, placed{place[x.Trial], stat.Row{Levels: s.Levels, Block: fmt.Sprint(x.Block), Y: x.Mean}})
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
	place, before, err := stat.OrderEffects(t)
	if err != nil {
		return // too few blocks to tell
	}
	for _, x := range []stat.Test{place, before} {
		if x.P < warnAt {
			e.Warnings = append(e.Warnings, fmt.Sprintf("order effect: %s matters (F, p = %.2g); add design.cooldown, or look at the time course", x.Name, x.P))
		}
	}
}

// levels compares the best level of each factor with each other one, Holm
// over the panel.
func (r *Report) levels(e *Effects, series []advise.Series) {
	var ps []float64
	from := len(e.Levels)
	for _, f := range r.Study.Factors {
		var names []string
		for _, l := range f.Levels {
			if slices.ContainsFunc(series, func(s advise.Series) bool { return s.Level(f.Name) == l.Text }) {
				names = append(names, l.Text)
			}
		}
		for _, c := range r.bestOf(series, f.Name, names) {
			e.Levels = append(e.Levels, c)
			ps = append(ps, c.P)
		}
	}
	for i, p := range stat.Holm(ps) {
		e.Levels[from+i].PHolm = p
	}
}

func moreIsBetter(response string) bool { return response == "throughput" }

// bestOf sorts a factor's levels and compares the first with the others.
func (r *Report) bestOf(series []advise.Series, factor string, names []string) []LevelContrast {
	if len(names) < 2 {
		return nil
	}
	type placed struct {
		name string
		over float64 // the first level
	}
	order := []placed{{names[0], 1}}
	for _, n := range names[1:] {
		c, err := advise.Marginal(series, factor, n, names[0], r.Study.Design.Confidence)
		if err != nil {
			return nil // no stratum, or no block, in common: the contrasts of treatments say it
		}
		order = append(order, placed{n, c.Estimate})
	}
	up := moreIsBetter(series[0].Response)
	slices.SortStableFunc(order, func(a, b placed) int {
		if up {
			a, b = b, a
		}
		return cmp.Compare(a.over, b.over)
	})
	var out []LevelContrast
	for _, other := range order[1:] {
		a, b := other.name, order[0].name
		if up {
			a, b = b, a
		}
		x := LevelContrast{Factor: factor, Best: order[0].name, Other: other.name, PHolm: math.NaN(), Published: r.publishedRatio(series, factor, a, b)}
		var err error
		if x.Comparison, err = advise.Marginal(series, factor, a, b, r.Study.Design.Confidence); err != nil {
			continue
		}
		if alike, _, err := x.Between(1-alikeWithin, 1/(1-alikeWithin)); err == nil {
			x.Alike = alike < 1-r.Study.Design.Confidence
		}
		out = append(out, x)
	}
	return out
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
			if c.Published != nil && c.Response == s.Response && c.Side == s.Side && slices.Equal(r.Treatments[c.Treatment].Levels, s.Levels) {
				at[others][side] = c.Published.Mean
			}
		}
	}
	sum := 0.0
	for _, p := range at {
		sum += math.Log(p[0] / p[1])
	}
	return math.Exp(sum / float64(len(at)))
}

// Clear reports whether the two levels differ beyond doubt.
func (c LevelContrast) Clear(confidence float64) bool {
	return c.PHolm < 1-confidence || math.IsNaN(c.PHolm) && c.Estimate != 1
}

// doings are what a lower figure means, as "A answers 2 times sooner than B".
var doings = map[string][2]string{
	"rtt": {"answers", "sooner"}, "response_time": {"answers", "sooner"}, "total_time": {"is done", "sooner"}, "delay": {"is done", "sooner"},
	"serialization": {"serializes", "faster"}, "deserialization": {"deserializes", "faster"},
	"message_size": {"sends messages", "smaller"}, "response_size": {"sends answers", "smaller"}, "wire_bytes": {"puts", "fewer bytes on the wire"},
	"cpu": {"needs", "less CPU time"}, "energy": {"needs", "less energy"}, "energy_gross": {"needs", "less energy, idle included"}, "trial_energy": {"needs", "less energy in all"},
	"peak_rss": {"needs", "less memory"}, "throughput": {"answers", "more requests a second"},
}

// Sentence says what the contrast means, as "rest answers 2.2 times sooner than soap (2.1 to 2.3; published 2.2)".
func (c LevelContrast) Sentence(p Panel, confidence float64) string {
	at := ""
	if p.Side == "server" {
		at = ", at the server"
	}
	if !c.Clear(confidence) {
		what := "are not told apart in " + words(p.Response)
		if c.Alike {
			what = fmt.Sprintf("are alike within %g %% in %s", 100*alikeWithin, words(p.Response))
		}
		return fmt.Sprintf("%s and %s %s%s: ratio %s (%s%s).", c.Best, c.Other, what, at, ratioText(c.Estimate), ratioRange(c.Comparison), c.alsoPublished())
	}
	do, ok := doings[p.Response]
	if !ok {
		return fmt.Sprintf("%s of %s is %s times that of %s%s (%s%s).", words(p.Response), c.Other, ratioText(c.Estimate), c.Best, at, ratioRange(c.Comparison), c.alsoPublished())
	}
	return fmt.Sprintf("%s %s %s times %s than %s%s (%s%s).", c.Best, do[0], ratioText(c.Estimate), do[1], c.Other, at, ratioRange(c.Comparison), c.alsoPublished())
}

func (c LevelContrast) alsoPublished() string {
	if math.IsNaN(c.Published) {
		return ""
	}
	return "; published " + ratioText(c.Published)
}
