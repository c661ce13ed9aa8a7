package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

func reportCmd(*app) *cobra.Command {
	var asJSON, anova bool
	var format, out string
	var claims, findings bool
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "summarize a results directory",
		Long: `Report summarizes a results directory. If the study names a published table, the report ends with the paper's
claims, each confirmed, contradicted or undecided. --claims prints only these claims, for any number of directories.

--findings reads results of the studies of the five papers. It writes a page with figures for each paper, and one page
over all, into the folder --out. The first directory of each paper gives its scorecard. Its page also shows the others:
results of other settings side by side, and repetitions with what agrees.`,
		Example: "  edgegauge report results/latest\n  edgegauge report results/latest --format html > report.html\n  " +
			"edgegauge report results/latest --format svg --out figures\n" +
			"  edgegauge report --claims results/*/001 --format json\n  edgegauge report --findings findings/* --out " +
			"doc/findings",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				if cmd.Flags().Changed("format") && format != "json" {
					return exit{exitUsage, fmt.Errorf("--json and --format %s are both given; keep one", format)}
				}
				format = "json"
			}
			if ending := filepath.Ext(out); ending != "" && !findings && !asJSON && !cmd.Flags().Changed("format") {
				if format = formatOf[strings.ToLower(ending)]; format == "" {
					return exit{exitUsage, fmt.Errorf("--out %s: there is no such format; name a file that ends in .html, .csv, "+
						".json, .md, .tex or .txt, or say which with --format; --format svg takes a folder", out)}
				}
			}
			if out != "" && format != pictures && !findings {
				if err := creatable("--out", out); err != nil {
					return err
				}
			}
			emit := func(write func(io.Writer) error) error {
				if out != "" {
					writes()
					return putFile(out, write)
				}
				return write(cmd.OutOrStdout())
			}
			switch {
			case claims && findings:
				return exit{exitUsage, errors.New("--claims prints verdicts and --findings writes pages; keep one")}
			case anova && (claims || findings):
				return exit{exitUsage, errors.New("--anova is for the report on one directory; leave it out")}
			case findings && cmd.Flags().Changed("format"):
				return exit{exitUsage, errors.New("--findings writes pages; leave out --format")}
			}
			if claims {
				return emit(func(w io.Writer) error { return reportClaims(w, args, format) })
			}
			if findings && asJSON {
				return exit{exitUsage, errors.New("--findings writes pages; leave out --json")}
			}
			if findings {
				return writeFindings(cmd.OutOrStdout(), args, out)
			}
			if len(args) > 1 {
				return exit{exitUsage, oneReport(args)}
			}
			write, ok := report.Formats[format]
			switch {
			case format == pictures && out == "":
				return exit{exitUsage, fmt.Errorf("--format svg writes one file per figure into a folder; name it with --out")}
			case !ok && format != pictures:
				return exit{exitUsage, fmt.Errorf("unknown format %q; %s", format,
					meant.Advice(format, formatNames(), ""))}
			}
			r, err := readReport(args[0], rawTraces[format])
			switch {
			case err != nil:
				return err
			case format == pictures:
				return writePictures(cmd.OutOrStdout(), r, out)
			}
			r.ShowAnova = anova
			if format == "html" || format == "text" {
				r.Next = propose(args[0], r)
			}
			if err := emit(func(w io.Writer) error { return write(r, w) }); err != nil || format != "text" || out != "" {
				return err
			}
			return writeNext(cmd.OutOrStdout(), r.Next)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as --format json")
	c.Flags().BoolVar(&anova, "anova", false, "also show which factors explain the variation of trials (text; other "+
		"formats always do)")
	c.Flags().StringVar(&format, "format", "text", strings.Join(formatNames(), ", "))
	c.Flags().StringVar(&out, "out", "", "output file, whose ending says the format if --format does not (none: text); "+
		"for svg, output folder")
	c.Flags().BoolVar(&claims, "claims", false,
		"print only the verdicts on published claims, for one or more directories (text, json)")
	c.Flags().BoolVar(&findings, "findings", false, "write pages on the five papers, from results of their studies")
	return c
}

