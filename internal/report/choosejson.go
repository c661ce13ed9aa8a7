package report

import (
	"encoding/json"
	"io"
	"math"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// JSON writes the whole choice: the object of the one level there is, or a list of
// them under "levels".
func (c Chosen) JSON(w io.Writer) error {
	var all []chosenLevel
	for _, l := range c.Levels {
		all = append(all, l.json(c.Warnings))
	}
	var out any = map[string]any{"format": chosenFormat, "levels": all}
	if len(all) == 1 {
		all[0].Format = chosenFormat
		out = all[0]
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

type chosenFigure struct {
	Figure   string        `json:"figure"`
	Unit     string        `json:"unit"`
	Value    stat.Number   `json:"value"`
	Mean     stat.Number   `json:"mean"` // Value by its first name, whatever Figure is
	CI       stat.Interval `json:"ci"`
	Trials   int           `json:"trials"`
	Modelled bool          `json:"modelled,omitempty"`
	AtMost   bool          `json:"at_most,omitempty"` // of a bound, and the figure may be anything below
	// Failed is the share of the requests that failed, where the figure is of the others alone.
	Failed float64 `json:"failed_share,omitempty"`
}
type chosenCheck struct {
	Requirement string       `json:"requirement"`
	Met         string       `json:"met"` // yes, no, undecided
	Figure      chosenFigure `json:"figure"`
	Needed      int          `json:"trials_needed,omitempty"`
	Doubt       string       `json:"doubt,omitempty"`
}
type chosenCandidate struct {
	Rank       int               `json:"rank"` // by the first objective, among those alike in meeting the requirements
	Treatment  string            `json:"treatment"`
	Meets      string            `json:"meets"`
	Objectives []chosenFigure    `json:"objectives"`
	Checks     []chosenCheck     `json:"requirements"`
	Ratio      stat.Number       `json:"ratio_to_best"` // null: it is not compared, or by difference
	RatioCI    stat.Interval     `json:"ratio_ci"`
	Difference *chosenDifference `json:"difference_to_best,omitempty"`
	PAdjusted  stat.Number       `json:"p_adjusted"`
	PHolm      stat.Number       `json:"p_holm"` // PAdjusted by its first name: Holm's is no such p
	Noise      bool              `json:"within_noise"`
	Same       bool              `json:"exactly_as_best,omitempty"` // then it is within_noise, too
	Front      bool              `json:"pareto_front"`
	BeatBy     string            `json:"beaten_by,omitempty"`
	Unsure     bool              `json:"beaten_within_noise,omitempty"`
	Odd        bool              `json:"mean_and_typical_disagree,omitempty"`
	Turned     bool              `json:"better_in_common_blocks,omitempty"` // though it ranks behind the best
	Starved    bool              `json:"starved,omitempty"`
	Slowed     bool              `json:"waiting_may_explain,omitempty"` // then it is within_noise, too
}

// A chosenDifference is how much more the first objective is than that of the best, where some value is not above 0.
type chosenDifference struct {
	Value    stat.Number   `json:"value"`
	Interval stat.Interval `json:"interval"`
	Unit     string        `json:"unit"`
}

// chosenFormat is the version of what JSON writes.
const chosenFormat = 1

type chosenLevel struct {
	Format     int               `json:"format,omitempty"` // of the whole, if this is the one level
	Level      string            `json:"level,omitempty"`
	Answer     string            `json:"answer"`
	Choice     string            `json:"choice"`     // empty: none
	Confidence float64           `json:"confidence"` // of every interval and verdict, 0 to 1
	Candidates []chosenCandidate `json:"candidates"`
	Notes      []string          `json:"notes"` // on the figures
	Next       []string          `json:"next"`
	Left       []string          `json:"left_out"`
	Warnings   []string          `json:"warnings"`
}

func (c LevelChoice) json(warnings []string) chosenLevel {
	of := func(f advise.Estimate) chosenFigure {
		value := stat.Number(f.Center.Center)
		x := chosenFigure{f.Term.String(), f.Unit, value, value, stat.Interval{f.Center.Lo, f.Center.Hi},
			len(f.Values), f.Modelled, f.AtMost, 0}
		if f.OfAnswered() || f.Response == "throughput" {
			x.Failed = f.Failed
		}
		return x
	}
	out := chosenLevel{Level: c.Name, Answer: c.answer(), Confidence: c.Confidence, Candidates: []chosenCandidate{},
		Notes: orEmpty(c.Notes), Next: orEmpty(c.Next()), Left: orEmpty(c.Left), Warnings: orEmpty(warnings)}
	if best, ok := c.Best(); ok {
		out.Choice = best.Name
	}
	for i, x := range c.Candidates {
		y := chosenCandidate{i + 1, x.Name, meetsWord(x.Meets, 1), []chosenFigure{}, []chosenCheck{},
			stat.Number(x.Ratio.Estimate),
			stat.Interval{x.Ratio.Lo, x.Ratio.Hi}, nil, stat.Number(x.PAdjusted),
			stat.Number(x.PAdjusted), x.Noise, x.Same, x.Front, x.BeatBy, x.Unsure,
			x.Odd, x.Turned, x.Starved, x.Slowed}
		if none := math.NaN(); x.Difference {
			y.Difference = &chosenDifference{y.Ratio, y.RatioCI, x.Objectives[0].Unit}
			y.Ratio, y.RatioCI = stat.Number(none), stat.Interval{none, none}
		}
		for _, f := range x.Objectives {
			y.Objectives = append(y.Objectives, of(f))
		}
		for _, k := range x.Checks {
			y.Checks = append(y.Checks, chosenCheck{k.Requirement.Text, checkWord(k), of(k.Figure), k.Needed, k.Doubt})
		}
		out.Candidates = append(out.Candidates, y)
	}
	return out
}
