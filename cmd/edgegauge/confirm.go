package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
)

type confirmFlags struct {
	responses []string
	detect    string
	undecided int
	json      bool
	another   bool // the programs here need not be those of NEW
	versionFlags
}

func confirmCmd(a *app) *cobra.Command {
	var f confirmFlags
	c := &cobra.Command{
		Use:   "confirm OLD NEW | confirm RESULTS",
		Short: "is a suspect of a history a regression? measure both versions again, interleaved",
		Long: `Confirm measures a suspect of a history again before anybody is told: in every block of one study, that of NEW,
each stack runs in the version of OLD and in that of NEW, in random order. So day, machine and other programs affect
both alike. After --pilot blocks it says how many blocks, trials and minutes find a change of --detect with the given
--power, and runs them (--plan: only says so). Where the pilot shows a change of each figure by more than
--detect, at a level of 0.01 %, it ends there.

The version of NEW is what is here now; confirm refuses if NEW's own facts say that its stacks were others
(--any-version accepts it). The version of OLD is --base: a git revision, a folder or a binary, as for compare. Without
--base it is the commit that OLD keeps; a revision whose files are others is refused, too (--any-version accepts it).

A change is confirmed at a level of 0.1 %, shared by the figures asked about; worse and better are then beyond doubt.
Since the number of blocks comes of the pilot, intervals are of 99.95 % for that, after a pilot of fewer than 10 blocks
of 99.97 %. It is "not confirmed" if a change of --detect is excluded (95 %), else confirm "cannot tell". The results
are kept, and history shows them at the suspect's mark. "confirm RESULTS" says again what came of such results. The exit
code is 1 if a change for the worse is confirmed, else 0; --undecided-exit names another for "cannot tell".`,
		Example: "  edgegauge confirm results/gate/012 results/gate/015 --base 1f2e3d4c5b6a\n  edgegauge confirm " +
			"results/gate/012 results/gate/015 --base ./before --response rtt --response server.cpu --plan",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags().Changed, len(args) == 1); err != nil {
				return exit{exitUsage, err}
			}
			dir := args[0]
			if len(args) == 2 {
				var err error
				if dir, err = f.measure(cmd.Context(), a, cmd.OutOrStdout(), args[0], args[1]); err != nil || dir == "" {
					return err
				}
			}
			return f.judge(cmd.OutOrStdout(), dir)
		},
	}
	c.Flags().StringSliceVar(&f.responses, "response", nil, "responses to measure again (default: the time by which "+
		"a report of NEW ranks: rtt, or response_time where requests are due at a rate)")
	c.Flags().StringVar(&f.detect, "detect", "5%", "the least change that matters")
	c.Flags().IntVar(&f.undecided, "undecided-exit", 0, "exit code if confirm cannot tell, such as 4 (default 0)")
	c.Flags().BoolVar(&f.another, "any-version", false, "measure what is here, whatever NEW was measured with, and "+
		"against --base, whatever OLD was")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON (doc/formats.md)")
	f.versionFlags.flags(c, "the version of OLD: a git revision, a folder or a binary", "", 0.98,
		"confirming a change of --detect if it is there")
	return c
}

// check says what is wrong with the flags, before anything is measured. Judged says that nothing is to be.
func (f confirmFlags) check(given func(flag string) bool, judged bool) error {
	if f.undecided < 0 || f.undecided > 125 {
		return fmt.Errorf("--undecided-exit %d: write 0 to 125", f.undecided)
	}
	for _, flag := range []string{"response", "detect", "any-version", "base", "build", "plan", "pilot", "power",
		"max-time", "out", "trust"} {
		if judged && given(flag) {
			return fmt.Errorf("--%s is for measuring again: edgegauge confirm OLD NEW; or leave it out", flag)
		}
	}
	return nil
}

