package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/stack"
)

// The number of a commit may be from a stranger's results: a file or a folder of that name is not the base, unless the
// user says so.
func TestACommitIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"abcdef1", "0123456789ab"} {
		ok(t, os.Mkdir(name, 0o755))
		for range 2 { // a folder, then a file
			b, err := openBase(t.Context(), name, t.TempDir(), "", io.Discard)
			if err == nil || !strings.Contains(err.Error(), "write --base ./"+name) {
				t.Errorf("%s: got %+v, %v", name, b, err)
			}
			b, err = openBase(t.Context(), "./"+name, t.TempDir(), "", io.Discard)
			if err != nil || !b.trusted {
				t.Errorf("./%s: got %+v, %v", name, b, err)
			}
			ok(t, os.RemoveAll(name))
			ok(t, os.WriteFile(name, nil, 0o755))
		}
	}
}

// The advice for a shallow clone fetches the revision: a remote knows main, but neither origin/main nor HEAD^.
func TestAdviceToFetchABase(t *testing.T) {
	newRepository(t)
	for name, want := range map[string]string{
		"origin/main": "git fetch --depth 1 origin main, then --base FETCH_HEAD",
		"v1.2":        "git fetch --depth 1 origin v1.2, then --base FETCH_HEAD",
		"HEAD^":       "git fetch --unshallow, then the same command again",
		"main~3":      "git fetch --unshallow, then the same command again",
	} {
		if _, err := openBase(t.Context(), name, t.TempDir(), "", io.Discard); err == nil ||
			!strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// newRepository makes the test run in a git repository that is empty.
func newRepository(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if out, err := exec.Command("git", "init", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Where no repository is, nothing can be fetched; what is written as a path is no revision anywhere.
func TestABaseThatIsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{
		"v1.2":      "--base v1.2 is not a file or a folder, nor a revision: there is no git repository here; name a folder or a program",
		"./nothing": "--base ./nothing: no such file or folder",
	} {
		if _, err := openBase(t.Context(), name, t.TempDir(), "", io.Discard); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// The commit that results name is said to be theirs where it is not here: nobody wrote it.
func TestTheCommitOfResultsIsNotHere(t *testing.T) {
	const commit = "0123456789ab"
	for _, c := range []struct {
		repository, inside bool
		want               string
	}{
		{false, true, "the edgegauge that measured old, is not here: there is no git repository here; build edgegauge of that commit, " +
			"and give the program with --base"},
		{false, false, "the stacks that old measured, is not here: there is no git repository here; give a folder or a program of " +
			"that version with --base"},
		{true, true, "the edgegauge that measured old, is not here: the git repository here lacks it; git fetch --depth 1 " +
			"origin 0123456789ab, then --base FETCH_HEAD; or build edgegauge of that commit, and give the program with --base"},
		{true, false, "the stacks that old measured, is not here: the git repository here lacks it; git fetch --depth 1 origin " +
			"0123456789ab, then --base FETCH_HEAD; or give a folder or a program of that version with --base"},
	} {
		t.Chdir(t.TempDir())
		if c.repository {
			newRepository(t)
		}
		err := hereOrGiven(t.Context(), commit, "old", c.inside)
		if want := "--base is missing, and " + commit + ", the commit of " + c.want; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A confirmation without --base, in a folder that is no repository, says whose commit it would be.
func TestConfirmOutsideOfARepository(t *testing.T) {
	o := newOwn(t)
	pasts(t, filepath.Join(o.dir, "runs"), level(2, past{rtt: 1e-3})...)
	o.says(t, exitUsage, []string{"confirm", "runs/001", "runs/002"}, "--base is missing, and 000000000001, the commit "+
		"of the stacks that runs/001 measured, is not here: there is no git repository here")
}

// A path that results name as their commit is not measured: it could be any program.
func TestResultsNameNoProgram(t *testing.T) {
	o := newOwn(t)
	for i, commit := range []string{"evil", "./evil", "evil/stack"} {
		dir := fmt.Sprint("runs", i)
		pasts(t, filepath.Join(o.dir, dir), level(2, past{rtt: 1e-3, commit: commit})...)
		o.says(t, exitUsage, []string{"confirm", dir + "/001", dir + "/002"}, "does not say from which commit its stacks are")
	}
}

// A binary that is no edgegauge may serve until it is ended, whatever it is told.
func TestABinaryThatNamesNoVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	t.Parallel()
	file := kerneltest.Script(t, "echo listening\nsleep 1000")
	asked := make(chan error, 1)
	go func() {
		_, err := insideOf(t.Context(), file, stack.Description{Name: "reference/rest-json"})
		asked <- err
	}()
	select {
	case err := <-asked:
		if err == nil || !strings.Contains(err.Error(), file+" is not edgegauge") {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}
