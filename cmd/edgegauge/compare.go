package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// equalWithin is the relative difference within which figures count as equal, unless asked otherwise.
const equalWithin = 0.05

type compareFlags struct {
	failIf     []string
	responses  []string
	margin     float64
	confidence float64 // 0: as the study asks
	allowed    bool    // confidence allows for a pilot
	strict     bool
	all, json  bool
	undecided  int // exit code
	detect     []string
	junit      string
	markdown   string
	versionFlags
	lost     bool // lost trials and requests that failed are no change for the worse
	otherURL bool // probes may be of different URLs

	otherLoad bool // results and probes may be of different loads
}

func compareCmd(a *app) *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare OLD NEW | compare RESULTS | compare --base REVISION --with STUDY --detect 5%",
		Short: "did it get worse? two versions, two results directories or two probes, figure by figure",
		Long: `Compare compares the results in NEW with those in OLD: the ratio new/old with its interval, Holm-corrected
over all figures. Equality is tested, not assumed. OLD and NEW are results directories, or files written by edgegauge
probe --json.

--fail-if names a regression, such as 'rtt > 5%' (more than 5 % above OLD), 'rtt.p95 > 10%', 'server.cpu > 5%' or
'throughput < -5%'. A mean is judged both by the ratio of the means, which users experience, and by that of typical
trials (geometric means). If a condition on a time names no figure, it also covers tails (p95) and spikes; 'rtt.mean >
5%' does not. Conditions do not apply to the floors.

With --base and --with, compare measures both versions itself: in every block of one study each stack runs in the base
version and as it is now, in random order. --base is one of these:

  a git revision   checked out into a temporary folder, where a stack is built as its stack.yaml says, or by --build
  a folder         a stack's folder, or one that contains several
  a binary         another edgegauge for the stacks inside it, or the program that a stack's commands begin with

--detect is the smallest difference of interest. After --pilot blocks, compare says how many blocks and minutes it takes
to find that difference with the given --power, and runs them (with --plan it stops there). The answer is worse if NEW
is slower beyond doubt, unless a difference of that size is excluded; it is good if it is excluded. Intervals allow for
the pilot that said how many blocks there are. "compare RESULTS" judges again. --from RESULTS instead of --base
estimates the blocks and minutes from earlier results.

The exit code is 1 if a condition is met beyond doubt for any treatment. It is 0 if every condition is excluded beyond
doubt. Otherwise the answer is "undecided", with the number of trials needed to decide; the exit code is then 0, or the
one that --undecided-exit names; --strict means 1. A difference that waiting for a CPU could explain is never decided.

The exit code is also 1 if NEW has fewer valid trials than OLD of those planned, more failed requests or attempts, more
requests that were sent again since their connection broke, or fewer trials in which devices recovered from an outage,
each beyond chance; --allow-lost accepts all of these. Probes of different URLs are refused without --other-url, results
and probes of different loads without --other-load. Results of a run that was stopped are refused until it is resumed,
with exit code 3.`,
		Example: "  edgegauge compare results/sensor/001 results/sensor/002\n  edgegauge compare baseline results/latest " +
			"--fail-if 'rtt > 5%' --fail-if 'peak_rss > 10%' --junit compare.xml\n  edgegauge compare old.json new.json " +
			"--fail-if 'rtt > 10%'\n  edgegauge compare --base origin/main --with study.yaml --detect 5%\n  edgegauge compare " +
			"--from results/latest --with study.yaml --detect 5%",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.fits(cmd); err != nil {
				return err
			}
			out, err := f.do(cmd.Context(), a, cmd.OutOrStdout(), args)
			if err != nil || out.Old == "" { // nothing was judged
				return err
			}
			if err := f.write(cmd.OutOrStdout(), out); err != nil {
				return err
			}
			switch lost := out.LostBeyondChance(); {
			case len(lost) > 0:
				return exit{exitWorse, fmt.Errorf("worse: %s; --allow-lost accepts that", advise.LostWords(lost))}
			case out.Failing().Verdict == stat.Confirmed:
				return exit{exitWorse, fmt.Errorf("worse: more requests %s; --allow-lost accepts that", out.Failing().Did())}
			}
			return compareExit(out.Verdict(), f.undecidedExit())
		},
	}
	f.declare(c)
	return c
}

