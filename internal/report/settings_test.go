package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Results of two settings whose truths are contrary stand side by side, and the
// scorecard says where they disagree; those of another paper stand alone.
func TestSettingsSideBySide(t *testing.T) {
	machine := reportOf(t, simulated(t, pies, piesAsPublished))
	counted := reportOf(t, simulated(t, pies, inverse(piesAsPublished)))
	for i := range counted.Cells {
		counted.Cells[i].Method = store.Counted
	}
	other := reportOf(t, simulated(t, afterPapers["cloud-of-things"], asPublished(t, "cloud-of-things", 0.01)))
	all := []*Report{machine, other, counted}
	var text, js strings.Builder
	if err := ClaimsText(&text, all); err != nil {
		t.Fatal(err)
	}
	_, side, _ := strings.Cut(text.String(), "Side by side: ")
	for _, want := range []string{
		"the claims of \"A Study Case of RESTful", "in 2 settings",
		"! the settings disagree: total_time at the server: axis2 below cxf (message_kb 100)\n    confirmed    local: ratio 0.8",
		"\n    contradicted local, instructions counted: ratio 1.1",
		"\n  total_time: which framework is lower depends on message_kb\n", // both confirm it
	} {
		if !strings.Contains(side, want) {
			t.Errorf("no %q in\n%s", want, side)
		}
	}
	if strings.Count(text.String(), "Side by side") != 1 || strings.Contains(side, "coap") {
		t.Errorf("a paper with one result is set beside nothing:\n%s", side)
	}
	if err := ClaimsJSON(&js, all); err != nil {
		t.Fatal(err)
	}
	var got struct {
		SideBySide []struct {
			Settings []string
			Claims   []struct {
				ID       string
				Disagree bool
				Verdicts []stat.Verdict
			}
		} `json:"side_by_side"`
	}
	if err := json.Unmarshal([]byte(js.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.SideBySide) != 1 {
		t.Fatalf("got %+v", got)
	}
	first := got.SideBySide[0].Claims[0]
	if !first.Disagree || !slices.Equal(first.Verdicts, []stat.Verdict{stat.Confirmed, stat.Contradicted}) {
		t.Errorf("got %+v", first)
	}
	text.Reset()
	if err := ClaimsText(&text, all[:2]); err != nil || strings.Contains(text.String(), "Side by side") {
		t.Errorf("one result of each paper: %v\n%s", err, text.String())
	}
}

// Sizes that lie on both sides of the published one are not alike, though the verdicts are.
func TestSettingsOnBothSidesOfASize(t *testing.T) {
	card := func(is string) *paper.Scorecard {
		return &paper.Scorecard{Claims: []paper.Judged{{Verdict: no, SizeIs: is}}}
	}
	for _, tt := range []struct {
		is   [2]string
		want string
	}{
		{[2]string{paper.Above, paper.Below}, "the settings lie on both sides of the published size"},
		{[2]string{paper.Above, paper.Above}, ""},
		{[2]string{paper.Above, ""}, ""},
	} {
		b := besideTable{settings: []string{"a", "b"}, cards: []*paper.Scorecard{card(tt.is[0]), card(tt.is[1])}}
		if got := b.disagreement(0); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.is, got, tt.want)
		}
		if b.json().Claims[0].Disagree != (tt.want != "") {
			t.Errorf("%q: the JSON says another thing", tt.is)
		}
	}
	b := besideTable{settings: []string{"a", "b"}, cards: []*paper.Scorecard{card(paper.Above), card(paper.Below)}}
	if b.cards[1].Claims[0].Modelled = true; b.disagreement(0) != "" {
		t.Error("a model lies on the other side of a measurement")
	}
}

// Every claim of every paper says why it is undecided and what would decide it, and
// only then: with nothing measured, with a model, with no difference to find.
func TestEveryUndecidedClaimSaysWhatWouldDecide(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	undecided := 0
	for name, file := range afterPapers {
		for words, r := range map[string]*Report{
			"alike":    reportOf(t, simulated(t, file, alike(asPublished(t, name, 0.01)))),
			"modelled": reportOf(t, simulated(t, file, asPublished(t, name, 0.01), store.Modelled)),
		} {
			for _, j := range r.Published.Claims {
				open := j.Verdict == stat.Undecided
				if open {
					undecided++
				}
				if open != (j.Decided() != "") || open && len(j.Why) == 0 {
					t.Errorf("%s, %s: %s is %s for %q, decided by %q", name, words, j.ID, j.Verdict, j.Why, j.Decided())
				}
			}
		}
	}
	if undecided < 10 {
		t.Errorf("only %d claims were undecided", undecided)
	}
}
