package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service/codec"
)

// What depends on an encoding is a property in its row of codec.Table: no program
// compares encodings by name, which an added one would slip through.
func TestNothingComparesEncodings(t *testing.T) {
	read := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		skipped := []string{"testdata", "build", "results", "codec", "bench"}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != ".." || slices.Contains(skipped, d.Name())) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		read++
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, at := range comparedEncodings(f) {
			t.Errorf("%s: compares an encoding; read codec.Table, or add a property there", files.Position(at))
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Fatalf("%d files, %v", read, err)
	}
}

// comparedEncodings finds ==, != and case with an encoding, and tests of a
// prefix or suffix for one.
func comparedEncodings(f *ast.File) (found []token.Pos) {
	tests := []string{"HasPrefix", "HasSuffix", "Contains"}
	check := func(all ...ast.Expr) {
		for _, e := range all {
			if namesEncoding(e) {
				found = append(found, e.Pos())
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				check(n.X, n.Y)
			}
		case *ast.CaseClause:
			check(n.List...)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(tests, s.Sel.Name) {
				check(n.Args...)
				for _, a := range n.Args {
					if list, ok := a.(*ast.CompositeLit); ok {
						check(list.Elts...)
					}
				}
			}
		}
		return true
	})
	return found
}

// namesEncoding reports whether an expression is a constant such as codec.XML,
// perhaps converted, or the name of an encoding in quotes that can mean nothing
// else.
func namesEncoding(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		room, ok := e.X.(*ast.Ident)
		name := strings.ToLower(e.Sel.Name)
		return ok && room.Name == "codec" && slices.ContainsFunc(codec.Table, func(r codec.Row) bool {
			return strings.ReplaceAll(string(r.Name), "-", "") == name
		})
	case *ast.CallExpr:
		return len(e.Args) == 1 && namesEncoding(e.Args[0])
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		elsewhere := []string{"xml", "json", "text"} // formats of reports, prefixes of XML
		_, ok := codec.Find(codec.Encoding(text))
		return ok && !slices.Contains(elsewhere, text)
	}
	return false
}

func TestComparedEncodingsAreFound(t *testing.T) {
	const text = `package p
func f(enc codec.Encoding, s string) {
	if enc == codec.SOAP11 {}
	switch enc { case codec.XML, codec.EXISchemaCompressed: }
	if strings.HasPrefix(string(enc), string(codec.SOAP12)) {}
	if s != "exi-schema" && slices.Contains([]string{"xml", "soap12"}, s) {}
	if enc.Syntax() == codec.XMLText || s == "json" || codec.Encoding("xml").SOAP() {}
	_ = []codec.Encoding{codec.XML}
}`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(comparedEncodings(f)); n != 6 {
		t.Errorf("found %d comparisons, want 6", n)
	}
}
