package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// one is a study without a fault, to which mistakes are added.
const one = "study: s\nservice: echo\nn: 5\nstack: rest-json\n"

type mistake struct {
	args  string // of the command line
	study string // if not empty, in s.yaml
	want  string
}

// mistakes are what newcomers write. Each message says what is wrong and what to write: the words
// wanted are parted by " … ".
var mistakes = []mistake{
	// verbs
	{"stack list", "", `unknown command "stack"; did you mean edgegauge stacks list?`},
	{"stacks lst", "", `unknown command "stacks lst"; did you mean edgegauge stacks list?`},
	{"devices lst", "", `did you mean edgegauge devices list?`},
	{"list", "", `did you mean edgegauge benches list, edgegauge devices list or edgegauge stacks list?`},
	{"rnu good.yaml", "", `did you mean edgegauge run good.yaml?`},
	{"rnu good.yaml --set requests=5", "", `unknown command "rnu" … run`},
	{"compar a b", "", `did you mean edgegauge compare a b?`},
	{"frobnicate", "", `unknown command "frobnicate"; edgegauge --help lists the commands`},
	{"quickstart", "", `did you mean edgegauge run quickstart?`},
	{"good.yaml", "", `did you mean edgegauge run good.yaml?`},
	{"help runn", "", `did you mean edgegauge run?`},
	{"completion foo", "", `unknown command "completion foo"`},
	// arguments
	{"check", "", "needs STUDY... … edgegauge check studies/quickstart.yaml"},
	{"compare old", "", `old has one version of each stack … give two results directories`},
	{"run good.yaml more.yaml", "", `takes only STUDY; leave out "more.yaml"`},
	{"version x", "", "takes no argument"},
	{"choose old", "", "no objective; write --minimize rtt"},
	{"analyze table.csv", "", "needs --response and --by … edgegauge analyze trials.csv"},
	// flags and their values
	{"run good.yaml --sets a=1", "", "unknown flag --sets … did you mean --set?"},
	{"run good.yaml --output x", "", "did you mean --out?"},
	{"run -o x good.yaml", "", "unknown flag -o of edgegauge run; did you mean --out?"},
	{"run -n 5 good.yaml", "", "unknown flag -n of edgegauge run; a study says that … --set requests=100"},
	{"run good.yaml --replications 3", "", "--set design.replications=5"},
	{"run good.yaml --dry-run", "", "edgegauge check STUDY … edgegauge plan STUDY"},
	{"compare old old old", "", `edgegauge compare takes only OLD and NEW; leave out "old"`},
	{"run -", "", "no study is read from standard input; save it in a file"},
	{"report old/summary.csv", "", "old/summary.csv is a file of results; did you mean old?"},
	{"report old/study.yaml", "", "old/study.yaml is a file of results; did you mean old?"},
	{"stacks list --jsn", "", "did you mean --json?"},
	{"probe -json http://127.0.0.1/", "", "did you mean --json?"},
	{"probe http://127.0.0.1:1/ --rate abc", "", `--rate "abc" is not a number; write, for example, --rate 100`},
	{"probe http://127.0.0.1:1/ --duration 10", "", "--duration 10 has no unit … --duration 10s"},
	{"probe http://127.0.0.1:1/ --timeout soon", "", `"soon" is not a duration; write, for example, --timeout 5s`},
	{"probe http://127.0.0.1:1/ --requests 10k", "", `"10k" is not a whole number; write, for example, --requests 100`},
	{"probe http://127.0.0.1:1/ --method", "", "--method needs a value"},
	{"probe mqtt://127.0.0.1:1 --topic a --response-topic b --qos 5", "", "write 0, 1 or 2"},
	{"probe http://127.0.0.1:1/ --protocol gopher", "", "write http/1.1, h2, grpc or h3"},
	{"probe http://127.0.0.1:1/ --match (", "", "is not a regular expression: missing closing )"},
	{"probe http://127.0.0.1:1/ --body nothing.json", "", "nothing.json cannot be read: no such file"},
	{"probe 127.0.0.1", "", "is not a URL; write http://127.0.0.1"},
	{"probe htp://127.0.0.1/", "", `scheme "htp" is unsupported; supported: http`},
	{"probe http://127.0.0.1:1/ --fail-if p99", "", "--fail-if … expected < or >"},
	{"probe http://127.0.0.1:1/ --fail-if latency>2ms", "", `unknown figure "latency" … p99>20ms`},
	{"report old --format pdf", "", "unknown format \"pdf\"; write one of"},
	{"report old --format htm", "", "did you mean html?"},
	{"choose old --minimize latency", "", "--minimize … did you mean rtt or response_time?"},
	{"choose old --minimize rtt --require rtt<100", "", "no unit; write, for example, 'rtt<100ms'"},
	{"choose old --minimize rtt --confidence 95", "", "write 0.95 for 95 %"},
	{"compare old old --fail-if memory>5%", "", "--fail-if … did you mean peak_rss?"},
	{"compare old old --response latency", "", "--response … did you mean rtt or response_time?"},
	{"compare old old --fail-if rtt>5ms", "", "write, for example, 'rtt > 5%'"},
	{"stacks new x --lang pyton", "", "did you mean python?"},
	{"stacks check rest-jsn", "", "did you mean reference/rest-json?"},
	{"links nbiot", "", `unknown link "nbiot"; did you mean nb-iot?`},
	{"devices check locl", "", "did you mean local?"},
	{"devices meter avr", "", "no port; write, for example, avr:/dev/ttyUSB0"},
	{"devices meter avvr:/dev/ttyUSB0", "", "did you mean avr?"},
	{"check good.yaml --stacks nowhere", "", "--stacks nowhere: no such folder"},
	// files and folders
	{"run", "", "Begin with: edgegauge run quickstart … good.yaml … secure-things"},
	{"run quickstrt", "", "did you mean quickstart?"},
	{"run quickstart.yaml", "", "did you mean quickstart"},
	{"run good.yml", "", "did you mean good.yaml?"},
	{"run nothing", "", "no such file; edgegauge run lists the studies"},
	{"run nope.yaml", "", "nope.yaml: no such file; edgegauge run lists the studies"},
	{"run godo.yaml", "", "godo.yaml: no such file; did you mean good.yaml?"},
	{"run godo", "", "godo: no such file; did you mean good?"},
	{"run folder", "", "folder is a folder"},
	{"run old", "", "old holds results; to see them: edgegauge report old; to repeat the study: edgegauge run --like old"},
	{"report first.yaml", "", "first.yaml is a study, not results; measure it first: edgegauge run first.yaml"},
	{"report good.yaml", "", "good.yaml is a study, not results; did you mean results/x/001?"},
	{"report odl", "", "no such directory; did you mean old?"},
	{"report folder", "", "no results here"},
	{"report results/x", "", "did you mean results/x/001?"},
	{"compare old good.yaml", "", "good.yaml is not what edgegauge probe --json prints; name results directories"},
	{"compare hello.json hello.json", "", "is not what edgegauge probe --json prints … edgegauge probe URL --json > FILE"},
	{"compare old folder", "", "folder: no results here"},
	{"packets hello.json", "", "not a pcap or pcapng capture"},
	{"packets nothing.pcapng", "", "nothing.pcapng cannot be read: no such file"},
	{"analyze nothing.csv --response y --by a", "", "nothing.csv cannot be read: no such file"},
	{"run good.yaml --out /proc/x", "", "--out /proc/x: cannot create a directory there"},
	{"run good.yaml --out folder", "", "folder: not empty, and not results of edgegauge"},
	{"run good.yaml --out old", "", `old: results of another study, "s", not of "x"; run into another directory`},
	{"publish old --out hello.json", "", "hello.json exists already; remove it, or name another"},
	{"publish old --out /proc/x.zip", "", "cannot create a file in /proc"},
	{"publish old --author <0000-0002-1825-0097>", "", "--author … write, for example, \"Josiah Carberry <0000"},
	{"publish old --license MITT", "", "unknown license \"MITT\"; write CC-BY-4.0"},
	{"run good.yaml --out hello.json", "", "--out hello.json is a file; name a directory"},
	{"report old --out folder", "", "--out folder is a folder; name a file"},
	{"report old --format html --out /proc/x.html", "",
		"--out /proc/x.html: cannot create a file in /proc … you may write"},
	{"report old --format svg --out /proc/x", "", "--out /proc/x: cannot create a directory there … you may write"},
	{"compare old old --junit /proc/x.xml", "", "--junit /proc/x.xml: cannot create a file in /proc … you may write"},
	{"compare old old --fail-if rtt", "", "e.g. 'rtt > 5%'"},
	{"compare --base HEAD --with good.yaml --detect 5", "", "--detect \"5\" has no unit; write 5%"},
	{"forecast old --battery 2xAA --link nb-iot --period 1h --svg folder", "", "--svg folder is a folder; name a file"},
	{"analyze folder --response y --by a", "", "folder is a folder; name a file"},
	{"packets folder", "", "folder is a folder; name a file"},
	{"packets empty.yaml", "", "empty.yaml: the file is empty; capture again"},
	{"man hello.json", "", "hello.json is a file; name a folder"},
	{"check empty.yaml", "", "empty.yaml:1:1: the study is empty; write at least study: NAME"},
	{"devices check pi@board", "", "did you mean ssh://pi@board?"},
	// --set
	{"check good.yaml --set timeouts.trial=5", "", "--set 1: invalid trial \"5\"; give its unit"},
	{"check good.yaml --set design.replications=99999999999999999999", "", "is out of range; write 1 to"},
	{"check good.yaml --set request=100", "", "--set 1: request is a number; did you mean requests: 100?"},
	{"check good.yaml --set replications=3", "", "did you mean design.replications? write --set design.replications=…"},
	{"check good.yaml --set requests", "", "write KEY=VALUE, such as requests=100"},
	{"check good.yaml --set stack=rest-jsn", "", "did you mean reference/rest-json?"},
	// studies
	{"check s.yaml", one + "replications: 3\n", "s.yaml:5:1: … did you mean design.replications? write design: {replications: 3}"},
	{"check s.yaml", one + "repetitions: 3\n", "s.yaml:5:1: … did you mean design.replications?"},
	{"check s.yaml", one + "seed: 3\n", "write design: {seed: 3}"},
	{"check s.yaml", one + "stacks: [a, b]\n", "did you mean stack?"},
	{"check s.yaml", one + "device: board\n", "did you mean client.device or server.device?"},
	{"check s.yaml", one + "threads: 4\n", "did you mean concurrency?"},
	{"check s.yaml", one + "duration: 10\n", "s.yaml:5:11: … give its unit, such as 10ms or 10s"},
	{"check s.yaml", one + "size: 100k\n", "s.yaml:5:7: … 100kB (1000 B each)"},
	{"check s.yaml", one + "requests: ten\n", "s.yaml:5:11: … write digits only"},
	{"check s.yaml", one + "design: 3\n", "s.yaml:5:9: … write a mapping such as {replications: …}"},
	{"check s.yaml", one + "responses: [latency]\n", "s.yaml:5:13: … did you mean rtt or response_time?"},
	{"check s.yaml", one + "responses: rtt\n", "write a list such as [rtt, wire_bytes]"},
	{"check s.yaml", one + "encoding: jsn\n", "s.yaml:5:11: … write encoding: json"},
	{"check s.yaml", one + "transport: tpc\n", "s.yaml:5:12: … write transport: http"},
	{"check s.yaml", one + "security: tsl\n", "s.yaml:5:11: … write security: none or tls"},
	{"check s.yaml", one + "link: nbiot\n", "s.yaml:5:7: … did you mean nb-iot?"},
	{"check s.yaml", one + "link: {delay: 40}\n", "give its unit, such as 40ms"},
	{"check s.yaml", one + "link: {loss: 5}\n", "write 0.05 or 5% for 5 %"},
	{"check s.yaml", one + "link: {rate: 60k}\n", "such as 9600bit, 60kbit"},
	{"check s.yaml", one + "link: {rate: 1bit}\n", "up and down: a packet of 1500 B is sent for … write a higher rate\n"},
	{"check s.yaml", one + "connection: keepalive\n", "did you mean keep-alive?"},
	{"check s.yaml", one + "server: {device: raspberry}\n", "did you mean raspberry-pi-1"},
	{"check s.yaml", one + "server: {meter: avvr:/dev/ttyUSB0}\n", "s.yaml:5:17: … did you mean avr?"},
	{"check s.yaml", one + "  requests: 3\n", "s.yaml:5:11: not YAML"},
	{"check s.yaml", strings.Replace(one, "rest-json", "rest-jso", 1),
		"s.yaml:4:8: no stack \"rest-jso\"; did you mean reference/rest-json?"},
	{"check s.yaml", strings.Replace(one, "echo", "ecko", 1), "s.yaml:2:10: no service \"ecko\"; did you mean echo?"},
	{"check s.yaml", "study: s\nservice: echo\nn: 5\nfactors: {stack: rest-json}\n",
		"write its levels as a list such as [a, b]"},
	{"check s.yaml", "study: s\n\tservice: echo\n", "s.yaml:2:1: not YAML … indent with spaces, not tabs"},
	{"check s.yaml", "hello\n", "s.yaml:1:1: … write keys and values, the first study: NAME"},
}

