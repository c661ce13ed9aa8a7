package report

import (
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
)

// published sets the paper's figures beside ours and judges its claims.
func (r *Report) published() error {
	p, beside, err := r.beside()
	if p == nil || err != nil {
		return err
	}
	for _, b := range beside {
		r.Cells[b.Series].Published = &b // series stand in the order of the cells
	}
	m, series := r.mapping(), r.Series()
	card := p.Judge(series, m, r.Study.Design.Confidence)
	if len(r.Damage) > 0 {
		card.Void("the results " + r.changed() + ", so they decide nothing")
	}
	r.Published = &card
	if missing := p.Missing(series, m); len(missing) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s not measured: %s", plural.Count(len(missing), "published treatment")+
			plural.Verb(len(missing), " was", " were"), list(missing, 4)))
	}
	return nil
}

// beside is the paper that the study repeats, and its figures beside ours; nil: it repeats none.
func (r *Report) beside() (*paper.Paper, []paper.Beside, error) {
	table := r.Study.Published.Table.Text
	if table == "" {
		return nil, nil, nil
	}
	p, err := paper.Load(table)
	if err != nil {
		return nil, nil, err
	}
	all, err := p.Beside(r.Series(), r.mapping(), r.Study.Design.Confidence)
	return &p, all, err
}

// mapping is what the study says of the table's columns.
func (r *Report) mapping() paper.Mapping {
	pub := r.Study.Published
	m := paper.Mapping{Responses: map[string]string{}, Fixed: map[string]string{}, Board: map[measure.Side]bool{},
		Options: map[string]bool{}, Differs: pub.Differs}
	for _, t := range r.Treatments {
		if t.setup == nil {
			continue
		}
		for side, device := range map[measure.Side]string{measure.Client: t.setup.Client.Device,
			measure.Server: t.setup.Server.Device} {
			m.Board[side] = m.Board[side] || isBoard(device)
		}
		for option := range t.setup.Options {
			m.Options[option] = true
		}
	}
	for _, c := range pub.Columns {
		m.Columns = append(m.Columns, paper.Column{Name: c.Name.Text, Source: c.Source.Text, Levels: c.Levels})
	}
	for _, x := range pub.Responses {
		m.Responses[x.Published.Text] = x.Ours.Text
	}
	for _, s := range r.Study.Fixed {
		m.Fixed[s.Key] = s.Value.Text
	}
	return m
}

// list names the first few.
func list(names []string, most int) string {
	text := ""
	for i, n := range names {
		switch {
		case i == most:
			return text + fmt.Sprintf(" and %d more", len(names)-most)
		case i > 0:
			text += "; "
		}
		text += n
	}
	return text
}

// besideRows are ours beside the published figures, as text.
func (r *Report) besideRows() [][]string {
	var rows [][]string
	for _, c := range r.Cells {
		if c.Published != nil {
			rows = append(rows, []string{r.Treatments[c.Treatment].Name(), string(c.Side), c.Response,
				Format(c.Mean.Center, c.Unit) + modelled(c.Method), publishedText(c.Published),
				ratioText(c.Published.Ratio.Estimate), ratioRange(c.Published.Ratio)})
		}
	}
	return rows
}

func (r *Report) besides(b *strings.Builder) {
	if rows := r.besideRows(); len(rows) > 0 {
		wrap(b, fmt.Sprintf("Compared with the figures of %s:", r.Published.Paper.Reference()), "  ")
		writeColumns(b, append([][]string{{"treatment", "side", "response", "ours", "published", "ours/published",
			"interval"}}, rows...))
	}
}

func modelled(m store.Method) string {
	if m == store.Modelled {
		return " (modelled)"
	}
	return ""
}

func publishedText(b *paper.Beside) string {
	text := Format(b.Mean, b.Unit)
	if b.HalfWidth > 0 {
		text += " ±" + Format(b.HalfWidth, b.Unit)
	}
	return text
}
