package main

import (
	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/study"
)

func planCmd(a *app) *cobra.Command {
	var sets []string
	var shared sharing
	var asJSON bool
	c := &cobra.Command{
		Use:   "plan STUDY",
		Short: "print the trials in the order they would run, as CSV",
		Long: `Plan prints the trials in the order they would run, as CSV. The same file gives the same plan, byte for byte.
Anything that would keep the study from running on this machine is listed after the plan, as check lists it; with
--benches, what would keep run --benches from measuring it, without asking benches elsewhere.`,
		Example: "  edgegauge plan studies/quickstart.yaml | column -s, -t | less",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shared.check(); err != nil {
				return exit{exitUsage, err}
			}
			bed, p, _, err := a.readFor(cmd.Context(), args[0], nil, sets, shared)
			if err != nil {
				return err
			}
			advisePlan(bed, p)
			found, err := hinders(cmd.Context(), bed, p, shared)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), plannedOf(p, found))
			} else {
				err = p.WriteCSV(cmd.OutOrStdout())
			}
			if err == nil && found != nil {
				return obstacles(found)
			}
			return err
		},
	}
	setFlag(c, &sets)
	shared.flags(c)
	jsonFlag(c, &asJSON)
	return c
}

// plannedJSON is what plan --json prints.
type plannedJSON struct {
	Format  int            `json:"format"`
	Study   string         `json:"study"`
	Factors []string       `json:"factors"`
	Trials  []plannedTrial `json:"trials"` // in the order to run them
	Faults  []faultJSON    `json:"faults"`
}

type plannedTrial struct {
	ID          int               `json:"id"`
	Block       int               `json:"block"`
	Replication int               `json:"replication"`
	Treatment   map[string]string `json:"treatment"` // factor to level
}

func plannedOf(p study.Plan, found study.Errors) plannedJSON {
	out := plannedJSON{Format: jsonFormat, Study: p.Study.Name, Factors: []string{}, Faults: []faultJSON{}}
	if found != nil {
		out.Faults = faultsOf(p.Study.File, found)
	}
	for _, f := range p.Study.Factors {
		out.Factors = append(out.Factors, f.Name)
	}
	for _, t := range p.Trials {
		x := plannedTrial{t.ID, t.Block, t.Replication, map[string]string{}}
		for i, w := range t.Treatment {
			x.Treatment[out.Factors[i]] = w.Text
		}
		out.Trials = append(out.Trials, x)
	}
	return out
}
