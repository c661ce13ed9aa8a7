package main

import (
	"github.com/spf13/cobra"

	"edgegauge/internal/study"
)

func planCmd(a *app) *cobra.Command {
	var sets []string
	c := &cobra.Command{
		Use:     "plan STUDY",
		Short:   "print the trials in the order they would run, as CSV",
		Long:    "Plan prints the trials in the order they would run, as CSV. The same file gives the same plan, byte for byte.",
		Example: "  edgegauge plan studies/quickstart.yaml | column -s, -t | less",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := a.read(cmd.Context(), args[0], sets)
			if err != nil {
				return err
			}
			p, err := study.Expand(s)
			if err != nil {
				return exit{exitUsage, err}
			}
			return p.WriteCSV(cmd.OutOrStdout())
		},
	}
	setFlag(c, &sets)
	return c
}
