package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// ClaimFormats are the ways to write scorecards.
var ClaimFormats = map[string]func(io.Writer, []*Report) error{"text": ClaimsText, "json": ClaimsJSON}

// ClaimsText writes the scorecards of several results for a terminal.
func ClaimsText(w io.Writer, all []*Report) error {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%s (%s)\n", r.Study.Name, r.Dir)
		for _, line := range r.damage() {
			wrap(&b, "! "+line, "  ")
		}
		if r.Published == nil {
			wrap(&b, "The study names no published table; add published: NAME to it.", "  ")
			b.WriteByte('\n')
			continue
		}
		r.scorecard(&b)
	}
	for _, t := range besides(all) {
		t.text(&b)
	}
	return PrintText(w, b.String())
}

// scorecard prints the claims of the paper, each with its verdict.
func (r *Report) scorecard(b *strings.Builder) {
	s := r.Published
	if s == nil {
		return
	}
	wrap(b, fmt.Sprintf("Claims of %s: %s.", s.Paper.Reference(), tally(*s)), "  ")
	wrap(b, "Published on: "+s.Paper.Setup+".", "  ")
	wrap(b, "Ours: "+r.ownSetup()+".", "  ")
	for _, d := range s.Differs {
		wrap(b, "! the set-up differs: "+d, "  ")
	}
	b.WriteByte('\n')
	const indent = "              "
	for _, c := range s.Claims {
		hang(b, pad(string(c.Verdict), len(indent), false), c.Words(), indent)
		if text := figuresText(c); text != "" {
			hang(b, indent, text, indent)
		}
		for _, line := range reasons(c) {
			hang(b, indent, line, indent)
		}
	}
	b.WriteByte('\n')
}

// reasons are why a claim is judged so, what a model says of it, and what would decide it.
func reasons(c paper.Judged) []string {
	out := slices.Clone(c.Why)
	if c.AsModelled != "" {
		text := "as modelled: " + string(c.AsModelled)
		if c.SizeIs != "" {
			text += ", " + placeText(c)
		}
		out = append(out, text+"; a model decides nothing")
	}
	if len(c.Decides) > 0 {
		out = append(out, "would decide: "+c.Decided())
	}
	return out
}

// placeText says where a size lies: "above 0.7 to 0.9".
func placeText(c paper.Judged) string {
	lo, hi, ok := c.SizeBounds()
	if !ok {
		return c.SizeIs + " the bounds of the pairs"
	}
	return fmt.Sprintf("%s %s to %s", c.SizeIs, figureValue(lo, c.Kind(), c.Unit), figureValue(hi, c.Kind(), c.Unit))
}

// sizeText is the verdict on a size, and where ours lies.
func sizeText(c paper.Judged) string {
	lo, hi, ok := c.SizeBounds()
	switch {
	case c.Size == "":
		return ""
	case !ok && (c.SizeIs == "" || c.Modelled):
		return fmt.Sprintf("size %s", c.Size)
	case c.SizeIs == "" || c.Modelled:
		return fmt.Sprintf("size %s (bounds %s to %s)", c.Size,
			figureValue(lo, c.Kind(), c.Unit), figureValue(hi, c.Kind(), c.Unit))
	}
	return fmt.Sprintf("size %s (%s)", c.Size, placeText(c))
}

// modelOf is a device's model. A machine that is emulated as fast as can be has no rate of instructions, whatever its
// name says.
func modelOf(model string, emulation map[string]string) string {
	if name, _, rate := strings.Cut(model, " at "); rate && emulation["mode"] == "free" {
		return name + ", computing as fast as the machine that emulates it"
	}
	return model
}

func tally(s paper.Scorecard) string {
	return fmt.Sprintf("%d confirmed, %d contradicted, %d undecided", s.Count("confirmed"), s.Count("contradicted"),
		s.Count("undecided"))
}

