package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/report/tidy"
	"edgegauge.example/edgegauge/internal/stat"
)

func analyzeCmd() *cobra.Command {
	var columns tidy.Columns
	var separator string
	var o stat.AnovaOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "analyze FILE.csv --response COLUMN --by COLUMN,…",
		Short: "statistical analysis of any tidy table: groups, analysis of variance, contrasts",
		Long: `Analyze runs the statistics of a report on any table: one row per observation, one column with the response,
one or more columns with the factors and, if trials were run in blocks, one column with the block. Rows of the same
treatment and block are averaged first. Without --block each row is a replicate. FILE - reads standard input.
doc/method.md defines each figure.`,
		Example: "  edgegauge analyze trials.csv --response rtt --by stack,link --block replication\n  edgegauge analyze " +
			"trials.csv --response rtt --by stack --json | jq '.contrasts[] | select(.p_holm < 0.05)'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if columns.Response == "" || len(columns.Factors) == 0 {
				return exit{exitUsage, errors.New("analyze needs --response and --by; write, for example: " + exampleOf(cmd))}
			}
			var err error
			if columns.Separator, err = separatorOf(separator); err != nil {
				return exit{exitUsage, err}
			}
			a, err := analyze(cmd.InOrStdin(), args[0], columns, o)
			if err != nil {
				return exit{exitUsage, err}
			}
			if !asJSON {
				return report.WriteAnalysis(cmd.OutOrStdout(), a, columns.Factors, o.Confidence)
			}
			return writeJSON(cmd.OutOrStdout(), struct {
				Format int `json:"format"`
				stat.Analysis
			}{jsonFormat, a})
		},
	}
	c.Flags().StringVar(&columns.Response, "response", "", "column with the response")
	c.Flags().StringSliceVar(&columns.Factors, "by", nil, "columns with the factors, separated by commas")
	c.Flags().StringVar(&columns.Block, "block", "", "column with the block (default: each row is a replicate)")
	c.Flags().StringVar(&separator, "separator", ",", "column separator: one character, or tab")
	c.Flags().IntVar(&o.Type, "type", 0,
		"type of the sums of squares: 1, 2 or 3 (default: 1 if the design is balanced, else 3)")
	c.Flags().Float64Var(&o.Confidence, "confidence", 0.95, "of every interval")
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON, as in doc/method.md")
	return c
}

func analyze(stdin io.Reader, path string, columns tidy.Columns, o stat.AnovaOptions) (stat.Analysis, error) {
	if o.Type < 0 || o.Type > 3 {
		return stat.Analysis{}, fmt.Errorf("invalid --type %d; write 1, 2 or 3", o.Type)
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		return stat.Analysis{}, fmt.Errorf("--confidence %v is not between 0 and 1; write 0.95 for 95 %%", o.Confidence)
	}
	in := stdin
	if path != "-" {
		f, err := openFile(path)
		if err != nil {
			return stat.Analysis{}, err
		}
		defer f.Close()
		in = f
	}
	t, err := tidy.Read(in, path, columns)
	if err != nil {
		return stat.Analysis{}, err
	}
	a, err := stat.Analyze(t, o)
	if err != nil {
		return stat.Analysis{}, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

func separatorOf(text string) (rune, error) {
	if text == "tab" {
		return '\t', nil
	}
	if r := []rune(text); len(r) == 1 && r[0] != '"' && r[0] != '\n' && r[0] != '\r' {
		if r[0] == ',' {
			return 0, nil // the default, so that a wrong one is noticed
		}
		return r[0], nil
	}
	return 0, fmt.Errorf("separator %q is not one character; write ';' or tab", text)
}
