package main

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every shell's script is made, and is what that shell reads.
func TestCompletionScripts(t *testing.T) {
	o := newOwn(t)
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "-n"},
		"powershell": nil} {
		c := exec.CommandContext(t.Context(), o.exe, "completion", shell)
		script, err := c.Output()
		if err != nil || !strings.Contains(string(script), "edgegauge") {
			t.Errorf("%s: %v: %.300s", shell, err, script)
		}
		if check == nil {
			continue
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not read: there is none", shell)
			continue
		}
		c = exec.CommandContext(t.Context(), check[0], check[1:]...)
		c.Stdin = strings.NewReader(string(script))
		if said, err := c.CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("%s: %v: %s", shell, err, said)
		}
	}
}

// A shell is offered every verb, every flag of it, and the names that this program knows.
func TestCompletion(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	names := func(out string) (names []string) {
		for line := range strings.Lines(out) {
			name, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t") // a description follows
			names = append(names, name)
		}
		return names
	}
	offered := func(words ...string) []string {
		c := exec.CommandContext(t.Context(), o.exe, append([]string{"__complete"}, words...)...)
		c.Dir = o.dir
		out, err := c.Output()
		if err != nil {
			t.Errorf("%q: %v", words, err)
		}
		return names(string(out))
	}
	here := func(words ...string) []string { // offered by this process: verbs and flags depend on no folder
		root, out := newRoot(), &strings.Builder{}
		root.SetArgs(append([]string{"__complete"}, words...))
		root.SetOut(out)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%q: %v", words, err)
		}
		return names(out.String())
	}
	eachCommand(newRoot(), func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		path := strings.Fields(verbOf(c))
		if n := len(path); n > 0 && !slices.Contains(here(path...), path[n-1]) {
			t.Errorf("%s is not offered", c.CommandPath())
		}
		if !slices.Contains(here(append(path, "--qu")...), "--quiet") {
			t.Errorf("%s: --quiet is not offered", c.CommandPath())
		}
	})
	for line, want := range map[string]string{
		"run q": "quickstart", "check quickstart sec": "secure-things", "plan ph": "phantom",
		"capacity q": "quickstart", "links n": "nb-iot", "stacks check reference/rest-j": "reference/rest-json",
		"stacks build reference/rest-j": "reference/rest-json", "devices check lo": "local",
		"devices build cortex": "cortex-a53", "schema r": "radio", "stacks new x --lang py": "python",
		"report x --format m": "markdown", "history x --by c": "commit",
	} {
		if got := offered(strings.Fields(line)...); !slices.Contains(got, want) {
			t.Errorf("edgegauge %s: offered %q, want %s", line, got, want)
		}
	}
	for verb := range offers {
		if c, _, err := newRoot().Find(strings.Fields(verb)); err != nil || verbOf(c) != verb {
			t.Errorf("there is no edgegauge %s", verb)
		}
	}
	for name := range flagOffers {
		verb, flag, _ := strings.Cut(name, " --")
		if c, _, err := newRoot().Find(strings.Fields(verb)); err != nil || c.Flags().Lookup(flag) == nil {
			t.Errorf("there is no edgegauge %s", name)
		}
	}
}

// Bash completes, also where the package bash-completion is not installed.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	needs(t, err == nil, "bash")
	o := newOwn(t)
	const try = `source <("$1" completion bash)
compopt() { :; } # it works within a completion only
COMP_LINE=$2 COMP_POINT=${#2}
read -ra COMP_WORDS <<<"$2"
COMP_CWORD=$((${#COMP_WORDS[@]}-1))
__start_edgegauge edgegauge
echo "${COMPREPLY[*]}"
`
	for line, want := range map[string]string{"edgegauge capac": "capacity", "edgegauge run quick": "quickstart",
		"edgegauge links nb": "nb-iot", "edgegauge report x --format mark": "markdown", "edgegauge run --quie": "--quiet"} {
		c := exec.CommandContext(t.Context(), bash, "--norc", "-c", try, "bash", o.exe, line)
		c.Dir, c.Env = o.dir, append(os.Environ(), "PATH="+o.dir+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %v: %q, want %s", line, err, out, want)
		}
	}
}
