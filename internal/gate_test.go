package internal

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the gate calls, in its place: each passes, but for what SCENE says.
var gateCalls = map[string]string{
	"stub/go": `#!/bin/bash
echo "$*" >>"$ASKED"
one() { echo '{"Action":"pass","Package":"p","Test":"TestOne"}'; }
case "$SCENE: $*" in
"broken: vet"*) exit 1 ;;
"broken: test"*-json*testbed*) one; exit 137 ;;
"broken: test"*-json*e/stat*) exit 1 ;;
"lane killed: test"*-json*testbed*) kill -9 $PPID ;;
"once: test"*-json*testbed*)
  echo '{"Action":"fail","Package":"p","Test":"TestOne"}'
  echo '{"Action":"fail","Package":"p"}'
  exit 1 ;;
*": test -c"*) mkdir -p .cache/commands && touch .cache/commands/edgegauge.test ;;
*": test"*-json* | *": tool test2json"*) one; echo '{"Action":"pass","Package":"p"}' ;;
*": list"*./...*) printf '%s\n' e/{lab,link,stat,study,store,a,b,c,d,e,f,g,h}-room e/internal/testbed e/stacks/{x,y} ;;
*": list"*) echo e/internal/drive ;;
esac
`,
	"stub/git": "#!/bin/sh\necho a.go\n",
	"stub/make": `#!/bin/sh
[ "$SCENE: $*" != "broken: -s crossed" ]
`,
	"stub/gofmt": `#!/bin/sh
[ "$SCENE" != unformatted ] || echo a.go
`,
	"bin/edgegauge": `#!/bin/bash
case "$SCENE: $*" in
"not brought: stacks build"*) exit 3 ;;
*": stacks list"*) echo '{"stacks":[{"name":"a","state":"","serves":[]},{"name":"b/c","state":"","serves":[]}]}' ;;
"broken: stacks check b/c") echo "ok   b/c answers"; exit 137 ;;
"once: stacks check a") printf '%s\n' "ok   a answers" "FAIL a waits: late"; exit 1 ;;
*": stacks check"*) echo "ok   $3 answers" ;;
esac
`,
	".ci/fuzz": `#!/bin/bash
[ "$SCENE" != broken ] || exit 1
[ "$SCENE" != once ] || printf '%s\n' "FAILED, once more: a Fuzz" "fuzz: elapsed: 0s, execs: 3 (0/sec)"
echo "fuzz: 7 passed, 0 failed"
`,
	".ci/jars":                 "#!/bin/sh\nexit 1\n",
	".ci/plain":                "#!/bin/sh\n",
	".ci/temporary":            "#!/bin/sh\necho \"temporary $1\" >>\"$ASKED\"\necho /tmp\n",
	".cache/python/bin/python": "#!/bin/sh\n",
}

// The gate fails where a part of it fails, is killed or does nothing, and its last line is counts always. It leaves no
// test out and runs none twice.
func TestGateCloses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for _, program := range []string{"bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	for _, tt := range []struct {
		scene, last string
		passes      bool
	}{
		// 37 pieces of tests (14 of packages, 3 of stacks, 6 of documents, 9 of other tests of the commands), 7 slices,
		// 2 checks
		{"", "46 passed, 0 failed", true},
		{"once", "46 passed, 0 failed", true},    // a test less, whose second run is not counted, a check more
		{"broken", "37 passed, 6 failed", false}, // vet, a build for others, two pieces of tests, slices, a stack
		{"lane killed", "45 passed, 1 failed", false},
		{"not brought", "46 passed, 1 failed", false},
		{"unformatted", "0 passed, 1 failed: the gate did not come to its end", false},
	} {
		t.Run(tt.scene, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range gateCalls {
				writeProgram(t, filepath.Join(dir, name), text)
			}
			for _, name := range []string{".ci/test", ".ci/tests.py", "cmd/edgegauge/main.go"} {
				writeProgram(t, filepath.Join(dir, name), read(t, name))
			}
			t.Parallel() // not before: another start would hold a program open that is being written
			cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, ".ci", "test"))
			cmd.Env = append(os.Environ(), "SCENE="+tt.scene, "ASKED="+filepath.Join(dir, "asked"), "CI=true",
				"PATH="+filepath.Join(dir, "stub")+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; last != tt.last || (err == nil) != tt.passes {
				t.Errorf("%v, %q at last, want %q:\n%s", err, last, tt.last, out)
			}
			asked, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(asked), "temporary --end\n"); n != 1 {
				t.Errorf("the folder for temporary files was given back %d times", n)
			}
			if tt.scene != "" {
				return
			}
			packagesOnce(t, string(asked))
			commandsOnce(t, string(asked))
		})
	}
}