// oneReport is the error of a report on several directories, with the commands that take several.
func oneReport(dirs []string) error {
	var all []string
	for _, dir := range dirs {
		all = append(all, report.QuotedPath(dir))
	}
	both, several := strings.Join(all[:2], " "), strings.Join(all, " ")
	return fmt.Errorf("a report takes one directory, and %d are named; name one, or\n"+
		"  what changed between two: edgegauge compare %s\n  one study over its runs: edgegauge history %s\n"+
		"  verdicts on published claims: edgegauge report --claims %[3]s", len(dirs), both, several)
}

// writeFindings writes the pages on the papers into a folder, and lists the files.
func writeFindings(w io.Writer, dirs []string, out string) error {
	if out == "" {
		return exit{exitUsage, errors.New("--findings writes pages and figures into a folder; name it with --out")}
	}
	all, err := readEach(dirs, soundReport)
	if err != nil {
		return err
	}
	files, err := report.Findings(all)
	if err != nil {
		return exit{exitUsage, err}
	}
	return writeFiles(w, files, out)
}

// writeFiles writes files into a folder, and lists them.
func writeFiles(w io.Writer, files []report.File, dir string) error {
	writes()
	err := checkOut(dir)
	var made []string
	for d := filepath.Clean(dir); !exists(d); d = filepath.Dir(d) {
		made = append(made, d)
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	defer func() { // if nothing could be written
		for _, d := range made {
			os.Remove(d) // unless something is in it
		}
	}()
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if err := store.Replace(name, f.Write); err != nil {
			return exit{exitUnmeasured, err}
		}
		if _, err := fmt.Fprintln(w, name); err != nil {
			return err
		}
	}
	return nil
}

func reportClaims(w io.Writer, dirs []string, format string) error {
	write, ok := report.ClaimFormats[format]
	if !ok {
		return exit{exitUsage, fmt.Errorf("--claims does not support format %q; supported: json, text", format)}
	}
	all, err := readEach(dirs, func(dir string) (*report.Report, error) { return readReport(dir, 0) })
	if err != nil {
		return err
	}
	return write(w, all)
}

// formatOf is the format of a file by its ending.
var formatOf = map[string]string{".html": "html", ".htm": "html", ".csv": "csv", ".json": "json", ".md": "markdown",
	".tex": "latex", ".txt": "text"}

// pictures is the format that is many files.
const pictures = "svg"

// rawTraces says how many power traces a format shows. The others need no raw
// files at all.
var rawTraces = map[string]int{"html": report.PageTraces, pictures: math.MaxInt}

