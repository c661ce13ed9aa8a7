package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// hostileTexts are what a stranger's study, facts and ledger may say. Each also begins a line.
var hostileTexts = []string{
	"[click](javascript:alert(1)) ![](http://192.0.2.1/seen.png) [x]: javascript:alert(2)",
	"<script>alert(3)</script><img src=x onerror=alert(4)><svg onload=alert(5)>",
	`"><script>alert(6)</script><a href="javascript:alert(7)">x</a> style="x" onclick='alert(8)'`,
	"` ``` <script>alert(9)</script> ` | cell | <b> \\` ``<i>`` \\[x](javascript:alert(10))",
	"</details></summary></svg></style></textarea></title><script>alert(11)</script>",
	"<!-- --> <![CDATA[ <?php <!doctype html> <javascript:alert(12)> <http://192.0.2.1/> &lt;b&gt; &#60;script&#62;",
	"x\n\n<script>alert(13)</script>\n\n# heading\n\n- item\r\r<b>bold\n",
	"- item", "1. item", "> quoted", "    code", "---", "===", "* * *", "# heading", "~~~", "\tcode", "+ item",
	"12) item", "| a | b |",
	"{{.Study.Name}} ${alert(14)} `alert(15)` </script> \u2028alert(16)\u2029",
}

// tame is a text as long and in as many words that nothing could take for more.
func tame(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || c == ' ' {
			return c
		}
		return 'x'
	}, text))
}

// strangers writes results whose every free text is what say makes of the hostile ones.
func (o own) strangers(t *testing.T, dir string, say func(string) string, i int) {
	t.Helper()
	next := func() string { // another text for each place
		i++
		return say(hostileTexts[i%len(hostileTexts)])
	}
	quoted := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	device := func() map[string]any {
		return map[string]any{"model": next(), "kernel": next(), "os": next(), "arch": next(), "cpus": 2, "load": 0.5,
			"doubts": []string{next()}, "emulation": map[string]string{"time": next(), "machine": next()}}
	}
	stacks := map[string]any{}
	for _, name := range []string{"rest-json", "coap-cbor"} {
		stacks[name] = map[string]any{"title": next(), "version": next(), "language": next(), "transports": []string{"http"},
			"checksums": map[string]string{next(): next()}, "commit": next()}
	}
	facts, err := json.Marshal(map[string]any{"edgegauge": map[string]string{"version": next()},
		"placement": map[string]any{},
		"devices":   map[string]any{"local": device(), next(): device()}, "stacks": stacks,
		"left_out": []string{next(), next()}})
	if err != nil {
		t.Fatal(err)
	}
	kept, plan, err := fabricated.CreateOn(filepath.Join(o.dir, dir), []byte("study: truth\nquestion: "+quoted(next())+
		"\nnotes: "+quoted(next())+"\nservice: monitor\nrequests: 100\nfactors: {stack: [rest-json, coap-cbor]}\n"+
		"design: {replications: 6, seed: 1}\nresponses: [rtt]\n"), facts)
	ok(t, err)
	defer kept.Close()
	unit, key, reason := next(), next(), next()
	for _, trial := range plan.Trials {
		a, err := kept.Begin(trial.ID)
		ok(t, err)
		if trial.ID == 3 {
			ok(t, a.Invalidate(reason, next(), nil))
			continue
		}
		v := 1e-3 * (1 + 0.1*float64(trial.Cell) + 0.001*float64(trial.Block%3))
		ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: unit, N: 100,
			Mean: v, SD: v / 10, Median: v,
			P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}},
			[]store.Quality{{Key: "span", Unit: "s", Value: 1}, {Key: key, Unit: unit, Value: 1},
				{Key: "run_queue_wait_client", Unit: "s", Value: 0.3}}))
	}
}

