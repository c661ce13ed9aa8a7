package report

import (
	"fmt"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report/pagetest"
	"edgegauge.example/edgegauge/internal/store"
)

// Each note of a table has a mark of its own, however many there are.
func TestNotesHaveMarksOfTheirOwn(t *testing.T) {
	var notes noteList
	seen := map[string]int{}
	for i := range 3000 {
		m := notes.mark(fmt.Sprint(i), "rest")
		if was, twice := seen[m]; twice {
			t.Fatalf("notes %d and %d are both marked %s", was, i, m)
		}
		seen[m] = i
	}
	if got := notes.lines()[52]; got != "aa  rest: 52" {
		t.Errorf("got %q", got)
	}
	r := fakeReport(t, 3, 2, 6)
	r.Cells[0].Warnings = []string{"this", "that"}
	if got := pageOf(t, r); !strings.Contains(got, "<sup>a,b</sup>") {
		t.Error("the marks of a row are not told apart")
	}
}

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page explains a floor where it draws one, and speaks of raw files where there are some.
func TestPageSpeaksOfWhatIsThere(t *testing.T) {
	const floor, raw = "floor: a bare exchange", "holds every exchange and reading"
	r := fakeReport(t, 3, 2, 6)
	if got := pageOf(t, r); !strings.Contains(got, floor) || !strings.Contains(got, raw) {
		t.Error("the page does not explain its floors, or does not say where the raw files are")
	}
	for i := range r.Cells {
		r.Cells[i].HasFloor = false
	}
	r.LeftOut = []string{"exchanges", "samples"}
	if got := pageOf(t, r); strings.Contains(got, floor) || strings.Contains(got, raw) {
		t.Error("the page explains floors that it has not, or speaks of raw files that a copy lacks")
	}
}

// On a phone, long names widen no choice beyond the screen and are not covered by values; of many treatments each has a
// line of its own look.
func TestManyTreatmentsOfLongNamesOnAPhone(t *testing.T) {
	r := fakeReport(t, 13, 2, 2)
	for i := range r.Treatments {
		r.Treatments[i].Levels[1] += " standalone-wssecurity"
	}
	r.fakeTrace(0, measure.Client, store.Measured)
	path, _ := written(t, r)
	b := pagetest.Start(t)
	b.Size(t, 360, 800)
	b.Open(t, "file://"+path)
	p := pageUnderTest{t, b}
	if got := b.Text(t, `(() => { const [a, b] = [".fig-name", ".fig-value"].map((x) => document.querySelector("#message_size .fig " + x).getBoundingClientRect()); return a.right < b.left; })()`); got != "true" {
		t.Error("a value covers the end of its treatment's name")
	}
	p.click(`input[name="view"][value="distribution"]`)
	if got := b.Text(t, `new Set([...document.querySelectorAll("#explore .keys .swatch")].map((x) => x.className + x.getAttribute("style"))).size`); got != "26" {
		t.Errorf("got %s looks of lines of 26 treatments", got)
	}
	p.click(`input[name="view"][value="power"]`)
	if got := b.Text(t, `document.documentElement.scrollWidth`); got != "360" {
		t.Errorf("the page is %s px wide, want 360", got)
	}
	b.Clean(t, "file://")
}
