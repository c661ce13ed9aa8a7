package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// onBenches says on how many benches, and for which, intervals are.
func (r *Report) onBenches() string {
	if r.Benches == nil {
		return ""
	}
	return fmt.Sprintf(" on %s, %s", plural.Count(len(r.Benches.Names), "bench"), kindWords(r.Benches.Kind))
}

func kindWords(k stat.BenchKind) string {
	if k == stat.FixedBenches {
		return "for these benches"
	}
	return "for benches like these"
}

// Disagreements say for each question of the verdict that benches do not answer it alike.
func (r *Report) Disagreements() []string {
	return r.disagreements(func(BenchPanel) float64 { return 1 })
}

// DisagreementsSoFar are those while a study runs, which is looked at again after each block: each look has its share
// of the errors, 1/2, 1/6, 1/12, …, which add up to 1.
func (r *Report) DisagreementsSoFar() []string {
	return r.disagreements(func(p BenchPanel) float64 { return 1 / float64(p.blocks*(p.blocks+1)) })
}

func (r *Report) disagreements(share func(BenchPanel) float64) []string {
	if r.Benches == nil {
		return nil
	}
	var out []string
	for _, g := range r.groups() {
		for _, all := range r.questions(g) {
			for _, q := range all {
				i := slices.IndexFunc(r.Benches.Panels, func(p BenchPanel) bool {
					return p.Side == q.side && p.Response == q.response
				})
				measured := func(treatment int) bool { _, ok := r.Cell(treatment, q.side, q.response); return ok }
				if i < 0 || !slices.ContainsFunc(g.treatments, measured) {
					continue
				}
				p := r.Benches.Panels[i]
				confidence := 1 - (1-r.Study.Design.Confidence)*share(p)
				head := "Benches differ"
				if p.turned(confidence) != nil {
					head = "Benches disagree"
				}
				text := fmt.Sprintf("%s, %s: %s.", head, words(q.response), p.agreement(confidence))
				if p.disagree(confidence) && !slices.Contains(out, text) {
					out = append(out, text)
				}
				break
			}
		}
	}
	return out
}

// p is that of treatment×bench, among all responses that are judged at once.
func (p BenchPanel) p() float64 {
	if p.among == 0 {
		return float64(p.Model.P)
	}
	return p.holm
}

func (p BenchPanel) disagree(confidence float64) bool {
	return ofBench(p.Response) && p.p() < 1-confidence
}

// agreement is the test of treatment×bench in words.
func (p BenchPanel) agreement(confidence float64) string {
	m := p.Model
	test := fmt.Sprintf("F(%g, %g) = %s, p = %.2g", m.DF1, m.DF2, significant(float64(m.F)), p.p())
	if p.among > 1 {
		test += fmt.Sprintf(" by Holm over %d responses", p.among)
	}
	turned := p.turned(confidence)
	switch {
	case !ofBench(p.Response):
		return "it does not depend on the bench: it varies only with what the trials drew"
	case math.IsNaN(float64(m.P)):
		return "whether benches rank treatments differently is not known: they have too few treatments in common, or too " +
			"few blocks"
	case !p.disagree(confidence):
		return "no sign that benches rank treatments differently: " + test
	case turned == nil:
		text := "the size of the difference depends on the bench"
		if o := p.widest(); o != nil {
			text += ": " + p.text(o, false)
		}
		return text + " (" + test + "); no sign that the order does"
	}
	is := p.text(turned, true)
	one := m.Driver == turned.benches[turned.Below] || m.Driver == turned.benches[turned.Above]
	switch {
	case !p.many:
		return fmt.Sprintf("the two benches rank treatments differently: %s (%s)", is, test)
	case !one:
		return fmt.Sprintf("benches rank treatments differently: %s (%s)", is, test)
	case float64(m.PWithout) < 1-confidence:
		return fmt.Sprintf("benches rank treatments differently, most of all %s: %s (%s); the others differ, too (p = %.2g "+
			"without it)", m.Driver, is, test, m.PWithout)
	}
	return fmt.Sprintf("%s ranks treatments differently: %s (%s); no sign that the others do (p = %.2g without it)",
		m.Driver, is, test, m.PWithout)
}

