package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/advise/calibration"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// jsonRuns are commands that print JSON, one for each verb that can, and for each other form of what it prints.
var jsonRuns = []string{
	"run s.yaml --out out --json",
	"check s.yaml --json",
	"plan s.yaml --json",
	"report out --json",
	"report --claims out --json",
	"compare out out --json",
	"compare --from out --with s.yaml --detect 50% --json",
	"history runs --json",
	"confirm both --json",
	"choose out --minimize rtt --json",
	"forecast out --battery 2xAA --link nb-iot --period 1h --json",
	"capacity s.yaml --scale concurrency --most 8 --blocks 2 --length 100ms --set stack=rest-json --out scaling --json",
	"analyze table.csv --response y --by a --json",
	"links --json",
	"links nb-iot --json",
	"stacks list --json",
	"stacks new mine --lang python --json",
	"stacks build mine rest-json --trust --json",
	"stacks check rest-json --only listen --json",
	"stacks check --explain --json",
	"devices --json",
	"devices list --json",
	"devices check local --json",
	"benches --json",
	"benches list --json",
	"packets capture.pcapng --json",
	"bench agent --json",
	"probe URL --requests 50 --runs 2 --json",
	"publish out --out out.crate.zip --json",
	"publish out --without-raw --out kept --json",
	"web export pages out --json",
	"version --json",
	"schema",
	"schema battery",
}

// otherJSON are verbs with --json that jsonRuns leaves out, and why.
var otherJSON = map[string]string{
	"devices meter":     "one object per line: TestMeterJSON",
	"devices build":     "downloads packages: TestBuiltJSON",
	"devices calibrate": "needs a load that a meter sees, or a board: TestCalibratedJSON",
	"benches check":     "needs a hub: TestBenchRows",
}

// withoutJSON are the verbs that print no facts, and what they do instead.
var withoutJSON = map[string]string{
	"":                      "help",
	"help":                  "a text",
	"man":                   "writes files",
	"completion":            "help",
	"completion bash":       "a script",
	"completion zsh":        "a script",
	"completion fish":       "a script",
	"completion powershell": "a script",
	"stacks":                "help",
	"schema":                "JSON as it is",
	"web":                   "serves until it is ended",
	"worker":                "serves until it is ended",
	"devices shell":         "a terminal",
	"benches add":           "a command to paste, with a secret",
	"benches drain":         "prints nothing",
	"benches remove":        "prints nothing",
}

// Every verb that prints facts has --json.
func TestVerbsHaveJSON(t *testing.T) {
	seen := map[string]bool{}
	eachCommand(newRoot(), func(c *cobra.Command) {
		verb := verbOf(c)
		seen[verb] = true
		_, without := withoutJSON[verb]
		if has := c.Flags().Lookup("json") != nil; has == without {
			t.Errorf("edgegauge %s: --json %v, in withoutJSON %v", verb, has, without)
		}
	})
	for verb := range withoutJSON {
		if !seen[verb] {
			t.Errorf("there is no edgegauge %s", verb)
		}
	}
}

