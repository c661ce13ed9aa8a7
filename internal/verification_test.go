package internal

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test and each script that doc/verification.md names exists, in the room that it names, and no
// point of the list is without one.
func TestVerificationNamesTestsThatExist(t *testing.T) {
	declared := map[string]bool{}
	eachFile(t, func(path string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(path, "_test.go") {
				declared[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")+" "+fn.Name.Name] = true
			}
		}
	})
	page := read(t, "doc/verification.md")
	test, script := regexp.MustCompile("`([a-z][a-z/0-9]*) (Test[A-Z]\\w*)`"), regexp.MustCompile("`([a-z]+(?:_[a-z]+)+)`")
	rows := map[string]int{}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !regexp.MustCompile(`^ [ABC]\d* $`).MatchString(cells[1]) {
			continue
		}
		point, named := strings.TrimSpace(cells[1]), 0
		for _, m := range test.FindAllStringSubmatch(cells[3], -1) {
			if named++; !declared[m[1]+" "+m[2]] {
				t.Errorf("%s: %s has no %s", point, m[1], m[2])
			}
		}
		for _, m := range script.FindAllStringSubmatch(cells[3], -1) {
			file := filepath.Join("..", "cmd", "edgegauge", "testdata", "script", m[1]+".txtar")
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: there is no script %s", point, m[1])
			}
			named++
		}
		if named == 0 {
			t.Errorf("%s names no test", point)
		}
		rows[point[:1]]++
	}
	if rows["A"] != 14 || rows["B"] != 15 || rows["C"] < 3 {
		t.Errorf("rows: %v; want 14 of A, 15 of B, 3 of C", rows)
	}
}
