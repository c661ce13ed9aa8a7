package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// A base is the version that compare --base names: a revision, a folder or a binary.
type base struct {
	what string // in words
	// of is the base version of a stack; the error says why there is none.
	of      func(ctx context.Context, d stack.Description) (stack.Description, error)
	trusted bool // the user named the very programs
	close   func()
}

// openBase finds out what name is. A revision is checked out below scratch; build,
// if not empty, is run there by a shell, which tells what it does. The number of a commit
// is never a file: it may be from results of a stranger, and a file is run.
func openBase(ctx context.Context, name, scratch, build string, tell io.Writer) (*base, error) {
	path := strings.HasPrefix(name, ".") || filepath.IsAbs(name)
	info, err := os.Stat(name)
	number := report.IsCommit(name)
	var commit string
	var unknown error
	if !path {
		commit, unknown = git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	}
	switch {
	case err == nil && number && unknown != nil:
		return nil, exit{exitUsage, fmt.Errorf("--base %s is no commit of a git repository here; to measure the file or "+
			"folder of that name, write --base ./%[1]s", name)}
	case number && unknown == nil:
	case err == nil && !path && unknown == nil:
		return nil, exit{exitUsage, fmt.Errorf("--base %s is both a file and a revision; write ./%[1]s for the file, or the "+
			"revision's number", name)}
	case err == nil && build != "":
		return nil, exit{exitUsage, errors.New("--build is for a revision; a folder or a binary is used as it is")}
	case err == nil && info.IsDir():
		return folderBase(name)
	case err == nil:
		return binaryBase(ctx, name)
	case path:
		return nil, exit{exitUsage, fmt.Errorf("--base %s: no such file or folder", name)}
	case unknown != nil:
		if none := noRepository(ctx); none != "" {
			return nil, exit{exitUsage, fmt.Errorf("--base %s is not a file or a folder, nor a revision: %s; name a folder or "+
				"a program", name, none)}
		}
		return nil, exit{exitUsage, fmt.Errorf("--base %s is not a file, a folder or a revision of a git repository here; a "+
			"shallow clone lacks most revisions: %s", name, fetching(name))}
	}
	return revisionBase(ctx, name, commit, filepath.Join(scratch, "base"), build, tell)
}

// noRepository says why no revision can be meant here; empty: it can.
func noRepository(ctx context.Context) string {
	_, err := git(ctx, "rev-parse", "--git-dir")
	switch {
	case err == nil:
		return ""
	case errors.Is(err, exec.ErrNotFound):
		return "git is not installed"
	case strings.Contains(err.Error(), "not a git repository"):
		return "there is no git repository here"
	}
	return "no git repository can be read here: " + err.Error()
}

// hereOrGiven refuses to go on without --base where its commit, which the results in dir name, is not here. Inside says
// that it is of edgegauge.
func hereOrGiven(ctx context.Context, commit, dir string, inside bool) error {
	if _, err := git(ctx, "rev-parse", "--verify", "--quiet", commit+"^{commit}"); err == nil {
		return nil
	}
	whose, advice := "the stacks that "+dir+" measured", "give a folder or a program of that version with --base"
	if inside {
		whose, advice = "the edgegauge that measured "+dir, "build edgegauge of that commit, and give the program with --base"
	}
	why := noRepository(ctx)
	if why == "" {
		why, advice = "the git repository here lacks it", fetching(commit)+"; or "+advice
	}
	return exit{exitUsage, fmt.Errorf("--base is missing, and %s, the commit of %s, is not here: %s; %s", commit, whose,
		why, advice)}
}

// fetching is how a shallow clone gets a revision.
func fetching(revision string) string {
	if strings.ContainsAny(revision, "^~@") { // of what is here, which a remote does not know by that name
		return "git fetch --unshallow, then the same command again"
	}
	return fmt.Sprintf("git fetch --depth 1 origin %s, then --base FETCH_HEAD",
		report.Quoted(strings.TrimPrefix(revision, "origin/")))
}

