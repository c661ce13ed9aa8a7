package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A besideTable sets the verdicts of several results on one paper's claims side by
// side: of this machine, an emulated one, counted instructions.
type besideTable struct {
	paper    string
	settings []string
	cards    []*paper.Scorecard
}

// besides are the papers that more than one of the results speaks of, in their order.
func besides(all []*Report) []besideTable {
	var out []besideTable
	for _, r := range all {
		if r.Published == nil {
			continue
		}
		name := r.Published.Paper.Name
		i := slices.IndexFunc(out, func(t besideTable) bool { return t.paper == name })
		if i < 0 {
			i, out = len(out), append(out, besideTable{paper: name})
		}
		t := &out[i]
		setting := r.setting()
		if slices.Contains(t.settings, setting) {
			setting += " (" + r.Dir + ")"
		}
		t.settings, t.cards = append(t.settings, setting), append(t.cards, r.Published)
	}
	return slices.DeleteFunc(out, func(t besideTable) bool { return len(t.cards) < 2 })
}

// setting is what tells results of one study apart: on what they ran, and by which clock.
func (r *Report) setting() string {
	var parts []string
	for _, name := range sortedKeys(r.Facts.Devices) {
		if len(r.Facts.Devices[name].Emulation) > 0 {
			name += ", emulated"
		}
		parts = append(parts, name)
	}
	text := strings.Join(parts, " and ")
	if text == "" {
		text = "unknown devices"
	}
	if slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Method == store.Counted }) {
		text += ", instructions counted"
	}
	return text
}

// disagree tells whether one setting confirms what another contradicts.
func disagree(verdicts []stat.Verdict) bool {
	return slices.Contains(verdicts, stat.Confirmed) && slices.Contains(verdicts, stat.Contradicted)
}

// disagreement says how the settings disagree on a claim; empty: they do not.
func (t besideTable) disagreement(claim int) string {
	if disagree(t.verdicts(claim)) {
		return "the settings disagree"
	}
	is := map[string]bool{}
	for _, c := range t.cards {
		if j := c.Claims[claim]; !j.Modelled {
			is[j.SizeIs] = true
		}
	}
	if is[paper.Above] && is[paper.Below] {
		return "the settings lie on both sides of the published size"
	}
	return ""
}

func (t besideTable) verdicts(claim int) []stat.Verdict {
	var out []stat.Verdict
	for _, c := range t.cards {
		out = append(out, c.Claims[claim].Verdict)
	}
	return out
}

func (t besideTable) text(b *strings.Builder) {
	const indent, verdict = "  ", "                "
	wrap(b, fmt.Sprintf("Side by side: the claims of %s in %d settings.", t.cards[0].Paper.Reference(),
		len(t.cards)), indent)
	b.WriteByte('\n')
	for i, c := range t.cards[0].Claims {
		words := c.Words()
		if odds := t.disagreement(i); odds != "" {
			words = "! " + odds + ": " + words
		}
		hang(b, indent, words, indent+indent)
		for k, card := range t.cards {
			j := card.Claims[i]
			text := t.settings[k]
			if ours := oursText(j); ours != "" {
				text += ": " + ours
			}
			hang(b, pad(indent+indent+string(j.Verdict), len(verdict), false)+" ", text, verdict+" ")
		}
	}
	b.WriteByte('\n')
}

// A besideJSON is a besideTable for programs; doc/formats.md names the keys.
type besideJSON struct {
	Published string            `json:"published"`
	Settings  []string          `json:"settings"`
	Claims    []besideClaimJSON `json:"claims"`
}

type besideClaimJSON struct {
	ID       string         `json:"id"`
	Disagree bool           `json:"disagree"`
	Verdicts []stat.Verdict `json:"verdicts"` // in the order of the settings
	Ours     []*figureJSON  `json:"ours"`
}

func (t besideTable) json() besideJSON {
	out := besideJSON{Published: t.paper, Settings: t.settings, Claims: []besideClaimJSON{}}
	for i, c := range t.cards[0].Claims {
		x := besideClaimJSON{ID: c.ID, Verdicts: t.verdicts(i), Disagree: t.disagreement(i) != ""}
		for _, card := range t.cards {
			x.Ours = append(x.Ours, figureOf(card.Claims[i].Ours))
		}
		out.Claims = append(out.Claims, x)
	}
	return out
}