// ownSetup is what was measured on, in a line.
func (r *Report) ownSetup() string {
	var parts []string
	for _, name := range sortedKeys(r.Facts.Devices) {
		d := r.Facts.Devices[name]
		text := name
		if model := modelOf(d.Model, d.Emulation); model != "" {
			text += " (" + model + ")"
		}
		parts = append(parts, text)
	}
	for _, name := range sortedKeys(r.Facts.Stacks) {
		parts = append(parts, strings.TrimSpace(name+" "+r.Facts.Stacks[name].Version))
	}
	if len(parts) == 0 {
		return "no facts were kept"
	}
	return strings.Join(parts, ", ")
}

// figuresText is published and ours in a line.
func figuresText(c paper.Judged) string {
	var parts []string
	if text := publishedFigure(c.Claim); text != "" {
		parts = append(parts, "published "+text)
	}
	if text := oursText(c); text != "" {
		parts = append(parts, "ours "+text)
	}
	if size := sizeText(c); size != "" {
		parts = append(parts, fmt.Sprintf("direction %s, %s", c.Direction, size))
	}
	if c.Covered != nil && *c.Covered {
		parts = append(parts, "the published value lies in our interval")
	} else if c.Covered != nil {
		parts = append(parts, "the published value lies outside our interval")
	}
	if !math.IsNaN(c.PHolm) && c.Verdict != stat.Undecided {
		parts = append(parts, "p "+pText(c.PHolm)+" (Holm)")
	}
	return strings.Join(parts, "; ")
}

func publishedFigure(c paper.Claim) string {
	lo, hi, ok := c.Published()
	switch {
	case len(c.Pairs) > 0:
		var pairs []string
		for _, p := range c.Pairs {
			pairs = append(pairs, ratioText(p[0]))
		}
		return "ratios " + strings.Join(pairs, ", ")
	case !ok:
		return ""
	case lo == hi:
		return c.Kind() + " " + figureValue(lo, c.Kind(), c.Unit)
	}
	return c.Kind() + " " + figureValue(lo, c.Kind(), c.Unit) + " to " + figureValue(hi, c.Kind(), c.Unit)
}

func figureValue(v float64, kind, unit string) string {
	switch kind {
	case "difference":
		return Format(v, unit)
	case "share":
		return significant(100*v) + " %"
	case "slope":
		return strings.TrimSpace(significant(v) + " " + unit)
	}
	return ratioText(v)
}

// oursText is our figure with its interval, or the range of several.
func oursText(c paper.Judged) string {
	if f := c.Ours; !f.None() {
		text := f.Kind + " " + figureValue(f.Estimate, f.Kind, f.Unit)
		switch {
		case f.TellsNothing():
			text += " (" + advise.Untold + ")"
		case f.Hi > f.Lo:
			text += " (" + figureValue(f.Lo, f.Kind, f.Unit) + " to " + figureValue(f.Hi, f.Kind, f.Unit) + ")"
		}
		return text + unlikeText(f) + modelledWord(c.Modelled)
	}
	if len(c.Pairs) > 0 {
		if text := partsText(c); text != "" {
			return text + modelledWord(c.Modelled)
		}
	}
	if kind, unit, lo, hi, ok := c.Range(); ok && len(c.Parts) > 1 {
		return fmt.Sprintf("%s %s to %s in %s%s", kind, figureValue(lo, kind, unit), figureValue(hi, kind, unit),
			plural.Count(len(c.Parts), "comparison"), modelledWord(c.Modelled))
	}
	var where []string
	for _, p := range c.Parts {
		if p.Ours.Kind == "" && p.Why == "" { // no figure of its own: the words say it
			where = append(where, p.Where)
		}
	}
	return strings.Join(where, "; ")
}

