package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"edgegauge/internal/advise"
	"edgegauge/internal/stat"
)

// A Chosen is what choose has to tell.
type Chosen struct {
	Dir string
	advise.Choice
	Warnings []string
}

// answer is the choice in words.
func (c Chosen) answer() string {
	best, ok := c.Best()
	if !ok {
		may := 0
		for _, x := range c.Candidates {
			if x.Meets == stat.Undecided {
				may++
			}
		}
		if may == 0 {
			return "No treatment meets the requirements, beyond doubt."
		}
		return fmt.Sprintf("Undecided: no treatment meets the requirements beyond doubt, %d may.", may)
	}
	f := best.Objectives[0]
	text := fmt.Sprintf("Choose %s: %s %s%s at the %s", best.Name, c.Objectives[0], Format(f.Mean.Center, f.Unit), between(f.Mean, f.Unit), f.Side)
	var alike []string
	for _, x := range c.Candidates[1:] {
		if x.Noise && x.Meets == stat.Confirmed {
			alike = append(alike, x.Name)
		}
	}
	if len(alike) > 0 {
		text += "; within noise of it: " + strings.Join(alike, ", ")
	}
	return text + "."
}

// Text writes the choice for a terminal.
func (c Chosen) Text(w io.Writer) error {
	var b strings.Builder
	wrap(&b, c.answer(), "  ")
	b.WriteByte('\n')
	head := []string{"treatment", "meets"}
	for _, o := range c.Objectives {
		head = append(head, o.Term.String())
	}
	head = append(head, "to the best", "front")
	rows := [][]string{head}
	for i, x := range c.Candidates {
		row := []string{fmt.Sprintf("%d. %s", i+1, x.Name), meetsWord(x.Meets, len(x.Checks))}
		for _, f := range x.Objectives {
			row = append(row, strings.TrimSpace(Format(f.Mean.Center, f.Unit)+" "+interval(f.Mean.Center, f.Mean.Lo, f.Mean.Hi)))
		}
		rows = append(rows, append(row, noiseWord(x), frontWord(x)))
	}
	writeColumns(&b, rows)
	c.checks(&b)
	for _, n := range c.Next() {
		wrap(&b, "next: "+n, "  ")
	}
	for _, l := range c.Left {
		wrap(&b, "! left out: "+l, "  ")
	}
	for _, l := range c.Warnings {
		wrap(&b, "! "+l, "  ")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Chosen) checks(b *strings.Builder) {
	if len(c.Candidates[0].Checks) == 0 {
		return
	}
	rows := [][]string{{"requirement", "treatment", "side", "value", "", "met"}}
	for _, x := range c.Candidates {
		for _, k := range x.Checks {
			rows = append(rows, []string{k.Requirement.Text, x.Name, string(k.Figure.Side), Format(k.Figure.Mean.Center, k.Figure.Unit), interval(k.Figure.Mean.Center, k.Figure.Mean.Lo, k.Figure.Mean.Hi), checkWord(k)})
		}
	}
	writeColumns(b, rows)
}

func checkWord(k advise.Check) string { return meetsWord(k.Verdict, 1) }

func meetsWord(v stat.Verdict, checks int) string {
	switch {
	case checks == 0:
		return "–"
	case v == stat.Confirmed:
		return "yes"
	case v == stat.Contradicted:
		return "no"
	}
	return "undecided"
}

func noiseWord(x advise.Candidate) string {
	switch {
	case x.Noise:
		return "within noise"
	case math.IsNaN(x.Ratio.Lo):
		return "the best"
	}
	return ratioText(x.Ratio.Estimate) + " (" + ratioRange(x.Ratio) + ")"
}

func frontWord(x advise.Candidate) string {
	switch {
	case x.Front:
		return "yes"
	case x.Unsure:
		return "perhaps"
	}
	return "no"
}

// JSON writes the whole choice.
func (c Chosen) JSON(w io.Writer) error {
	type figure struct {
		Figure string        `json:"figure"`
		Unit   string        `json:"unit"`
		Mean   stat.Number   `json:"mean"`
		CI     stat.Interval `json:"ci"`
		Trials int           `json:"trials"`
	}
	type check struct {
		Requirement string `json:"requirement"`
		Met         string `json:"met"` // yes, no, undecided
		Figure      figure `json:"figure"`
		Needed      int    `json:"trials_needed,omitempty"`
		Doubt       string `json:"doubt,omitempty"`
	}
	type candidate struct {
		Rank       int           `json:"rank"` // by the first objective, among those alike in meeting the requirements
		Treatment  string        `json:"treatment"`
		Meets      string        `json:"meets"`
		Objectives []figure      `json:"objectives"`
		Checks     []check       `json:"requirements"`
		Ratio      stat.Number   `json:"ratio_to_best"`
		RatioCI    stat.Interval `json:"ratio_ci"`
		PHolm      stat.Number   `json:"p_holm"`
		Noise      bool          `json:"within_noise"`
		Front      bool          `json:"pareto_front"`
		BeatBy     string        `json:"beaten_by,omitempty"`
		Unsure     bool          `json:"beaten_within_noise,omitempty"`
	}
	of := func(f advise.Figure) figure {
		return figure{f.Term.String(), f.Unit, stat.Number(f.Mean.Center), stat.Interval{f.Mean.Lo, f.Mean.Hi}, len(f.Values)}
	}
	out := struct {
		Answer     string      `json:"answer"`
		Choice     string      `json:"choice"` // empty: none
		Candidates []candidate `json:"candidates"`
		Next       []string    `json:"next"`
		Left       []string    `json:"left_out"`
		Warnings   []string    `json:"warnings"`
	}{Answer: c.answer(), Candidates: []candidate{}, Next: orEmpty(c.Next()), Left: orEmpty(c.Left), Warnings: orEmpty(c.Warnings)}
	if best, ok := c.Best(); ok {
		out.Choice = best.Name
	}
	for i, x := range c.Candidates {
		y := candidate{i + 1, x.Name, meetsWord(x.Meets, 1), []figure{}, []check{}, stat.Number(x.Ratio.Estimate), stat.Interval{x.Ratio.Lo, x.Ratio.Hi}, stat.Number(x.PHolm), x.Noise, x.Front, x.BeatBy, x.Unsure}
		for _, f := range x.Objectives {
			y.Objectives = append(y.Objectives, of(f))
		}
		for _, k := range x.Checks {
			y.Checks = append(y.Checks, check{k.Requirement.Text, checkWord(k), of(k.Figure), k.Needed, k.Doubt})
		}
		out.Candidates = append(out.Candidates, y)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