func formatNames() []string {
	names := []string{pictures}
	for n := range report.Formats {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// writePictures writes every figure as a file of its own, and lists them.
func writePictures(w io.Writer, r *report.Report, dir string) error {
	var files []report.File
	for _, p := range r.Pictures() {
		files = append(files, report.File{Name: p.ID + ".svg", Write: p.File})
	}
	return writeFiles(w, files, dir)
}

// readReport summarizes a results directory; one that was changed by hand is
// reported with a warning above everything. With
// traces 0, the raw files are only checked, not read.
func readReport(dir string, traces int) (*report.Report, error) {
	s, err := store.OpenReadOnly(dir)
	if noResults(dir, err) {
		return nil, exit{exitUsage, notResults(dir)}
	}
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	defer s.Close()
	r, err := report.Read(s)
	if err == nil {
		r.Predict(calibrations(os.Stderr), time.Now())
	}
	if err == nil && traces > 0 {
		err = r.ReadRaw(s, traces)
	}
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	return r, nil
}

// noResults says whether what was wrong with results is that there are none.
func noResults(dir string, err error) bool {
	info, missing := os.Stat(dir)
	return errors.Is(err, store.ErrForeign) || err != nil && (missing != nil || !info.IsDir())
}

// soundReport is readReport for who decides by the figures: results that are
// not as the lab wrote them are refused.
func soundReport(dir string) (*report.Report, error) {
	r, err := readReport(dir, 0)
	if err != nil {
		return nil, err
	}
	if err := damaged(r, dir); err != nil {
		return nil, err
	}
	return r, nil
}

// toldReport is soundReport for who needs figures: results without a valid trial have none.
func toldReport(dir string) (*report.Report, error) {
	r, err := soundReport(dir)
	if err != nil {
		return nil, err
	}
	if why := r.Untold(); why != nil {
		return nil, exit{exitUnmeasured, why}
	}
	return r, nil
}

// wholeReport is toldReport for who decides: results of which trials are left are no answer yet.
func wholeReport(dir string) (*report.Report, error) {
	r, err := toldReport(dir)
	if err != nil {
		return nil, err
	}
	return r, unfinished(r)
}

// unfinished refuses results if some have trials that are left to be measured.
func unfinished(all ...*report.Report) error {
	var errs []error
	left := false
	for _, r := range all {
		valid, of := r.Interrupted()
		left = left || of > 0
		if why := r.Untold(); why != nil {
			errs = append(errs, exit{exitUnmeasured, why})
		} else if of > 0 {
			errs = append(errs, exit{exitUnmeasured, fmt.Errorf("%s is unfinished, %d of %s valid; run its study again to "+
				"resume it, with --set design.replications=N to end with fewer", r.Dir, valid, plural.Count(of, "trial"))})
		}
	}
	if !left {
		return nil
	}
	return worst(errs)
}

// readEach reads several results; the error says what is wrong with each of them.
func readEach[T any](names []string, read func(string) (T, error)) ([]T, error) {
	all, errs := make([]T, len(names)), make([]error, len(names))
	for i, name := range names {
		if slices.Index(names, name) < i { // it is named twice, and said once
			continue
		}
		all[i], errs[i] = read(name)
	}
	for i, name := range names {
		all[i] = all[slices.Index(names, name)]
	}
	return all, worst(errs)
}

// searches refuses results of which some are trials of a search for a capacity, where treatments are to be compared.
func searches(all ...*report.Report) error {
	var found []string
	for _, r := range all {
		if r.Search != "" {
			found = append(found, r.Dir+": "+r.Search)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return exit{exitUsage, fmt.Errorf("trials of a search for a capacity are at rates that it chose itself, most of them "+
		"one at each, and are not compared with each other, nor with others; what was found is\n%s",
		strings.Join(found, "\n"))}
}

// empty says that valid trials have no figure at all of what was asked, which is no answer.
func empty(r *report.Report) error {
	valid := slices.ContainsFunc(r.Trials, func(t store.TrialState) bool { return t.State == store.Valid })
	if len(r.Cells) > 0 || !valid {
		return nil
	}
	var named []string
	for _, w := range r.Study.Responses {
		named = append(named, w.Text)
	}
	return exit{exitUnmeasured, fmt.Errorf("no trial has a figure of the responses that the study names (%s); "+
		"doc/responses.md says what each is measured of", strings.Join(named, ", "))}
}

// tellUnmeasured says of which responses that a study names no valid trial has a figure, beside others: which programs
// tell what is known of this program's own alone.
func tellUnmeasured(w io.Writer, r *report.Report) {
	var none []string
	for _, named := range r.Study.Responses {
		has := slices.ContainsFunc(r.Cells, func(c report.Cell) bool { return c.Response == named.Text })
		if !has && named.Text != "failed_share" { // without which no request failed
			none = append(none, named.Text)
		}
	}
	if len(r.Cells) > 0 && len(none) > 0 {
		fmt.Fprintf(w, "warning: no trial has a figure of %s, which the study names; doc/responses.md says what each is "+
			"measured of\n", strings.Join(none, ", "))
	}
}

// damaged refuses results that are not as the lab wrote them.
func damaged(r *report.Report, dir string) error {
	if len(r.Damage) == 0 {
		return nil
	}
	cure := "restore them or measure again"
	if r.Unread {
		cure = "run the command where they can be read"
	}
	return exit{exitUnmeasured, fmt.Errorf("%s: %s; no verdict is based on such figures: %s", dir,
		report.DamageText(r.Damage), cure)}
}