// unlikeText are the strata of an average that lie apart, so that it holds for none of them.
func unlikeText(f paper.Evidence) string {
	if !advise.Differ(f.Strata) {
		return ""
	}
	var parts []string
	for _, s := range f.Strata {
		parts = append(parts, s.Name()+": "+figureValue(s.Estimate, f.Kind, f.Unit))
	}
	return ", an average of unlike ones (" + strings.Join(parts, "; ") + ")"
}

// partsText is each part of a claim with its figure; empty where one has none.
func partsText(c paper.Judged) string {
	var parts []string
	for _, p := range c.Parts {
		if p.Ours.None() {
			return ""
		}
		text := p.Where + " " + figureValue(p.Ours.Estimate, p.Ours.Kind, p.Ours.Unit)
		switch {
		case p.Ours.TellsNothing():
			text += " (" + advise.Untold + ")"
		case p.Ours.Hi > p.Ours.Lo:
			text += " (" + figureValue(p.Ours.Lo, p.Ours.Kind, p.Ours.Unit) + " to " +
				figureValue(p.Ours.Hi, p.Ours.Kind, p.Ours.Unit) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func modelledWord(is bool) string {
	if is {
		return ", modelled"
	}
	return ""
}

// ClaimsJSON writes the same; doc/formats.md names the keys.
func ClaimsJSON(w io.Writer, all []*Report) error {
	out := struct {
		Format  int             `json:"format"`
		Studies []scorecardJSON `json:"studies"`
		Besides []besideJSON    `json:"side_by_side"`
	}{1, []scorecardJSON{}, []besideJSON{}}
	for _, r := range all {
		out.Studies = append(out.Studies, r.scorecardJSON())
	}
	for _, t := range besides(all) {
		out.Besides = append(out.Besides, t.json())
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

type scorecardJSON struct {
	Study      string      `json:"study"`
	Results    string      `json:"results"`
	Published  string      `json:"published"` // the table; empty: the study names none
	Paper      string      `json:"paper"`
	Setup      string      `json:"published_setup"`
	Ours       string      `json:"our_setup"`
	Differs    []string    `json:"differs"`
	Confidence float64     `json:"confidence"` // of our intervals and of the verdicts, 0 to 1
	Confirmed  int         `json:"confirmed"`
	Contra     int         `json:"contradicted"`
	Undecided  int         `json:"undecided"`
	Claims     []claimJSON `json:"claims"`
	Warnings   []string    `json:"warnings"` // the results were edited: nothing is worth anything
}

type claimJSON struct {
	ID        string         `json:"id"`
	Form      string         `json:"form"`
	Claim     string         `json:"claim"`
	Says      string         `json:"says,omitempty"`
	Verdict   stat.Verdict   `json:"verdict"`
	Direction stat.Verdict   `json:"direction"`
	Size      stat.Verdict   `json:"size,omitempty"` // absent: the claim states none
	SizeSpan  *[2]float64    `json:"size_bounds,omitempty"`
	SizePHolm stat.Number    `json:"size_p_holm"`
	Waiting   float64        `json:"waiting_for_cpu,omitempty"` // s in each s of the run, where it is over the limit
	Published *publishedSpan `json:"published"`                 // null: the paper gives no figure
	Ours      *figureJSON    `json:"ours"`                      // null: no one figure states it, see parts
	Covered   *bool          `json:"published_in_interval"`
	P         stat.Number    `json:"p"`
	PHolm     stat.Number    `json:"p_holm"`
	Modelled  bool           `json:"modelled"`
	Missing   []string       `json:"missing"`
	Why       []string       `json:"why"`
	Parts     []partJSON     `json:"parts"`
	// AsModelled is absent where ours is measured, SizeIs where no size is decided.
	AsModelled stat.Verdict `json:"as_modelled,omitempty"`
	SizeIs     string       `json:"size_is,omitempty"`
	Decides    []string     `json:"would_decide"`
}

type publishedSpan struct {
	Kind string     `json:"kind"`
	Span [2]float64 `json:"range"` // equal: one figure
	Unit string     `json:"unit,omitempty"`
}

type figureJSON struct {
	Kind   string        `json:"kind"`
	Value  stat.Number   `json:"value"`
	CI     stat.Interval `json:"ci"`
	Unit   string        `json:"unit,omitempty"`
	N      int           `json:"n"`
	Method string        `json:"method"`
}

type partJSON struct {
	Where  string      `json:"where"`
	Ours   *figureJSON `json:"ours"`
	PHolds stat.Number `json:"p_holds"`
	PFails stat.Number `json:"p_fails"`
	Why    string      `json:"why,omitempty"`
	// Published is the paper's ratio of this part, where the claim has one for each.
	Published []float64 `json:"published,omitempty"`
}

func (r *Report) scorecardJSON() scorecardJSON {
	out := scorecardJSON{Study: r.Study.Name, Results: r.Dir, Ours: r.ownSetup(), Differs: []string{},
		Confidence: r.Study.Design.Confidence, Claims: []claimJSON{}, Warnings: orEmpty(r.damage())}
	s := r.Published
	if s == nil {
		return out
	}
	out.Published, out.Paper, out.Setup, out.Differs = s.Paper.Name, s.Paper.Reference(), s.Paper.Setup, orEmpty(s.Differs)
	out.Confirmed, out.Contra, out.Undecided = s.Count("confirmed"), s.Count("contradicted"), s.Count("undecided")
	for _, c := range s.Claims {
		x := claimJSON{ID: c.ID, Form: c.Form(), Claim: c.Words(), Says: c.Says, Verdict: c.Verdict, Ours: figureOf(c.Ours),
			Covered: c.Covered,
			P:       stat.Number(c.P), PHolm: stat.Number(c.PHolm), Modelled: c.Modelled, Missing: orEmpty(c.Missing),
			Why: orEmpty(c.Why), Parts: []partJSON{}, AsModelled: c.AsModelled, SizeIs: c.SizeIs, Decides: orEmpty(c.Decides)}
		x.Direction, x.Size, x.SizePHolm, x.Waiting = c.Direction, c.Size, stat.Number(c.SizePHolm), c.Waiting
		if lo, hi, ok := c.SizeBounds(); ok {
			x.SizeSpan = &[2]float64{lo, hi}
		}
		if lo, hi, ok := c.Claim.Published(); ok {
			x.Published = &publishedSpan{c.Kind(), [2]float64{lo, hi}, c.Unit}
		}
		for _, p := range c.Parts {
			x.Parts = append(x.Parts, partJSON{p.Where, figureOf(p.Ours), stat.Number(p.Holds), stat.Number(p.Fails), p.Why,
				p.Published})
		}
		out.Claims = append(out.Claims, x)
	}
	return out
}

func figureOf(f paper.Evidence) *figureJSON {
	if f.None() {
		return nil
	}
	return &figureJSON{f.Kind, stat.Number(f.Estimate), stat.Interval{f.Lo, f.Hi}, f.Unit, f.N[0], f.Method}
}

// claimRow is a claim as the page shows it.
type claimRow struct {
	Verdict, Claim, Says, Published, Ours, Magnitude string
	Why                                              []string
}

func (r *Report) claimRows() []claimRow {
	var out []claimRow
	if r.Published == nil {
		return nil
	}
	for _, c := range r.Published.Claims {
		row := claimRow{Verdict: string(c.Verdict), Claim: c.Words(), Says: c.Says, Published: publishedFigure(c.Claim),
			Ours: oursText(c), Why: reasons(c)}
		if c.Covered != nil {
			row.Magnitude = map[bool]string{true: "in our interval", false: "outside our interval"}[*c.Covered]
		}
		if size := sizeText(c); size != "" {
			row.Magnitude = strings.TrimPrefix(row.Magnitude+fmt.Sprintf("; direction %s, %s", c.Direction, size), "; ")
		}
		out = append(out, row)
	}
	return out
}