// git runs git here, and returns the line it prints.
func git(ctx context.Context, args ...string) (string, error) {
	var said bytes.Buffer
	c := exec.CommandContext(ctx, "git", args...)
	c.Stderr = &said
	out, err := kernel.Output(c)
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

func revisionBase(ctx context.Context, name, commit, tree, build string, tell io.Writer) (*base, error) {
	top, err := git(ctx, "rev-parse", "--show-toplevel")
	if err == nil {
		_, err = git(ctx, "-C", top, "worktree", "prune") // of labs that were killed
	}
	if err == nil {
		_, err = git(ctx, "-C", top, "worktree", "add", "--quiet", "--detach", tree, commit)
	}
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	b := &base{what: fmt.Sprintf("%s (%.10s)", name, commit), close: func() {
		if _, err := git(context.WithoutCancel(ctx), "-C", top, "worktree", "remove", "--force", tree); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}}
	if build != "" {
		c := exec.CommandContext(ctx, "sh", "-c", build)
		var said bytes.Buffer
		both := io.MultiWriter(tell, &said)
		c.Dir, c.Stdout, c.Stderr = tree, both, both
		if err := kernel.Run(c); err != nil {
			b.close()
			if tell == io.Discard {
				os.Stderr.Write(said.Bytes())
			}
			return nil, exit{exitUnmeasured, fmt.Errorf("--build %q in %s: %w", build, name, err)}
		}
	}
	b.of = func(ctx context.Context, d stack.Description) (stack.Description, error) {
		if d.Dir == "" {
			return d, fmt.Errorf("stack %s is inside edgegauge: build edgegauge of %s and give the binary as --base", d.Name,
				name)
		}
		dir, err := filepath.EvalSymlinks(d.Dir)
		if err != nil {
			return d, err
		}
		in, err := filepath.Rel(top, dir)
		if err != nil || in == ".." || strings.HasPrefix(in, "../") {
			return d, fmt.Errorf("stack %s is in %s, outside the repository %s, so no revision contains it", d.Name, dir, top)
		}
		return made(ctx, filepath.Join(tree, in), fmt.Sprintf("%s has no %s/stack.yaml", name, in))
	}
	return b, nil
}

// made reads the stack in dir and builds it if it says how.
func made(ctx context.Context, dir, none string) (stack.Description, error) {
	d, err := stack.Read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, errors.New(none)
	case err != nil || len(d.Build.Command) == 0:
		return d, err
	}
	_, err = d.Make(ctx, io.Discard)
	return d, err
}

// folderBase: the folder is a stack's, or holds folders of stacks.
func folderBase(dir string) (*base, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	taken := ""
	return &base{what: dir, trusted: true, close: func() {},
		of: func(ctx context.Context, d stack.Description) (stack.Description, error) {
			switch {
			case d.Dir == "":
				return d, fmt.Errorf("stack %s is inside edgegauge; give another edgegauge's binary as --base", d.Name)
			case taken != "":
				return d, fmt.Errorf("%s contains one stack, which is used as %s; give a folder that also contains "+
					"%s", dir, taken, d.Name)
			case exists(filepath.Join(dir, "stack.yaml")):
				taken = d.Name
				return made(ctx, dir, "")
			}
			return made(ctx, filepath.Join(dir, d.Name), fmt.Sprintf("%s has neither stack.yaml nor %s/stack.yaml", dir, d.Name))
		}}, nil
}

// binaryBase: the binary is another edgegauge, or takes the place of the file that
// a stack's commands begin with.
func binaryBase(ctx context.Context, file string) (*base, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	return &base{what: file, trusted: true, close: func() {},
		of: func(ctx context.Context, d stack.Description) (stack.Description, error) {
			if d.Dir == "" {
				return insideOf(ctx, file, d)
			}
			other, err := filepath.Rel(d.Dir, file)
			if err != nil {
				return d, err
			}
			replaced := false
			for _, p := range []*stack.Program{&d.Serve, &d.Call} {
				if len(p.Command) > 0 && exists(filepath.Join(d.Dir, p.Command[0])) {
					p.Command = append([]string{other}, p.Command[1:]...)
					replaced = true
				}
			}
			if !replaced {
				return d, fmt.Errorf("no command of stack %s begins with a file of its folder, so %s cannot replace it; give "+
					"a folder or a revision as --base", d.Name, file)
			}
			d.Build = stack.Build{Product: []string{other}}
			return d, nil
		}}, nil
}

// versionWithin is how long a binary may take to say its version: one that knows no such command may do anything.
const versionWithin = 5 * time.Second

// insideOf is a stack inside another edgegauge.
func insideOf(ctx context.Context, file string, d stack.Description) (stack.Description, error) {
	within, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	out, err := kernel.Output(exec.CommandContext(within, file, "version"))
	if ctx.Err() != nil {
		return d, ctx.Err()
	}
	if err != nil || !bytes.HasPrefix(out, []byte("edgegauge ")) {
		return d, fmt.Errorf("stack %s is inside edgegauge, and %s is not edgegauge: its command version prints %.40q (%v)",
			d.Name, file, out, err)
	}
	name := "./" + filepath.Base(file)
	d.Dir, d.Build = filepath.Dir(file), stack.Build{Product: []string{filepath.Base(file)}}
	d.Serve = stack.Program{Command: []string{name, lab.StackVerb, d.Name, "serve"}}
	d.Call = stack.Program{Command: []string{name, lab.StackVerb, d.Name, "call"}}
	return d, nil
}

// versions are the base versions of a study's stacks; left says which have none, and why.
func (b *base) versions(
	ctx context.Context, bed *testbed.Testbed, names []string,
) (out map[string]testbed.Version, left []error) {
	out = map[string]testbed.Version{}
	for _, n := range names {
		d, ok := bed.FindStack(n)
		if !ok {
			continue
		}
		old, err := b.of(ctx, d)
		if err != nil {
			left = append(left, err)
			continue
		}
		old.Name, old.Title, old.Version = study.Base(d.Name), old.Title+" (base)", b.what
		out[n] = testbed.Version{Description: old, Trusted: b.trusted || bed.Trusts(d)}
	}
	return out, left
}
