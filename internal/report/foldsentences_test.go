package report

import (
	"strings"
	"testing"
)

// A sentence that was wrapped is folded as a whole, in its own indentation; a row of a table, a command and what fits
// stay.
func TestFoldedSentences(t *testing.T) {
	var b strings.Builder
	wrap(&b, strings.TrimSpace(strings.Repeat("twelve-chars ", 12)), "  ")
	hang(&b, "confirmed   ", strings.TrimSpace(strings.Repeat("twelve-chars ", 8)), "            ")
	b.WriteString("a row with  " + strings.Repeat("1.00  ", 15) + "end\n" +
		"    edgegauge report a b c d e f g h i j k l m n\n\nshort\n")
	want := "twelve-chars twelve-chars twelve-chars\n" +
		strings.Repeat("  twelve-chars twelve-chars twelve-chars\n", 3) +
		"confirmed   twelve-chars twelve-chars\n" + strings.Repeat("            twelve-chars twelve-chars\n", 3)
	got := folded(b.String(), 40)
	rest, ok := strings.CutPrefix(got, want)
	if _, kept, _ := strings.Cut(b.String(), "a row"); !ok || rest != "a row"+kept {
		t.Errorf("got\n%s", got)
	}
}
