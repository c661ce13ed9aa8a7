package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge/internal/advise"
	"edgegauge/internal/report"
	"edgegauge/internal/stat"
)

type compareFlags struct {
	failIf     []string
	responses  []string
	margin     float64
	confidence float64
	strict     bool
	all, json  bool
	junit      string
}

func compareCmd() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "did it get worse? two results directories, figure by figure",
		Long: `Compare sets the results in NEW against those in OLD: new over old with its interval, Holm over all figures, equality proven and not assumed.

--fail-if names what must not happen, as 'rtt > 5%' (more than 5 % above OLD), 'rtt.p95 > 10%', 'server.cpu > 5%' or 'throughput < -5%'.
The floors are no candidates and are left out of conditions. The exit code is 1 if a condition is met beyond doubt for any treatment, and 0 if all are excluded beyond doubt. If neither is so the
answer is "undecided", with the number of trials that would tell; the exit code is then 0, or 1 with --strict.`,
		Example: "  edgegauge compare results/sensor/001 results/sensor/002\n  edgegauge compare baseline results/latest --fail-if 'rtt > 5%' --fail-if 'peak_rss > 10%' --junit compare.xml",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := compare(args[0], args[1], f)
			if err != nil {
				return err
			}
			if f.junit != "" {
				if err := writeFile(f.junit, out.JUnit); err != nil {
					return exit{exitUsage, err}
				}
			}
			write := out.Text
			if f.json {
				write = out.JSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return err
			}
			return compareExit(out.Verdict(), f.strict)
		},
	}
	c.Flags().StringArrayVar(&f.failIf, "fail-if", nil, "condition that must not be met, as 'rtt > 5%' (repeatable)")
	c.Flags().StringSliceVar(&f.responses, "response", nil, "compare these responses only (default all that both have)")
	c.Flags().Float64Var(&f.margin, "equal-within", 0.05, "share within which figures count as equal")
	c.Flags().Float64Var(&f.confidence, "confidence", 0.95, "of every interval")
	c.Flags().BoolVar(&f.strict, "strict", false, "exit with 1 when undecided, too")
	c.Flags().BoolVar(&f.all, "all", false, "show the figures that are equal or undecided, too")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().StringVar(&f.junit, "junit", "", "write JUnit XML to this file, too")
	return c
}

func compare(oldDir, newDir string, f compareFlags) (report.Compared, error) {
	var conditions []advise.Condition
	for _, text := range f.failIf {
		k, err := advise.ParseChange(text)
		if err != nil {
			return report.Compared{}, exit{exitUsage, fmt.Errorf("--fail-if %w", err)}
		}
		conditions = append(conditions, k)
	}
	if !(f.margin > 0 && f.margin < 1) {
		return report.Compared{}, exit{exitUsage, fmt.Errorf("--equal-within %v is not between 0 and 1; write 0.05 for 5 %%", f.margin)}
	}
	if !(f.confidence > 0 && f.confidence < 1) {
		return report.Compared{}, exit{exitUsage, fmt.Errorf("--confidence %v is not between 0 and 1; write 0.95 for 95 %%", f.confidence)}
	}
	old, err := soundReport(oldDir)
	if err != nil {
		return report.Compared{}, err
	}
	new, err := soundReport(newDir)
	if err != nil {
		return report.Compared{}, err
	}
	if a, b := old.Study.Time, new.Study.Time; a != b {
		return report.Compared{}, exit{exitUsage, fmt.Errorf("%s has time: %s and %s time: %s; counted instructions and a clock's seconds cannot be compared", oldDir, a, newDir, b)}
	}
	a, err := only(old.Series(), f.responses)
	if err != nil {
		return report.Compared{}, err
	}
	b, err := only(new.Series(), f.responses)
	if err != nil {
		return report.Compared{}, err
	}
	out := report.Compared{Old: oldDir, New: newDir, Confidence: f.confidence, Differences: report.SetupDifferences(old, new), All: f.all}
	if out.Comparison, err = advise.Compare(a, b, conditions, f.confidence, f.margin); err != nil {
		return out, exit{exitUsage, fmt.Errorf("%s, %s: %w", oldDir, newDir, err)}
	}
	return out, nil
}

// only keeps the series of the named responses; of all where none is named.
func only(all []advise.Series, names []string) ([]advise.Series, error) {
	if len(names) == 0 {
		return all, nil
	}
	var terms []advise.Term
	for _, n := range names {
		t, err := advise.ParseTerm(n)
		if err != nil {
			return nil, exit{exitUsage, fmt.Errorf("--response %w", err)}
		}
		terms = append(terms, t)
	}
	var out []advise.Series
	for _, s := range all {
		for _, t := range terms {
			if t.Matches(s) {
				out = append(out, s)
				break
			}
		}
	}
	return out, nil
}

func compareExit(v stat.Verdict, strict bool) error {
	switch {
	case v == stat.Confirmed:
		return exit{exitWorse, fmt.Errorf("worse beyond doubt")}
	case v == stat.Undecided && strict:
		return exit{exitWorse, fmt.Errorf("undecided, and --strict counts that as worse")}
	}
	return nil
}

// writeFile writes path, which nothing else reads meanwhile.
func writeFile(path string, write func(io.Writer) error) error {
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
