package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/crate"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// publishing is what publish was asked.
type publishing struct {
	out, title, description, license string
	authors, except                  []string
	withoutRaw                       bool
}

func publishCmd(a *app) *cobra.Command {
	var p publishing
	var asJSON bool
	c := &cobra.Command{
		Use:   "publish RESULTS...",
		Short: "pack results for publication, as an RO-Crate: raw data, facts, study, report and checksums",
		Long: `Publish packs results directories into one zip file, an RO-Crate 1.1, which archives such as Zenodo accept:
the study, the plan, the facts of the machines, every raw file, the ledger, a fresh report, the checksum of each file,
and metadata that say who measured what, when, and with what. Results that are damaged or unfinished are refused.

With --without-raw, publish writes a small results directory in place of the file: study, plan, facts and every trial's
figures, without raw files and logs. report and compare read it, and run --like repeats it. It fits in a repository.
--except exchanges keeps every request as well. The facts name the machines that were measured and their addresses; read
them before you publish. doc/publish.md explains it step by step.`,
		Example: "  edgegauge publish results/latest --author 'Josiah Carberry <0000-0002-1825-0097>' --license CC-BY-4.0\n" +
			"  edgegauge publish results/sensor/001 results/sensor/002 --title 'Two boards' --out " +
			"boards.zip\n  edgegauge publish results/latest " +
			"--without-raw --except exchanges --out findings/sensor",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(p.except) > 0 && !p.withoutRaw {
				return exit{exitUsage, errors.New("--except goes with --without-raw: a crate holds all raw files")}
			}
			pack := a.publish
			if p.withoutRaw {
				pack = a.keep
			}
			out, err := pack(cmd.Context(), args, p, time.Now())
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), struct {
					Format int      `json:"format"`
					Path   string   `json:"path"` // of the crate, or of the directory
					Crate  bool     `json:"crate"`
					Lacks  []string `json:"lacks"`
				}{jsonFormat, out, !p.withoutRaw, p.lacks()})
			}
			for _, what := range p.lacks() {
				fmt.Fprintln(a.notes(), "note: "+what)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
			return err
		},
	}
	jsonFlag(c, &asJSON)
	f := c.Flags()
	f.StringVar(&p.out, "out", "", "file to write (default NAME-NUMBER.crate.zip); with --without-raw, "+
		"directory (default NAME-NUMBER)")
	f.BoolVar(&p.withoutRaw, "without-raw", false, "write a results directory without raw files and logs, and no crate")
	f.StringSliceVar(&p.except, "except", nil, "with --without-raw: raw files to keep all the same, of "+
		strings.Join(store.RawFolders(), ", "))
	f.StringArrayVar(&p.authors, "author", nil, "author, as 'NAME <ORCID>' (repeatable)")
	f.StringVar(&p.license, "license", "", "license of the data: CC-BY-4.0, CC0-1.0, … or a URL")
	f.StringVar(&p.title, "title", "", "title of the data set (default: the study's question)")
	f.StringVar(&p.description, "description", "", "what the data set is about (default: the report's answer)")
	return c
}

