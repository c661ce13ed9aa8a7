package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// opensPlainly are the files that may open as the os package does, and why. All others use
// kernel.ReadFile, kernel.OpenRegular or kernel.DirFS: a FIFO would make them wait for ever, and an
// endless file fill the memory.
var opensPlainly = map[string]string{
	"cmd/edgegauge/files.go":             "streams what a person named; readers have bounds of their own",
	"cmd/edgegauge/publish.go":           "lists; opens regular files only",
	"internal/fleet/worker.go":           "what the worker's own lab wrote, as its ledger lists it",
	"internal/fleet/wire/resultfiles.go": "the same",
	"internal/store/durable.go":          "a folder",
	"internal/testbed/kinds.go":          "the kernel's own files",
}

// Whoever shows, judges or shares results opens no file of a stranger so that it waits for ever.
func TestFilesOfStrangersAreOpenedWithCare(t *testing.T) {
	seen := map[string]bool{}
	for _, room := range []string{"cmd", "internal/advise", "internal/capacity", "internal/crate", "internal/fleet",
		"internal/report", "internal/store", "internal/study", "internal/testbed", "internal/web"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../")
			ast.Inspect(f, func(n ast.Node) bool {
				if what := opened(n); what != "" {
					seen[name] = true
					if opensPlainly[name] == "" {
						t.Errorf("%s: os.%s; use the functions of kernel/readfile.go, or say here why not", name, what)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range opensPlainly {
		if _, err := os.Stat(filepath.Join("..", name)); err != nil || !seen[name] {
			t.Errorf("%s opens nothing so any more: take it from this list", name)
		}
	}
}

// opened names the function of package os by which a call opens a file to read; empty: it does
// not, or the file is the kernel's or the system's, by name.
func opened(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if pkg, ok := f.X.(*ast.Ident); !ok || pkg.Name != "os" {
		return ""
	}
	switch f.Sel.Name {
	case "Open", "ReadFile", "DirFS":
	default:
		return ""
	}
	if text, ok := call.Args[0].(*ast.BasicLit); ok {
		for _, own := range []string{`"/proc/`, `"/sys/`, `"/etc/`} {
			if strings.HasPrefix(text.Value, own) {
				return ""
			}
		}
	}
	return f.Sel.Name
}