// jsonPlace makes a folder with all that jsonRuns name, and returns what to put for URL.
func jsonPlace(t *testing.T) (o own, url string) {
	t.Helper()
	o = newOwn(t)
	o.write(t, "s.yaml", "study: s\nservice: echo\nn: 5\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 20\n"+
		"design: {replications: 3}\n")
	o.write(t, "table.csv", "a,y\np,1\np,2\nq,3\nq,5\n")
	// of no packet
	o.write(t, "capture.pcapng", "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00")
	o.write(t, "meter.sh", steadyMeter)
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(service.Close)
	pasts(t, filepath.Join(o.dir, "runs"), level(2, past{rtt: 1e-3})...)
	confirmed(t, filepath.Join(o.dir, "both"), filepath.Join(o.dir, "runs/001"), filepath.Join(o.dir, "runs/002"), 1)
	if out, code := o.run(t, "benches", "add", "one", "--nats", "nats://127.0.0.1:4222"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	return o, service.URL
}

// steadyMeter is a meter that always reads the same.
const steadyMeter = `echo '{"type":"meter","name":"script","clock":"none","kind":"instantaneous","rate":50}'
while :; do echo '{"V":5,"A":0.31}'; sleep 0.02; done
`

// What verbs print with --json is one object, with a format, whose keys are in snake_case with, if they have
// one, a unit behind; nothing else is on standard output, and with --quiet nothing on standard error.
// doc/formats.md names each.
func TestJSONOfEveryVerb(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o, url := jsonPlace(t)
	done := map[string]bool{}
	for _, line := range jsonRuns {
		args := strings.Fields(strings.Replace(line, "URL", url, 1))
		c := exec.CommandContext(t.Context(), o.exe, append(args, "--quiet")...)
		c.Dir = o.dir
		var errs bytes.Buffer
		c.Stderr = &errs
		out, fault := c.Output()
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Errorf("%s: %v: %s%s", line, err, out, errs.String())
			continue
		}
		if fault == nil && errs.Len() > 0 {
			t.Errorf("%s --quiet: on standard error: %s", line, errs.String())
		}
		cmd, _, err := newRoot().Find(args)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		verb := verbOf(cmd)
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
		if keys := unsure(got); len(keys) > 0 {
			t.Errorf("%s: no confidence of %q", line, keys)
		}
	}
	page, err := os.ReadFile("../../doc/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	eachCommand(newRoot(), func(c *cobra.Command) {
		verb := verbOf(c)
		if c.Flags().Lookup("json") == nil {
			return
		}
		if !done[verb] && otherJSON[verb] == "" {
			t.Errorf("the JSON of %s is not looked at", verb)
		}
		if !bytes.Contains(page, []byte("| `"+verb+"` |")) && verb != "devices meter" {
			t.Errorf("doc/formats.md does not name the JSON of %s", verb)
		}
	})
}

// anInterval is a key of one.
var anInterval = regexp.MustCompile(`^(.*_)?(ci|interval)(_.*)?$`)