// spreads are the standard deviations of the model: of logarithms, in per cent.
func (p BenchPanel) spreads() string {
	var parts []string
	for _, x := range []struct {
		name     string
		variance stat.Number
	}{{"benches", p.Model.Bench}, {"treatment by bench", p.Model.Interaction}, {"blocks", p.Model.Block},
		{"error", p.Model.Error}} {
		sd := math.Sqrt(float64(x.variance))
		text := Format(sd, p.Unit)
		switch {
		case math.IsNaN(sd):
			text = "unknown"
		case p.Log:
			text = significant(100*sd) + " %"
		}
		parts = append(parts, x.name+" "+text)
	}
	return "standard deviations: " + strings.Join(parts, ", ")
}

// benchTables are the contrasts of each response, with what is known of its benches.
func (r *Report) benchTables() []flatTable {
	if r.Benches == nil {
		return nil
	}
	var out []flatTable
	for _, p := range r.Benches.Panels {
		head, figure, within := "times as much", ratioText, ratioSpan
		if !p.Log {
			head, figure = "more", func(v float64) string { return Format(v, p.Unit) }
			within = func(lo, hi float64) string { return figure(lo) + " to " + figure(hi) }
		}
		t := flatTable{Title: "Benches: " + words(p.Response) + " at the " + string(p.Side),
			Rows:  [][]string{{"treatment", "against", head, "for these benches", "for benches like these"}},
			Notes: []string{capital(p.spreads()) + "; " + p.agreement(r.Study.Design.Confidence)}}
		if p.OfAll {
			t.Notes = append(t.Notes, "Requests failed: medians among all requests are compared, with those as the slowest")
		}
		if len(p.Fails) > 0 {
			t.Notes = append(t.Notes, capital(clauses(p.Fails)))
		}
		for _, c := range p.Contrasts {
			like := "–"
			if !math.IsNaN(c.Like.Lo) {
				like = within(c.Like.Lo, c.Like.Hi)
			}
			t.Rows = append(t.Rows, []string{r.Treatments[c.Treatment].Name(), r.Treatments[c.Best].Name(),
				figure(c.These.Estimate), within(c.These.Lo, c.These.Hi), like})
		}
		out = append(out, t)
	}
	if len(r.Benches.Moved) > 0 {
		t := flatTable{Title: "Benches: second half of the control's trials over the first",
			Rows: [][]string{{"bench", "control", "times as long", "interval", "moved by more than 3 standard errors"}}}
		for _, d := range r.Benches.Moved {
			t.Rows = append(t.Rows, []string{d.Bench, r.Treatments[d.Treatment].Name(), ratioText(d.Estimate),
				ratioRange(d.Comparison), map[bool]string{true: "yes", false: "no"}[d.Moved]})
		}
		out = append(out, t)
	}
	return out
}

// benchesText prints the tables of benches for the client's times and bytes; the page and
// other formats have all.
func (r *Report) benchesText(b *strings.Builder) {
	for _, t := range r.benchTables() {
		if strings.HasSuffix(t.Title, "at the server") {
			continue
		}
		b.WriteString(t.Title + "\n")
		widths := make([]int, len(t.Rows[0]))
		for _, row := range t.Rows {
			for i, x := range row {
				widths[i] = max(widths[i], len([]rune(x)))
			}
		}
		for _, row := range t.Rows {
			line := ""
			for i, x := range row {
				line += pad(x, widths[i], i > 1) + "  "
			}
			b.WriteString("  " + strings.TrimRight(line, " ") + "\n")
		}
		for _, n := range t.Notes {
			wrap(b, "  "+n, "  ")
		}
		b.WriteByte('\n')
	}
}

// benchesJSON is what JSON says of the benches.
type benchesJSON struct {
	Kind   stat.BenchKind             `json:"intervals_for"`
	Names  []string                   `json:"names"`
	Panels []benchPanelJSON           `json:"responses"`
	Drift  []benchDriftJSON           `json:"controls"`
	Lacks  []benchLackJSON            `json:"lacking,omitempty"`
	Facts  map[string]json.RawMessage `json:"facts"`
}

type benchLackJSON struct {
	Treatment  string      `json:"treatment"`
	Benches    []string    `json:"benches"` // that run it
	Blocks     int         `json:"blocks"`
	Of         int         `json:"of_blocks"`
	Efficiency stat.Number `json:"efficiency"`
	Why        string      `json:"why,omitempty"`
}