// publish packs the results and returns the name of the file.
func (a *app) publish(ctx context.Context, dirs []string, p publishing, now time.Time) (string, error) {
	c := crate.Crate{Title: p.title, Description: p.description, Published: now,
		Program: crate.Program{Name: "edgegauge", Version: version(), URL: "https://edgegauge.example/"}}
	var err error
	if c.Authors, err = eachOf("--author", p.authors, crate.ParseAuthor); err != nil {
		return "", exit{exitUsage, err}
	}
	if p.license != "" {
		if c.License, err = crate.LicenseURL(p.license); err != nil {
			return "", exit{exitUsage, fmt.Errorf("--license: %w", err)}
		}
	}
	seen := map[string]bool{}
	parts, err := readEach(dirs, publishable)
	if err != nil {
		return "", err
	}
	for i, part := range parts {
		dir := dirs[i]
		if seen[part.Folder] {
			return "", exit{exitUsage, fmt.Errorf("%s: the crate has a folder %s already; name each results directory once, "+
				"or rename one", dir, part.Folder)}
		}
		seen[part.Folder] = true
		c.Parts = append(c.Parts, part)
	}
	if c.Title == "" {
		c.Title = c.Parts[0].Title
	}
	if c.Description == "" {
		c.Description = c.Parts[0].Description
	}
	out := p.out
	if out == "" {
		out = c.Parts[0].Folder + ".crate.zip"
	}
	if exists(out) {
		return "", exit{exitUsage, fmt.Errorf("%s exists already; remove it, or name another file with --out", out)}
	}
	if ext := filepath.Ext(out); slices.Contains([]string{".tar", ".gz", ".tgz", ".xz", ".zst", ".bz2", ".7z"}, ext) {
		return "", exit{exitUsage, fmt.Errorf("--out %s: a crate is a zip archive; name it %s.crate.zip, for example", out,
			strings.TrimSuffix(strings.TrimSuffix(out, ext), ".tar"))}
	}
	if err := writable(filepath.Dir(out)); err != nil {
		return "", exit{exitUsage, fmt.Errorf("--out %s: %w", out, err)}
	}
	writes()
	err = store.Replace(out, func(w io.Writer) error { return c.Write(until{ctx, w}) })
	if err != nil && ctx.Err() != nil {
		err = errors.New("stopped")
	}
	if err != nil {
		return "", exit{exitUnmeasured, err}
	}
	return out, nil
}

// until writes until ctx ends.
type until struct {
	ctx context.Context
	w   io.Writer
}

func (u until) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(b)
}

// lacks says what a crate is without, and how to add it.
func (p publishing) lacks() []string {
	out := []string{}
	if p.withoutRaw { // no crate
		return out
	}
	if len(p.authors) == 0 {
		out = append(out, "no author is named; add --author 'NAME <ORCID>'")
	}
	if p.license == "" {
		out = append(out, "no license is given, so nobody may reuse the data; add --license CC-BY-4.0, or another")
	}
	return out
}

// keep writes a copy of results without raw files and returns its name.
func (a *app) keep(ctx context.Context, dirs []string, p publishing, _ time.Time) (string, error) {
	if len(dirs) > 1 || len(p.authors) > 0 || p.license+p.title+p.description != "" {
		return "", exit{exitUsage, errors.New("--without-raw copies one results directory, and takes no option but --out " +
			"and --except")}
	}
	_, err := eachOf("--except", p.except, func(folder string) (string, error) {
		if slices.Contains(store.RawFolders(), folder) {
			return folder, nil
		}
		return "", fmt.Errorf("%s: there are no such raw files; %s", folder, meant.Advice(folder, store.RawFolders(), ""))
	})
	if err != nil {
		return "", exit{exitUsage, err}
	}
	part, err := publishable(dirs[0])
	if err != nil {
		return "", err
	}
	out := cmp.Or(p.out, part.Folder)
	s, err := store.OpenReadOnly(dirs[0])
	if err != nil {
		return "", exit{exitUnmeasured, err}
	}
	defer s.Close()
	writes()
	if err := s.Keep(ctx, out, p.except...); err != nil {
		if ctx.Err() != nil {
			return "", exit{exitUnmeasured, errors.New("stopped")}
		}
		if badPlace(err) || errors.Is(err, store.ErrExists) {
			return "", exit{exitUsage, fmt.Errorf("--out: %w", err)}
		}
		return "", exit{exitUnmeasured, err}
	}
	if err := summarize(out); err != nil {
		return "", err
	}
	return out, nil
}

// summarize writes a directory's summary.csv.
func summarize(dir string) error {
	r, err := readReport(dir, 0)
	if err == nil {
		err = store.Replace(filepath.Join(dir, "summary.csv"), r.CSV)
	}
	return err
}

