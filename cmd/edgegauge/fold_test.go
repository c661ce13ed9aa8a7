package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// On a narrow terminal the sentences of a text fit into its columns; tables and commands stay as they are, and no word
// is another than on a wide one. A file or pipe gets the same as ever.
func TestSentencesFitTheTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	results, err := filepath.Abs("../../findings/frameworks-on-raspberry-pi")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"report", results}, {"compare", results, results, "--all"},
		{"choose", results, "--minimize", "rtt"}, {"report", "--claims", results}} {
		wide := strings.ReplaceAll(onTerminalOf(t, 200, o, args, "NO_COLOR=1"), "\r", "")
		for _, columns := range []uint16{40, 60, 99, 0} {
			got := strings.ReplaceAll(onTerminalOf(t, columns, o, args, "NO_COLOR=1"), "\r", "")
			if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(wide), " ") {
				t.Errorf("%s, %d columns: other words:\n%s", args, columns, got)
			}
			if columns == 0 || columns == 99 {
				if got != wide {
					t.Errorf("%s, %d columns: folded:\n%s", args, columns, got)
				}
				continue
			}
			sentences := 0
			for line := range strings.Lines(got) {
				words := strings.TrimSpace(line)
				row, deep := strings.Contains(words, "  "), strings.HasPrefix(line, "    ")
				if row || deep || strings.Contains(line, "edgegauge ") || !strings.Contains(words, " ") {
					continue
				}
				sentences++
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > int(columns) {
					t.Errorf("%s, %d columns: %d in %q", args, columns, n, line)
				}
			}
			if sentences < 5 {
				t.Errorf("%s, %d columns: no sentence:\n%s", args, columns, got)
			}
		}
	}
}
