package internal

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each process of a stack, each supervisor and each agent initializes all packages of this program. So none compiles a
// regular expression then, and those that are put off are right: a wrong one would panic when it is first used.
func TestPatternsAreLazyAndCompile(t *testing.T) {
	var files, patterns int
	eachFile(t, func(path string, f *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		files++
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if _, later := n.(*ast.FuncLit); later {
					return false
				}
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch called(call) {
				case "regexp.MustCompile", "regexp.MustCompilePOSIX":
					t.Errorf("%s: every process compiles %s; write lazy.Regexp", path, text(call.Args[0]))
				case "lazy.Regexp", "newForm":
					pattern := text(call.Args[0])
					if _, err := regexp.Compile(pattern); err != nil || pattern == "" {
						t.Errorf("%s: %q: %v", path, pattern, err)
					}
					patterns++
				}
				return true
			})
		}
	})
	if files < 500 || patterns < 40 {
		t.Errorf("only %d patterns in %d files", patterns, files)
	}
}

// called is the name of what a call calls.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if p, ok := f.X.(*ast.Ident); ok {
			return p.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// text is the value of literals that may be joined; empty: of something else.
func text(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(x.Value)
		return s
	case *ast.BinaryExpr:
		return text(x.X) + text(x.Y)
	}
	return ""
}
