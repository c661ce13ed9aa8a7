package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// WideTreatments says which treatments have a figure whose interval, as the report shows it,
// is wider than the study's precision asks for, by number, and the widest of these figures in
// words. It also names treatments that have a figure whose interval became narrow with the last
// trial: who stops then stops too often where few trials look alike by chance. If they are all,
// widest is empty. It reads the ledger only.
func WideTreatments(s *store.Store) (treatments []int, widest string, err error) {
	r, err := ReadFigures(s)
	if err != nil {
		return nil, "", err
	}
	for _, f := range r.wide(true) {
		if !slices.Contains(treatments, f.treatment) {
			treatments = append(treatments, f.treatment)
		}
	}
	if wide := r.wide(false); len(wide) > 0 {
		widest = wide[0].words
	}
	return treatments, widest, nil
}

// A wideFigure is one whose interval is wider than the study's precision asks for.
type wideFigure struct {
	treatment int
	share     float64 // half-width over its center
	words     string
}

// wide are the figures that lack the precision asked for, the widest first. Of benches, a
// figure without an interval lacks it, since more blocks may give it one, and of two benches
// like these, which leave one degree of freedom, all do; of trials alone, one of a single trial
// lacks it, and what else has no interval has one value. If twice, a figure must have it with
// its last trial and without.
func (r *Report) wide(twice bool) []wideFigure {
	var wide []wideFigure
	for i := range r.Cells {
		c := &r.Cells[i]
		of := r.nameOf(c)
		why := r.unsure(c)
		if c.on == nil && len(c.Points) == 1 {
			why = "one trial"
		}
		if why != "" {
			wide = append(wide, wideFigure{c.Treatment, math.Inf(1), of + " (" + why + ")"})
			continue
		}
		share := halfWidth(c.Headline())
		if asked := r.Study.Design.Precision; share > asked || twice && c.on == nil && halfWidth(c.before(
			r.Study.Design.Confidence)) > asked {
			wide = append(wide, wideFigure{c.Treatment, share, of + " (" + missed(c.Headline(), c.Unit) + ")"})
		}
	}
	for _, c := range r.cut() {
		wide = append(wide, wideFigure{c.Treatment, math.Inf(1), r.nameOf(&c) + " (" + noWholeBlock + ")"})
	}
	slices.SortStableFunc(wide, func(a, b wideFigure) int { return cmp.Compare(b.share, a.share) })
	return wide
}

// nameOf is a figure in words.
func (r *Report) nameOf(c *Cell) string {
	return fmt.Sprintf("%s of %s at the %s", words(c.Response), r.Treatments[c.Treatment].Name(), c.Side)
}

// missed says how wide an interval is that lacks the precision asked for, and its ends if it is lopsided.
func missed(s stat.Summary, unit string) string {
	if advise.TellsNothing(s.Center, s.Lo, s.Hi) {
		return advise.Untold
	}
	share := significant(100*halfWidth(s)) + " %"
	if ends := ends(s, unit); ends != "" {
		return ends + ", half-width " + share
	}
	return "±" + share
}

// unsure says what more benches or blocks may give a figure; empty: nothing that more trials do not.
func (r *Report) unsure(c *Cell) string {
	switch {
	case c.on == nil:
	case r.Benches.Kind == stat.RandomBenches && len(r.Benches.Names) < 3:
		return "too few benches"
	case !c.Headline().HasInterval():
		return "no interval"
	}
	return ""
}

// Widest is the figure whose interval, as the report shows it, is the widest for its center, and how wide; or one that
// more benches or blocks are needed for, and why: how wide is infinite then. nil: no figure has an interval.
func (r *Report) Widest() (widest *Cell, share float64, why string) {
	if cut := r.cut(); len(cut) > 0 {
		return &cut[0], math.Inf(1), noWholeBlock
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if why := r.unsure(c); why != "" {
			return c, math.Inf(1), why
		}
		if x := halfWidth(c.Headline()); x > share {
			widest, share = c, x
		}
	}
	return widest, share, ""
}

// halfWidth is that of an interval over its center; 0 where there is none.
func halfWidth(s stat.Summary) float64 {
	if !s.HasInterval() || s.Center == 0 {
		return 0
	}
	return s.HalfWidth() / math.Abs(s.Center)
}

// before is the headline as it was without the last trial; nothing where there was none.
func (c *Cell) before(confidence float64) stat.Summary {
	values := make([]float64, 0, len(c.Points))
	for _, p := range c.Points[:len(c.Points)-1] {
		values = append(values, c.value(p))
	}
	figure := c.meanOf
	if c.ByMedian {
		figure = stat.Median
	}
	s, err := figure(values, confidence)
	if err != nil {
		return stat.Summary{Lo: math.NaN(), Hi: math.NaN()}
	}
	return s.Hiding(c.Unseen)
}

// precise says how the precision was reached that the study asks for; nothing if it was not.
func (r *Report) precise() []string {
	if r.Study.Design.Precision == 0 || len(r.wide(false)) > 0 {
		return nil
	}
	return []string{fmt.Sprintf("Every figure is within %s, as asked, after %s.", r.asked(),
		r.took(func(int) bool { return true }))}
}

// doubtPrecision says which treatments have not the precision that the study asks for, and
// what ended the search for it.
func (r *Report) doubtPrecision() {
	if r.Study.Design.Precision == 0 {
		return
	}
	wide := r.wide(false)
	if len(wide) == 0 {
		return
	}
	treatments := map[int]bool{}
	var figures []string
	for _, f := range wide {
		treatments[f.treatment] = true
		figures = append(figures, f.words)
	}
	text := fmt.Sprintf("the requested precision of %s was not reached by %s: %s; ", r.asked(),
		plural.Count(len(wide), "figure"), list(figures, 3))
	if n := len(r.Treatments) - len(treatments); n > 0 {
		text += fmt.Sprintf("%d of %d treatments reached it after %s, the others did not after %s", n, len(r.Treatments),
			r.took(func(i int) bool { return !treatments[i] }), r.took(func(i int) bool { return treatments[i] }))
	} else {
		text += fmt.Sprintf("no treatment reached it after %s", r.took(func(int) bool { return true }))
	}
	r.Warnings = append(r.Warnings, text+r.budget())
}

// asked is the precision that the study asks for.
func (r *Report) asked() string {
	return fmt.Sprintf("±%.4g %%", 100*r.Study.Design.Precision)
}

// budget says that nothing is left of what the precision might take.
func (r *Report) budget() string {
	if slices.ContainsFunc(r.Treatments, func(t Treatment) bool { return t.Valid < t.Wanted }) {
		return ""
	}
	b := r.Study.Design.Budget
	if b.Blocks > 0 {
		return fmt.Sprintf("; the budget of %s was used", plural.Count(b.Blocks, "more block"))
	}
	return fmt.Sprintf("; the budget of %s was used", study.DurationText(b.Time))
}

// took says how many trials these treatments have: "12 to 57 trials each".
func (r *Report) took(of func(treatment int) bool) string {
	least, most := math.MaxInt, 0
	for i, t := range r.Treatments {
		if of(i) {
			least, most = min(least, t.Valid), max(most, t.Valid)
		}
	}
	if least == most {
		return plural.Count(most, "trial") + " each"
	}
	return fmt.Sprintf("%d to %d trials each", least, most)
}
