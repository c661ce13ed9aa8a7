package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notOurs are words in messages that the kernel or another program says, and how the source has what it puts together.
var notOurs = map[string]string{
	"Permission denied": "", "No space left on device": "", "no space left on device": "", "operation not permitted": "",
	"invalid argument": "", "Initramfs unpacking failed": "",
	"qemu-system-arm is missing": "is missing; run: apt-get install qemu-system-arm", "QEMU exited with": "QEMU exited",
}

// Messages that documents explain are messages of the program: who looks for one there finds it.
func TestMessagesThatDocumentsExplainAreSaid(t *testing.T) {
	source := goSource(t)
	table := regexp.MustCompile(`(?m)^\| (?:it says|message) \|.*\n\|---.*\n((?:\|.*\n)+)`)
	said := regexp.MustCompile("`([^`]+)`")
	between := regexp.MustCompile(`…|: |:$|; |/\S+|[0-9][0-9.]*`)
	pages, _ := filepath.Glob("../doc/*.md")
	found := 0
	for _, page := range pages {
		for _, rows := range table.FindAllStringSubmatch(read(t, strings.TrimPrefix(page, "../")), -1) {
			for row := range strings.Lines(rows[1]) {
				for _, m := range said.FindAllStringSubmatch(strings.Split(row, " | ")[0], -1) {
					for _, piece := range between.Split(m[1], -1) {
						piece = strings.TrimSpace(piece)
						if as, other := notOurs[piece]; other {
							piece = as
						}
						if len(piece) < len("is not") {
							continue
						}
						if found++; !strings.Contains(source, piece) {
							t.Errorf("%s: nothing says %q of `%s`", page, piece, m[1])
						}
					}
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d pieces of messages", found)
	}
}

// goSource is the text of all Go files but tests, with strings that are joined by + as one.
func goSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, top := range []string{"../cmd", "../internal"} {
		err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(all.String(), "")
}
