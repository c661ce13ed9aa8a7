package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// An action is what these tests read of action.yml.
type action struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, If, Uses, Shell, Run string
			Env                            map[string]string
		}
	}
}

// A runner stands in for GitHub's: it puts values into expressions, and runs the
// steps that have a run, as bash with its options there.
type runner struct {
	dir, temp, source string
	inputs            map[string]string
	before            string // github.event.before
}

var expression = regexp.MustCompile(`\$\{\{ *(.+?) *\}\}`)

func (r runner) put(t *testing.T, text string) string {
	return expression.ReplaceAllStringFunc(text, func(s string) string {
		name := expression.FindStringSubmatch(s)[1]
		input, ok := strings.CutPrefix(name, "inputs.")
		switch {
		case ok:
			if v, known := r.inputs[input]; known {
				return v
			}
		case name == "github.action_path":
			return r.source
		case name == "github.event.pull_request.base.sha || github.event.before":
			return r.before
		}
		t.Fatalf("action.yml: nothing is known of %s", s)
		return ""
	})
}

// run runs the steps; outputs are those of the step compare.
func (r runner) run(t *testing.T, a action) (outputs map[string]string, summary, said string, failed bool) {
	t.Helper()
	files := map[string]string{"GITHUB_OUTPUT": filepath.Join(r.temp, "output"),
		"GITHUB_STEP_SUMMARY": filepath.Join(r.temp,
			"summary")}
	for _, f := range files {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range a.Runs.Steps {
		switch step.If {
		case "":
		case "inputs.edgegauge == ''":
			if r.inputs["edgegauge"] != "" {
				continue
			}
		default:
			t.Fatalf("action.yml: if: %s", step.If)
		}
		if step.Run == "" {
			continue // another's action: GitHub alone has it
		}
		if step.Shell != "bash" {
			t.Fatalf("step %s has shell %q", step.Name, step.Shell)
		}
		c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", r.put(t, step.Run))
		c.Dir = r.dir
		c.Env = append(os.Environ(), "RUNNER_TEMP="+r.temp)
		for k, v := range files {
			c.Env = append(c.Env, k+"="+v)
		}
		for k, v := range step.Env {
			c.Env = append(c.Env, k+"="+r.put(t, v))
		}
		out, err := c.CombinedOutput()
		said += string(out)
		if failed = err != nil; failed {
			break
		}
	}
	outputs = map[string]string{}
	text, _ := os.ReadFile(files["GITHUB_OUTPUT"])
	for line := range strings.Lines(string(text)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		outputs[k] = v
	}
	text, _ = os.ReadFile(files["GITHUB_STEP_SUMMARY"])
	return outputs, string(text), said, failed
}

func readAction(t *testing.T) action {
	t.Helper()
	var a action
	text, err := os.ReadFile("../../action.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &a)
	}
	if err != nil || a.Runs.Using != "composite" {
		t.Fatalf("%v: %+v", err, a)
	}
	return a
}

// The steps of the action, in a repository with two revisions of a small stack: one
// made slower by a sleep fails, equal ones do not, and what cannot be done is an error.
func TestActionFailsWhatIsSlower(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	a, o := readAction(t), newOwn(t)
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	o.write(t, "gate.yaml", "study: gate\nservice: monitor\nstack: mine\nrequests: 2\ndesign: {warmup: 1}\nretries: 20\n")
	if out, code := o.run(t, "stacks", "new", "mine", "--lang", "python"); code != exitDone {
		t.Fatal(out)
	}
	shell := func(text string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "bash", "-ec", text)
		c.Dir = o.dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", text, err, out)
		}
	}
	shell("git -c init.defaultBranch=main init -q . && git config user.name a && git config user.email a@h && " +
		"git add stacks gate.yaml && git commit -qm one && git commit -qm two --allow-empty && " +
		"sed -i 's/        def do_POST(self):/&\\n            time.sleep(1)/' stacks/mine/stack.py && git commit -qam three")
	inputs := func(more map[string]string) map[string]string {
		out := map[string]string{}
		for k, x := range a.Inputs {
			out[k] = x.Default
		}
		// A change of ten times is looked for, so that no machine can make one of equals.
		maps.Copy(out, map[string]string{"study": "gate.yaml", "detect": "900%\nresponse_time > 900%", "max-time": "1s"})
		maps.Copy(out, more)
		return out
	}
	for _, tt := range []struct {
		what, at string
		inputs   map[string]string
		before   string
		verdicts []string
		failed   bool
	}{
		{"slower than before the push, built from the action's source", "main", nil, "main~1", []string{"worse"}, true},
		{"equal to its base", "main~1", map[string]string{"edgegauge": o.exe, "base": "main~2"}, "",
			[]string{"good", "undecided"}, false},
		{"no such base", "main", map[string]string{"edgegauge": o.exe, "base": "./nothing"}, "", []string{""}, true},
		{"no such study", "main", map[string]string{"edgegauge": o.exe, "study": "no.yaml"}, "main~1", []string{"error"},
			true},
	} {
		shell("git checkout -q " + tt.at)
		r := runner{o.dir, t.TempDir(), source, inputs(tt.inputs), tt.before}
		outputs, summary, said, failed := r.run(t, a)
		if !slices.Contains(tt.verdicts, outputs["verdict"]) || failed != tt.failed {
			t.Errorf("%s: verdict %q, failed %v: %s", tt.what, outputs["verdict"], failed, said)
			continue
		}
		if v := outputs["verdict"]; v == "worse" || v == "good" || v == "undecided" {
			if !strings.HasPrefix(summary, "**"+v+"**: ") || !strings.Contains(said, "::add-matcher::"+source+"/.github/") ||
				!exists(filepath.Join(outputs["results"], "compare.xml")) {
				t.Errorf("%s: summary %s, said %s", tt.what, summary, said)
			}
		}
	}
	for name, out := range a.Outputs {
		if out.Value != fmt.Sprintf("${{ steps.compare.outputs.%s }}", name) {
			t.Errorf("output %s is %s", name, out.Value)
		}
	}
}

