package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// wellKnown are methods whose meaning the standard library fixes: a comment
// would repeat it.
var wellKnown = map[string]bool{
	"Error": true, "String": true, "Unwrap": true, "Is": true, "As": true,
	"Read": true, "Write": true, "Close": true, "ReadByte": true, "ReadFrom": true, "WriteTo": true,
	"Len": true, "Less": true, "Swap": true, "Push": true, "Pop": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
	"MarshalYAML": true, "UnmarshalYAML": true, "ServeHTTP": true, "RoundTrip": true,
	"LocalAddr": true, "RemoteAddr": true, "SetDeadline": true, "SetReadDeadline": true, "SetWriteDeadline": true,
	"Temporary": true, "Timeout": true,
}

// undocumented gives the exported names of a file that have no doc comment,
// each with its position. The comment of a group of constants or variables, or
// one at the end of a line, counts.
func undocumented(fset *token.FileSet, f *ast.File) []string {
	var bare []string
	miss := func(n *ast.Ident, of string) {
		bare = append(bare, fset.Position(n.Pos()).String()+": "+of+n.Name)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			of := receiver(d) // "Type.", or nothing
			seen := of == "" || ast.IsExported(of)
			if seen && d.Name.IsExported() && d.Doc == nil && (of == "" || !wellKnown[d.Name.Name]) {
				miss(d.Name, of)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && (d.Doc == nil || d.Lparen.IsValid()) {
						miss(s.Name, "")
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
							miss(n, "")
						}
					}
				}
			}
		}
	}
	return bare
}

func TestExportedNamesHaveDocComments(t *testing.T) {
	seen, fields := 0, 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != ".." || d.Name() == "testdata" || d.Name() == "build" ||
			d.Name() == "results") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		for _, name := range undocumented(fset, f) {
			t.Errorf("%s has no doc comment: say what a caller needs (shape, unit, errors, source)", name)
		}
		n, bare := bareFields(fset, f)
		fields += n
		for _, name := range bare {
			t.Errorf("%s is part of a format and has no comment: say its shape and unit", name)
		}
		return nil
	})
	if err != nil || seen < 100 || fields < 300 {
		t.Errorf("read %d files with %d fields of formats: %v", seen, fields, err)
	}
}

func TestUndocumentedFindsWhatLacksAComment(t *testing.T) {
	const src = `package p
type Bare struct{}
// Said is said.
type Said struct{}
func (Bare) Do()            {}
func (*Said) Error() string { return "" }
func (hidden) Do()          {}
func Error()                {}
// Group says it for both.
const (
	A = 1
	B = 2
)
var (
	C = 1 // at the end of the line
	D = 2
)
// A group of types says nothing of one of them.
type (
	E int
)
func (*G[K]) Go() {}
// G is generic.
type G[K any] struct{}
type hidden struct{}
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range undocumented(fset, f) {
		got = append(got, b[strings.LastIndex(b, " ")+1:])
	}
	if got, want := strings.Join(got, " "), "Bare Bare.Do Error D E G.Go"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
