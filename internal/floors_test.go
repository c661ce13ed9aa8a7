package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// floors are the rooms from the bottom up: an import points down, never
// sideways. It parses the imports itself, since through go list the test cache
// would not see a change.
var floors = []struct {
	name  string
	rooms []string
}{
	{"base", []string{"internal/lazy"}}, // that the ground needs, too
	// what any program needs
	{"ground", []string{"internal/kernel", "internal/meant", "internal/named", "internal/plural", "internal/printable"}},
	{"words", []string{"internal/measure", "internal/service", "internal/stat", "internal/study"}},
	{"files", []string{"batteries", "devices", "links", "published", "radios", "stacks/contract",
		"stacks/skeletons", "studies"}}, // embedded, no code
	// spoken by both a driver and a stack; part of neither
	{"protocols", []string{"internal/protocol"}},
	{"hands", []string{"internal/crate", "internal/device", "internal/drive", "internal/instrument", "internal/link",
		"internal/stack",
		"internal/store"}},
	// all but the first: tests only, of programs in other languages
	{"stacks", []string{"stacks/reference", "stacks/californium", "stacks/dotnet", "stacks/exificient", "stacks/gsoap",
		"stacks/gsoap-apache", "stacks/java-common", "stacks/java-test", "stacks/jmeds", "stacks/libcoap",
		"stacks/microemu"}},
	{"machines", []string{"internal/guest"}}, // in an emulated machine, of what boards have: no lab, no store
	{"heads", []string{"internal/advise", "internal/fleet", "internal/lab"}},
	// puts a lab together of everything below; whoever shows or serves labs stands above
	{"assembly", []string{"internal/testbed"}},
	{"searches", []string{"internal/capacity"}}, // each opens many labs, one after another
	{"faces", []string{"internal/report"}},
	{"pages", []string{"internal/web"}}, // shows the reports of many results, and running labs
	{"benches", []string{"internal/bench"}},
	{"main", []string{"cmd"}},
}

// place finds the floor and the room of a package path below the module.
func place(pkg string) (floor int, room string) {
	floor = -1
	for i, f := range floors {
		for _, r := range f.rooms {
			if (pkg == r || strings.HasPrefix(pkg, r+"/")) && len(r) > len(room) {
				floor, room = i, r
			}
		}
	}
	return floor, room
}

func TestImportsPointDown(t *testing.T) {
	seen := 0
	module, _, _ := strings.Cut(strings.TrimPrefix(read(t, "go.mod"), "module "), "\n")
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != ".." || d.Name() == "testdata" || d.Name() == "build" ||
			d.Name() == "results") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || filepath.ToSlash(filepath.Dir(path)) == "../internal" {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "../")))
		if !strings.HasPrefix(filepath.ToSlash(filepath.Clean(path)), "../") {
			pkg = "internal/" + pkg
		}
		floor, room := place(pkg)
		if floor < 0 {
			t.Errorf("%s: package %s is in no room; put it in one, or give floors_test.go a reason", path, pkg)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, im := range f.Imports {
			to, ours := strings.CutPrefix(strings.Trim(im.Path.Value, `"`), module+"/")
			if !ours {
				continue
			}
			seen++
			f2, r2 := place(to)
			if room != r2 && f2 >= floor {
				t.Errorf("%s (%s) imports %s (%s): imports point down, never sideways", path, floors[floor].name, to,
					floors[max(f2, 0)].name)
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("read %d imports: %v", seen, err)
	}
}
