package paper

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Mapping says which of a table's columns is which of our factors.
type Mapping struct {
	Columns   []Column
	Responses map[string]string     // published name → ours; over the paper's own
	Fixed     map[string]string     // what the study fixes: setting → value
	Board     map[measure.Side]bool // sides at which a program ran on a board
	Options   map[string]bool       // of stacks, that the study sets
	Differs   []string
}

// designed reports whether the study made its messages after the published sizes.
func (m Mapping) designed(p Paper) bool {
	return slices.ContainsFunc(p.Designed, func(option string) bool { return m.Options[option] })
}

// A Column is one of the table, which of our factors it is (Source), and what its
// values are called there.
type Column struct {
	Name, Source string
	Levels       map[string]string // our level → published value; nil: the same words
}

// Beside is a published figure set beside one of ours.
type Beside struct {
	Series int // index of ours
	Row
	Ratio stat.Comparison // ours over theirs; Estimate is NaN where there is none
	Why   string          // there is no ratio
}

// A view is our series in the paper's words.
type view struct {
	paper   Paper
	mapping Mapping
	series  []advise.Series
	at      []map[string]string // of each series: dimension → value
}

func (p Paper) view(series []advise.Series, m Mapping) view {
	v := view{paper: p, mapping: m, series: series}
	for _, s := range series {
		at := m.place(p, s)
		if slices.Contains(p.Outside[s.Stack], s.Response) {
			at = nil // another quantity of the same name: it has no place in the paper
		}
		v.at = append(v.at, at)
	}
	return v
}

// place says what a series is in the paper's words: its columns, and besides
// them our own factors. A column that cannot be told is absent.
func (m Mapping) place(p Paper, s advise.Series) map[string]string {
	at := map[string]string{}
	for i, f := range s.Factors {
		if f != sideDimension {
			at[f] = s.Levels[i]
		}
	}
	told := map[string]string{}
	for _, c := range p.Columns {
		col := Column{Name: c, Source: c}
		if i := slices.IndexFunc(m.Columns, func(x Column) bool { return x.Name == c }); i >= 0 {
			col = m.Columns[i]
		}
		level := s.Level(col.Source)
		if level == "" {
			level = m.Fixed[col.Source]
		}
		value, ok := level, level != ""
		if col.Levels != nil {
			value, ok = col.Levels[level]
		}
		delete(at, col.Source) // told by the column now
		if ok {
			told[c] = value
		}
	}
	maps.Copy(at, told)
	at[sideDimension] = string(s.Side)
	return at
}

const sideDimension = "side"

// term is our response and side for a published one. Side is empty where the
// table or the claim says it.
func (v view) term(response string) (advise.Term, error) {
	name := response
	if r, ok := v.paper.Responses[response]; ok {
		name = r
	}
	if r, ok := v.mapping.Responses[response]; ok {
		name = r
	}
	t, err := advise.ParseTerm(name)
	if err != nil {
		return t, fmt.Errorf("published response %q: %w; name ours in published.responses", response, err)
	}
	return t, nil
}

// Beside finds, for each of our series, the published figure of the same
// response, side and treatment.
func (p Paper) Beside(series []advise.Series, m Mapping, confidence float64) ([]Beside, error) {
	v := p.view(series, m)
	var out []Beside
	for _, r := range p.Rows {
		t, err := v.term(r.Response)
		if err != nil {
			return nil, err
		}
		side := r.Side
		if t.Side != "" {
			side = t.Side
		}
		for i, s := range series {
			if s.Response != t.Response || s.Side != side || !within(v.at[i], r.At) {
				continue
			}
			b := Beside{Series: i, Row: r}
			b.Ratio, b.Why = ratio(p, s, r, confidence)
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b Beside) int { return a.Series - b.Series })
	return out, nil
}

func ratio(p Paper, s advise.Series, r Row, confidence float64) (stat.Comparison, string) {
	if s.Unit != r.Unit {
		return noRatio, fmt.Sprintf("published in %s, ours in %s", r.Unit, s.Unit)
	}
	var ys []float64
	for _, t := range s.Trials {
		ys = append(ys, t.Mean)
	}
	c, err := p.against(ys, r, confidence)
	if err != nil {
		return noRatio, err.Error()
	}
	return c, ""
}

// within reports whether a treatment's place has all of want.
func within(at, want map[string]string) bool {
	for k, v := range want {
		if got, ok := at[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Missing names the published treatments that none of our series stands
// beside, in words.
func (p Paper) Missing(series []advise.Series, m Mapping) []string {
	v := p.view(series, m)
	var out []string
	for _, r := range p.Rows {
		if slices.ContainsFunc(v.at, func(at map[string]string) bool { return within(at, r.At) }) {
			continue
		}
		if name := inWords(r.At); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// inWords is a place as "framework axis2, message_kb 100".
func inWords(at map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(at)) {
		parts = append(parts, k+" "+at[k])
	}
	return strings.Join(parts, ", ")
}
