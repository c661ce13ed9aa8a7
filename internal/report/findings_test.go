package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// No figure is typed into the words of findings: numbers stand in actions, or are part of a name.
func TestFindingTextsHoldNoFigure(t *testing.T) {
	action, number := regexp.MustCompile(`(?s)\{\{.*?\}\}`), regexp.MustCompile(`(?:^|[\s(])[-+]?[0-9][^\s]*`)
	// As figures draw intervals; standards and their parts.
	allowed := regexp.MustCompile(`95 %|IEEE 802\.15\.4|TLS 1\.3|MQTT (5|3\.1\.1)|QoS [012]`)
	names, err := fs.Glob(findingTexts, "findings/*.md")
	if err != nil || len(names) < len(paper.Names())+3 {
		t.Fatalf("%d texts of %d papers, two frames and one over all (%v)", len(names), len(paper.Names()), err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(findingTexts, name)
		if err != nil {
			t.Fatal(err)
		}
		words := allowed.ReplaceAllString(action.ReplaceAllString(string(text), "x"), "")
		if found := number.FindString(words); found != "" {
			t.Errorf("%s has %q: let an action fill it in", name, found)
		}
	}
}

// A paper without results has a page that judges nothing; one with two is refused.
func TestFindingsWithoutResults(t *testing.T) {
	files, err := Findings(nil)
	if err != nil || len(files) != len(paper.Names())+1 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, f := range files {
		var b strings.Builder
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"confirmed (", "![", "<no value>", "<nil>"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s has %q without results", f.Name, bad)
			}
		}
		if f.Name != "README.md" && !strings.Contains(b.String(), "No results are kept") {
			t.Errorf("%s does not say that nothing was kept", f.Name)
		}
	}
	p, err := paper.Load("gsoap-on-arm")
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Published: &paper.Scorecard{Paper: p}}
	if _, err := Findings([]*Report{r, r}); err == nil {
		t.Error("two results of one paper were taken")
	}
	if _, err := Findings([]*Report{{Dir: "d"}}); err == nil {
		t.Error("results without a paper were taken")
	}
}

