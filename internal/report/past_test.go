package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A study that asks for a precision has not ended when its planned trials are valid, but when the lab
// found whether more are needed. A history takes whole runs only.
func TestAHistoryTakesEndedStudies(t *testing.T) {
	for _, x := range []struct {
		design   string
		measured int // of 8
		left     string
	}{
		{"{replications: 4}", 8, ""},
		{"{replications: 4, precision: 2%}", 8, "unfinished, 8 of 8 trials valid"},
		{"{replications: 4}", 6, "unfinished, 6 of 8 trials valid"}, // a lab that wants fewer of them ends so
	} {
		file := "study: s\nservice: monitor\nfactors: {stack: [a, b]}\ndesign: " + x.design + "\n"
		s, err := study.Parse("study.yaml", []byte(file), study.Vocabulary{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := study.Expand(s)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir() + "/results"
		st, err := store.Create(dir, header(t, file, s, plan))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		value := func(map[string]string, measure.Side, string) (float64, float64) { return 1, 0.1 }
		for _, trial := range plan.Trials[:x.measured] {
			a, err := st.Begin(trial.ID)
			if err == nil {
				err = a.Commit(resultsOf(map[string]string{"stack": trial.Treatment[0].Text}, trial.Block, value,
					store.Measured), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := PastOf(reportOf(t, dir), nil).Failed; (got == "") != (x.left == "") || !strings.Contains(got, x.left) {
			t.Errorf("%s, %d measured: got %q", x.design, x.measured, got)
		}
		if err := st.End(""); err != nil {
			t.Fatal(err)
		}
		if got := PastOf(reportOf(t, dir), nil).Failed; got != "" {
			t.Errorf("%s, %d measured, ended: got %q", x.design, x.measured, got)
		}
	}
}

// A confirmation and its copy are one.
func TestAConfirmationCountsOnce(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC) }
	c := Past{Dir: "c", Began: at(3), Confirms: &Confirms{Old: at(1), New: at(2)}}
	kept, later := c, c
	kept.Dir, later.Dir, later.Began = "kept", "later", at(4)
	h, err := MakeHistory([]Past{{Dir: "1", Began: at(1)}, {Dir: "2", Began: at(2)}, c, kept, later}, "", ByDate, nil)
	if err != nil || len(h.Confirm) != 2 || h.Confirm[0].Dir != "c" || h.Confirm[1].Dir != "later" {
		t.Errorf("got %+v, %v", h.Confirm, err)
	}
}

// Of a stranger's facts only the number of a commit gets into a command, as it is the only one that is measured again.
func TestOnlyANumberIsACommit(t *testing.T) {
	for commits, want := range map[string]string{"": "VERSION", "0123456789ab": "0123456789ab", "0123456789ab+": "VERSION",
		"0123456789ab 0123456789ac": "VERSION", "x;touch\tran": "VERSION", "x;ran": "VERSION", "./evil": "VERSION",
		"evil": "VERSION", "HEAD": "VERSION", "--build=x": "VERSION", "abcdef": "VERSION", "ABCDEF0": "VERSION"} {
		s := Suspicion{Old: Past{Dir: "a b", Commits: strings.Fields(commits)}, New: Past{Dir: "c"}}
		s.Series.Side, s.Series.Response = measure.Client, "rtt;x"
		line := "edgegauge confirm 'a b' c --base " + want + " --response 'client.rtt;x'"
		if got := s.Command(); got != line {
			t.Errorf("%q: got %s", commits, got)
		}
	}
}

// A suspect of a service that edgegauge does not start is confirmed by one study of two URLs: no revision can be
// started.
func TestSuspectsOfServicesAreConfirmedByTwoURLs(t *testing.T) {
	r := &Report{Dir: "a b", Treatments: []Treatment{{setup: &study.Setup{URL: "http://x/"}}},
		Study: study.Study{Overrides: []study.Override{{Path: "server.url", Value: "http://x/"}, {Path: "rate", Value: "5"}}}}
	const want = "edgegauge run 'a b/study.yaml' --set rate=5 --set 'factors.server.url=[OLD-URL, NEW-URL]' --out both " +
		"&& edgegauge report both"
	of := PastOf(r, nil)
	if got := (Suspicion{Old: of, New: of}).Command(); got != want {
		t.Errorf("got %s", got)
	}
	if got := of.Unstarted(); got != startBoth+": "+want {
		t.Errorf("got %s", got)
	}
	if got := (Past{Dir: "a"}).Unstarted(); got != "" {
		t.Errorf("of a stack: %s", got)
	}
}

// A setting of a stranger's is one word of the command that is proposed.
func TestProposedSettingsAreQuoted(t *testing.T) {
	of := func(value string) *Report {
		return &Report{Dir: "a", Study: study.Study{Overrides: []study.Override{{Path: "options.x", Value: value}}}}
	}
	const want = `edgegauge run a/study.yaml --set 'factors.options.x=[1, '\''; touch ran; '\'']' --out both && `
	if got := Interleave(of("1"), of("'; touch ran; '")); !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// A word without a letter is one, too.
func TestQuotedWords(t *testing.T) {
	for word, want := range map[string]string{"": "''", "a/b-c_1.yaml": "a/b-c_1.yaml", "rtt=5%": "rtt=5%", "a b": "'a b'",
		"it's": `'it'\''s'`, "$x": "'$x'", "~": "'~'", "a\nb": "'a\nb'"} {
		if got := Quoted(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}

// A level is one of the list that is proposed, whatever YAML makes of its characters.
func TestProposedLevelsAreYAML(t *testing.T) {
	of := func(value string) *Report {
		return &Report{Dir: "a", Study: study.Study{Fixed: []study.Setting{{Key: "options.x",
			Value: study.Word{Text: value}}}}}
	}
	const want = `--set 'factors.options.x=[1.5, "a, b: c"]' --out both`
	if got := Interleave(of("1.5"), of("a, b: c")); !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// The command that decides is on a line of its own, which can be pasted.
func TestTheCommandThatDecidesIsOneLine(t *testing.T) {
	r := &Report{Dir: strings.Repeat("a long name ", 12)}
	_, command, ok := strings.Cut(Interleave(r, r), ": edgegauge ")
	var b strings.Builder
	if err := (Compared{Cure: Interleave(r, r)}).Text(&b); err != nil {
		t.Fatal(err)
	}
	if !ok || !strings.Contains(b.String(), "\n    edgegauge "+command+"\n") {
		t.Errorf("got %s", b.String())
	}
}

// A service that was there before the lab has no revision to check out, and a part of a setting is not said again.
func TestProposedCommandsFitWhatDiffers(t *testing.T) {
	of := func(url, path string, set ...study.Override) *Report {
		return &Report{Dir: "a", Treatments: []Treatment{{setup: &study.Setup{URL: url}}}, Study: study.Study{Overrides: set,
			Fixed: []study.Setting{{Key: "request", Value: study.Word{Text: path}}}}}
	}
	set := study.Override{Path: "request.path", Value: "/new"}
	for _, x := range []struct {
		old, new    *Report
		want        string
		differences []string
	}{
		{of("", "/"), of("", "/"), "edgegauge compare --base REVISION --with a/study.yaml", nil},
		{of("http://x/", "/"), of("http://x/", "/"),
			"edgegauge run a/study.yaml --set 'factors.server.url=[OLD-URL, NEW-URL]'", nil},
		{of("http://x/", "/"), of("http://x/", "/new", set), "the set-ups differ; run both again",
			[]string{"request: / before, /new now"}},
		{of("http://x/", "/new"), of("http://x/", "/new", set), "the set-ups differ; run both again",
			[]string{"request.path: not set before, /new now"}},
	} {
		if got := Interleave(x.old, x.new); !strings.HasPrefix(got, x.want) && !strings.Contains(got, ": "+x.want) {
			t.Errorf("got %s, want %s", got, x.want)
		}
		if got := SetupDifferences(x.old, x.new); !slices.Equal(got, x.differences) {
			t.Errorf("got %q, want %q", got, x.differences)
		}
	}
}

// A stranger's results directory may have links where a confirmation is noted.
func TestConfirmationsAreNotWrittenThroughLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "treasure")
	const treasure = "keep me"
	err := os.WriteFile(elsewhere, []byte(treasure), 0o644)
	for _, name := range []string{ConfirmingFile, ConfirmingFile + ".partial", ConfirmationFile} {
		err = errors.Join(err, os.Symlink(elsewhere, filepath.Join(dir, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := Confirms{Responses: []string{"rtt"}, Detect: 0.05}
	if err := errors.Join(c.Begin(dir), c.Write(dir)); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(elsewhere); string(got) != treasure {
		t.Errorf("the file that the links led to is now %q (%v)", got, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ConfirmationFile))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadConfirms(text); err != nil || got.Detect != c.Detect {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Two versions of a stack are measured again by compare --base, as the user asked: run knows no base version. What
// results of a stranger call their base is no program that is run.
func TestTwoVersionsAreMeasuredByCompare(t *testing.T) {
	y, err := study.Parse("study.yaml", []byte("study: s\nservice: echo\nn: 5\nrequests: 5\n"+
		"factors: {stack: [s@base, s]}\n"), study.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"requests=5", "design.precision=off", `factors.stack=["s@base", "s"]`,
		"design.replications=25"} {
		o, _ := study.ReadOverride(set)
		y.Overrides = append(y.Overrides, o)
	}
	for version, base := range map[string]string{"main (0123456789)": "0123456789", "": "VERSION",
		"/tmp/evil": "VERSION", "x (./evil)": "VERSION", "x (;evil)": "VERSION"} {
		r := &Report{Dir: "a b", Study: y}
		r.Facts.Stacks = map[string]StackFacts{"s@base": {Version: version}}
		want := "edgegauge compare --base " + base + " --with 'a b/study.yaml' --set requests=5 --detect 5%"
		if got := r.VersionsAgain(r.Dir); got != want {
			t.Errorf("%q: got %s", version, got)
		}
		one := &Report{Dir: "one"}
		for _, got := range []string{Interleave(r, r), Interleave(one, r)} {
			if !strings.HasSuffix(got, ": "+want) {
				t.Errorf("%q: to decide: %s", version, got)
			}
		}
	}
}

// A confirmation is measured again by what its file says, but for what could be a program or a flag.
func TestAConfirmationAgain(t *testing.T) {
	c := Confirms{OldDir: "a b", NewDir: "c", Responses: []string{"client.rtt", "x;y"}, Detect: 0.07, Base: "0123456789"}
	if got := c.Again(); got != "edgegauge confirm 'a b' c --base 0123456789 --detect 7% --response client.rtt "+
		"--response 'x;y'" {
		t.Errorf("got %s", got)
	}
	c.OldDir, c.NewDir, c.Base = "--build=evil", "", "./evil"
	if got := c.Again(); !strings.HasPrefix(got, "edgegauge confirm OLD NEW --base VERSION ") {
		t.Errorf("got %s", got)
	}
}

// A confirmation is shown, and counts, where the runs show no change of level, such as where the slow ones were left
// out; the first sentence says how many were, and why.
func TestAConfirmationWithoutASuspectIsShown(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC) }
	series := advise.Series{Factors: []string{"stack"}, Levels: []string{"a"}, Side: measure.Client, Response: "rtt",
		Unit: "s"}
	run := func(day int, log float64, why string) Past {
		return Past{Dir: fmt.Sprint(day), Study: "s", Began: at(day), Figures: []PastFigure{{Series: series, Treatment: "a",
			Point: history.Point{Log: log, SE: 0.01, Trials: 6}, Why: why}}}
	}
	const busy = "programs waited for a CPU"
	for _, tt := range []struct {
		verdict history.Verdict
		says    string
	}{{history.Worse, "1 confirmed regression"}, {history.NotConfirmed, "no confirmed regression"}} {
		c := Past{Dir: "9", Study: "s", Began: at(9), Confirms: &Confirms{Old: at(3), New: at(6)},
			Answers: []PastAnswer{{Confirmation: history.Confirmation{Side: measure.Client, Response: "rtt", Verdict: tt.verdict,
				Ratio: stat.Comparison{Estimate: 2.5, Lo: 2.4, Hi: 2.6}, Blocks: 68, Dir: "9"}}}}
		h, err := MakeHistory([]Past{run(1, 0, ""), run(2, 0.001, ""), run(3, 0, ""), run(4, -0.001, ""), run(5, 1, busy),
			run(6, 1, busy), run(7, 1, busy), run(8, 1, busy), c}, "", ByDate, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Answer(); !strings.Contains(got, tt.says+"; 4 of 8 runs left out: "+busy) {
			t.Errorf("%s: got %q", tt.verdict, got)
		}
		var text, js strings.Builder
		if err := errors.Join(h.Text(&text), h.JSON(&js)); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("! %s from %s to %s: interleaved in 68 blocks (9) it is 2.50 times", tt.verdict, h.Labels[2],
			h.Labels[5])
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if !strings.Contains(js.String(), `"confirmations_without_mark"`) {
			t.Errorf("JSON has no confirmation: %s", js.String())
		}
	}
}