type benchPanelJSON struct {
	Response  string              `json:"response"`
	Side      string              `json:"side"`
	Scale     string              `json:"scale"` // log: contrasts are ratios
	OfAll     bool                `json:"medians_of_all,omitempty"`
	Model     benchModelJSON      `json:"model"`
	PHolm     stat.Number         `json:"p_holm"`
	Among     int                 `json:"judged_at_once"`
	Order     *benchOrderJSON     `json:"order"`
	Contrasts []benchContrastJSON `json:"contrasts"`
}

type benchOrderJSON struct {
	Treatment string                 `json:"treatment"`
	Against   string                 `json:"against"`
	Benches   map[string]stat.Number `json:"estimates"`
	P         stat.Number            `json:"p_holm"`
	Turns     bool                   `json:"turns"`
}

type benchModelJSON struct {
	Bench       stat.Number `json:"bench_variance"`
	Interaction stat.Number `json:"treatment_by_bench_variance"`
	Block       stat.Number `json:"block_variance"`
	Error       stat.Number `json:"error_variance"`
	F           stat.Number `json:"f"`
	DF1         stat.Number `json:"df1"`
	DF2         stat.Number `json:"df2"`
	P           stat.Number `json:"p"`
	Driver      string      `json:"driver,omitempty"`
	PWithout    stat.Number `json:"p_without_driver"`
}

type benchContrastJSON struct {
	Treatment string        `json:"treatment"`
	Against   string        `json:"against"`
	Estimate  stat.Number   `json:"estimate"`
	These     stat.Interval `json:"ci_these_benches"`
	Like      stat.Interval `json:"ci_benches_like_these"`
}

type benchDriftJSON struct {
	Bench     string        `json:"bench"`
	Treatment string        `json:"treatment"`
	Ratio     stat.Number   `json:"ratio"`
	RatioCI   stat.Interval `json:"ratio_ci"`
	Moved     bool          `json:"moved"`
}

// orderJSON is the pair of treatments whose order turns most surely with the bench; nil: benches may not differ in any.
func (p BenchPanel) orderJSON(confidence float64) *benchOrderJSON {
	o := p.first(func(a, b benchOrder) bool { return a.P < b.P })
	if o == nil || p.among == 0 {
		return nil
	}
	out := &benchOrderJSON{Treatment: p.name(o.a), Against: p.name(o.b), Benches: map[string]stat.Number{},
		P: stat.Number(p.turns), Turns: p.turned(confidence) != nil}
	for k, bench := range o.benches {
		x := o.Means[k]
		if p.Log {
			x = math.Exp(x)
		}
		out.Benches[bench] = stat.Number(x)
	}
	return out
}

func (r *Report) benchesJSON() *benchesJSON {
	if r.Benches == nil {
		return nil
	}
	out := &benchesJSON{Kind: r.Benches.Kind, Names: r.Benches.Names, Panels: []benchPanelJSON{},
		Drift: []benchDriftJSON{}, Facts: r.Benches.Facts}
	for _, l := range r.Benches.Lacks {
		out.Lacks = append(out.Lacks, benchLackJSON{r.Treatments[l.Treatment].Name(), append([]string{}, l.Benches...),
			l.Blocks, l.Of, stat.Number(l.Efficiency), l.Why})
	}
	for _, p := range r.Benches.Panels {
		x := benchPanelJSON{Response: p.Response, Side: string(p.Side), Scale: "linear", OfAll: p.OfAll,
			Model: benchModelJSON(p.Model), PHolm: stat.Number(math.NaN()), Among: p.among,
			Order: p.orderJSON(r.Study.Design.Confidence), Contrasts: []benchContrastJSON{}}
		if p.among > 0 {
			x.PHolm = stat.Number(p.holm)
		}
		if p.Log {
			x.Scale = "log"
		}
		for _, c := range p.Contrasts {
			x.Contrasts = append(x.Contrasts, benchContrastJSON{r.Treatments[c.Treatment].Name(),
				r.Treatments[c.Best].Name(), stat.Number(c.These.Estimate), stat.Interval{c.These.Lo, c.These.Hi},
				stat.Interval{c.Like.Lo, c.Like.Hi}})
		}
		out.Panels = append(out.Panels, x)
	}
	for _, d := range r.Benches.Moved {
		out.Drift = append(out.Drift, benchDriftJSON{d.Bench, r.Treatments[d.Treatment].Name(), stat.Number(d.Estimate),
			stat.Interval{d.Lo, d.Hi}, d.Moved})
	}
	return out
}