// unsure are the keys of intervals of which neither the object that they are in, nor one around it, has the confidence.
func unsure(v any) []string {
	var out []string
	switch x := v.(type) {
	case []any:
		for _, v := range x {
			out = append(out, unsure(v)...)
		}
	case map[string]any:
		if _, said := x["confidence"]; said {
			return nil
		}
		for key, v := range x {
			if out = append(out, unsure(v)...); anInterval.MatchString(key) {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A meter's JSON is one object per line.
func TestMeterJSON(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "meter.sh", steadyMeter)
	c := exec.CommandContext(t.Context(), o.exe, "devices", "meter", `exec:["sh","meter.sh"]`, "--for", "1s", "--every",
		"300ms", "--json", "--quiet")
	c.Dir = o.dir
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var x struct {
			Method string
			W      float64
		}
		if err := json.Unmarshal(line, &x); err != nil || x.Method != "measured" || math.Abs(x.W-5*0.31) > 1e-9 {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// What building machines came to is said in the same words in both forms.
func TestBuiltJSON(t *testing.T) {
	there := false
	p := machinePart{"board", func() error {
		if there {
			return nil
		}
		return os.ErrNotExist
	}, func() error { there = true; return nil }}
	u := qemu.Builder{Cache: t.TempDir()}
	for _, want := range []string{"built", upToDate} {
		row, err := p.make(t.Context(), u, false)
		if err != nil || row.State != want || !strings.HasPrefix(row.String(), "board: "+want) {
			t.Errorf("got %+v, %v, want %s", row, err, want)
		}
	}
}

// A calibration's JSON has each of its points.
func TestCalibratedJSON(t *testing.T) {
	f := calibration.File{Version: 2, Device: "raspberry-pi-1", Board: "Pi", Reached: "ssh://pi@board",
		Entries: []calibration.Entry{{Side: measure.Server, Response: "deserialization",
			Where:  map[string]string{"stack": "rest-json", "size in": "B"},
			Points: []calibration.Point{{Size: 1000, Overhead: 2, Lo: 1.5, Hi: 2.5}, {Size: 10000, Overhead: 3}}}}}
	text, err := json.Marshal(calibratedOf(f, "calibrations/x.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	eachKey(got, func(key string) {
		if !snakeCase.MatchString(key) {
			t.Errorf("the key %q", key)
		}
	})
	if keys := unsure(got); len(keys) > 0 || got["confidence"] != 0.95 {
		t.Errorf("no confidence of %q in %s", keys, text)
	}
	want := calibrationPointJSON{measure.Server, "deserialization", "rest-json", 1000, "B", 2, [2]float64{1.5, 2.5}}
	if x := calibratedOf(f, ""); len(x.Points) != 2 || x.Points[0] != want {
		t.Errorf("got %+v", x.Points)
	}
}

// A bench that would get no orders is said not to be ready, and the rest are.
func TestBenchRows(t *testing.T) {
	k := admit.Keys{Benches: map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}}
	heard := map[string]fleet.Beat{
		"a": {Bench: "a", Machine: "x", Program: version()},
		"b": {Bench: "b", Machine: "x", Program: version()},
		"c": {Bench: "c", Machine: "y", Program: "another"},
		"d": {Bench: "d", Machine: "z", Program: version(), Task: fleet.Task{Attempt: 1, Block: 7}},
	}
	want := map[string]struct {
		ready bool
		state string
	}{"a": {true, "ready"}, "b": {false, "the same machine as a"}, "c": {false, "runs edgegauge another"},
		"d": {true, "measures block 7"}, "e": {false, "not heard"}}
	for _, r := range benchRows(k, heard, true) {
		if w := want[r.Name]; r.Ready == nil || *r.Ready != w.ready || !strings.HasPrefix(r.State, w.state) {
			t.Errorf("%s: got %s, ready %v", r.Name, r.State, *r.Ready)
		}
	}
}

// On a terminal whose user has set NO_COLOR, no verb writes a colour; without it some do.
func TestNoColorOfEveryVerb(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o, url := jsonPlace(t)
	coloured := 0
	for _, line := range jsonRuns {
		line = strings.TrimSuffix(line, " --json")
		for _, no := range []string{"NO_COLOR=1", "NO_COLOR="} {
			args := strings.Fields(strings.Replace(line, "URL", url, 1))
			out := onTerminal(t, o, append(args, "--quiet"), "TERM=xterm", no)
			switch has := strings.Contains(out, "\x1b"); {
			case has && no == "NO_COLOR=1":
				t.Errorf("%s: NO_COLOR is set: %q", line, out)
			case has:
				coloured++
			}
		}
	}
	if coloured == 0 {
		t.Error("nothing is coloured")
	}
}

// terminal is a terminal whose other end the test has. Both ends are closed at the end of the test.
func terminal(t *testing.T) (p *kernel.PTY, line *os.File) {
	t.Helper()
	p, err := kernel.NewPTY(9600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if line, err = os.OpenFile(p.Name, os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Close() })
	return p, line
}

// onTerminal is what a command writes to its terminal.
func onTerminal(t *testing.T, o own, args []string, env ...string) string {
	t.Helper()
	return onTerminalOf(t, 0, o, args, env...)
}

// onTerminalOf is what a command writes to a terminal of so many columns; 0: it does not say.
func onTerminalOf(t *testing.T, columns uint16, o own, args []string, env ...string) string {
	t.Helper()
	p, line := terminal(t)
	size := &unix.Winsize{Row: 24, Col: columns}
	if err := unix.IoctlSetWinsize(int(line.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), o.exe, args...)
	c.Dir, c.Stdout, c.Stderr, c.Env = o.dir, line, line, append(os.Environ(), env...)
	got := make(chan string)
	go func() {
		text, _ := bufio.NewReader(p.Master).ReadString(0)
		got <- text
	}()
	c.Run() // whatever its exit code
	line.Write([]byte{0})
	line.Close()
	return <-got
}

// snakeCase is a key, with a unit such as _s, _B or _bit_per_s behind it.
var snakeCase = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*(_(B|W|J|MHz|kHz|GHz|V|A|K))?$`)

// byNames are objects whose keys are names: of factors, stacks, machines, programs.
var byNames = map[string]bool{"treatment": true, "facts": true, "runtimes": true, "not_checked": true, "options": true,
	"summaries": true, "by": true, "between": true, "refused": true}

func eachKey(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if f(k); !byNames[k] {
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
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
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
