package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startsChildren are the files that start processes by themselves, and what ends the wait for each. All others run
// commands by kernel.Run, kernel.Output or kernel.CombinedOutput: what a command starts may hold its output open for
// ever, and outlive the lab.
var startsChildren = map[string]string{
	"cmd/edgegauge/share.go":               "hub and workers have a time to end, then they are killed (child.stop)",
	"cmd/edgegauge/web.go":                 "the page of a run has ten seconds to end, then it is killed (endOf)",
	"cmd/edgegauge/webcontrol.go":          "the page likewise; studies it began go on without it, as they are to",
	"internal/device/local.go":             "a supervisor has a time for its first word and for its end, then it is killed",
	"internal/drive/exec.go":               "a driver ends with its context, when a signal has stopped it or its job is overdue, and has two seconds for it",
	"internal/instrument/execline.go":      "a meter has some seconds to end, then its group is killed and no more waited for",
	"internal/link/line.go":                "a link has a time to answer and a second to end, then it is killed",
	"internal/link/rootless.go":            "it is this program once more, which two signals end",
	"internal/report/chromium/chromium.go": "for tests and pictures of pages; nothing of a lab",
}

var (
	starting = regexp.MustCompile(`exec\.Command(Context)?\(`)
	plainly  = regexp.MustCompile(`\.(Combined)?Output\(\)`)
	bounded  = regexp.MustCompile(`kernel\.(Run|Output|CombinedOutput)\(`)
)

// Nobody waits for a command as long as it likes.
func TestCommandsAreBounded(t *testing.T) {
	seen := map[string]bool{}
	for _, room := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../")
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
				strings.HasPrefix(name, "internal/bench/") || strings.HasPrefix(name, "internal/kernel/") ||
				strings.HasSuffix(filepath.Dir(name), "test") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			starts := len(starting.FindAll(text, -1))
			if plainly.Match(text) || starts > len(bounded.FindAll(text, -1)) && startsChildren[name] == "" {
				t.Errorf("%s waits for a command as long as what that has started; use kernel.Run, kernel.Output or "+
					"kernel.CombinedOutput, or say here what ends the wait", name)
			}
			seen[name] = starts > 0
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range startsChildren {
		if !seen[name] {
			t.Errorf("%s starts nothing any more: take it from this list", name)
		}
	}
}
