package stack

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A stack that names no products consists of the files that its commands name.
func TestFilesThatCommandsName(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "mine")
	for _, f := range []string{"mine/run.py", "mine/hook.js", "mine/lib/a.jar", "mine/lib/notes.txt", "mine/log",
		"beside.sh", "bin/own"} {
		file := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(root, "bin")+":/usr/bin:/bin")
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"python3", "-u", "run.py", "serve"}, "run.py"},
		{[]string{"./run.py", "serve"}, "run.py"},
		{[]string{filepath.Join(dir, "run.py")}, "run.py"},
		{[]string{"node", "--require=./hook.js", "run.py"}, "hook.js run.py"},
		{[]string{"sh", "-c", `exec "./run.py" 'serve' >&2; ../beside.sh`}, "../beside.sh run.py"},
		{[]string{"java", "-cp", "lib/*:run.py", "Main"}, "lib/a.jar run.py"},
		{[]string{"own", "serve"}, filepath.Join(root, "bin/own")},
		{[]string{"sh", "-c", "exec nothing"}, ""},
		{[]string{"sh", "lib"}, ""},
	} {
		d := Description{Name: "mine", Dir: dir, Serve: Program{Command: c.command}}
		sums, err := d.Checksums()
		if err != nil || len(sums[CommandLines]) != 64 {
			t.Fatalf("%q: %v, %v", c.command, sums, err)
		}
		delete(sums, CommandLines)
		if got := strings.Join(slices.Sorted(maps.Keys(sums)), " "); got != c.want {
			t.Errorf("%q: got %q, want %q", c.command, got, c.want)
		}
		d.Build.Product = []string{"log"}
		if sums, err = d.Checksums(); err != nil || len(sums) != 1 || sums["log"] == "" {
			t.Errorf("%q with a product: %v, %v", c.command, sums, err)
		}
	}
	// Another command is another program, although its files are the same.
	sum := func(args ...string) string {
		sums, err := Description{Dir: dir, Serve: Program{Command: args}}.Checksums()
		if err != nil {
			t.Fatal(err)
		}
		return sums[CommandLines]
	}
	if sum("python3", "run.py") == sum("python3", "-O", "run.py") {
		t.Error("a command with another flag is the same")
	}
	if sums, err := (Description{Serve: Program{Command: []string{"sh"}}}).Checksums(); err != nil || len(sums) > 0 {
		t.Errorf("inside edgegauge: %v, %v", sums, err)
	}
}
