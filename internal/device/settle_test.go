package device

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An agent takes no folder that holds anything: it would remove it.
func TestAgentRemovesNothingOfOthers(t *testing.T) {
	parent := t.TempDir()
	dir := func(name string, files ...string) string {
		path := filepath.Join(parent, name)
		os.Mkdir(path, 0o755)
		for _, f := range files {
			os.WriteFile(filepath.Join(path, f), []byte("precious"), 0o644)
		}
		return path
	}
	link := filepath.Join(parent, "link")
	os.Symlink(dir("named", "thesis"), link)
	for _, refused := range []string{dir("home", "thesis"), dir("bin", AgentFile), dir(AgentPrefix+"home", "thesis"),
		dir("locked", lockFile), link} {
		before := listed(t, parent)
		var a agent
		if _, err := a.settle(refused); err == nil {
			t.Errorf("%s was taken", refused)
		} else if refused != link && !strings.Contains(err.Error(), "name a new folder") {
			t.Errorf("%s: %v", refused, err)
		}
		if after := listed(t, parent); !slices.Equal(before, after) {
			t.Errorf("%s: there is %q, there was %q", refused, after, before)
		}
	}
	for _, taken := range []string{dir("empty"), filepath.Join(parent, "new"), dir(AgentPrefix+"1", AgentFile),
		dir(AgentPrefix+"2", AgentFile, lockFile)} {
		var a agent
		release, err := a.settle(taken)
		if err != nil {
			t.Errorf("%s: %v", taken, err)
			continue
		}
		release()
	}
}
