package ssh

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Some names of the kernel's are missing on some architectures that boards have. The command that builds a program for
// one, which is told to users, must work there.
func TestNamesOfTheKernelOnEachMachine(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	const root = "../../.."
	var users []source // files that use such names
	for _, dir := range []string{"internal", "stacks/reference", "cmd/edgegauge-board"} {
		users = append(users, sources(t, filepath.Join(root, dir), func(f *ast.File) bool {
			for _, i := range f.Imports {
				if i.Path.Value == `"golang.org/x/sys/unix"` {
					return true
				}
			}
			return false
		})...)
	}
	unix := sources(t, filepath.Join(strings.TrimSpace(string(out)), "unix"), func(*ast.File) bool { return true })
	if len(users) < 20 || len(unix) < 100 {
		t.Fatalf("%d files use unix, which has %d", len(users), len(unix))
	}
	for _, all := range machines {
		for _, arch := range all {
			c := build.Default
			c.GOOS, c.GOARCH, c.CgoEnabled = "linux", arch, false
			if strings.HasPrefix(variables(arch), "GOARCH=arm ") {
				c.GOARCH = "arm"
			}
			known := map[string]bool{}
			for _, s := range unix {
				if s.isOf(t, c) {
					declared(s.file, known)
				}
			}
			for _, s := range users {
				if !s.isOf(t, c) {
					continue
				}
				ast.Inspect(s.file, func(n ast.Node) bool {
					if x, ok := n.(*ast.SelectorExpr); ok {
						if of, ok := x.X.(*ast.Ident); ok && of.Name == "unix" && !known[x.Sel.Name] {
							t.Errorf("%s: %s uses unix.%s", arch, s.path, x.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
}

// declared adds the names that a file declares for others.
func declared(f *ast.File, to map[string]bool) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				to[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, x := range d.Specs {
				switch x := x.(type) {
				case *ast.TypeSpec:
					to[x.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range x.Names {
						to[n.Name] = true
					}
				}
			}
		}
	}
}

type source struct {
	path string
	file *ast.File
}

func (s source) isOf(t *testing.T, c build.Context) bool {
	is, err := c.MatchFile(filepath.Dir(s.path), filepath.Base(s.path))
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// sources are the files below a folder that are wanted, tests left out.
func sources(t *testing.T, dir string, wanted func(*ast.File) bool) (found []source) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil || !wanted(f) {
			return err
		}
		if f, err = parser.ParseFile(token.NewFileSet(), path, nil, 0); err == nil {
			found = append(found, source{path, f})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