// follow asks for the time by which a report of NEW ranks, where no response is named, and says what that leaves out;
// empty: nothing.
func (f *confirmFlags) follow(newer report.Past) string {
	if len(f.responses) > 0 {
		return ""
	}
	f.responses = []string{newer.Headline()}
	return newer.WithoutWait()
}

// matters is the least change that matters, as a share.
func (f confirmFlags) matters() (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSuffix(f.detect, "%"), 64)
	if err != nil || !strings.HasSuffix(f.detect, "%") || !(x > 0 && x < 1000) {
		return 0, exit{exitUsage, fmt.Errorf("--detect %s: write a change such as 5%%", f.detect)}
	}
	return x / 100, nil
}

// measure runs the study of both versions and returns where its results are; empty: only
// its size was asked.
func (f confirmFlags) measure(ctx context.Context, a *app, w io.Writer, oldDir, newDir string) (string, error) {
	detect, err := f.matters()
	if err != nil {
		return "", err
	}
	if _, err := terms(f.responses); err != nil {
		return "", err
	}
	both, err := readEach([]string{oldDir, newDir}, soundReport)
	if err != nil {
		return "", err
	}
	old, new := both[0], both[1]
	if old.Started.Equal(new.Started) {
		return "", exit{exitUsage, fmt.Errorf("%s and %s are the same results; name those of before and those of after",
			oldDir, newDir)}
	}
	if !old.Started.Before(new.Started) && !follows(ctx, report.PastOf(old, nil), report.PastOf(new, nil)) {
		return "", exit{exitUsage, fmt.Errorf("%s did not begin before %s; write OLD first", oldDir, newDir)}
	}
	newer := report.PastOf(new, nil)
	if text := f.follow(newer); text != "" {
		fmt.Fprintln(a.notes(), text)
	}
	asked, err := terms(f.responses)
	if err != nil {
		return "", err
	}
	if _, err := report.MakeHistory([]report.Past{report.PastOf(old, nil), newer}, "", report.ByDate, asked); err != nil {
		return "", exit{exitUsage, err}
	}
	if how := newer.Unstarted(); how != "" {
		return "", exit{exitUsage, fmt.Errorf("%s is of a service that edgegauge does not start, so it cannot start another "+
			"version; %s", newDir, how)}
	}
	v := f.versionFlags
	given := v.base != ""
	if !given {
		if v.base = report.PastOf(old, nil).Commit(); v.base == "" {
			return "", exit{exitUsage, fmt.Errorf("%s does not say from which commit its stacks are; name that version with "+
				"--base: a git revision, a folder or a binary", oldDir)}
		}
		inside := true // unless a stack has a commit of its own
		for _, s := range old.Facts.Stacks {
			inside = inside && s.Commit != v.base
		}
		if err := hereOrGiven(ctx, v.base, oldDir, inside); err != nil {
			return "", err
		}
	}
	kept, err := store.OpenReadOnly(newDir)
	if err != nil {
		return "", exit{exitUnmeasured, err}
	}
	defer kept.Close()
	_, overrides, err := kept.Study()
	if err != nil {
		return "", exit{exitUnmeasured, err}
	}
	runs, err := kept.Runs()
	if err != nil {
		return "", exit{exitUnmeasured, err}
	}
	v.with, v.kept = filepath.Join(newDir, runs[len(runs)-1].StudyFile), overrides
	if err := a.isVersionOf(ctx, v, new, newDir, f.another); err != nil {
		return "", err
	}
	other := ""
	if given {
		if other, err = a.baseOf(ctx, v, old, oldDir, f.another); err != nil {
			return "", err
		}
	}
	about := report.Confirms{Old: old.Started, New: new.Started, OldDir: oldDir, NewDir: newDir, Responses: f.responses,
		Detect: detect, Base: v.base, Doubt: other, Pilot: v.pilot}
	c := compareFlags{responses: f.responses, margin: equalWithin, confidence: 1 - about.JudgedAt(), lost: true,
		json: f.json, versionFlags: v, allowed: true}
	for _, t := range asked {
		bound := fmt.Sprintf("> %g%%", 100*detect)
		switch x, _ := measure.FindResponse(t.Response); x.Better() {
		case measure.More:
			bound = fmt.Sprintf("< -%g%%", 100*detect)
		case measure.Neither:
			return "", exit{exitUsage, fmt.Errorf("--response %s: more of it is neither better nor worse", t.Response)}
		}
		c.detect = append(c.detect, side(t)+".mean "+bound)
	}
	fmt.Fprintf(a.notes(), "confirm %s (%s) against %s (now)\n", v.base, oldDir, newDir)
	c.begun, c.decided = about.Begin, about.Decided
	out, err := a.measureVersions(ctx, w, c)
	if err != nil || out.Dir == "" {
		return "", err
	}
	for _, text := range out.Warnings {
		fmt.Fprintln(a.notes(), text)
	}
	return out.Dir, about.Write(out.Dir)
}

