package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Maven takes the newest plugin where none is named with its version: stacks would be built
// by another program each year.
func TestMavenPluginsArePinned(t *testing.T) {
	plugin := regexp.MustCompile(`org\.apache\.maven\.plugins:[a-z-]+\S*`)
	pinned := regexp.MustCompile(`^org\.apache\.maven\.plugins:[a-z-]+:[0-9]+(\.[0-9]+)+$`)
	used := 0
	builds, err := filepath.Glob("../stacks/*/*.sh")
	if err != nil || len(builds) == 0 {
		t.Fatalf("%v, %v", builds, err)
	}
	for _, path := range append(builds, "../.ci/jars") {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range plugin.FindAllString(string(b), -1) {
			if used++; !pinned.MatchString(name) {
				t.Errorf("%s: %s names no version", path, name)
			}
		}
		for line := range strings.Lines(string(b)) {
			if goal := regexp.MustCompile(`\bmvn -`).MatchString(line); goal && !strings.Contains(line, " $plugin:") {
				t.Errorf("%s: %q runs a plugin that is not $plugin", path, strings.TrimSpace(line))
			}
		}
	}
	if used == 0 {
		t.Error("no plugin of Maven is named")
	}
	poms, err := filepath.Glob("../stacks/*/pom.xml")
	if err != nil || len(poms) == 0 {
		t.Fatalf("%v, %v", poms, err)
	}
	for _, path := range poms {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(b), "<plugin>")[1:] {
			if own, _, _ := strings.Cut(part, "</plugin>"); !strings.Contains(own, "<version>") {
				t.Errorf("%s: a plugin has no version", path)
			}
		}
	}
}