// declare adds them to the command.
func (f *compareFlags) declare(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.failIf, "fail-if", nil, "condition that must not be met, e.g. 'rtt > 5%' (repeatable)")
	c.Flags().StringSliceVar(&f.responses, "response", nil, "compare only these responses (default: all that both have)")
	c.Flags().Float64Var(&f.margin, "equal-within", equalWithin, "relative difference within which figures count as equal")
	confidenceFlag(c, &f.confidence, "of every interval")
	c.Flags().BoolVar(&f.strict, "strict", false, "also exit with 1 if undecided")
	c.Flags().IntVar(&f.undecided, "undecided-exit", 0, "exit code if undecided, such as 4 (default 0)")
	c.Flags().BoolVar(&f.lost, "allow-lost", false, "do not count as worse that NEW lacks treatments or trials, or "+
		"that more requests failed or were sent again")
	c.Flags().BoolVar(&f.otherURL, "other-url", false, "compare probes of different URLs")
	c.Flags().BoolVar(&f.otherLoad, "other-load", false, "compare results of different studies, loads or places")
	c.Flags().BoolVar(&f.all, "all", false, "also show figures that are equal or undecided")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().StringVar(&f.junit, "junit", "", "also write JUnit XML to this file")
	c.Flags().StringVar(&f.markdown, "markdown", "", "also write the answer to this file as Markdown, for a comment")
	v := &f.versionFlags
	v.flags(c, "measure this version as well as the present one: a git revision, a folder or a binary",
		" of both versions", 0.8, "finding the difference if it is there")
	c.Flags().StringVar(&v.with, "with", "", "the study to measure both with")
	c.Flags().StringArrayVar(&f.detect, "detect", nil, "smallest difference to find: 5% (of the RTT), or e.g. "+
		"'server.cpu > 5%' (repeatable)")
	c.Flags().StringVar(&v.from, "from", "", "estimate the size of the comparison from these results, and run nothing")
	setFlag(c, &v.sets)
	goWith(c, []string{"with"}, "from")
}

// fits says which flags do not go with each other, and which files cannot be written: before half an hour of measuring.
func (f *compareFlags) fits(cmd *cobra.Command) error {
	if err := checkConfidence(cmd, f.confidence); err != nil {
		return err
	}
	if f.base == "" && f.with == "" && f.from == "" {
		for _, flag := range []string{"build", "pilot", "plan", "power", "max-time", "out", "set", "trust"} {
			if cmd.Flags().Changed(flag) {
				return exit{exitUsage, fmt.Errorf("--%s is for versions that are measured: add --base and --with, or leave "+
					"it out", flag)}
			}
		}
	}
	for _, flag := range []string{"base", "build", "pilot", "max-time", "out", "trust"} {
		if f.from != "" && cmd.Flags().Changed(flag) {
			return exit{exitUsage, fmt.Errorf("--%s is for versions that are measured, and --from only estimates; leave "+
				"one of them out", flag)}
		}
	}
	for _, flag := range []string{"junit", "markdown", "strict", "undecided-exit", "all", "allow-lost", "other-url",
		"other-load"} {
		if f.from != "" && cmd.Flags().Changed(flag) {
			return exit{exitUsage, fmt.Errorf("--%s is of an answer, and --from only estimates; leave one of them out",
				flag)}
		}
	}
	for _, flag := range []string{"junit", "markdown"} {
		if f.plan && cmd.Flags().Changed(flag) {
			return exit{exitUsage, fmt.Errorf("--%s is of an answer, and --plan stops before there is one; leave one of "+
				"them out", flag)}
		}
	}
	for flag, path := range map[string]string{"--markdown": f.markdown, "--junit": f.junit} {
		if info, err := os.Stat(path); path == "" || err == nil && !info.IsDir() {
			continue
		}
		if err := creatable(flag, path); err != nil {
			return err
		}
	}
	return nil
}

// write writes an answer, first to the files that flags name.
func (f *compareFlags) write(w io.Writer, out report.Compared) error {
	out.Command = command(os.Args[1:])
	if f.markdown != "" {
		if err := writeFile("--markdown", f.markdown, out.Markdown); err != nil {
			return err
		}
	}
	if f.junit != "" {
		if err := writeFile("--junit", f.junit, out.JUnit); err != nil {
			return err
		}
	}
	write := out.Text
	if f.json {
		write = out.JSON
	}
	return write(w)
}

