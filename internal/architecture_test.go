package internal

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every path and every identifier that doc/architecture.md and CONTRIBUTING.md
// print in backticks exists. `room.Name` is an exported name of internal/room.
func TestNamesInTheArchitectureExist(t *testing.T) {
	declared := map[string]bool{}
	eachFile(t, func(path string, f *ast.File) {
		for _, d := range f.Decls {
			for _, name := range declares(d) {
				declared[f.Name.Name+"."+name] = true
				declared[name] = true
			}
		}
	})
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1)
	for _, target := range targets {
		declared["make "+target[1]] = true
	}
	checked := 0
	for _, page := range []string{"doc/architecture.md", "CONTRIBUTING.md"} {
		for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(read(t, page), -1) {
			name := m[1]
			if strings.HasSuffix(name, "/NAME") || strings.HasPrefix(name, "edgegauge ") ||
				strings.HasPrefix(name, "package: ") {
				continue // a pattern, or a command
			}
			checked++
			if declared[name] || declared[strings.TrimPrefix(name, "internal/")] {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(name))); err == nil {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "internal", filepath.FromSlash(name))); err == nil {
				continue
			}
			t.Errorf("%s: `%s` is no file, folder, make target or Go name", page, name)
		}
	}
	if checked < 60 {
		t.Errorf("checked %d names", checked)
	}
}

// declares are the names of a declaration; a method's is Type.Method too.
func declares(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
		return names
	}
	return nil
}

// The document names every room of floors_test.go, and no other.
func TestArchitectureNamesAllRooms(t *testing.T) {
	page := read(t, "doc/architecture.md")
	for _, f := range floors {
		for _, room := range f.rooms {
			name, inside := strings.CutPrefix(room, "internal/")
			_, err := os.Stat(filepath.Join("..", room)) // a room may be planned only
			if inside && err == nil && !strings.Contains(page, "| `"+name+"` |") {
				t.Errorf("doc/architecture.md has no row for %s", room)
			}
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(page, -1) {
		if _, room := place("internal/" + row[1]); room == "" {
			t.Errorf("doc/architecture.md names a room %s that floors_test.go does not have", row[1])
		}
	}
}
