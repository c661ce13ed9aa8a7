package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The tags of fields that are part of a format.
var formatTags = []string{"json", "yaml", "parquet"}

// bareFields are the fields of a file's exported structs that are part of a format and do
// not say what they hold: in a comment of their own, or in one above a group of lines that
// follow each other. n counts all that are part of a format.
func bareFields(set *token.FileSet, f *ast.File) (n int, bare []string) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			x, ok := s.(*ast.TypeSpec)
			if !ok || !x.Name.IsExported() {
				continue
			}
			all, found := uncommented(set, x.Type)
			n += all
			for _, b := range found {
				bare = append(bare, set.Position(b.Pos()).String()+": "+x.Name.Name+"."+b.Names[0].Name)
			}
		}
	}
	return n, bare
}

// uncommented are the fields with a tag of a format, below a type, that nothing is said of; n counts all.
func uncommented(set *token.FileSet, of ast.Expr) (n int, bare []*ast.Field) {
	ast.Inspect(of, func(x ast.Node) bool {
		s, ok := x.(*ast.StructType)
		if !ok {
			return true
		}
		said, last := false, 0
		for _, f := range s.Fields.List {
			if set.Position(f.Pos()).Line > last+1 {
				said = false // a blank line ends a group
			}
			said = said || f.Doc != nil
			last = set.Position(f.End()).Line
			if !ofFormat(f) {
				continue
			}
			n += len(f.Names)
			if !said && f.Comment == nil {
				bare = append(bare, f)
			}
		}
		return true
	})
	return n, bare
}

func TestUncommentedFindsWhatLacksAComment(t *testing.T) {
	src := strings.ReplaceAll(`package p
type T struct {
	A int ~json:"a"~ // said
	B int ~json:"b"~
	// C and D are said together.
	C int ~yaml:"c"~
	D int ~yaml:"d"~

	E int ~parquet:"e"~
	F int
	G int ~json:"-"~
	H struct {
		I int ~json:"i"~
	}
	j int ~json:"j"~
}
type hidden struct {
	K int ~json:"k"~
}`, "~", "`")
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	n, bare := bareFields(set, f)
	var got []string
	for _, b := range bare {
		got = append(got, b[strings.LastIndex(b, " ")+1:])
	}
	if want := "T.B T.E T.I"; n != 6 || strings.Join(got, " ") != want {
		t.Errorf("%d fields; got %q, want %q", n, got, want)
	}
}

// ofFormat reports whether a field is written to, or read from, a format.
func ofFormat(f *ast.Field) bool {
	if f.Tag == nil || len(f.Names) == 0 || !f.Names[0].IsExported() {
		return false
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return false
	}
	for _, tag := range formatTags {
		if v, ok := reflect.StructTag(text).Lookup(tag); ok && !strings.HasPrefix(v, "-") {
			return true
		}
	}
	return false
}