// goish are words of Go's own errors, and of its formatting gone wrong.
var goish = regexp.MustCompile(`strconv\.|parsing "|invalid syntax|%!|arg\(s\)|\blstat\b|dial tcp|lookup [a-z.-]+ on|^drive |^open |\n\s*goroutine|Usage:`)

// Every mistake is answered with what is wrong and what to do, in a few lines, and exit code 2.
func TestMistakes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	o.write(t, "good.yaml", "study: x\nservice: echo\nn: 5\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 5\n"+
		"design: {replications: 1}\n")
	o.write(t, "first.yaml", one+"requests: 5\ndesign: {replications: 1}\n")
	o.write(t, "hello.json", "hello\n")
	o.write(t, "empty.yaml", "")
	for _, dir := range []string{"old", "results/x/001"} {
		if out, code := o.run(t, "run", "first.yaml", "--quiet", "--out", dir); code != exitDone {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	if err := os.RemoveAll(filepath.Join(o.dir, "results/latest")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"folder/inside", "elsewhere/theirs"} {
		if err := os.MkdirAll(filepath.Join(o.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o.write(t, "elsewhere/theirs/stack.yaml", "title: theirs\n")
	o.write(t, "table.csv", strings.ReplaceAll(separated, "\t", ","))
	o.write(t, "table.tsv", separated)
	o.write(t, "table.xlsx", "PK\x03\x04\x14")
	if err := os.MkdirAll(filepath.Join(o.dir, "results"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("x/001", filepath.Join(o.dir, "results/latest")); err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Concat(mistakes, moreMistakes, laterMistakes) {
		if m.study != "" {
			o.write(t, "s.yaml", m.study)
		}
		words := strings.Fields(m.args)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], `""`, "")
		}
		out, code := o.run(t, words...)
		name := m.args + "\n" + m.study
		if code != exitUsage {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, exitUsage, out)
		}
		if lines := strings.Count(out, "\n"); lines > 5 && m.args != "run" {
			t.Errorf("%s: %d lines: %s", name, lines, out)
		}
		if found := goish.FindString(out); found != "" {
			t.Errorf("%s: %q is no word for users: %s", name, found, out)
		}
		rest := out
		for _, want := range strings.Split(m.want, " … ") {
			at := strings.Index(rest, want)
			if at < 0 {
				t.Errorf("%s: got %s, want %q", name, out, want)
				break
			}
			rest = rest[at+len(want):]
		}
	}
}

// A meter that is named and not read would be missed in the report only: check and run say so.
func TestMeterThatIsNotRead(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	for responses, want := range map[string]bool{"[rtt]": true, "[rtt, energy_gross]": false, "[power]": false} {
		o.write(t, "s.yaml", one+"client: {meter: \"model:nrf9160-lte-m\"}\nresponses: "+responses+"\n")
		out, code := o.run(t, "check", "s.yaml")
		said := strings.Contains(out, "warning: s.yaml:5:17: the meter is not read, since responses have no energy or "+
			"power; write responses: [rtt, energy_gross]")
		if code != exitDone || said != want || strings.Contains(out, "warning") != want {
			t.Errorf("%s: exit code %d: %s", responses, code, out)
		}
	}
}

// Where nothing answers as asked, that is said in words, with what to do.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, m := range nobodyAnswers {
		out, code := o.run(t, strings.Fields(strings.Replace(m.args, "PLAIN",
			strings.TrimPrefix(plain.URL, "http://"), 1))...)
		if code != exitUnmeasured || !strings.Contains(out, m.want) || goish.MatchString(out) {
			t.Errorf("%s: exit code %d, want %d: %s, want %q", m.args, code, exitUnmeasured, out, m.want)
		}
	}
}

