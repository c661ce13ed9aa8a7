package stack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Missing lists the needs that are not met, each with the command that installs
// it; what the user must bring comes last.
func (d Description) Missing(ctx context.Context) []Need { return d.Unmet(ctx, d.NeedsNow()) }

// NeedsNow are the needs of this machine as the stack lies here: what only builds it may be
// gone once it is built. Where no command begins with a program that is needed, as where a
// script starts it, nobody knows which those are.
func (d Description) NeedsNow() []Need {
	if len(d.Build.Command) == 0 || d.Build.Native || !d.Built() {
		return d.Needs
	}
	if run := d.RunNeeds(); slices.ContainsFunc(run, func(n Need) bool { return n.Program != "" }) {
		return run
	}
	return d.Needs
}

// NotFound is a program that serve or call begins with and no folder of PATH has; empty: there is none.
func (d Description) NotFound() string {
	for _, p := range []Program{d.Serve, d.Call} {
		if len(p.Command) == 0 || strings.ContainsAny(p.Command[0], "/{") ||
			slices.ContainsFunc(p.Env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
			continue
		}
		if _, err := exec.LookPath(p.Command[0]); err != nil {
			return p.Command[0]
		}
	}
	return ""
}

// Unmet lists those of needs that are not met, as Missing does.
func (d Description) Unmet(ctx context.Context, needs []Need) []Need {
	var out, bring []Need
	for _, n := range needs {
		met, found := n.met(ctx, d.Dir, d.environment(n))
		n.found = found
		switch {
		case met:
		case n.Brought:
			n.File = within(d.Dir, n.File) // the message says where it was looked for
			bring = append(bring, n)
		default:
			out = append(out, n)
		}
	}
	return append(out, bring...)
}

// within is a file by its path from dir.
func within(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

func (n Need) what() string {
	switch {
	case n.Program != "":
		return strings.TrimSpace(n.Program + " " + n.Version)
	case n.File != "":
		return n.File
	}
	return "$" + n.Env
}

// String says what is missing and what to do.
func (n Need) String() string {
	if n.Brought {
		return n.what() + " is missing, and only you can supply it: " + n.Install
	}
	if n.found != "" {
		return fmt.Sprintf("%s is missing (%s); run: %s", n.what(), n.found, n.Install)
	}
	return n.what() + " is missing; run: " + n.Install
}

// environment is what a program that is needed has when it works: that of a trial where serve or call begins with it,
// and all of ours where only the build does.
func (d Description) environment(n Need) []string {
	for _, p := range []Program{d.Serve, d.Call} {
		if p.Runs(n.Program) {
			return append(kernel.Environment(), p.Env...)
		}
	}
	return nil
}

// met tries the need, a program with some environment, nil: ours. A version is believed only from the program's own
// mouth. Of one that is there and is not what is needed it returns what it said.
func (n Need) met(ctx context.Context, dir string, environment []string) (met bool, found string) {
	switch {
	case n.Env != "":
		dir := os.Getenv(n.Env)
		_, err := os.Stat(dir)
		return dir != "" && err == nil, ""
	case n.File != "":
		_, err := os.Stat(within(dir, n.File))
		return err == nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	path, err := exec.LookPath(n.Program)
	if err != nil || len(n.Args) == 0 {
		return err == nil, ""
	}
	cmd := exec.CommandContext(ctx, n.Program, n.Args...)
	cmd.Env = environment
	out, err := kernel.CombinedOutput(cmd)
	switch {
	case err != nil:
		return false, fmt.Sprintf("%s does not work: %s: %v%s", path, strings.Join(n.Args, " "), err, firstWords(string(out)))
	case !n.is(string(out)):
		return false, path + " says" + firstWords(string(out))
	}
	return true, ""
}

// is reports whether the version stands in what a program prints, as a version or the beginning of one: 17 is not in
// 11.0.17, nor in 2025-04-17.
func (n Need) is(output string) bool {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	v := n.Version
	for at := 0; ; at++ {
		i := strings.Index(output[at:], v)
		if i < 0 || v == "" {
			return v == ""
		}
		at += i
		before := at > 0 && digit(v[0]) && strings.IndexByte("0123456789.-+", output[at-1]) >= 0
		after := at+len(v) < len(output) && digit(v[len(v)-1]) && digit(output[at+len(v)])
		if !before && !after {
			return true
		}
	}
}

// firstWords is the line of a program's output that names an error, else the first, behind a colon.
func firstWords(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	best := lines[0]
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(strings.ToLower(l), "error") }); i >= 0 {
		best = lines[i]
	}
	if best = strings.TrimSpace(best); best == "" {
		return ""
	}
	return fmt.Sprintf(": %.200q", best)
}

// MetBy tries the need on another machine, where run runs a command: its output,
// and whether it ended well. What the user brings has gone into the products.
func (n Need) MetBy(run func(argv ...string) (output string, ok bool)) bool {
	ok := false
	switch {
	case n.Brought:
		ok = true
	case n.Env != "":
		_, ok = run("sh", "-c", `eval "test -d \"\$$0\""`, n.Env)
	case n.File != "":
		_, ok = run("test", "-e", n.File)
	case len(n.Args) == 0:
		_, ok = run("sh", "-c", `command -v "$0"`, n.Program)
	default:
		var out string
		out, ok = run(append([]string{n.Program}, n.Args...)...)
		ok = ok && n.is(out)
	}
	return ok
}

