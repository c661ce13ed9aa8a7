package report

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/paper"
)

// No figure is typed into the words of findings: numbers stand in actions, or are part of a name.
func TestFindingTextsHoldNoFigure(t *testing.T) {
	action, number := regexp.MustCompile(`(?s)\{\{.*?\}\}`), regexp.MustCompile(`(?:^|[\s(])[-+]?[0-9][^\s]*`)
	allowed := regexp.MustCompile(`95 %`) // as figures draw intervals
	names, err := fs.Glob(findingTexts, "findings/*.md")
	if err != nil || len(names) != len(paper.Names())+2 {
		t.Fatalf("%d texts of %d papers, a frame and one over all (%v)", len(names), len(paper.Names()), err)
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
