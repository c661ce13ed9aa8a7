package internal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the gate calls, in its place: each passes, but for what SCENE says.
var gateCalls = map[string]string{
	"stub/go": `#!/bin/bash
one() { echo '{"Action":"pass","Package":"p","Test":"TestOne"}'; }
case "$SCENE: $*" in
"vet fails: vet"*) exit 1 ;;
"killed: test"*-json*testbed*) one; exit 137 ;;
"nothing run: test"*-json*testbed*) exit 1 ;;
"once: test"*-json*testbed*)
  echo '{"Action":"fail","Package":"p","Test":"TestOne"}'
  echo '{"Action":"fail","Package":"p"}'
  exit 1 ;;
*": test -c"*) mkdir -p .cache/commands && touch .cache/commands/edgegauge.test ;;
*": test"*-json* | *": tool test2json"*) one; echo '{"Action":"pass","Package":"p"}' ;;
*": list"*./...*) printf '%s\n' e/internal/stat e/internal/testbed ;;
*": list"*) echo e/internal/drive ;;
esac
`,
	"stub/git":   "#!/bin/sh\necho a.go\n",
	"stub/gofmt": "#!/bin/sh\n",
	"bin/edgegauge": `#!/bin/bash
case "$*" in
"stacks list"*) echo '{"stacks":[{"name":"a","state":"","serves":[]},{"name":"b/c","state":"","serves":[]}]}' ;;
"stacks check"*) echo "ok   $3 answers" ;;
esac
`,
	".ci/fuzz": `#!/bin/bash
[ "$SCENE" != "no slices" ] || exit 1
[ "$SCENE" != found ] || printf '%s\n' "FAILED, once more: a Fuzz" "fuzz: elapsed: 0s, execs: 3 (0/sec)"
echo "fuzz: 7 passed, 0 failed"
`,
	".ci/plain":                "#!/bin/sh\n",
	".cache/python/bin/python": "#!/bin/sh\n",
}

// The gate fails where a part of it fails, is killed or does nothing, and its last line is counts always.
func TestGateCloses(t *testing.T) {
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
		{"", "18 passed, 0 failed", true}, // 9 of the lanes, 7 slices, 2 checks
		{"once", "17 passed, 0 failed", true},
		{"found", "18 passed, 0 failed", true},
		{"killed", "17 passed, 1 failed", false},
		{"nothing run", "17 passed, 1 failed", false},
		{"no slices", "11 passed, 1 failed", false},
		{"vet fails", "0 passed, 1 failed: the gate did not come to its end", false},
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
			cmd.Env = append(os.Environ(), "SCENE="+tt.scene, "CI=true",
				"PATH="+filepath.Join(dir, "stub")+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; last != tt.last || (err == nil) != tt.passes {
				t.Errorf("%v, %q at last, want %q:\n%s", err, last, tt.last, out)
			}
		})
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
