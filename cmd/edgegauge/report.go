package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge/internal/report"
	"edgegauge/internal/store"
)

func reportCmd(*app) *cobra.Command {
	var format string
	var claims bool
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "print what a results directory says, recomputed from its raw data",
		Long: `Report summarizes a results directory. That of a study which names a published table ends with the paper's claims, each one confirmed, contradicted
or undecided. With --claims it prints these scorecards only, of any number of directories.`,
		Example: "  edgegauge report results/latest\n  edgegauge report results/latest --format html > report.html\n  edgegauge report --claims results/*/latest --format json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if claims {
				return reportClaims(cmd.OutOrStdout(), args, format)
			}
			if len(args) > 1 {
				return exit{exitUsage, errors.New("a report is of one directory; name one, or add --claims")}
			}
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
	c.Flags().BoolVar(&claims, "claims", false, "only what becomes of the published claims, of one or more directories (text, json)")
	return c
}

func reportClaims(w io.Writer, dirs []string, format string) error {
	write, ok := report.ClaimFormats[format]
	if !ok {
		return exit{exitUsage, fmt.Errorf("claims have no format %q; there are json, text", format)}
	}
	var all []*report.Report
	for _, d := range dirs {
		r, err := readReport(d)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	return write(w, all)
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
