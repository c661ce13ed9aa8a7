package report

import (
	"encoding/json"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
)

// The answer counts what is decided, and says which of the two is the better guide only where one is.
func TestAnswerOfAllPapers(t *testing.T) {
	judged := func(direction, size stat.Verdict) paper.Judged {
		return paper.Judged{Direction: direction, Size: size}
	}
	const guide = "a better guide to which stack wins"
	for _, tt := range []struct {
		claims []paper.Judged
		want   string
		guide  bool
	}{
		{nil, "", false},
		{[]paper.Judged{judged(yes, "")}, "", false},
		{[]paper.Judged{judged(yes, yes), judged(no, open), judged(open, "")},
			"in 1 of the 2 claims where it could be decided, the size in 1 of 1.", false},
		{[]paper.Judged{judged(yes, yes)},
			"in 1 of the 1 claims where it could be decided, the size in 1 of 1.", false},
		{[]paper.Judged{judged(yes, no), judged(yes, yes), judged(no, "")},
			"in 2 of the 3 claims where it could be decided, the size in 1 of 2.", true},
	} {
		r := &Report{Published: &paper.Scorecard{Claims: tt.claims}}
		got := allFindings{{Results: r}, {}}.Answer()
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") || strings.Contains(got, guide) != tt.guide {
			t.Errorf("got %q, want %q", got, tt.want)
		}
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
	want := "apache tls beats standalone tls echo; standalone tls beats apache tls temperature; wssecurity message overhead"
	got := of(simulated(t, arms, truth))
	if strings.Join(names(got), "; ") != want {
		t.Errorf("got %q", names(got))
	}
	if r := got.Rows[2]; r.Published != 1.9 || r.Center < 1.85 || r.Center > 1.95 || r.PubLo != 1.9 {
		t.Errorf("1.9 published and simulated: %+v", r)
	}
	emulated := afterPapers["real-versus-emulated"]
	if here, board := of(simulated(t, emulated, twins(t))), of(onBoard(t, emulated, twins(t))); len(here.Rows) != 0 ||
		len(board.Rows) != 4 {
		t.Errorf("%q here, %q on a board", names(here), names(board))
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
		"c": {"model": "AMD EPYC", "load": 0.42}, "d": {"load": 3}}}`), &r.Facts); err != nil {
		t.Fatal(err)
	}
	const want = "emulated ARM926 with 64 MiB, computing as fast as the machine that emulates it and " +
		"emulated ARM926 with 64 MiB at 125 million instructions a second and AMD EPYC at load 0.4 and d at load 3.0"
	if got := r.under(); got != want {
		t.Errorf("got %q", got)
	}
	if got := inMedian(&Cell{ByMedian: true}) + inMedian(&Cell{}); got != " in the median" {
		t.Errorf("got %q", got)
	}
}
