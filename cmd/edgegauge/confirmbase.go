package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stack"
)

// follows reports whether the version of new comes after that of old in the repository here, whenever each was
// measured: who looks for a commit between two others measures it later.
func follows(ctx context.Context, old, new report.Past) bool {
	a, b := old.Commit(), new.Commit()
	if a == "" || b == "" || a == b {
		return false
	}
	_, err := git(ctx, "merge-base", "--is-ancestor", a, b)
	return err == nil
}

// baseOf refuses a --base that is another version of the stacks than old measured. It returns why the base may be
// another, where that is accepted or not known.
func (a *app) baseOf(ctx context.Context, v versionFlags, old *report.Report, dir string, any bool) (string, error) {
	bed, _, _, err := a.read(ctx, v.with, v.kept, v.sets)
	if err != nil {
		return "", err
	}
	commit := ""
	if info, err := os.Stat(v.base); err != nil || report.IsCommit(v.base) {
		commit, _ = git(ctx, "rev-parse", "--verify", "--quiet", v.base+"^{commit}")
	} else if sum, err := stack.FileSum(v.base); !info.IsDir() && err == nil && sum == old.Facts.Edgegauge["sha256"] {
		return "", nil // another edgegauge: the very one
	}
	for _, name := range slices.Sorted(maps.Keys(old.Facts.Stacks)) {
		was := old.Facts.Stacks[name]
		d, ok := bed.FindStack(name)
		if !ok {
			continue
		}
		same, known := false, false
		if commit != "" {
			same, known = sameFiles(ctx, d.Dir, was.Commit, commit)
		} else {
			same, known = sameSums(v.base, d, was.Checksums)
		}
		keeps := ""
		if was.Commit != "" {
			keeps = ", of commit " + was.Commit
		}
		switch {
		case same:
		case known && !any:
			return "", exit{exitUsage, fmt.Errorf("--base %s has other files of stack %s than the version that %s measured%s; "+
				"leave --base out, name that version, or accept another one with --any-version", report.Quoted(v.base), name, dir,
				keeps)}
		default:
			may := "may be another"
			if known {
				may = "is another"
			}
			return fmt.Sprintf("old is --base %s, which %s version of stack %s than %s measured%s", v.base, may, name, dir,
				keeps), nil
		}
	}
	return "", nil
}

// sameFiles reports whether two commits have the same files of a stack's folder, and whether that is known.
func sameFiles(ctx context.Context, dir, was, commit string) (same, known bool) {
	if dir == "" || !report.IsCommit(was) { // none, or files differed from it
		return false, false
	}
	_, err := git(ctx, "-C", dir, "diff", "--quiet", was, commit, "--", ".")
	exit := new(exec.ExitError)
	return err == nil, err == nil || errors.As(err, &exit) && exit.ExitCode() == 1
}

// sameSums reports whether the stack in a folder, or below it, has files of the same checksums. Files that were built
// again may have others, so that they differ proves nothing.
func sameSums(base string, d stack.Description, was map[string]string) (same, known bool) {
	for _, dir := range []string{base, filepath.Join(base, filepath.Base(d.Dir)), filepath.Join(base, strings.TrimPrefix(
		d.Name, "stacks/"))} {
		of, err := stack.Read(dir)
		if err != nil {
			continue
		}
		sums, err := of.Checksums()
		same = err == nil && len(was) > 0 && was[stack.CommandLines] == "" // else of some of its files only
		for file, sum := range was {
			same = same && sums[file] == sum
		}
		return same, same
	}
	return false, false
}
