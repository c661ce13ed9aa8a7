package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// A block is a piece of code in a document.
type block struct {
	page string
	line int    // from 1
	lang string // of a fence; empty: it is indented, or its fence names none
	text string
	why  string // why it is not run; empty: it is
	file string // that it is; empty: none
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// isStudy reports whether the block is a whole study.
func (b block) isStudy() bool {
	return b.lang == "yaml" && strings.Contains(b.text, "study:") &&
		regexp.MustCompile(`(?m)^(service|server|stack|factors):`).MatchString(b.text)
}

var ofBlock = regexp.MustCompile(`^<!-- (not run|file): (.+) -->$`)

// blocksOf finds the code of a document: fenced or indented by four spaces. A
// comment before a block says why it is not run, or that it is a file.
func blocksOf(page, text string) []block {
	var out []block
	var open *block
	fenced, after, why, file := false, true, "", ""
	for i, line := range strings.Split(text, "\n") {
		code, indented := strings.CutPrefix(line, "    ")
		switch fence, isFence := strings.CutPrefix(line, "```"); {
		case isFence && fenced:
			out, open, fenced = append(out, *open), nil, false
		case isFence:
			if open != nil {
				out = append(out, *open)
			}
			open, fenced, why, file = &block{page: page, line: i + 1, lang: fence, why: why, file: file}, true, "", ""
		case fenced:
			open.text += line + "\n"
		case indented && (open != nil || after):
			if open == nil {
				open, why, file = &block{page: page, line: i + 1, why: why, file: file}, "", ""
			}
			open.text += code + "\n"
		case strings.TrimSpace(line) == "":
			if open != nil {
				open.text += "\n"
			}
		default:
			if open != nil {
				out, open = append(out, *open), nil
			}
			why, file = "", ""
			if m := ofBlock.FindStringSubmatch(line); m != nil && m[1] == "file" {
				file = m[2]
			} else if m != nil {
				why = m[2]
			}
		}
		after = strings.TrimSpace(line) == "" || ofBlock.MatchString(line)
	}
	if open != nil {
		out = append(out, *open)
	}
	return out
}

func documents(t *testing.T) []block {
	t.Helper()
	pages, _ := filepath.Glob("../../doc/*.md")
	findings, _ := filepath.Glob("../../doc/findings/*.md")
	var all []block
	for _, page := range slices.Concat(pages, findings, []string{"../../README.md", "../../CONTRIBUTING.md"}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, blocksOf(strings.TrimPrefix(page, "../../"), string(text))...)
	}
	return all
}

// ofTheGate finds commands that the machine of the gate has.
var ofTheGate = regexp.MustCompile(`^(edgegauge|cat|\(cd \S+ && sha256sum|python3 -m zipfile) `)