// A full disk under the output is said in words, and is no mistake of the command line.
func TestFullOutput(t *testing.T) {
	o := newOwn(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, line := range []string{"links", "check quickstart", "check quickstart --json", "stacks list",
		"version", "plan quickstart"} {
		var said strings.Builder
		c := exec.CommandContext(t.Context(), o.exe, strings.Fields(line)...)
		c.Stdout, c.Stderr = full, &said
		if err := c.Run(); c.ProcessState.ExitCode() != exitUnmeasured ||
			!strings.Contains(said.String(), "standard output cannot be written: no space left on device; free some") {
			t.Errorf("%s: exit code %d: %s (%v)", line, c.ProcessState.ExitCode(), said.String(), err)
		}
	}
}

// A study that comes with the program is found by its name, from any folder; one of the folder's own is
// taken before it.
func TestStudyByName(t *testing.T) {
	o := newOwn(t)
	out, _ := o.run(t, "plan", "phantom", "--json") // whether it can run is not asked here
	if !strings.Contains(out, `"study": "phantom"`) || !strings.Contains(out, "the study that comes with edgegauge") {
		t.Errorf("got %.500s", out)
	}
	o.write(t, "phantom.yaml", one)
	if out, code := o.run(t, "plan", "phantom", "--json"); code != exitDone || !strings.Contains(out, `"study": "s"`) {
		t.Errorf("exit code %d: %.500s", code, out)
	}
}
