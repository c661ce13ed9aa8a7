package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"edgegauge/internal/report"
	"edgegauge/internal/store"
)

func reportCmd(*app) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "report DIR",
		Short:   "print what a results directory says, recomputed from its raw data",
		Example: "  edgegauge report results/latest\n  edgegauge report results/latest --format html > report.html",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := report.Formats[format]
			if !ok {
				return exit{exitUsage, fmt.Errorf("no format %q; there are text, csv, json, html", format)}
			}
			s, err := store.OpenReadOnly(args[0])
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			defer s.Close()
			r, err := report.Read(s)
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			return write(r, cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, csv, json or html")
	return c
}
