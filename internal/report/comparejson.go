package report

import (
	"encoding/json"
	"io"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// JSON writes the whole comparison.
func (c Compared) JSON(w io.Writer) error {
	type contrast struct {
		Treatment string        `json:"treatment"`
		Side      string        `json:"side"`
		Response  string        `json:"response"`
		Figure    string        `json:"figure"`
		Unit      string        `json:"unit"`
		Old       stat.Number   `json:"old"`
		New       stat.Number   `json:"new"`
		Trials    [2]int        `json:"trials"`
		Ratio     stat.Number   `json:"ratio"`
		RatioCI   stat.Interval `json:"ratio_ci"`
		PHolm     stat.Number   `json:"p_holm"`
		Change    string        `json:"change"`
		Doubt     string        `json:"doubt,omitempty"`
		MeanRatio stat.Number   `json:"mean_ratio"` // of the arithmetic means
		MeanCI    stat.Interval `json:"mean_ratio_ci"`
		Warnings  []string      `json:"warnings"`
	}
	of := func(x advise.Contrast) contrast {
		return contrast{x.Treatment, string(x.Side), x.Response, x.Figure, x.Unit, stat.Number(x.Old), stat.Number(x.New),
			x.Trials, stat.Number(x.Ratio.Estimate),
			stat.Interval{x.Ratio.Lo, x.Ratio.Hi}, stat.Number(x.PHolm), string(x.Change), x.Doubt,
			stat.Number(x.MeanRatio.Estimate), stat.Interval{x.MeanRatio.Lo, x.MeanRatio.Hi}, orEmpty(x.Warnings)}
	}
	type outcome struct {
		Condition string   `json:"condition"`
		Verdict   string   `json:"verdict"` // met, excluded, undecided
		Needed    int      `json:"trials_needed,omitempty"`
		Why       string   `json:"why,omitempty"` // it is undecided, and what would decide it
		Contrast  contrast `json:"contrast"`
		Findings  []string `json:"findings"` // spikes, tails and means that tell another story than the typical trial
		Spikes    [2]int   `json:"spikes"`   // trials, old and new
	}
	type failures struct {
		Treatment string `json:"treatment,omitempty"`

		Old     [2]int  `json:"old"` // failed, of all requests
		New     [2]int  `json:"new"`
		P       float64 `json:"p"`
		Test    string  `json:"test"`
		Verdict string  `json:"verdict"` // worse, undecided where chance or a wait may explain it, good: it did not rise

		Together int `json:"treatments,omitempty"` // so many, all together
	}
	type attempts struct {
		Treatment string  `json:"treatment"`
		Old       [2]int  `json:"old"` // that failed for what the programs did, of those and the valid ones
		New       [2]int  `json:"new"`
		OldTrials [2]int  `json:"old_trials"` // that had such attempts, of those that were run
		NewTrials [2]int  `json:"new_trials"`
		First     string  `json:"first"`
		P         float64 `json:"p"`
		Verdict   string  `json:"verdict"` // worse, undecided where chance or a wait may explain it
		Together  int     `json:"treatments,omitempty"`
	}
	out := struct {
		Format      int        `json:"format"`
		Old         string     `json:"old"`
		New         string     `json:"new"`
		Paired      bool       `json:"paired"` // by block, both of one study
		Base        string     `json:"base,omitempty"`
		Verdict     string     `json:"verdict"`    // worse, good, undecided; empty without conditions
		Confidence  float64    `json:"confidence"` // of every interval, 0 to 1
		Margin      float64    `json:"margin"`
		Conditions  []outcome  `json:"conditions"`
		Contrasts   []contrast `json:"contrasts"`
		OnlyOld     []string   `json:"only_old"`
		OnlyNew     []string   `json:"only_new"`
		Gone        []string   `json:"figures_gone"` // of treatments that both have
		Differences []string   `json:"setup_differences"`
		Lost        []string   `json:"lost_trials"` // and attempts, unless chance may explain these
		Attempts    []attempts `json:"failed_attempts,omitempty"`
		Failures    *failures  `json:"failures,omitempty"`    // of two probes
		Failed      []failures `json:"failures_of,omitempty"` // each treatment of results
		Repeated    *failures  `json:"repetitions,omitempty"` // requests sent again, likewise
		RepeatedOf  []failures `json:"repetitions_of,omitempty"`
		Warnings    []string   `json:"warnings"`
		Cure        string     `json:"to_decide,omitempty"`
	}{1, c.Old, c.New, c.Paired, c.Base, verdictWord(c.Comparison.Verdict()), c.Confidence, c.Margin, []outcome{},
		[]contrast{}, orEmpty(c.OnlyOld), orEmpty(c.OnlyNew), orEmpty(c.Gone), orEmpty(c.Differences), []string{}, nil, nil,
		nil, nil, nil, orEmpty(c.Warnings), c.Cure}
	for _, f := range c.Failed {
		x := failures{f.Treatment, [2]int{f.Old.Hits, f.Old.N}, [2]int{f.New.Hits, f.New.N}, f.P, f.Test,
			f.Word(), f.Together}
		one, each := &out.Failures, &out.Failed
		if f.Again {
			one, each = &out.Repeated, &out.RepeatedOf
		}
		if f.Units() == "runs" {
			*one = &x
		} else {
			*each = append(*each, x)
		}
	}
	for _, l := range c.Lost {
		if l.Verdict() != stat.Contradicted {
			out.Lost = append(out.Lost, l.String())
		}
		if l.Retried {
			out.Attempts = append(out.Attempts, attempts{l.Treatment, [2]int{l.Tried[0].Hits, l.Tried[0].N},
				[2]int{l.Tried[1].Hits, l.Tried[1].N}, [2]int{l.Old[1] - l.Old[0], l.Old[1]},
				[2]int{l.New[1] - l.New[0], l.New[1]}, l.Why, l.P, l.Word(), l.Together})
		}
	}
	for _, o := range c.Outcomes {
		out.Conditions = append(out.Conditions,
			outcome{o.Condition.Text, outcomeWord(o), o.Doubt.Needed, whatNext(o), of(o.Contrast), orEmpty(findings(o)),
				[2]int{o.Spikes.Old, o.Spikes.New}})
	}
	for _, x := range c.Contrasts {
		out.Contrasts = append(out.Contrasts, of(x))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