// The folder for temporary files of tests goes with the last who uses it, and with nobody before.
func TestTemporaryFolderGoesWithTheLast(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	base := t.TempDir()
	script, folder := filepath.Join(base, "temporary"), filepath.Join(base, "edgegauge-7")
	text := strings.NewReplacer("/dev/shm", base, "$(id -u)", "7", "4000000", "0", "8000000", "0").
		Replace(read(t, ".ci/temporary"))
	writeProgram(t, script, text)
	said := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "bash", append([]string{script}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	is := func(want bool, when string) {
		t.Helper()
		if _, err := os.Stat(folder); (err == nil) != want {
			t.Errorf("%s: the folder is there: %v", when, err == nil)
		}
	}
	mine, other, gone := strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid()), "99999999"
	for _, pid := range []string{gone, mine, other} {
		if got := said(pid); got != folder {
			t.Fatalf("got %q, want %s", got, folder)
		}
	}
	said("--end", mine)
	is(true, "while another uses it")
	said("--end", other)
	is(false, "when nobody does")
	said(mine)
	if err := os.Mkdir(filepath.Join(folder, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	said("--end", mine)
	is(true, "with a file that a test has left")
}

// packagesOnce fails unless go was asked once to test each package that was listed.
func packagesOnce(t *testing.T, asked string) {
	t.Helper()
	count := map[string]int{}
	for _, line := range regexp.MustCompile(`(?m)^test .*-json.*`).FindAllString(asked, -1) {
		for _, p := range regexp.MustCompile(`\be/\S+`).FindAllString(line, -1) {
			count[p]++
		}
	}
	if len(count) != 16 {
		t.Errorf("%d packages were tested of 16", len(count))
	}
	for p, n := range count {
		if n != 1 {
			t.Errorf("%s was tested %d times", p, n)
		}
	}
}

// commandsOnce fails unless each test of the commands is in one piece of the gate, and the scripts in three.
func commandsOnce(t *testing.T, asked string) {
	t.Helper()
	type piece struct{ run, skip *regexp.Regexp }
	var pieces []piece
	for _, line := range regexp.MustCompile(`(?m)^tool test2json .*`).FindAllString(asked, -1) {
		p := piece{regexp.MustCompile(""), regexp.MustCompile("$^")}
		for _, arg := range strings.Fields(line) {
			// What comes behind a slash is about the scripts.
			if pattern, ok := strings.CutPrefix(arg, "-test.run="); ok {
				pattern, _, _ = strings.Cut(pattern, "/")
				p.run = regexp.MustCompile(pattern)
			}
			if pattern, ok := strings.CutPrefix(arg, "-test.skip="); ok && !strings.Contains(pattern, "/") {
				p.skip = regexp.MustCompile(pattern)
			}
		}
		pieces = append(pieces, p)
	}
	tests := 0
	eachFile(t, func(path string, f *ast.File) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(path, "../cmd/edgegauge/") ||
				!strings.HasSuffix(path, "_test.go") || fn.Name.Name == "TestMain" ||
				!regexp.MustCompile("^(Test|Fuzz|Example)([^a-z]|$)").MatchString(fn.Name.Name) {
				continue
			}
			tests++
			in, want := 0, 1
			if fn.Name.Name == "TestScripts" {
				want = 3
			}
			for _, p := range pieces {
				if p.run.MatchString(fn.Name.Name) && !p.skip.MatchString(fn.Name.Name) {
					in++
				}
			}
			if in != want {
				t.Errorf("%s is in %d pieces, want %d", fn.Name.Name, in, want)
			}
		}
	})
	if tests < 100 {
		t.Errorf("found %d tests", tests)
	}
}

// writeProgram writes a program into a folder that may be missing.
func writeProgram(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