// writable says why no file can be made in a folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".edgegauge-*")
	if p := new(fs.PathError); errors.As(err, &p) {
		return fmt.Errorf("cannot create a file in %s: %w; name a folder where you may write", dir, p.Err)
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// publishable is a results directory as a part of a crate, if its results are whole and final.
func publishable(dir string) (crate.Part, error) {
	r, err := soundReport(dir)
	if err != nil {
		return crate.Part{}, err
	}
	refuse := func(err error) (crate.Part, error) {
		return crate.Part{}, exit{exitUnmeasured, err}
	}
	if store.Busy(dir) {
		return refuse(fmt.Errorf("%s: a lab is still measuring; publish when it is done", dir))
	}
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return refuse(err)
	}
	defer s.Close()
	left, err := s.Left(r.Study.Retries)
	if err != nil {
		return refuse(err)
	}
	if left {
		again, _ := againOf(dir, r)
		return refuse(fmt.Errorf("%s: the study has not ended; finish it first: %s --out %s", dir, again,
			report.QuotedPath(dir)))
	}
	if damage := s.Verify(); damage != nil {
		how := "damaged"
		if !slices.ContainsFunc(damage, func(err error) bool { return !errors.Is(err, store.ErrUnread) }) {
			how = "not readable"
		}
		return refuse(fmt.Errorf("%s: %s, so it cannot be published: %w", dir, how, errors.Join(damage...)))
	}
	runs, err := s.Runs()
	if err != nil {
		return refuse(err)
	}
	last := runs[len(runs)-1]
	whole, err := filepath.EvalSymlinks(dir)
	if err == nil {
		whole, err = filepath.Abs(whole)
	}
	if err != nil {
		return refuse(err)
	}
	part := crate.Part{Folder: r.Study.Name + "-" + filepath.Base(whole), Title: r.Study.Name, Input: last.StudyFile,
		Started: runs[0].Started, Description: strings.Join(r.Verdict(), " ")}
	if r.Study.Question != "" {
		part.Title = r.Study.Question
	}
	if len(last.Overrides) > 0 {
		part.Description += " The study was run with" + report.Sets(last.Overrides) + "."
	}
	if part.Files, err = filesOf(whole); err != nil {
		return refuse(err)
	}
	part.Files = append(part.Files,
		crate.File{Name: "summary.csv", Says: saysOf("summary.csv"), Write: r.CSV},
		crate.File{Name: "report.html", Says: saysOf("report.html"), Write: func(w io.Writer) error {
			return pageOf(whole, part.Folder, w)
		}})
	return part, nil
}

// pageOf writes the report's page of results, with its figures of single requests. Who reads it has them in a folder
// of that name.
func pageOf(dir, name string, w io.Writer) error {
	r, err := readReport(dir, report.PageTraces)
	if err != nil {
		return err
	}
	r.Dir = name
	return r.HTML(w)
}

// said is what the files of a results directory hold; of others, what is in their folder.
var said = map[string]string{
	"facts.json": "the machines, programs and versions that were measured", "ledger.sqlite": "which trials are valid, " +
		"and their figures", "plan.csv": "the trials in the order they ran", "study.yaml": "the study as it was run",
	"summary.csv": "one row per treatment, side and response", "report.html": "the report, for a browser",
	"exchanges": "every request of a trial, as one side saw it", "samples": "every reading of an instrument",
	"packets": "captured packets of a trial", "trials": "the logs of a trial's programs",
	"invalid": "raw data of an attempt that does not count", "benches": "what a bench is, where several shared the study",
}

func saysOf(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return said[first]
}

// filesOf are the files of a results directory but those that are made anew, or tell only who writes.
func filesOf(dir string) ([]crate.File, error) {
	var files []crate.File
	from := os.DirFS(dir)
	err := fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
			return err
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file; remove it", filepath.Join(dir, name))
		case name == "lock" || name == "summary.csv" || name == "report.html" || name == "ledger.sqlite-shm" ||
			strings.HasSuffix(name, ".partial"):
			return nil
		}
		if info, err := e.Info(); err != nil || name == "ledger.sqlite-wal" && info.Size() == 0 {
			return err
		}
		files = append(files, crate.FileOf(from, name, saysOf(name)))
		return nil
	})
	return files, err
}