// Files are what another machine needs of the stack's folder to run it, or to
// build it there: paths below the folder, or beside it.
func (d Description) Files() []string {
	if len(d.Build.Command) == 0 {
		return []string{"."}
	}
	files := append([]string{"stack.yaml"}, d.Build.Inputs...)
	if !d.Build.Native {
		files = append(files, d.Build.Product...)
	}
	return files
}

// stampFile holds two digests, a line each: of the inputs that the products were built from, and of the products. The
// first alone would believe the products of another commit beside which a stamp lies that was committed.
const stampFile = ".edgegauge-built"

// Built reports whether the products are there and made from the present inputs.
func (d Description) Built() bool {
	if len(d.Build.Command) == 0 {
		return true
	}
	got, err := os.ReadFile(d.stamp())
	if err != nil {
		return false
	}
	if extra, err := d.unlisted(); err != nil || len(extra) > 0 {
		return false
	}
	want, err := d.digests()
	return err == nil && string(got) == want
}

// Stale reports whether the stack was built, and its inputs or products have changed since.
func (d Description) Stale() bool {
	if len(d.Build.Command) == 0 || d.Built() {
		return false
	}
	_, err := os.Stat(d.stamp())
	return err == nil
}

func (d Description) stamp() string {
	first := "."
	if len(d.Build.Product) > 0 {
		first = filepath.Dir(d.Build.Product[0])
	}
	return filepath.Join(d.Dir, first, stampFile)
}

// Make builds the stack unless it is built. Two at once wait for each other.
func (d Description) Make(ctx context.Context, log io.Writer) (did bool, err error) {
	if d.Built() {
		return false, nil
	}
	if missing := d.Missing(ctx); len(missing) > 0 {
		return false, fmt.Errorf("stack %s: %s", d.Name, missing[0])
	}
	lock, err := kernel.WaitLockFolder(ctx, d.Dir) // for one build at a time
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if d.Built() { // by whom we waited for
		return false, nil
	}
	if err := d.removeUnlisted(); err != nil {
		return false, err
	}
	// From here on the products may be of either: to whom the old inputs are given back, they must not be up to date.
	if err := os.Remove(d.stamp()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	var tail tailWriter
	cmd := exec.CommandContext(ctx, d.Build.Command[0], d.Build.Command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.Dir, io.MultiWriter(log, &tail), io.MultiWriter(log, &tail)
	if err := kernel.Run(cmd); err != nil {
		return false, fmt.Errorf("stack %s: build: %w:\n%s", d.Name, err, tail.b)
	}
	for _, p := range d.Build.Product {
		if _, err := os.Stat(filepath.Join(d.Dir, p)); err != nil {
			return false, fmt.Errorf("stack %s: the build did not produce %s", d.Name, p)
		}
	}
	if extra, err := d.unlisted(); err != nil || len(extra) > 0 {
		return false, errors.Join(err, fmt.Errorf("stack %s: the build produced %s, which %s does not list", d.Name,
			strings.Join(extra, ", "), jarList))
	}
	sums, err := d.digests()
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(d.stamp(), []byte(sums), 0o644)
}

// digests are the lines of the stamp. Of the inputs it leaves out what no product is made of: the pages for readers,
// and the Go tests beside the source; of the products the stamp itself.
func (d Description) digests() (string, error) {
	in, err := d.digest("input", append([]string{"stack.yaml"}, d.Build.Inputs...), func(path string) bool {
		return strings.HasSuffix(path, ".md") || strings.HasSuffix(path, "_test.go")
	})
	if err != nil {
		return "", err
	}
	out, err := d.digest("product", d.Build.Product, func(path string) bool { return path == d.stamp() })
	return in + "\n" + out + "\n", err
}

// digest is the SHA-256 of the names and contents of files and folders, by their paths from the stack's folder.
func (d Description) digest(what string, files []string, leftOut func(path string) bool) (string, error) {
	h := sha256.New()
	for _, file := range files {
		err := filepath.WalkDir(filepath.Join(d.Dir, file), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || leftOut(path) {
				return err
			}
			rel, _ := filepath.Rel(d.Dir, path)
			sum, err := FileSum(path)
			fmt.Fprintf(h, "%s %s\n", sum, rel)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("stack %s: build %s %s: %w", d.Name, what, file, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Checksums gives the SHA-256 of every file that the stack consists of, by path from the
// stack's folder: kept with every result.
func (d Description) Checksums() (map[string]string, error) {
	out := map[string]string{}
	if len(d.Build.Product) == 0 && d.Dir != "" {
		text, _ := json.Marshal([]Program{d.Serve, d.Call})
		out[CommandLines] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	err := d.WalkFiles(func(name, path string) (err error) {
		out[name], err = FileSum(path)
		return err
	})
	return out, err
}

// FileSum is the SHA-256 of a file, in hexadecimal.
func FileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// tailWriter keeps the last bytes written, for an error message.
type tailWriter struct{ b []byte }

func (t *tailWriter) Write(p []byte) (int, error) {
	const most = 4000
	t.b = append(t.b, p...)
	if over := len(t.b) - most; over > 0 {
		t.b = slices.Delete(t.b, 0, over)
	}
	return len(p), nil
}
