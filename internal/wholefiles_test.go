package internal

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writesInPlace are the files of the commands that write as the os package does, and why. All others use putFile or
// store.Replace: whoever is killed in the middle, or has a full disk, keeps the file that was there.
var writesInPlace = map[string]string{
	"cmd/edgegauge/compare.go":    "what cannot be replaced",
	"cmd/edgegauge/files.go":      "what is no file: a pipe, a device",
	"cmd/edgegauge/stacksnew.go":  "a folder that was not there, and goes where it fails",
	"cmd/edgegauge/webcontrol.go": "a log",
}

// No command leaves half of what it was asked to write.
func TestCommandsWriteWholeFiles(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(path string, f *ast.File) {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		if !strings.HasPrefix(name, "cmd/") || strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				pkg, _ := x.X.(*ast.Ident)
				switch x.Sel.Name {
				case "WriteFile", "Create", "OpenFile":
					if pkg != nil && pkg.Name == "os" {
						seen[name] = true
						if writesInPlace[name] == "" {
							t.Errorf("%s: os.%s; use putFile, or say here why not", name, x.Sel.Name)
						}
					}
				}
			}
			return true
		})
	})
	for name := range writesInPlace {
		if _, err := os.Stat(filepath.Join("..", name)); err != nil || !seen[name] {
			t.Errorf("%s writes nothing so any more: take it from this list", name)
		}
	}
}