// do judges what the arguments name. Where nothing is judged, Old is empty.
func (f compareFlags) do(ctx context.Context, a *app, w io.Writer, args []string) (report.Compared, error) {
	if f.undecided < 0 || f.undecided > 125 || f.strict && f.undecided > exitWorse {
		return report.Compared{}, exit{exitUsage, fmt.Errorf("--undecided-exit %d: write 0 to 125, without --strict",
			f.undecided)}
	}
	measures := f.base != "" || f.with != ""
	switch {
	case f.otherLoad && (measures || len(args) == 1):
		return report.Compared{}, exit{exitUsage, errors.New("--other-load is for two results or probes; leave it out")}
	case f.otherURL && (measures || len(args) == 1):
		return report.Compared{}, exit{exitUsage, errors.New("--other-url is for two probes; leave it out")}
	case measures && len(args) > 0:
		return report.Compared{}, exit{exitUsage, fmt.Errorf("--base and --with measure both versions themselves: leave "+
			"out %s",
			strings.Join(args, " "))}
	case measures:
		return a.measureVersions(ctx, w, f)
	case len(args) == 2:
		for _, name := range args {
			if exists(name) {
				continue
			}
			if _, err := git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}"); err == nil {
				return report.Compared{}, exit{exitUsage, fmt.Errorf("%s is a revision, not results; to measure it beside what is "+
					"here: edgegauge compare --base %s --with STUDY --detect 5%%", name, report.Quoted(name))}
			}
		}
		out, err := compare(args[0], args[1], f)
		if what := sameRun(args[0], args[1]); err == nil && what != "" {
			out.Warnings = slices.Insert(out.Warnings, 0, "old and new are "+what+", which say nothing of a change; name those "+
				"of two runs")
		}
		return out, err
	case len(args) == 1:
		return compareWithin(args[0], f)
	}
	return report.Compared{}, exit{exitUsage, errors.New("compare takes OLD NEW, RESULTS of both versions, or --base " +
		"and --with")}
}

// otherLoad refuses two results or probes that do not ask the same of a service.
func otherLoad(old, new, differ string) error {
	return exit{exitUsage, fmt.Errorf("%s and %s are of different loads, and not of two versions under one: %s; measure "+
		"both alike, or compare them all the same with --other-load", old, new, differ)}
}

// sameRun says how two names are of one run; empty: they are not.
func sameRun(a, b string) string {
	if sameFile(a, b) {
		return "the same results"
	}
	s, err := store.OpenReadOnly(a)
	if err != nil {
		return "" // such as a probe's file
	}
	defer s.Close()
	if sameResults(s, b) {
		return "copies of the results of one run"
	}
	return ""
}

// sameFile says whether two names lead to one file or folder.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// undecidedExit is the exit code of an answer that is undecided.
func (f compareFlags) undecidedExit() int {
	if f.strict {
		return exitWorse
	}
	return f.undecided
}

// command is this command line as a shell reads it.
func command(args []string) string {
	out := []string{"edgegauge"}
	for _, arg := range args {
		out = append(out, report.Quoted(arg))
	}
	return strings.Join(out, " ")
}

// conditions are those of --fail-if and --detect. What is wrong with a number among
// the flags is an error, too.
func (f compareFlags) conditions() ([]advise.Condition, error) {
	bounds, err := eachOf("--fail-if", f.failIf, advise.ParseChange)
	detects, err2 := eachOf("--detect", f.detect, advise.ParseDetect)
	if err := errors.Join(err, err2); err != nil {
		return nil, exit{exitUsage, err}
	}
	if !(f.margin > 0 && f.margin < 1) {
		return nil, exit{exitUsage, fmt.Errorf("--equal-within %v is not between 0 and 1; write 0.05 for 5 %%", f.margin)}
	}
	return append(bounds, detects...), nil
}

// confidenceFlag adds --confidence. Unless it is given it is 0, and the study says what the confidence is.
func confidenceFlag(c *cobra.Command, to *float64, of string) {
	c.Flags().Float64Var(to, "confidence", 0, of+" (default: design.confidence of the study, 0.95 unless it says another)")
}

