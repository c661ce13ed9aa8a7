package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/kernel"
)

// jsonRuns are commands that print JSON, one for each verb that can.
var jsonRuns = []string{
	"run s.yaml --out out --json",
	"check s.yaml --json",
	"plan s.yaml --json",
	"report out --json",
	"compare out out --json",
	"history runs --json",
	"confirm both --json",
	"choose out --minimize rtt --json",
	"forecast out --battery 2xAA --link nb-iot --period 1h --json",
	"capacity s.yaml --scale concurrency --most 8 --blocks 2 --length 100ms --set stack=rest-json --out scaling --json",
	"analyze table.csv --response y --by a --json",
	"links --json",
	"links nb-iot --json",
	"stacks list --json",
	"stacks check rest-json --only listen --json",
	"devices list --json",
	"devices check local --json",
	"packets capture.pcapng --json",
	"bench agent --json",
	"probe URL --requests 50 --runs 2 --json",
	"version --json",
	"schema",
	"schema battery",
}

// Every verb that prints facts has --json: one object, with a format, whose keys are in snake_case
// with, if they have one, a unit behind. doc/formats.md names each.
func TestJSONOfEveryVerb(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "s.yaml", "study: s\nservice: echo\nn: 5\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 20\n"+
		"design: {replications: 3}\n")
	o.write(t, "table.csv", "a,y\np,1\np,2\nq,3\nq,5\n")
	// of no packet
	o.write(t, "capture.pcapng", "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00")
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	pasts(t, filepath.Join(o.dir, "runs"), level(2, past{rtt: 1e-3})...)
	confirmed(t, filepath.Join(o.dir, "both"), filepath.Join(o.dir, "runs/001"), filepath.Join(o.dir, "runs/002"), 1)
	done := map[string]bool{}
	for _, line := range jsonRuns {
		args := strings.Fields(strings.Replace(line, "URL", service.URL, 1))
		c := exec.CommandContext(t.Context(), o.exe, args...)
		c.Dir = o.dir
		var errs bytes.Buffer
		c.Stderr = &errs
		out, _ := c.Output()
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Errorf("%s: %v: %s%s", line, err, out, errs.String())
			continue
		}
		verb, _, _ := strings.Cut(strings.TrimSuffix(line, " --json"), " ")
		if verb == "stacks" || verb == "devices" {
			verb += " " + args[1]
		}
		if done[verb] = true; verb == "schema" {
			continue // its keys are JSON Schema's
		}
		if v, ok := got["format"].(float64); !ok || v < 1 {
			t.Errorf("%s: format is %v", line, got["format"])
		}
		eachKey(got, func(key string) {
			if !snakeCase.MatchString(key) {
				t.Errorf("%s: the key %q", line, key)
			}
		})
	}
	page, err := os.ReadFile("../../doc/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for verb := range done {
		if !bytes.Contains(page, []byte("| `"+verb+"` |")) && verb != "schema" {
			t.Errorf("doc/formats.md does not name the JSON of %s", verb)
		}
	}
	eachCommand(newRoot(), func(c *cobra.Command) {
		verb := strings.TrimPrefix(c.CommandPath(), "edgegauge ")
		if c.Flags().Lookup("json") != nil && !done[verb] && verb != "devices meter" {
			t.Errorf("the JSON of %s is not looked at", verb)
		}
	})
}

