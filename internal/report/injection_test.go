package report

import (
	"io"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// What a stranger's study says steers no terminal and no spreadsheet.
func TestReportsAreHarmlessToPrint(t *testing.T) {
	r := fakeReport(t, 2, 1, 3)
	const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e\u2066\rgone"
	r.Study.Question, r.Study.Name = evil, evil
	r.Warnings = append(r.Warnings, evil)
	r.Treatments[0].Levels[0] = "=cmd|'/c calc'!A0"
	r.Cells[0].Warnings = append(r.Cells[0].Warnings, "@SUM(A1)")
	for name, write := range map[string]func(io.Writer) error{"text": r.Text, "markdown": r.Markdown, "latex": r.LaTeX,
		"csv": r.CSV} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexAny(b.String(), "\x1b\x07\r\u009b\u202e\u2066"); i >= 0 {
			t.Errorf("%s has %q", name, b.String()[i:min(i+30, b.Len())])
		}
		for line := range strings.Lines(b.String()) {
			if name == "csv" && strings.ContainsAny(line[:1]+strings.Join(strings.Split(line, ",")[1:2], ""), "=@") {
				t.Errorf("a cell of %q is run as a formula", line)
			}
		}
	}
}

// Nor does a comparison's XML, which a log may show.
func TestJUnitIsHarmlessToPrint(t *testing.T) {
	const evil = "\x1b]0;owned\x07\u009b31m\u202e\u2066\rgone"
	var b strings.Builder
	c := Compared{Old: evil, New: evil, Comparison: advise.Comparison{
		Contrasts: []advise.Contrast{{Treatment: evil, Side: measure.Client, Response: "rtt", Unit: "s", Doubt: evil}},
		Lost:      []advise.Loss{{Treatment: evil}}}}
	if err := c.JUnit(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\r\u009b\u202e\u2066") || strings.Count(b.String(), "owned") < 4 {
		t.Errorf("it says %q", b.String())
	}
}
