package internal

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// make check shows scripts a bare system (.ci/plain). One that needs another program passes over itself there: it
// failed for everybody, and no gate saw it.
func TestScriptsOfMakeCheckNeedNoOtherProgram(t *testing.T) {
	plain, err := os.ReadFile("../.ci/plain")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := bytes.Cut(plain, []byte("\nfor p in "))
	list, _, _ = bytes.Cut(list, []byte("; do"))
	there := map[string]bool{"edgegauge": true, "git": true}
	for _, p := range strings.Fields(strings.ReplaceAll(string(list), "\\", "")) {
		there[p] = true
	}
	if !there["sh"] || there["prlimit"] {
		t.Fatalf("of .ci/plain: %v", there)
	}
	runs := regexp.MustCompile(`^(?:\[[^\]]+\] )?(?:[!?] )?exec (\S+)`)
	// The rest does not run there, or as root, who has util-linux.
	over := regexp.MustCompile(`^(-- |\[short\] s|\[!root\] skip)`)
	scripts, err := filepath.Glob("../cmd/edgegauge/testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%v, %v", scripts, err)
	}
	for _, path := range scripts {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if over.MatchString(line) {
				break
			}
			m := runs.FindStringSubmatch(line)
			if m != nil && !there[m[1]] && !strings.Contains(m[1], "$") && !strings.Contains(string(b), "[!exec:"+m[1]+"] ") {
				t.Errorf("%s runs %s, which is not in .ci/plain", path, m[1])
			}
		}
	}
}