// A checkout on GitHub has one revision and no other branch: the action fetches the base version that it measures.
func TestActionFetchesItsBase(t *testing.T) {
	if testing.Short() {
		t.Skip("runs git")
	}
	a, dir := readAction(t), t.TempDir()
	shell := func(text string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "bash", "-ec", text)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", text, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	shell("git -c init.defaultBranch=main init -q origin && cd origin && git config user.name a && " +
		"git config user.email a@h && git commit -qm one --allow-empty && git tag one && " +
		"git commit -qm two --allow-empty && git checkout -qb topic && git commit -qm three --allow-empty && " +
		"git commit -qm four --allow-empty")
	// It stands for edgegauge, and needs the revision as compare does.
	says := kerneltest.Script(t, "while [ \"$1\" != --base ]; do shift; done\n"+
		"echo \"base $(git rev-parse --verify \"$2^{commit}\")\"")
	for i, tt := range []struct{ base, before, want string }{
		{"origin/main", "", "main"}, {"main", "", "main"}, {"one", "", "one"}, {"HEAD^", "", "topic^"}, {"HEAD~3", "", "one"},
		{"", "", "topic^"}, {"", strings.Repeat("0", 40), "topic^"}, {"", "main", "main"},
	} {
		clone := fmt.Sprint("clone", i)
		shell("git clone -q --depth 1 --branch topic file://$PWD/origin " + clone)
		inputs := map[string]string{"edgegauge": says, "base": tt.base}
		for k, x := range a.Inputs {
			if _, given := inputs[k]; !given {
				inputs[k] = x.Default
			}
		}
		_, _, said, failed := runner{filepath.Join(dir, clone), t.TempDir(), dir, inputs, tt.before}.run(t, a)
		if want := "base " + shell("git -C origin rev-parse "+tt.want); failed || !strings.Contains(said, want) {
			t.Errorf("base %q, before %q: failed %v, want %s: %s", tt.base, tt.before, failed, want, said)
		}
	}
}