// snakeCase is a key, with a unit such as _s, _B or _bit_per_s behind it.
var snakeCase = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*(_(B|W|J|MHz|kHz|GHz|V|A|K))?$`)

// named are objects whose keys are names: of factors, stacks, machines, programs.
var named = map[string]bool{"treatment": true, "facts": true, "runtimes": true, "not_checked": true, "options": true,
	"summaries": true, "by": true, "between": true, "refused": true}

func eachKey(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if f(k); !named[k] {
				eachKey(x, f)
			}
		}
	case []any:
		for _, x := range v {
			eachKey(x, f)
		}
	}
}

func eachCommand(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, f)
	}
}

// A study with a fault, and one that is ready, as an editor reads them.
func TestCheckJSON(t *testing.T) {
	o := newOwn(t)
	o.write(t, "good.yaml", one)
	o.write(t, "bad.yaml", one+"replications: 3\n")
	c := exec.CommandContext(t.Context(), o.exe, "check", "good.yaml", "bad.yaml", "--json")
	c.Dir = o.dir
	out, err := c.Output()
	var got checkedJSON
	if json.Unmarshal(out, &got) != nil || c.ProcessState.ExitCode() != exitUsage || len(got.Studies) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	if good := got.Studies[0]; !good.Ready || good.Trials != 10 || len(good.Faults) != 0 {
		t.Errorf("good.yaml: got %+v", good)
	}
	want := faultJSON{"bad.yaml", 5, 1, `unknown key "replications"`,
		"did you mean design.replications? write design: {replications: 3}", false}
	if bad := got.Studies[1]; bad.Ready || len(bad.Faults) != 1 || bad.Faults[0] != want {
		t.Errorf("bad.yaml: got %+v", bad)
	}
}

// --quiet leaves nothing on standard error, and the same answer on standard output.
func TestQuiet(t *testing.T) {
	o := newOwn(t)
	o.write(t, "s.yaml", one+"requests: 5\ndesign: {replications: 2}\n")
	for _, args := range [][]string{{"run", "s.yaml"}, {"run", "s.yaml", "--quiet"}} {
		c := exec.CommandContext(t.Context(), o.exe, args...)
		c.Dir = o.dir
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil || !strings.Contains(string(out), "report.html") {
			t.Errorf("%v: %v: %s", args, err, out)
		}
		if quiet := len(args) == 3; quiet != (errs.Len() == 0) {
			t.Errorf("%v: on standard error: %q", args, errs.String())
		}
	}
}

// Colours are for terminals whose user has not refused them.
func TestPainter(t *testing.T) {
	var b bytes.Buffer
	p := &painter{w: &b, fresh: true}
	for _, text := range []string{"FAIL x\nwarn", "ing: no\n", "plain\nwarning: yes\n"} {
		if n, err := p.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if want := red + "FAIL x" + plain + "\nwarning: no\nplain\n" + yellow + "warning: yes" + plain +
		"\n"; b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

// On a terminal an error is red, unless NO_COLOR is set or the terminal knows no colours.
func TestColourOnATerminal(t *testing.T) {
	o := newOwn(t)
	for _, tt := range []struct {
		env  []string
		want bool
	}{
		{[]string{"NO_COLOR=", "TERM=xterm"}, true},
		{[]string{"NO_COLOR=1", "TERM=xterm"}, false},
		{[]string{"NO_COLOR=", "TERM=dumb"}, false},
	} {
		p, err := kernel.NewPTY(9600)
		if err != nil {
			t.Fatal(err)
		}
		line, err := os.OpenFile(p.Name, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), o.exe, "links", "nbiot")
		c.Stderr, c.Env = line, append(os.Environ(), tt.env...)
		c.Run()
		b := make([]byte, 4096)
		p.Master.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := p.Master.Read(b)
		if got := string(b[:n]); strings.Contains(got, red) != tt.want || !strings.Contains(got, "nb-iot") {
			t.Errorf("%v: %v: got %q", tt.env, err, got)
		}
		line.Close()
		p.Close()
	}
}

// The commands that a run proposes run as they stand.
func TestWhatToDoNext(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "s.yaml", "study: s\nservice: echo\nn: 5\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 5\n"+
		"design: {replications: 2}\n")
	out, code := o.run(t, "run", "s.yaml", "--quiet", "--out", "a dir", "--set", "requests=10")
	_, next, ok := strings.Cut(out, "What to do next:\n")
	if code != exitDone || !ok {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if report, code := o.run(t, "report", "a dir"); code != exitDone || !strings.HasSuffix(report, next) {
		t.Errorf("exit code %d: report ends otherwise: %s", code, report)
	}
	for _, verb := range []string{"choose", "compare", "publish"} {
		if !strings.Contains(next, "edgegauge "+verb) {
			t.Errorf("nothing says %s: %s", verb, next)
		}
	}
	for line := range strings.Lines(next) {
		if !strings.HasPrefix(line, "    edgegauge ") {
			continue // what the next line is for
		}
		c := exec.CommandContext(t.Context(), "sh", "-c", line)
		c.Dir, c.Env = o.dir, append(os.Environ(), "PATH="+o.dir+":"+os.Getenv("PATH"))
		if said, err := c.CombinedOutput(); err != nil && c.ProcessState.ExitCode() != exitWorse {
			t.Errorf("%s: %v: %s", line, err, said)
		}
	}
	if out, _ := o.run(t, "report", "a dir", "--anova"); !strings.Contains(out, "What explains the variation") {
		t.Errorf("got %s", out)
	}
}
