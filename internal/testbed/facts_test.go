package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// Looking for the commit of a stack runs nothing that its repository names, unless the stack is trusted.
func TestACommitIsFoundWithoutRunningAnything(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	for _, c := range []struct {
		what   string
		config []string // key, value; RAN is a command that says that it was run
	}{
		{"nothing", nil},
		{"a monitor of files", []string{"core.fsmonitor", "RAN; false"}},
		{"a filter", []string{"filter.a.clean", "RAN; cat"}},
		{"a filter of many files", []string{"filter.a.process", "RAN"}},
	} {
		above := t.TempDir()
		dir, ran := filepath.Join(above, "stacks", "theirs"), filepath.Join(above, "ran")
		recorder(t, dir, filepath.Join(above, "told"))
		git := func(args ...string) {
			t.Helper()
			args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@h"}, args...)
			if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
		err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("* filter=a\n"), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		git("init", "--quiet")
		git("add", ".")
		git("commit", "--quiet", "-m", "one")
		if c.config != nil {
			git("config", c.config[0], strings.ReplaceAll(c.config[1], "RAN", "touch "+ran))
		}
		file := filepath.Join(dir, "stack.yaml") // the same text at another time: git compares it
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.Remove(file)
		}
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		d := stack.Description{Name: "theirs", Dir: dir}
		commit := bed(t).CommitOf(t.Context(), d)
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s of a stack that is not trusted was run", c.what)
		}
		whole, changed := strings.CutSuffix(commit, "+")
		if len(whole) != 12 || changed != strings.HasPrefix(c.what, "a filter") {
			t.Errorf("%s: got commit %q", c.what, commit)
		}
		if got := bed(t, filepath.Join(above, "stacks")).CommitOf(t.Context(), d); got != whole &&
			c.what != "a filter of many files" {
			t.Errorf("%s, trusted: got commit %q, want %s", c.what, got, whole)
		}
	}
}
