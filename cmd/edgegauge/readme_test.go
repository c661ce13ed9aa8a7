package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The studies printed in the README and in doc/, and those in studies/, are ready
// to run, but for what is not built or not allowed here.
func TestPrintedStudiesAreGood(t *testing.T) {
	found := 0
	for _, b := range documents(t) {
		if !b.isStudy() {
			continue
		}
		found++
		path := filepath.Join(t.TempDir(), "printed.yaml")
		if err := os.WriteFile(path, []byte(b.text), 0o644); err != nil {
			t.Fatal(err)
		}
		ready(t, b.String(), path)
	}
	studies, _ := filepath.Glob("../../studies/*.yaml")
	for _, s := range studies {
		ready(t, s, s)
	}
	if found < 8 || len(studies) < 3 {
		t.Errorf("found %d printed studies and %d files", found, len(studies))
	}
}

func ready(t *testing.T, name, path string) {
	t.Helper()
	own := t.TempDir() // the stack that documents make
	if _, err := writeSkeleton(filepath.Join(own, "mine"), "mine", "python"); err != nil {
		t.Fatal(err)
	}
	a := &app{stackFolders: []string{"../../stacks", own}}
	_, _, _, err := a.read(context.Background(), path, nil, nil)
	if err == nil {
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.Contains(line, "cannot run here") {
			t.Errorf("%s: %s", name, line)
		}
	}
}