// Each undecided claim stands once under what would decide it, with a command: a meter on boards where ours is
// modelled, as many blocks as the neediest asks for, a quieter machine, or what was not measured.
func TestFindingsSayHowToDecide(t *testing.T) {
	r := reportOf(t, simulated(t, pies, piesAsPublished, store.Modelled))
	r.Dir = "elsewhere/kept"
	f := finding{Paper: r.Published.Paper, Results: r}
	claims := r.Published.Claims
	needs := []paper.Needs{{Meter: "server"}, {Blocks: 12}, {Blocks: 40}, {Quiet: true}, {Treatments: true}, {},
		{Blocks: 501}, {Board: true}, {Messages: true}, {Stacks: true}}
	for i := range claims {
		claims[i].Verdict = stat.Confirmed
		if i < len(needs) {
			claims[i].Verdict, claims[i].Needs = stat.Undecided, needs[i]
		}
	}
	const boards = `edgegauge run frameworks-on-raspberry-pi --set 'client={device: "ssh://pi@client", ` +
		`meter: "avr:/dev/ttyUSB0?rate=170"}' --set 'server={device: "ssh://pi@server", meter: ` +
		`"avr:/dev/ttyUSB1?rate=170"}' --set 'timeouts={ready: 10m, request: 10m, trial: 2h}' --set requests=3 ` +
		`--set design.warmup=1 `
	want := []struct {
		command string
		claims  []int
	}{
		{boards + "--set design.replications=10 --out boards", []int{0}},
		{boards + "--out boards", []int{7}},
		{"", []int{8}},
		{"edgegauge run frameworks-on-raspberry-pi --out own", []int{9}},
		{"edgegauge run frameworks-on-raspberry-pi --out all", []int{4}},
		{"edgegauge run --like findings/kept --out quiet", []int{3}},
		{"edgegauge run --like findings/kept --set design.replications=40 --out more", []int{1, 2}},
		{"edgegauge run --like findings/kept --set design.replications=16 --out twice", []int{5}},
		{"", []int{6}},
	}
	got := f.Deciding()
	if len(got) != len(want) {
		t.Fatalf("got %d ways to decide, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		var words []string
		for _, c := range w.claims {
			words = append(words, markdownText(claims[c].Words()))
		}
		if got[i].Command != w.command || !slices.Equal(got[i].Claims, words) {
			t.Errorf("got %+v, want %s for %q", got[i], w.command, words)
		}
	}
	claims[9].Needs = paper.Needs{Answers: true}
	if got := f.Deciding()[4]; got.Command != "edgegauge run --like findings/kept --out answered" || len(got.Claims) != 1 {
		t.Errorf("answers: got %+v", got)
	}
	claims[9].Needs = paper.Needs{Stacks: true}
	// Where neither is wanted, boards are offered for all of it.
	claims[0].Verdict, claims[7].Verdict = stat.Confirmed, stat.Confirmed
	got = f.Deciding()
	if last := got[len(got)-1]; len(got) != len(want)-1 || last.Command != boards+"--out boards" || len(last.Claims) > 0 {
		t.Errorf("boards: got %+v", got)
	}
}

// Results of one paper stand together: the first gives the scorecard, the same study again says how far it agrees, a
// contrary setting stands beside it. A copy is refused.
func TestFindingsOfSeveralSettings(t *testing.T) {
	scaled := func(by float64, of truth) truth {
		return func(at map[string]string, side measure.Side, response string) (float64, float64) {
			mean, sd := of(at, side, response)
			return by * mean, by * sd
		}
	}
	first := reportOf(t, simulated(t, pies, piesAsPublished))
	again := reportOf(t, simulated(t, pies, scaled(2, piesAsPublished)))
	counted := reportOf(t, simulated(t, pies, inverse(piesAsPublished)))
	for i := range counted.Cells {
		counted.Cells[i].Method = store.Counted
	}
	first.Started, again.Started = time.Unix(1, 0), time.Unix(601, 0)
	named := func(name string, all ...*Report) string {
		t.Helper()
		files, err := Findings(all)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range files {
			if f.Name == name {
				if err := f.Write(&b); err != nil {
					t.Fatal(err)
				}
			}
		}
		return b.String()
	}
	page := func(all ...*Report) string { return named("frameworks-on-raspberry-pi.md", all...) }
	// Direction and size stand apart, what a model says on a line of its own, and the set-up once.
	c := &first.Published.Claims[4]
	c.AsModelled, c.Decides = stat.Confirmed, []string{"a meter, on what the paper had: " + first.Published.Paper.Setup}
	alone := page(first)
	for _, want := range []string{"| direction | size | verdict |", "| confirmed | confirmed (inside ",
		"a model decides nothing<br>would decide: a meter, on what the paper had: the set-up described above |"} {
		if !strings.Contains(alone, want) {
			t.Errorf("no %q in\n%s", want, alone)
		}
	}
	const held = "## Do our own intervals hold?"
	if got := named("README.md", first); strings.Contains(got, held) {
		t.Errorf("intervals of what was measured once held:\n%s", got)
	}
	if got := named("README.md", first, again, counted); strings.Count(got, "- [frameworks-on-raspberry-pi]"+
		"(frameworks-on-raspberry-pi.md), measured on 1970-01-01 00:00 and again on 1970-01-01 00:10 (UTC), "+
		"by the same program: The interval") != 1 ||
		!strings.Contains(got, held+"\n\nNo for single figures, most of them times: 0 % of their intervals hold, where "+
			"95 % should. Yes for ratios between treatments: 100 %. The runs of a pair lie 10m apart.") {
		t.Errorf("the page over all does not say once how often intervals held:\n%s", got)
	}
	part := reportOf(t, simulated(t, strings.Replace(pies, "axis2, cxf, other", "axis2, other", 1), piesAsPublished))
	for i := range part.Cells {
		part.Cells[i].Method = store.Counted
	}
	if got := page(first, part); !strings.Contains(got, " | not measured |") {
		t.Errorf("what a setting has not measured is not said:\n%s", got)
	}
	if got := page(first); strings.Contains(got, "## Measured again") || strings.Contains(got, "## In other settings") {
		t.Errorf("one result stands beside others:\n%s", got)
	}
	got := page(first, again, counted)
	side, repeated, ok := strings.Cut(got, "## Measured again")
	_, side, both := strings.Cut(side, "## In other settings")
	if !ok || !both {
		t.Fatalf("no repetition or no other setting:\n%s", got)
	}
	for _, want := range []string{"local, instructions counted |",
		"| **the settings disagree:** total\\_time at the server: axis2 below cxf"} {
		if !strings.Contains(side, want) {
			t.Errorf("no %q in\n%s", want, side)
		}
	}
	// Twice the times: every figure differs, its interval has no 1 in it, and every ratio and verdict stays.
	for _, want := range []string{"Figures: 0 agree, ", " 0 undecided; ratios",
		"The interval of again/kept has 1 in it for 0 of",
		"verdicts on claims are the same"} {
		if !strings.Contains(repeated, want) {
			t.Errorf("no %q in\n%s", want, repeated)
		}
	}
	// What was measured earlier comes first, whichever gives the scorecard.
	_, before, ok := strings.Cut(page(again, first), "## Measured before")
	_, differ, _ := strings.Cut(repeated, "- Different, again over first")
	differ, _, _ = strings.Cut(differ, "\n")
	if !ok || differ == "" || !strings.Contains(before, differ) {
		t.Errorf("no %q in\n%s", differ, before)
	}
	if _, err := Findings([]*Report{first, first}); err == nil {
		t.Error("a copy was taken for a repetition")
	}
}

// What a part was set to says for which parts, where it is not for all; in the order in which they are met. The last
// of two overrides of one setting is in force.
func TestChangedSettingsSayForWhichParts(t *testing.T) {
	set := func(dir string, pairs ...string) *Report {
		r := &Report{Dir: dir}
		for i := 0; i < len(pairs); i += 2 {
			r.Study.Overrides = append(r.Study.Overrides, study.Override{Path: pairs[i], Value: pairs[i+1]})
		}
		return r
	}
	q := openQuestion{Parts: []*Report{
		set("findings/a", "exclude", "[x]", "retries", "9", "design.replications", "2", "design.replications", "3"),
		set("findings/b", "retries", "9", "design.replications", "4")}}
	want := []string{"`design.replications=3` (a)", "`retries=9`", "`design.replications=4` (b)"}
	if got := q.Changed(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Other settings of a paper say what was another in the study file itself; what --set changed stands beside it.
func TestSettingsOfAnotherStudyFileSayIt(t *testing.T) {
	r, other := &Report{}, &Report{}
	fixed := func(r *Report, key, value string) {
		r.Study.Fixed = append(r.Study.Fixed, study.Setting{Key: key, Value: study.Word{Text: value}})
	}
	fixed(r, "placement", "together")
	fixed(other, "placement", "apart")
	fixed(r, "requests", "10")
	fixed(other, "requests", "20")
	other.Study.Overrides = []study.Override{{Path: "requests", Value: "20"}}
	f := finding{Results: r}
	if got := f.Unlike(other); got != "The study file was another one: `placement` is `apart`." {
		t.Errorf("got %q", got)
	}
	if got := f.Unlike(r); got != "" {
		t.Errorf("of itself: %q", got)
	}
}

// Results that repeat no paper have a page if words were written on their study. Its table has the mean of each
// treatment, by one factor and the words of the others.
func TestFindingsOfAQuestion(t *testing.T) {
	r := reportOf(t, simulated(t, pies, piesAsPublished))
	r.Published, r.Dir, r.Started = nil, "kept/part", time.Unix(1, 0)
	if _, err := Findings([]*Report{r}); err == nil || !strings.Contains(err.Error(), "there are no words on") {
		t.Errorf("results without words: got %v", err)
	}
	r.Study.Name = "narrow-radio"
	files, err := Findings([]*Report{r})
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, f := range files {
		var b strings.Builder
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		pages[f.Name] = b.String()
	}
	if got := pages["narrow-radio.md"]; !strings.Contains(got, "| `findings/part` | 6 |") ||
		!strings.Contains(got, "No words were written on these results.") {
		t.Errorf("the page of results that its words do not speak of:\n%s", got)
	}
	if got := pages["README.md"]; !strings.Contains(got, "[narrow-radio](narrow-radio.md) | 6 treatments") ||
		strings.Contains(got, "From [") {
		t.Errorf("the page over all does not lead there, or gives advice that rests on other results:\n%s", got)
	}
	if _, err := Findings([]*Report{r, r}); err == nil {
		t.Error("a copy was taken for another part")
	}
	q := openQuestion{Name: "q", Parts: []*Report{r}, files: new([]File)}
	factor := r.Factors[0]
	level, other := r.Treatments[0].Levels[0], r.Treatments[0].Levels[1]
	table, err := q.Table("total_time", "server", factor, other+", no such level")
	c, ok := r.Cell(0, measure.Server, "total_time")
	if err != nil || !ok || !strings.Contains(table, "| "+level+" | "+meanText(c)+" |") ||
		strings.Contains(table, "no such") {
		t.Errorf("got %v, %v and\n%s", err, ok, table)
	}
	if _, err := q.Table("total_time", "server", factor, "no such level"); err == nil {
		t.Error("a table of nothing was made")
	}
	if q.Has("no such level") || !q.Has(level+" "+other) {
		t.Error("levels are not found by their words")
	}
	next := strings.Join(r.Treatments[1].Levels, " ")
	many, err := q.Times("total_time", "server", level+" "+other, next)
	if err != nil || !strings.Contains(many, " times (") || strings.Contains(many, "one block") {
		t.Errorf("of several blocks: got %q, %v", many, err)
	}
	c.Points = c.Points[:1]
	one, err := q.Times("total_time", "server", level+" "+other, next)
	if err != nil || !strings.HasSuffix(one, " times (in one block: no interval)") {
		t.Errorf("of one block: got %q, %v", one, err)
	}
	c.Points = nil
	if none, err := q.Times("total_time", "server", level+" "+other, next); err == nil {
		t.Errorf("of no common block: got %q", none)
	}
}

// A picture of one level of the other factors says which, and of what a number is.
func TestParetoPicturesNameTheirLevels(t *testing.T) {
	r := &Report{Factors: []string{"way", "concurrency", "path"},
		Treatments: []Treatment{{Levels: []string{"coap", "1", "link"}}}}
	if got := (place{part: r}).besides("way"); got != "concurrency 1, link" {
		t.Errorf("got %q", got)
	}
}

// A part of a question that was measured twice is one part, and says how often its intervals held, on its page and on
// that over all. Alike figures hold; figures that are twice as large do not.
func TestFindingsOfAPartMeasuredTwice(t *testing.T) {
	for _, tt := range []struct {
		times              float64
		sha, first, second string
		want               []string
	}{
		{1, "a", "v1.0.0", "v1.0.0", []string{", by the same program: ", "has 1 in it for 24 of 24 figures"}},
		{2, "b", "v1.0.0", "v1.0.1", []string{", by another version of edgegauge: ", "has 1 in it for 0 of 24 figures"}},
		{1, "b", "v1.0.0", "v1.0.0", []string{", by the same version of edgegauge, built again: "}},
		{1, "b", "(devel)", "(devel)", []string{", by another version of edgegauge: "}},
		{1, "b", "v1.0.0+dirty 1", "v1.0.0+dirty 1", []string{", by another version of edgegauge: "}},
	} {
		of := func(times float64, dir, sha, version string, at int64) *Report {
			r := reportOf(t, simulated(t, pies, func(at map[string]string, side measure.Side, name string) (float64, float64) {
				mean, sd := piesAsPublished(at, side, name)
				return times * mean, times * sd
			}))
			r.Published, r.Dir, r.Started, r.Study.Name = nil, dir, time.Unix(at, 0), "narrow-radio"
			r.Facts.Edgegauge = map[string]string{"sha256": sha, "version": version}
			return r
		}
		files, err := Findings([]*Report{of(1, "kept/part", "a", tt.first, 3600),
			of(tt.times, "kept/part-again", tt.sha, tt.second, 7200)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			begin := map[string]string{"README.md": "- [narrow-radio](narrow-radio.md), measured on 1970-01-01 01:00",
				"narrow-radio.md": "- `findings/part`, measured on 1970-01-01 01:00"}[f.Name]
			var b strings.Builder
			if err := f.Write(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range append(tt.want, begin) {
				if begin != "" && !strings.Contains(b.String(), want) {
					t.Errorf("%s lacks %q:\n%s", f.Name, want, b.String())
				}
			}
		}
	}
}

// Where words fit two treatments, a page has no room for both and shows neither: it is refused, and both are named.
func TestFindingsRefuseWordsThatFitTwoTreatments(t *testing.T) {
	r, again := reportOf(t, simulated(t, pies, piesAsPublished)), reportOf(t, simulated(t, pies, piesAsPublished))
	r.Dir, again.Dir = "kept/one", "kept/again"
	factor, first, second := r.Factors[0], r.Treatments[0].Levels, r.Treatments[1].Levels
	if first[0] != second[0] || first[1] == second[1] {
		t.Fatalf("got %q and %q, want two treatments of one %s", first, second, factor)
	}
	for _, x := range []struct {
		parts  []*Report
		filter string
		named  [2]string
	}{
		{[]*Report{r, again}, first[1], [2]string{strings.Join(first, " ") + " of kept/one",
			strings.Join(first, " ") + " of kept/again"}},
		{[]*Report{r}, "", [2]string{strings.Join(first, " ") + " of kept/one", strings.Join(second, " ") + " of kept/one"}},
	} {
		q := openQuestion{Name: "q", Parts: x.parts, files: new([]File)}
		_, table := q.Table("total_time", "server", factor, x.filter)
		_, picture := q.Pareto("total_time", "total_time", factor, x.filter)
		_, mean := q.Mean("total_time", "server", first[0]+" "+x.filter)
		for what, err := range map[string]error{"table": table, "picture": picture, "mean": mean} {
			if err == nil || !strings.Contains(err.Error(), x.named[0]+", and "+x.named[1]) {
				t.Errorf("%s of %q: got %v, want both %q", what, x.filter, err, x.named)
				continue
			}
			if got := plainly(fmt.Errorf("template: q.md:1:2: %w", err)); got.Error() != err.Error() {
				t.Errorf("a page says %v, want %v", got, err)
			}
		}
	}
}

// A published figure is named so that it is one.
func TestPublishedFiguresAreNamedOnce(t *testing.T) {
	p, err := paper.Load("frameworks-on-raspberry-pi")
	if err != nil {
		t.Fatal(err)
	}
	f := finding{Paper: p}
	if got, err := f.Theirs("total_time", "side=server framework=axis2 message_kb=100"); err != nil || got != "15.5 s" {
		t.Errorf("got %q, %v, want what the table has", got, err)
	}
	for _, levels := range []string{"framework=axis2 message_kb=100", "framework=none"} {
		if got, err := f.Theirs("total_time", levels); err == nil {
			t.Errorf("%s: got %q", levels, got)
		}
	}
}

// Of results in several parts each part is drawn, and blocks of two parts are no pairs, though they have one number.
func TestFindingsOfAQuestionInParts(t *testing.T) {
	r, other := reportOf(t, simulated(t, pies, piesAsPublished)), reportOf(t, simulated(t, pies, piesAsPublished))
	for i, x := range other.Treatments {
		other.Treatments[i].Levels = []string{"another-" + x.Levels[0], x.Levels[1]}
	}
	q := openQuestion{Name: "q", Parts: []*Report{r, other}, files: new([]File)}
	text, err := q.Figure("total_time", "server")
	if err != nil || strings.Count(text, "](q-total_time-server") != 2 || len(*q.files) != 2 ||
		(*q.files)[0].Name == (*q.files)[1].Name {
		t.Errorf("got %q, %v and %d pictures", text, err, len(*q.files))
	}
	if _, err := q.Figure("cpu", "nowhere"); !errors.Is(err, errNotKept) {
		t.Errorf("a figure of nothing: %v", err)
	}
	of := strings.Join(r.Treatments[0].Levels, " ")
	if got, err := q.Times("total_time", "server", of, "another-"+of); err == nil {
		t.Errorf("blocks of two results were paired: %q", got)
	}
	if got, err := q.Times("total_time", "server", of, strings.Join(r.Treatments[1].Levels, " ")); err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// A figure of a page of findings is said to show what it shows.
func TestFiguresOfAQuestionSayWhatTheyShow(t *testing.T) {
	for want, byMedian := range map[string]func(i int) bool{
		"trials, mean and interval":           func(int) bool { return false },
		"trials, median and interval":         func(int) bool { return true },
		"trials, mean or median and interval": func(i int) bool { return i == 0 },
	} {
		r := fakeReport(t, 3, 1, 8)
		for i := range r.Cells {
			r.Cells[i].ByMedian = byMedian(r.Cells[i].Treatment)
		}
		q := openQuestion{Name: "q", Parts: []*Report{r}, files: new([]File)}
		if got, err := q.Figure("rtt", "client"); err != nil || !strings.Contains(got, want) {
			t.Errorf("want %q in %s (%v)", want, got, err)
		}
	}
}

// A ratio near 1 lies within the interval beside it, as printed, too.
func TestRatiosOfFindingsLieInTheirIntervals(t *testing.T) {
	var a, b Cell
	for block := range 10 {
		v := 1 + 0.01*float64(block%4)
		a.Points = append(a.Points, Point{Block: block, Mean: v * (1.0042 + 1e-4*float64(block%3))})
		b.Points = append(b.Points, Point{Block: block, Mean: v})
	}
	if got, err := timesAs(&a, &b, 0.95); err != nil || got != "1.004 times (1.004 to 1.004)" {
		t.Errorf("got %q, %v", got, err)
	}
}

// No two commands that the pages propose run into one folder, wherever they are run: the second would go on with the
// first, or be refused. A repetition of one command is the same command.
func TestFindingsProposeFoldersOfTheirOwn(t *testing.T) {
	pages, err := filepath.Glob("../../doc/findings/*.md")
	if err != nil || len(pages) < 11 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	command, into := regexp.MustCompile(`(?m)^    (edgegauge run .* --out (\S+))`), map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			if other := into[m[2]]; other != "" && other != m[1] {
				t.Errorf("%s is where two commands run into:\n%s\n%s", m[2], other, m[1])
			}
			into[m[2]] = m[1]
		}
	}
	if len(into) < 20 {
		t.Errorf("found %d commands", len(into))
	}
}