// edit makes the ledger say what no lab writes: these texts are those of a warning.
func (o own) edit(t *testing.T, dir string, say func(string) string, i int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(o.dir, dir, "ledger.sqlite"))
	ok(t, err)
	text := func(k int) string { return say(hostileTexts[(i+k)%len(hostileTexts)]) }
	_, err = db.Exec("UPDATE attempts SET host = ?, log = ?; UPDATE runs SET host = ?, program = ?; "+
		"UPDATE meta SET value = ? WHERE key = 'program'; INSERT INTO files SELECT ?, id, 1, ?, 'client', ?, 'measured', 1, 1, '' "+
		"FROM trials WHERE id = 2", text(0), text(1), text(2), text(3), text(4), text(5), text(6), text(7))
	ok(t, errors.Join(err, db.Close()))
}

// startMarkup starts testdata/markup.py, one process for all that it is asked: how another page differs from a plain
// one.
func startMarkup(t *testing.T, python string) func(kind, plain, other string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, "testdata/markup.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	ok(t, err)
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	asks, answers := json.NewEncoder(in), json.NewDecoder(out)
	return func(kind, plain, other string) (how string) {
		t.Helper()
		if err := errors.Join(asks.Encode([]string{kind, plain, other}), answers.Decode(&how)); err != nil {
			t.Fatalf("%s %s: %v", kind, other, err)
		}
		return how
	}
}

// Whatever a stranger's results say is text to a renderer of Markdown and to a parser of HTML that are not ours: no
// element and no address is there that is not there with plain words.
func TestStrangersTextIsNoMarkup(t *testing.T) {
	py := os.Getenv("EDGEGAUGE_PYTHON")
	if py == "" {
		t.Skip("EDGEGAUGE_PYTHON is not set; run: make setup")
	}
	t.Parallel()
	differ := startMarkup(t, py)
	o := newOwn(t)
	asked := [][2]string{ // each command, and what it writes
		{"compare D D --fail-if rtt>5% --markdown D.md", "markdown"}, {"edit", ""},
		{"report D --format markdown --out D.md", "markdown"},
		{"report D --format html --out D.html", "html"},
	}
	for i := range hostileTexts {
		o.strangers(t, "plain", tame, i)
		o.strangers(t, "evil", func(s string) string { return s }, i)
		for _, x := range asked {
			line, kind := x[0], x[1]
			if line == "edit" {
				o.edit(t, "plain", tame, i)
				o.edit(t, "evil", func(s string) string { return s }, i)
				continue
			}
			for _, dir := range []string{"plain", "evil"} {
				args := strings.Fields(strings.ReplaceAll(line, "D", dir))
				if text, code := o.run(t, args...); code != 0 && code != exitWorse {
					t.Fatalf("%v: %d: %s", args, code, text)
				}
			}
			ext := map[string]string{"markdown": ".md", "html": ".html"}[kind]
			if how := differ(kind, filepath.Join(o.dir, "plain"+ext), filepath.Join(o.dir, "evil"+ext)); how != "" {
				t.Errorf("%s, texts from %d on: %s", line, i, how)
			}
		}
		if i%5 == 0 {
			for _, dir := range []string{"plain", "evil"} {
				if text, code := o.run(t, "web", "export", dir+"-pages", dir); code != 0 {
					t.Fatalf("%d: %s", code, text)
				}
			}
			if how := differ("html", filepath.Join(o.dir, "plain-pages"), filepath.Join(o.dir, "evil-pages")); how != "" {
				t.Errorf("web export, texts from %d on: %s", i, how)
			}
		}
		for _, dir := range []string{"plain", "evil", "plain-pages", "evil-pages"} {
			os.RemoveAll(filepath.Join(o.dir, dir))
		}
	}
	for i, text := range hostileTexts[:7] { // what is not escaped is seen
		o.write(t, "raw.md", text+"\n")
		o.write(t, "tame.md", tame(text)+"\n")
		if differ("markdown", filepath.Join(o.dir, "tame.md"), filepath.Join(o.dir, "raw.md")) == "" {
			t.Errorf("the renderer makes nothing of text %d", i)
		}
	}
}
