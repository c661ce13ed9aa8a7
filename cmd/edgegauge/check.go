package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"edgegauge/internal/study"
)

func checkCmd(a *app) *cobra.Command {
	var sets []string
	c := &cobra.Command{
		Use:     "check STUDY...",
		Short:   "find everything that run would complain about, before anything runs",
		Example: "  edgegauge check studies/quickstart.yaml --set requests=100",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, file := range args {
				s, _, err := a.read(cmd.Context(), file, sets)
				if err != nil {
					return err
				}
				p, err := study.Expand(s)
				if err != nil {
					return exit{exitUsage, err}
				}
				known, _ := profiles()
				if _, err := neededLinks(p, known); err != nil {
					return exit{exitUsage, fmt.Errorf("%s: %w", file, err)}
				}
				if err := refuseAway(p); err != nil {
					return exit{exitUsage, err}
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d treatments, %d trials: ready to run\n", file, s.Treatments(), len(p.Trials))
			}
			return nil
		},
	}
	setFlag(c, &sets)
	return c
}

func setFlag(c *cobra.Command, sets *[]string) {
	c.Flags().StringArrayVar(sets, "set", nil, "override a value of the study, such as requests=100 or design.seed=2 (repeatable; recorded)")
}
