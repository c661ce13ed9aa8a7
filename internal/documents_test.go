package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// read reads a file below the top of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// doc/dependencies.md has a line for each module that go.mod requires, says
// "tests only" of those that only tests import, and of no others.
func TestDependenciesAreNamed(t *testing.T) {
	page := read(t, "doc/dependencies.md")
	direct, _, _ := strings.Cut(read(t, "go.mod"), ")")
	modules := regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(direct, -1)
	if len(modules) < 15 {
		t.Fatalf("found %d modules", len(modules))
	}
	product := productImports(t)
	tests, err := section(page, "Tests only:")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		used := slices.ContainsFunc(product, func(path string) bool {
			return path == m[1] ||
				strings.HasPrefix(path, m[1]+"/")
		})
		row := strings.Contains(page, "| `"+m[1]+"` |")
		test := strings.Contains(tests, "`"+m[1]+"`")
		if row != used || test == used {
			t.Errorf("%s: imported outside tests: %v; has a row in the table: %v; named under \"Tests only\": %v", m[1],
				used, row, test)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]\\S+\\.\\S+/\\S+)` \\|").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(direct, "\t"+row[1]+" v") {
			t.Errorf("doc/dependencies.md names %s, which go.mod does not require", row[1])
		}
	}
}

// section is the paragraph that begins with some words.
func section(page, begin string) (string, error) {
	for p := range strings.SplitSeq(page, "\n\n") {
		if strings.HasPrefix(p, begin) {
			return p, nil
		}
	}
	return "", fmt.Errorf("no paragraph begins with %q", begin)
}

// productImports are the paths that files other than tests import.
func productImports(t *testing.T) []string {
	t.Helper()
	var paths []string
	eachFile(t, func(path string, f *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, im := range f.Imports {
			paths = append(paths, strings.Trim(im.Path.Value, `"`))
		}
	})
	return paths
}

// eachFile parses every Go file of cmd, internal and stacks.
func eachFile(t *testing.T, visit func(path string, f *ast.File)) {
	t.Helper()
	for _, top := range []string{"../cmd", "../internal", "../stacks"} {
		err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "testdata" || d.Name() == "build") {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			visit(filepath.ToSlash(path), f)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every package that the gate names exists: go test says so of some, and passes
// over others.
func TestTheGateNamesPackagesThatExist(t *testing.T) {
	found := 0
	for _, m := range regexp.MustCompile(`\./((?:internal|stacks|cmd)[a-z0-9/-]*)`).FindAllStringSubmatch(read(t,
		".ci/test"), -1) {
		found++
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(strings.TrimSuffix(m[1], "/")))); err != nil {
			t.Errorf(".ci/test names %s: %v", m[0], err)
		}
	}
	if found < 12 {
		t.Errorf("found %d packages", found)
	}
}

// Every test that the gate runs in a lane of its own exists; one that was renamed
// would run alone, and slow the gate. None is in two lanes.
func TestTheGateNamesTestsThatExist(t *testing.T) {
	lists := regexp.MustCompile(`(?m)^([a-z_]+)='\^\((.*)\)\$'$`).FindAllStringSubmatch(read(t, ".ci/test"), -1)
	if len(lists) != 4 {
		t.Fatalf(".ci/test has %d lists of tests", len(lists))
	}
	declared := map[string]bool{} // by the command's or another package
	eachFile(t, func(path string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(path, "_test.go") {
				declared[fmt.Sprint(strings.HasPrefix(path, "../cmd/edgegauge/"), " ", fn.Name.Name)] = true
			}
		}
	})
	lane := map[string]string{}
	for _, list := range lists {
		for name := range strings.SplitSeq(list[2], "|") {
			if !declared[fmt.Sprint(list[1] != "patient", " ", name)] {
				t.Errorf("%s: no test is called %s", list[1], name)
			}
			if lane[name] != "" {
				t.Errorf("%s is in the lists %s and %s", name, lane[name], list[1])
			}
			lane[name] = list[1]
		}
	}
	script := regexp.MustCompile(`(?m)^of_dev=(\w+)$`).FindStringSubmatch(read(t, ".ci/test"))
	if script == nil {
		t.Fatal(".ci/test names no script that hides /dev")
	}
	if _, err := os.Stat("../cmd/edgegauge/testdata/script/" + script[1] + ".txtar"); err != nil {
		t.Error(err)
	}
}

// The first screen of the README leads to every task, and names the verbs that judge.
func TestREADMELeadsToTasks(t *testing.T) {
	screen := strings.Join(strings.SplitAfterN(read(t, "README.md"), "\n", 46)[:45], "")
	for _, want := range []string{"measure-my-service.md", "measure-my-board.md", "add-a-stack.md",
		"gate-a-pull-request.md",
		"read-a-report.md", "which-protocol.md", "use-an-energy-meter.md", "publish.md)",
		"publish.md#repeat-a-published-study",
		"`edgegauge compare`", "`edgegauge choose`", "`edgegauge analyze`"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the first 45 lines have no %s", want)
		}
	}
}

// Every link of a document to another, or to a part of one, leads somewhere.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	found := 0
	for _, pattern := range []string{"../*.md", "../doc/*.md", "../doc/findings/*.md", "../stacks/*.md",
		"../stacks/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range link.FindAllStringSubmatch(read(t, file[len("../"):]), -1) {
				to, part, _ := strings.Cut(m[1], "#")
				if strings.Contains(to, "://") {
					continue
				}
				found++
				at := file
				if to != "" {
					at = filepath.Join(filepath.Dir(file), to)
				}
				if _, err := os.Stat(at); err != nil {
					t.Errorf("%s: %s: %v", file, m[1], err)
				} else if part != "" && !slices.Contains(anchors(read(t, at[len("../"):])), part) {
					t.Errorf("%s: %s: no such heading there", file, m[1])
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d links", found)
	}
}

// anchors are what the headings of a document can be linked by, as GitHub makes them.
func anchors(text string) []string {
	var out []string
	inCode := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if inCode || !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		title = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(strings.TrimSpace(strings.ToLower(title)), "$1")
		out = append(out, strings.ReplaceAll(regexp.MustCompile(`[^\pL\pN_ -]`).ReplaceAllString(title, ""), " ", "-"))
	}
	return out
}
