package internal

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	longestLine = 120 // characters, as in .editorconfig; a tab is one
	longestFile = 500 // lines of a file of the product
)

// quoted are the lines of a text of Go that are long since one literal is: a document in JSON or XML that a test
// quotes.
func quoted(text []byte) map[int]bool {
	lines := map[int]bool{}
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return lines
		case kind == token.STRING && utf8.RuneCountInString(literal) > longestLine/2:
			for i := range 1 + strings.Count(literal, "\n") {
				lines[file.Line(at)+i] = true
			}
		}
	}
}

// longLines are the numbers of the lines that are too long.
func longLines(text []byte, test bool) (all []int) {
	may := map[int]bool{}
	if test {
		may = quoted(text)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > longestLine && !may[n] {
			all = append(all, n)
		}
	}
	return all
}

// Lines fit a screen, and a file of the product is read at one sitting.
func TestLinesAndFilesAreShort(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z", "--full-name", "../*.go").Output()
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if err != nil || len(files) < 500 {
		t.Fatalf("%d files of Go: %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		test := strings.HasSuffix(name, "_test.go")
		for _, n := range longLines(text, test) {
			t.Errorf("%s:%d has more than %d characters", name, n, longestLine)
		}
		if n := strings.Count(string(text), "\n"); n > longestFile && !test {
			t.Errorf("%s has %d lines, %d are allowed: move a part of it into a file of its own", name, n, longestFile)
		}
	}
	long := "package x\n\nvar x = f(" + strings.Repeat("a, ", 50) + ")\n\nvar y = `\n" +
		strings.Repeat("<a/>", 40) + "\n`\n"
	if got := longLines([]byte(long), true); len(got) != 1 || got[0] != 3 {
		t.Errorf("in a test, lines %v are found; want that of the call and not that of the text", got)
	}
	if got := longLines([]byte(long), false); len(got) != 2 {
		t.Errorf("in the product, lines %v are found; want both", got)
	}
}
