package main

import (
	"fmt"
	"slices"
	"strings"

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
				return exit{exitUsage, fmt.Errorf("no format %q; there are %s", format, strings.Join(formatNames(), ", "))}
			}
			r, err := readReport(args[0])
			if err != nil {
				return err
			}
			return write(r, cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&format, "format", "text", strings.Join(formatNames(), ", "))
	return c
}

func formatNames() []string {
	var names []string
	for n := range report.Formats {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// readReport summarizes a results directory; one that was changed by hand is
// reported with a warning above everything.
func readReport(dir string) (*report.Report, error) {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	defer s.Close()
	r, err := report.Read(s)
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	return r, nil
}

// soundReport is readReport for who decides by the figures: results that are
// not as the lab wrote them are refused.
func soundReport(dir string) (*report.Report, error) {
	r, err := readReport(dir)
	if err != nil {
		return nil, err
	}
	if len(r.Damage) > 0 {
		return nil, exit{exitUnmeasured, fmt.Errorf("%s: %s; nothing is decided by such figures: restore them or measure again", dir, strings.Join(r.Damage, "; "))}
	}
	return r, nil
}