// The problem matcher finds each line that compare prints of what is worse or
// undecided, whole, as an error or a warning, and no other line.
func TestProblemMatcherReadsCompare(t *testing.T) {
	var matchers struct {
		ProblemMatcher []struct {
			Owner, Severity string
			Pattern         []struct {
				Regexp  string
				Message int
			}
		}
	}
	text, err := os.ReadFile("../../.github/problem-matcher.json")
	if err == nil {
		err = json.Unmarshal(text, &matchers)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := someCompared(t).Text(&b); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, m := range matchers.ProblemMatcher {
		re := regexp.MustCompile(m.Pattern[0].Regexp)
		for line := range strings.Lines(b.String()) {
			if got := re.FindStringSubmatch(strings.TrimSuffix(line, "\n")); got != nil {
				found[m.Severity] = append(found[m.Severity], got[m.Pattern[0].Message])
			}
		}
	}
	if len(found["error"]) != 2 || len(found["warning"]) != 1 ||
		!strings.HasPrefix(found["error"][0], "lost trials: gone") ||
		!strings.HasPrefix(found["error"][1], "rtt > 5%: RTT of slow at the client: ") ||
		!strings.HasPrefix(found["warning"][0], "rtt > 5%: RTT of wide at the client: ") {
		t.Errorf("got %q of %s", found, b.String())
	}
}

// someCompared has a treatment of each verdict, and one that is lost.
func someCompared(t *testing.T) report.Compared {
	t.Helper()
	series := func(name string, values ...float64) advise.Series {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{name}, Side: measure.Client, Response: "rtt",
			Unit:        "s",
			Interleaved: true}
		for i, v := range values {
			s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: 1.1 * v,
				SD: v / 10})
		}
		return s
	}
	k, err := advise.ParseDetect("5%")
	if err != nil {
		t.Fatal(err)
	}
	old := []advise.Series{series("slow", 1, 1.01, 0.99, 1), series("wide", 1, 2, 1, 2), series("same", 1, 1.01, 0.99, 1)}
	new := []advise.Series{series("slow", 2, 2.02, 2.01, 2), series("wide", 2, 1, 1, 3),
		series("same", 1, 1.001, 0.999, 0.99)}
	c, err := advise.Compare(old, new, []advise.Condition{k}, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	c.Lost = []advise.Loss{{Treatment: "gone", Old: [2]int{4, 4}}}
	return report.Compared{Old: "base", New: "new", Dir: "results/x/001", Paired: true, Confidence: 0.95, Comparison: c,
		Command: "edgegauge compare results/x/001 --detect 5%"}
}

// JUnit XML as an independent reader has it, and as Jenkins' schema wants it: counts
// that are those of the cases, and names on all of them.
func TestJUnitIsReadByOthers(t *testing.T) {
	py := os.Getenv("EDGEGAUGE_PYTHON")
	if py == "" {
		py = "python3"
	}
	needs(t, exec.Command(py, "-c", "import junitparser").Run() == nil, "junitparser in "+py)
	c := someCompared(t)
	c.Failed = []advise.Failures{{Old: stat.Share{Hits: 0, N: 9}, New: stat.Share{Hits: 3, N: 9}, Verdict: stat.Undecided,
		P:    0.2,
		Test: "Fisher's exact test over requests"}}
	file := filepath.Join(t.TempDir(), "junit.xml")
	if err := writeFile("--junit", file, c.JUnit); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(py, "-c", `
import sys
from junitparser import JUnitXml
for suite in JUnitXml.fromfile(sys.argv[1]):
    assert suite.name and not (set(suite._elem.attrib) - {"name", "tests", "failures", "errors", "skipped"})
    print(suite.tests, suite.failures, suite.errors, suite.skipped)
    for case in suite:
        assert case.name and case.classname
        print(case.classname, "|", case.name, "|", *[type(r).__name__ + ": " + r.message for r in case.result])
`, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"5 2 0 2\n", "lost trials | gone | Failure: gone is missing",
		"rtt > 5% | slow, client | Failure: RTT of slow",
		"rtt > 5% | wide, client | Skipped: undecided: ", "rtt > 5% | same, client |\n",
		"failures | requests that failed | Skipped: undecided: 3 of 9"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// The markdown of a comment: the answer first, a table that a renderer takes, and
// the command that repeats it.
func TestMarkdownComment(t *testing.T) {
	var b strings.Builder
	if err := someCompared(t).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.HasPrefix(got, "**worse**: valid trials are missing") ||
		!strings.Contains(got, "    edgegauge compare results/x/001 --detect 5%\n") {
		t.Errorf("got %s", got)
	}
	rows := regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(got, -1)
	if len(rows) != 5 {
		t.Errorf("got %d rows: %s", len(rows), got)
	}
	for _, row := range rows {
		if strings.Count(row, "|") != 8 {
			t.Errorf("a row has another number of cells: %s", row)
		}
	}
}