// checkConfidence says what is wrong with --confidence, where it is given.
func checkConfidence(c *cobra.Command, confidence float64) error {
	if c.Flags().Changed("confidence") && !(confidence > 0 && confidence < 1) {
		return exit{exitUsage, fmt.Errorf("--confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)}
	}
	return nil
}

func compare(oldDir, newDir string, f compareFlags) (report.Compared, error) {
	conditions, err := f.conditions()
	if err != nil {
		return report.Compared{}, err
	}
	names := []string{oldDir, newDir}
	read, err := readEach(names, readProbeOrNone)
	if err != nil {
		return report.Compared{}, err
	}
	switch before, after := read[0], read[1]; {
	case (before == nil) != (after == nil):
		return report.Compared{}, exit{exitUsage,
			fmt.Errorf("%s and %s: one is a probe, the other a results directory; compare two of the same kind", oldDir, newDir)}
	case before != nil:
		return compareProbes(oldDir, newDir, *before, *after, conditions, f)
	case f.otherURL:
		return report.Compared{}, exit{exitUsage, fmt.Errorf("--other-url is for probes, and %s is a results directory; "+
			"leave it out", oldDir)}
	case len(conditions) == 0 && f.lost && f.undecidedExit() != exitDone:
		return report.Compared{}, exit{exitUsage, errors.New("without a condition, and with --allow-lost, nothing is " +
			"undecided: add --fail-if 'rtt > 5%', or leave --strict and --undecided-exit out")}
	}
	both, err := readEach(names, soundReport)
	if err == nil {
		err = searches(both...)
	}
	if err == nil {
		err = unfinished(both...)
	}
	if err != nil {
		return report.Compared{}, err
	}
	if differ := report.LoadDifferences(both[0], both[1]); len(differ) > 0 && !f.otherLoad {
		return report.Compared{}, otherLoad(oldDir, newDir, strings.Join(differ, "; "))
	}
	wanted, err := terms(f.responses)
	if err != nil {
		return report.Compared{}, err
	}
	if len(wanted) > 0 { // what a condition asks for is compared, too
		for _, k := range conditions {
			wanted = append(wanted, k.Term)
		}
	}
	out, err := report.Compare(both[0], both[1], report.Terms{Conditions: conditions, Confidence: f.confidence,
		Margin: f.margin, AllowLost: f.lost,
		Only: func(all []advise.Series) []advise.Series { return matching(all, wanted) }})
	if errors.As(err, new(report.Untold)) {
		return out, exit{exitUnmeasured, err}
	}
	if err != nil {
		return out, exit{exitUsage, err}
	}
	out.Old, out.New, out.All = oldDir, newDir, f.all
	return out, nil
}

// only keeps the series of the named responses; of all where none is named.
func only(all []advise.Series, names []string) ([]advise.Series, error) {
	wanted, err := terms(names)
	return matching(all, wanted), err
}

// terms are those of --response.
func terms(names []string) ([]advise.Term, error) {
	all, err := eachOf("--response", names, func(name string) (advise.Term, error) {
		t, err := advise.ParseTerm(name)
		if err == nil && t.Named {
			err = fmt.Errorf("%s: name a response without a figure, such as %s", name, strings.TrimSuffix(name, "."+t.Figure))
		}
		return t, err
	})
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return all, nil
}

// matching are the series that one of the terms means; all where there is none.
func matching(all []advise.Series, wanted []advise.Term) []advise.Series {
	if len(wanted) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(s advise.Series) bool {
		return !slices.ContainsFunc(wanted, func(t advise.Term) bool { return t.Matches(s) })
	})
}

// compareExit is the error of a verdict; undecided is the exit code if that is it.
func compareExit(v stat.Verdict, undecided int) error {
	switch {
	case v == stat.Confirmed:
		return exit{exitWorse, fmt.Errorf("worse beyond doubt")}
	case v == stat.Undecided && undecided == exitWorse:
		return exit{exitWorse, fmt.Errorf("undecided, which --strict counts as worse")}
	case v == stat.Undecided && undecided != exitDone:
		return exit{undecided, fmt.Errorf("undecided")}
	}
	return nil
}

// writeFile writes the file that a flag names; one that cannot be replaced, since its folder takes no other or it is
// mounted by itself, is written over.
func writeFile(flag, path string, write func(io.Writer) error) error {
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	writes()
	err := putFile(path, func(w io.Writer) error { _, err := io.WriteString(w, b.String()); return err })
	if err != nil && !errors.Is(err, store.ErrDiskFull) && !errors.Is(err, store.ErrFileLimit) {
		err = os.WriteFile(path, []byte(b.String()), 0o644)
	}
	if p := new(fs.PathError); errors.As(err, &p) {
		return fmt.Errorf("%s %s cannot be written: %w; name a file where you may write", flag, path, p.Err)
	}
	return err
}