// side is a term's response with its side.
func side(t advise.Term) string {
	if t.Side != "" {
		return string(t.Side) + "." + t.Response
	}
	return t.Response
}

// isVersionOf refuses stacks here that are not those with which results were measured.
func (a *app) isVersionOf(ctx context.Context, v versionFlags, r *report.Report, dir string, any bool) error {
	bed, plan, _, err := a.read(ctx, v.with, v.kept, v.sets)
	if err != nil {
		return err
	}
	_, names, err := plan.Versioned()
	if err != nil {
		return exit{exitUsage, err}
	}
	for _, n := range names {
		d, ok := bed.FindStack(n)
		if !ok {
			continue
		}
		was, known := r.Facts.Stacks[d.Name]
		var differs bool
		if d.Dir == "" {
			sum, err := stack.FileSum("/proc/self/exe")
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			differs = sum != r.Facts.Edgegauge["sha256"]
		} else {
			sums, err := d.Checksums()
			if err != nil {
				return exit{exitUsage, fmt.Errorf("stack %s: %w", n, err)}
			}
			for file, sum := range was.Checksums {
				differs = differs || sums[file] != sum
			}
			clean := was.Commit != "" && !strings.HasSuffix(was.Commit, "+")
			switch {
			case len(was.Checksums) > 0 && was.Checksums[stack.CommandLines] == "":
			case clean:
				differs = differs || bed.CommitOf(ctx, d) != was.Commit
			case len(was.Checksums) == 0:
				fmt.Fprintf(a.notes(), "%s keeps neither checksums nor a clean commit of stack %s: nobody can say whether it is "+
					"the one here\n", dir, n)
			}
		}
		if known && differs && !any {
			return exit{exitUsage, fmt.Errorf("stack %s here is not the one that %s measured; check out and build that "+
				"version, or accept what is here with --any-version", n, dir)}
		}
	}
	return nil
}

// judge says what came of a confirmation.
func (f confirmFlags) judge(w io.Writer, dir string) error {
	p, err := readPast(dir)
	switch {
	case noResults(dir, err):
		return exit{exitUsage, notResults(dir)}
	case err != nil:
		return exit{exitUnmeasured, err}
	case p.Confirms == nil:
		return exit{exitUsage, fmt.Errorf("%s is no confirmation; write edgegauge confirm OLD NEW", dir)}
	case p.Failed != "":
		return exit{exitUnmeasured, fmt.Errorf("%s: %s", dir, p.Failed)}
	}
	write := p.ConfirmationText
	if f.json {
		write = p.ConfirmationJSON
	}
	if err := write(w); err != nil {
		return err
	}
	switch v := p.Verdict(); {
	case v == history.Worse:
		return exit{exitWorse, errors.New("confirmed worse")}
	case v == history.CannotTell && f.undecided != exitDone:
		return exit{f.undecided, errors.New("cannot tell")}
	}
	return nil
}
