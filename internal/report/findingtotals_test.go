package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// The answer sets directions and sizes beside each other of the same claims, and leaves out what a repetition does not
// share.
func TestAnswerOfAllPapers(t *testing.T) {
	judged := func(direction, size stat.Verdict) paper.Judged {
		return paper.Judged{Direction: direction, Size: size}
	}
	for _, tt := range []struct {
		claims []paper.Judged
		want   string
	}{
		{nil, ""},
		{[]paper.Judged{judged(open, no)}, ""},
		{[]paper.Judged{judged(yes, "")}, "Of 1 direction decided in all, 1 hold."},
		{[]paper.Judged{judged(yes, yes), judged(no, open), judged(open, "")},
			"Of 1 claim whose direction and size could both be decided on our machines, the direction holds in 1 and the size " +
				"in 1. Of 2 directions decided in all, 1 hold."},
		{[]paper.Judged{judged(yes, no), judged(yes, yes), judged(no, no), judged(no, "")},
			"Of 3 claims whose direction and size could both be decided on our machines, the direction holds in 2 and the " +
				"size in 1. Of 4 directions decided in all, 2 hold."},
	} {
		r := &Report{Published: &paper.Scorecard{Claims: tt.claims}}
		if got := (allFindings{{Results: r}, {}}).Answer(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A verdict that a repetition does not share is no answer, and the scorecard says what the repetition gave; one that
// only another setting confirms is counted.
func TestVerdictsThatDoNotRepeat(t *testing.T) {
	first, again := reportOf(t, simulated(t, pies, piesAsPublished)), reportOf(t, simulated(t, pies, piesAsPublished))
	counted := reportOf(t, simulated(t, pies, inverse(piesAsPublished)))
	for i := range counted.Cells {
		counted.Cells[i].Method = store.Counted
	}
	again.Started, counted.Started = first.Started.Add(time.Hour), first.Started.Add(2*time.Hour)
	f := finding{Paper: first.Published.Paper, Results: first, Others: []*Report{again, counted}}
	decided := func() (n int) {
		_, err := fmt.Sscanf((allFindings{f}).Answer(), "Of %d claims whose", &n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := decided()
	again.Published.Claims[0].Verdict = open
	if after := decided(); after != before-1 {
		t.Errorf("%d claims are decided, %d before one did not repeat", after, before)
	}
	said := "measured again: undecided (" + again.Started.UTC().Format("2006-01-02 15:04") + ")"
	if got := f.reasons(first.Published.Claims[0]); len(got) != 1 || got[0] != said {
		t.Errorf("got %q, want %q", got, said)
	}
	if got := f.Scorecard(); strings.Count(got, "measured again: ") != 1 {
		t.Errorf("got\n%s", got)
	}
	if got := (allFindings{f}).Total(); strings.Contains(got, "in another setting") {
		t.Errorf("nothing contradicted is confirmed elsewhere: %s", got)
	}
	for i, c := range counted.Published.Claims {
		if c.Verdict == no {
			first.Published.Claims[i].Verdict, counted.Published.Claims[i].Verdict = no, yes
			break
		}
	}
	if got := (allFindings{f}).Total(); !strings.Contains(got, "Of the contradicted, 1 is confirmed in another setting") {
		t.Errorf("got %s", got)
	}
}

// Where another stack stood for the paper's own, the scorecard says what a run with its own decided.
func TestScorecardSaysWhatThePapersStacksDecide(t *testing.T) {
	first := reportOf(t, simulated(t, afterPapers["cloud-of-things"], asPublished(t, "cloud-of-things", 0.01)))
	own := reportOf(t, simulated(t, afterPapers["cloud-of-things"], asPublished(t, "cloud-of-things", 0.01)))
	own.Started = first.Started.Add(time.Hour)
	own.Dir, own.Study.Name = "elsewhere/own", "own"
	f := finding{Paper: first.Published.Paper, Results: first, Others: []*Report{own}}
	c := &first.Published.Claims[1]
	c.Verdict, c.Needs = open, paper.Needs{Stacks: true}
	const said = "with the paper's own stacks (findings/own): confirmed"
	if got := strings.Join(f.reasons(*c), "\n"); !strings.Contains(got, said) {
		t.Errorf("got %q", got)
	}
	if got := (allFindings{f}).Total(); !strings.Contains(got, "Of the undecided, 1 is decided beside these results") {
		t.Errorf("got %q", got)
	}
	own.Published.Claims[1].Verdict = open
	if got := strings.Join(f.reasons(*c), "\n"); strings.Contains(got, "own stacks (") {
		t.Errorf("what is undecided there, too, is said: %q", got)
	}
}

// What the paper prints with a sign is not drawn beside what has none; the setting nearest to the paper stands first.
func TestFindingsShowOnlyWhatCompares(t *testing.T) {
	r, near := reportOf(t, simulated(t, pies, piesAsPublished)), reportOf(t, simulated(t, pies, piesAsPublished))
	files := []File{}
	f := finding{Paper: r.Published.Paper, Results: r, files: &files}
	drawn := func() int {
		files = nil
		return strings.Count(f.Figures(), "![")
	}
	before := drawn()
	for i, c := range r.Cells {
		if c.Published != nil {
			signed := *c.Published
			signed.Mean = -1
			r.Cells[i].Published = &signed
			break
		}
	}
	if after := drawn(); before < 2 || after != before-1 || len(files) != after {
		t.Errorf("%d figures are drawn, %d before one was of signed values", after, before)
	}
	near.Facts.Devices["raspberry-pi-1"] = near.Facts.Devices["local"]
	delete(near.Facts.Devices, "local")
	f.Others = []*Report{near}
	if got := f.SideBySide(); !strings.HasPrefix(got, "| claim | raspberry-pi-1 | local |") {
		t.Errorf("got\n%s", got)
	}
}

// The picture of published ratios has a row for each claim that states one and was judged by measuring what it is
// about: none of a model, and none that only a board could tell.
func TestPictureOfPublishedRatios(t *testing.T) {
	of := func(dir string) Chart { return allFindings{{Results: reportOf(t, dir)}}.sizes() }
	arms, truth := afterPapers["gsoap-on-arm"], arms(t)
	names := func(f Chart) (all []string) {
		for _, r := range f.Rows {
			all = append(all, r.Name)
		}
		return all
	}
	want := "delay: apache-cgi-https below standalone-tls (echo); delay: standalone-tls below apache-cgi-https " +
		"(temperature); delay: standalone-wssecurity above all others (temperature); " +
		"message_size: standalone-wssecurity above standalone"
	got := of(onBoard(t, arms, truth))
	if strings.Join(names(got), "; ") != want {
		t.Errorf("got %q", names(got))
	}
	if r := got.Rows[3]; r.Published != 1.9 || r.Center < 1.85 || r.Center > 1.95 || r.PubLo != 1.9 {
		t.Errorf("1.9 published and simulated: %+v", r)
	}
	emulated := afterPapers["real-versus-emulated"]
	if here, board := of(simulated(t, emulated, twins(t))), of(onBoard(t, emulated, twins(t))); len(here.Rows) != 1 ||
		len(board.Rows) != 5 {
		t.Errorf("%q here, %q on a board", names(here), names(board))
	}
	phones := of(simulated(t, afterPapers["rest-versus-soap-mobile"], asPublished(t, "rest-versus-soap-mobile", 0.01)))
	if i := slices.IndexFunc(phones.Rows, func(r ChartRow) bool {
		return r.Name == "response_time: rest below soap"
	}); i < 0 || phones.Rows[i].Lo > 0.36 || phones.Rows[i].Hi < 0.53 {
		t.Errorf("a claim of several comparisons has no row with their range: %+v", phones.Rows)
	}
	var files []File
	if text := (allFindings{{}}).drawSizes(&files); text != "" || files != nil {
		t.Errorf("of no results: %q and %d files", text, len(files))
	}
}

// A machine emulated as fast as can be has no rate of instructions and no load of its own; another has both its name
// and its load.
func TestFiguresSayOnWhat(t *testing.T) {
	r := &Report{}
	if err := json.Unmarshal([]byte(`{"devices": {
		"a": {"model": "emulated ARM926 with 64 MiB at 125 million instructions a second", "emulation": {"mode": "free"}},
		"b": {"model": "emulated ARM926 with 64 MiB at 125 million instructions a second", "emulation": {"mode": "counted"}},
		"c": {"model": "AMD EPYC", "load": 0.42, "cpus": 2}, "d": {"load": 3}}}`), &r.Facts); err != nil {
		t.Fatal(err)
	}
	const want = "emulated ARM926 with 64 MiB, computing as fast as the machine that emulates it and " +
		"emulated ARM926 with 64 MiB at 125 million instructions a second and a machine with 2 CPUs (AMD EPYC) at load 0.4 " +
		"(in part that of the trials before) and d at load 3.0"
	if got := ranOn(r); got != want {
		t.Errorf("got %q", got)
	}
	if got := inMedian(&Cell{ByMedian: true}) + inMedian(&Cell{}); got != " in the median" {
		t.Errorf("got %q", got)
	}
}
