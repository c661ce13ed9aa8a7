package main

import (
	"fmt"
	"io"
	"os"
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
	t.Chdir(t.TempDir())
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
