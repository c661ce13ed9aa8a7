package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

type historyFlags struct {
	by, study string
	responses []string
	json      bool
}

func historyCmd(a *app) *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use:   "history RESULTS...",
		Short: "where did it change? the same study over days, commits or versions",
		Long: `History shows the results of one study in order, each figure with its interval, and marks where the level
changed. RESULTS are results directories, or folders of them. Results that differ from the newest in settings,
treatments or warm-up are left out, and listed. The number of trials, the seed and the precision may differ.

Each run is weighted by its own standard error and by how much runs differ beyond their errors. A change of the machine
(its model, CPUs, kernel or system, a stack's runtime; for stacks outside edgegauge, edgegauge itself) begins a new
level and is not a regression. A single run far from its level is called odd, and decides nothing. Any other change is
only a suspect: "edgegauge confirm" measures both versions again, interleaved, and history then shows the verdict.
About 4 to 6 of 100 runs without any change become suspects, whatever the number of responses and treatments: they share
that rate, so ask about few of them. The exit code is 0 whatever is found.`,
		Example: "  edgegauge history results/gate\n  edgegauge history results --study gate --by commit\n  " +
			"edgegauge history results/gate --response rtt --response server.cpu --json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			terms, err := terms(f.responses)
			if err != nil {
				return err
			}
			pasts, err := readPasts(args)
			if err != nil {
				return err
			}
			if f.by == report.ByCommit {
				placeCommits(cmd.Context(), pasts)
			}
			h, err := report.MakeHistory(pasts, f.study, f.by, terms)
			if errors.Is(err, report.ErrUnreadable) {
				return exit{exitUnmeasured, err}
			}
			if err != nil {
				return exit{exitUsage, err}
			}
			if f.json {
				return h.JSON(cmd.OutOrStdout())
			}
			return h.Text(cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&f.by, "by", report.ByDate, "what runs are called by: date, commit or version")
	c.Flags().StringVar(&f.study, "study", "", "name of the study, where the results are of several")
	c.Flags().StringSliceVar(&f.responses, "response", nil, "responses to judge (default: the time by which "+
		"a report ranks: rtt, or response_time where requests are due at a rate)")
	jsonFlag(c, &f.json)
	return c
}

// placeCommits finds where the commits of results stand in the git repository here, as far as it has them. What
// differed from a commit (+) comes after it.
func placeCommits(ctx context.Context, pasts []report.Past) {
	args := []string{"rev-list", "--ignore-missing", "--topo-order", "--reverse"}
	at, lengths := map[string]int{}, map[int]bool{}
	for _, p := range pasts {
		for _, c := range p.Commits {
			c = strings.TrimSuffix(c, "+")
			if _, known := at[c]; report.IsCommit(c) && !known {
				at[c], lengths[len(c)], args = 0, true, append(args, c)
			}
		}
	}
	if len(at) == 0 {
		return
	}
	all, err := git(ctx, append(args, "--")...)
	if err != nil {
		return // no repository, or no git: commits stand as they were measured
	}
	n := 0
	for commit := range strings.Lines(all) {
		n++
		for length := range lengths {
			if name := commit[:min(length, len(commit))]; at[name] == 0 {
				if _, asked := at[name]; asked {
					at[name] = n
				}
			}
		}
	}
	for i, p := range pasts {
		for _, c := range p.Commits {
			k := at[strings.TrimSuffix(c, "+")]
			if k == 0 {
				pasts[i].Place = 0
				break
			}
			pasts[i].Place = max(pasts[i].Place, 2*k)
			if strings.HasSuffix(c, "+") {
				pasts[i].Place = max(pasts[i].Place, 2*k+1)
			}
		}
	}
}

// deepestResults is how many folders below the one named results are looked for.
const deepestResults = 5

// resultsBelow are the results directories at or below a path. Links are not followed
// below it.
func resultsBelow(path string) ([]string, error) {
	var out []string
	if path == "" {
		return nil, exit{exitUsage, errors.New("an empty word names no results; name a directory that edgegauge run wrote, " +
			"or a folder of such")}
	}
	if whole, err := filepath.EvalSymlinks(path); err == nil && exists(filepath.Join(whole, "ledger.sqlite")) {
		return []string{path}, nil
	}
	err := filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && at != path { // whoever reads it says so
			out = append(out, at)
			return fs.SkipDir
		}
		if err != nil || !e.IsDir() {
			return err
		}
		if exists(filepath.Join(at, "ledger.sqlite")) {
			out = append(out, at)
			return fs.SkipDir
		}
		inside, err := filepath.Rel(path, at)
		if at != path && (strings.HasPrefix(e.Name(), ".") ||
			strings.Count(inside, string(filepath.Separator)) >= deepestResults) {
			return fs.SkipDir
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit{exitUsage, fmt.Errorf("%s: no such folder; name a directory that edgegauge run wrote, or a folder "+
			"of such", path)}
	}
	if err != nil {
		return nil, exit{exitUsage, unreadable(path, err)}
	}
	if len(out) == 0 {
		return nil, exit{exitUsage, fmt.Errorf("%s holds no results; name a directory that edgegauge run wrote, or a folder "+
			"of such", path)}
	}
	return out, nil
}

// readPasts reads what a history needs of all results that paths name. What cannot be
// read is among them, with the reason.
func readPasts(paths []string) ([]report.Past, error) {
	var out []report.Past
	seen := map[string]bool{}
	below, err := readEach(paths, resultsBelow)
	if err != nil {
		return nil, err
	}
	for _, dirs := range below {
		for _, dir := range dirs {
			whole, err := filepath.EvalSymlinks(dir)
			if err != nil {
				return nil, exit{exitUsage, err}
			}
			if seen[whole] {
				continue
			}
			seen[whole] = true
			past, err := readPast(dir)
			if err != nil {
				past.Dir, past.Failed = dir, printable.Text(err.Error())
			}
			out = append(out, past)
		}
	}
	return out, nil
}

// readPast reads one result, and checks its files.
func readPast(dir string) (report.Past, error) {
	confirms, err := confirmsIn(dir, report.ConfirmationFile)
	if err != nil {
		return report.Past{}, err
	}
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return report.Past{}, err
	}
	defer s.Close()
	r, err := report.ReadPast(s) // without the effects of factors, which take longest
	if err != nil {
		return report.Past{}, err
	}
	for _, err := range s.Verify() {
		r.Damage = append(r.Damage, err.Error())
	}
	r.Dir = dir
	p := report.PastOf(r, confirms)
	p.Took, err = s.Took()
	return p, err
}

// confirmsIn reads what results confirm, or are to, by that file of theirs; nil: nothing.
func confirmsIn(dir, file string) (*report.Confirms, error) {
	text, err := kernel.ReadFile(filepath.Join(dir, file), 1<<20)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := report.ReadConfirms(text)
	return &c, err
}
