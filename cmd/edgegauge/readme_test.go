package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edgegauge/internal/study"
)

// The studies printed in the README and those in studies/ are ready to run, but
// for stacks that are not built here; the manual's, which name what one might
// have, are well formed.
func TestPrintedStudiesAreGood(t *testing.T) {
	found := 0
	for _, file := range []string{"../../README.md", "../../doc/write-a-study.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(block[1], "study:") || !strings.Contains(block[1], "service:") {
				continue
			}
			found++
			path := filepath.Join(t.TempDir(), "printed.yaml")
			if err := os.WriteFile(path, []byte(block[1]), 0o644); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "README.md") {
				ready(t, file, path)
			} else if _, err := study.Parse(file, []byte(block[1]), study.Vocabulary{}); err != nil {
				t.Error(err)
			}
		}
	}
	studies, _ := filepath.Glob("../../studies/*.yaml")
	for _, s := range studies {
		ready(t, s, s)
	}
	if found < 2 || len(studies) < 3 {
		t.Errorf("found %d printed studies and %d files", found, len(studies))
	}
}

func ready(t *testing.T, name, path string) {
	t.Helper()
	a := &app{stackFolders: []string{"../../stacks"}}
	_, _, err := a.read(context.Background(), path, nil)
	if err == nil {
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.Contains(line, "cannot run here") {
			t.Errorf("%s: %s", name, line)
		}
	}
}