// Every block of code is one that TestDocumentsRun runs, or says why not.
func TestBlocksAreRunOrSayWhyNot(t *testing.T) {
	found := 0
	for _, b := range documents(t) {
		found++
		commands := b.lang == "" || b.lang == "sh"
		switch {
		case b.why != "" || b.file != "" || b.isStudy() || b.lang == "python" || b.lang == "sql":
		case !commands:
			t.Errorf("%s: nothing runs a block of %s; write before it <!-- not run: why -->", b, b.lang)
		default:
			for line := range strings.Lines(b.text) {
				if !ofTheGate.MatchString(line) && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "  ") {
					t.Errorf("%s: %q is no command that the gate has; write before the block <!-- not run: why -->", b,
						strings.TrimSpace(line))
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("found %d blocks", found)
	}
	if got := fmt.Sprint(blocksOf("p", "a\n\n    b\n\n    c\nd\n\n<!-- not run: e -->\n\n```yaml\nf\n```\n")); got !=
		"[p:3 p:10]" {
		t.Errorf("got %s", got)
	}
}

// briefly is edgegauge as documents run it: with few requests and trials. An answer
// of "worse", "not met" or "differs" is an answer: what it is depends on the machine.
const briefly = `#!/bin/sh
case "$1 $2" in
"run sensors.yaml" | "run outage.yaml" | "run mqtt-outage.yaml" | "run my-devices.yaml")
	set -- "$@" --set devices=200 --set period=500ms --set duration=1s --set lateness=20s --set 'design={replications: 2}'
	case "$2" in *outage.yaml) set -- "$@" --set 'outage={at: 100ms, for: 200ms}' \
		--set 'responses=[failed_share, response_time]' ;; esac # without the 10 s that a recovery takes
	exec "$EDGEGAUGE" "$@" ;;
"run lamps.yaml")
	exec "$EDGEGAUGE" "$@" --set devices=50 --set duration=1s --set lateness=20s --set 'design={replications: 2}' \
		--set 'mix={sensor: {share: 20%, period: 200ms}, lamp: {share: 80%, observe: on, sleep: edrx}}' ;;
esac
case "$1" in
run)
	case "$2" in which-way.yaml) n=20 ;; *) n=5 ;; esac # README asks for its p95, which takes 20
	case "$*" in *requests=*) ;; *) set -- "$@" --set requests=$n ;; esac
	case "$*" in *retries=*) ;; *) set -- "$@" --set retries=60 ;; esac # a busy machine hands packets over late
	case "$*" in *design=*) ;; *) set -- "$@" --set 'design={replications: 2}' ;; esac ;;
compare)
	case "$*" in *--base*) set -- "$@" --set requests=5 --pilot 3 --max-time 1s --set retries=60 ;; esac ;;
probe)
	case "$*" in *--duration*) set -- "$@" --duration 200ms ;; *) set -- "$@" --requests 100 ;; esac
	set -- "$@" --runs 3 ;;
esac
"$EDGEGAUGE" "$@"
code=$?
case "$1 $code" in "choose 1" | "compare 1" | "probe 1" | "run 1") exit 0 ;; esac
exit $code
`

// Every command of README and doc/ runs, page by page in a folder of its own with
// what the page speaks of: its studies, earlier results, a table, a capture and a
// service. The examples in Python and SQL read results that were measured.
func TestDocumentsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	if os.Geteuid() != 0 {
		t.Skip("captures packets, which needs root")
	}
	o := newOwn(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"path": %q}`, r.URL)
	}))
	defer service.Close()
	host := strings.TrimPrefix(service.URL, "http://")
	put := strings.NewReplacer("127.0.0.1:8080", host, "192.0.2.1:8080", host, "http://192.0.2.1/", service.URL+"/",
		"/tmp/try", "try", "FILE.pcapng", "capture.pcapng", "quickstart-001", "earlier-001")
	earlier := stageResults(t, o)
	pages := map[string][]block{}
	for _, b := range documents(t) {
		if b.why == "" {
			pages[b.page] = append(pages[b.page], b)
		}
	}
	for page, blocks := range pages {
		t.Run(page, func(t *testing.T) {
			dir := stage(t, o, earlier, blocks, put)
			for _, b := range blocks {
				if b.file != "" {
					continue // it is there
				}
				switch text := put.Replace(b.text); b.lang {
				case "yaml":
					runPrinted(t, o, dir, b)
				case "python":
					inPython(t, filepath.Join(dir, "results/latest"), b, text)
				case "sql":
					inPython(t, filepath.Join(dir, "results/latest"), b,
						"import duckdb; print(duckdb.sql('''"+text+"''').fetchall())")
				default:
					shell(t, dir, b, text)
				}
			}
		})
	}
}

// stageResults measures what pages take for granted: results of two stacks.
func stageResults(t *testing.T, o own) string {
	t.Helper()
	o.write(t, "earlier.yaml", `study: earlier
service: monitor
factors: {stack: [rest-json, coap-cbor]}
requests: 100
design: {replications: 3}
packets: keep
`)
	if out, code := o.run(t, "run", "earlier.yaml"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	return filepath.Join(o.dir, "results/earlier/001")
}

const historyPage = "doc/history.md" // whose results are of many commits, and fabricated

// stage makes the folder of a page.
func stage(t *testing.T, o own, earlier string, blocks []block, put *strings.Replacer) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{"baseline": earlier, "old": earlier, "new": earlier,
		"results/earlier/001": earlier, "studies": "../../studies", "links": "../../links"} {
		if name == "new" && blocks[0].page == "doc/compare-in-ci.md" ||
			name == "results/earlier/001" && blocks[0].page == historyPage {
			continue // the page measures it itself, or is of one study
		}
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		"bin/edgegauge": briefly,
		"study.yaml":    "study: gate\nservice: monitor\nfactors: {stack: [rest-json, coap-cbor]}\n",
		"table.csv":     "stack,block,rtt\na,1,1.0\na,2,1.1\na,3,1.2\nb,1,2.0\nb,2,2.2\nb,3,2.1\n",
	}
	for _, b := range blocks {
		if b.file != "" {
			files[b.file] = b.text
		}
		if name := regexp.MustCompile(`(?m)^study: (\S+)`).FindStringSubmatch(b.text); b.isStudy() && name != nil {
			files[name[1]+".yaml"] = put.Replace(b.text)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		kerneltest.WriteProgram(t, path, text)
	}
	latest := "earlier/001"
	if blocks[0].page == historyPage {
		latest = "gate/011"
		pasts(t, filepath.Join(dir, "results/gate"), append(level(8, past{rtt: 1e-3}), level(3, past{rtt: 1.1e-3})...)...)
	}
	captures, _ := filepath.Glob(filepath.Join(earlier, "packets", "*.pcapng"))
	if len(captures) == 0 {
		t.Fatal("no capture to read")
	}
	text, err := os.ReadFile(captures[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "capture.pcapng"), text, 0o644)
	}
	if err == nil {
		err = os.Symlink(latest, filepath.Join(dir, "results/latest"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("EDGEGAUGE", o.exe)
	return dir
}

// shell runs commands as they stand, and stops at the first that fails.
func shell(t *testing.T, dir string, b block, text string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-euxc", text)
	c.Dir, c.Stdin = dir, nil
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		said := out.String()
		t.Errorf("%s: %v: …%s", b, err, said[max(0, len(said)-3000):])
	}
}

// runPrinted runs a printed study if that is cheap: no foreign stack, no link.
func runPrinted(t *testing.T, o own, dir string, b block) {
	t.Helper()
	name := regexp.MustCompile(`(?m)^study: (\S+)`).FindStringSubmatch(b.text)
	costly := regexp.MustCompile(`axis2|link|devices:|ssh:|192\.0\.2|server\.url|url:|meter|\[mine`)
	if name == nil || costly.MatchString(b.text) {
		return // checked by TestPrintedStudiesAreGood, and where a command of the page names it, run by that
	}
	shell(t, dir, b, fmt.Sprintf("edgegauge check %s.yaml || exit 0\nedgegauge run %[1]s.yaml --out printed-%[1]s "+
		"--set requests=5 --set 'design={replications: 1}'\n", name[1]))
}

// inPython runs an example; it must name both stacks of the results.
func inPython(t *testing.T, dir string, b block, code string) {
	t.Helper()
	py := os.Getenv("EDGEGAUGE_PYTHON")
	if py == "" {
		py = "python3"
	}
	if out, err := exec.Command(py, "-c", "import pandas, pyarrow, duckdb").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s cannot import pandas, pyarrow and duckdb: %v: %s", py, err, out)
		}
		t.Logf("%s: not run: %s has no pandas, pyarrow and duckdb", b, py)
		return
	}
	c := exec.CommandContext(t.Context(), py, "-c", code)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("rest-json")) || !bytes.Contains(out, []byte("coap-cbor")) {
		t.Errorf("%s: %v: %s", b, err, out)
	}
}
