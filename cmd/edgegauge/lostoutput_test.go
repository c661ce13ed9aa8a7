package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// textRuns are commands that print other things than jsonRuns do.
var textRuns = []string{
	"check s.yaml", "plan s.yaml", "report out", "report out --format csv", "report out --format html",
	"report out --format svg --out figures", "report --claims out", "run s.yaml --out out", "compare out out",
	"compare --from out --with s.yaml --detect 50%", "history runs", "confirm both",
	"choose out --minimize rtt", "forecast out --battery 2xAA --link nb-iot --period 1h",
	"analyze table.csv --response y --by a", "links", "links nb-iot", "stacks", "stacks list",
	"stacks new yours --lang python", "stacks build rest-json", "stacks check rest-json --only listen",
	"stacks check --explain", "devices", "devices list", "benches", "benches list",
	"benches add two --nats nats://127.0.0.1:4222", "packets capture.pcapng",
	"probe URL --requests 50 --runs 2", "publish out --out text.crate.zip",
	"publish out --without-raw --out keptagain", "web export otherpages out", "version", "--version", "--help",
	"help run", "run --help", "completion bash", "completion zsh", "completion fish",
}

// What could not be printed is told, by every command, and no exit code says that all is well. A reader who has read
// enough ends a command as it ends others: quietly, by SIGPIPE.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o, url := jsonPlace(t)
	if out, code := o.run(t, "run", "s.yaml", "--out", "out"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	nobody, closed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	defer closed.Close()
	const lost = "standard output cannot be written: no space left on device; free some"
	for _, line := range append(jsonRuns, textRuns...) {
		state, said := o.prints(t, strings.Replace(line, "URL", url, 1), full)
		if code := state.ExitCode(); code == exitDone || code == exitUsage || strings.Count(said, lost) != 1 ||
			strings.Contains(said, os.Stdout.Name()) {
			t.Errorf("%s >/dev/full: exit code %d: %s", line, code, said)
		}
	}
	o.write(t, "bad.yaml", one+"reqests: 5\n")
	state, said := o.prints(t, "check bad.yaml s.yaml", full) // also beside what else is wrong
	if state.ExitCode() != exitUsage || !strings.Contains(said, "did you mean requests?") ||
		!strings.Contains(said, lost) {
		t.Errorf("exit code %d: %s", state.ExitCode(), said)
	}
	for _, line := range append(jsonRuns, textRuns...) {
		if !onlyPrints(line) {
			continue
		}
		state, said := o.prints(t, line, closed)
		if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGPIPE || said != "" {
			t.Errorf("%s, whose reader is gone: %v: %s", line, state, said)
		}
		// With standard output closed Go opens /dev/null in its place: no file of ours gets its number.
		c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `exec "$0" "$@" --quiet >&-`, o.exe},
			strings.Fields(line)...)...)
		c.Dir = o.dir
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s >&-: %v: %s", line, err, out)
		}
	}
	if out, code := o.run(t, "report", "out"); code != exitDone || strings.Contains(out, "were changed") {
		t.Errorf("the results afterwards: exit code %d: %s", code, out)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 8; exec "$0" report out --format html >page.html`, o.exe)
	c.Dir = o.dir
	out, _ := c.CombinedOutput() // the exit code says it
	if code := c.ProcessState.ExitCode(); code != exitUnmeasured || !strings.Contains(string(out),
		"standard output cannot be written: file too large; raise the limit of file sizes, as with ulimit -f unlimited") {
		t.Errorf("beyond the limit: exit code %d: %s", code, out)
	}
}

// onlyPrints says whether a command is quick, and leaves nothing: it can be run again and again.
func onlyPrints(line string) bool {
	if strings.Contains(line, "--out ") || strings.Contains(line, "--from ") {
		return false
	}
	for _, verb := range []string{"check", "plan", "report", "compare", "history", "confirm", "choose", "forecast",
		"analyze", "links", "stacks list", "stacks check --explain", "devices", "benches list", "packets", "version",
		"--version", "--help", "help", "run --help", "completion", "schema"} {
		if line == verb || strings.HasPrefix(line, verb+" ") {
			return true
		}
	}
	return false
}

// quietVerbs print nothing that could be lost, or are tested elsewhere.
var quietVerbs = map[string]string{
	"": "help", "completion powershell": "as the other shells",
	"worker": "serves until it is ended", "devices shell": "a terminal",
	"benches drain": "prints nothing", "benches remove": "prints nothing", "man": "writes files",
}

// Every verb is among the commands whose output is lost, or has a reason why not.
func TestEveryVerbLosesOutput(t *testing.T) {
	eachCommand(newRoot(), func(c *cobra.Command) {
		verb := verbOf(c)
		tried := slices.ContainsFunc(slices.Concat(jsonRuns, textRuns), func(line string) bool {
			return line == verb || strings.HasPrefix(line, verb+" ")
		})
		_, quiet := quietVerbs[verb]
		_, other := otherJSON[verb]
		if tried == (quiet || other) && verb != "" {
			t.Errorf("edgegauge %s: among the commands %v, in quietVerbs or otherJSON %v", verb, tried, quiet || other)
		}
	})
}

// prints runs a command whose standard output is a file, and returns what it says on standard error.
func (o own) prints(t *testing.T, line string, to *os.File) (state *os.ProcessState, said string) {
	t.Helper()
	var errs strings.Builder
	c := exec.CommandContext(t.Context(), o.exe, append(strings.Fields(line), "--quiet")...)
	c.Dir, c.Stdout, c.Stderr = o.dir, to, &errs
	_ = c.Run() // the exit code says it
	return c.ProcessState, errs.String()
}
