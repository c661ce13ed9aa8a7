package main

import (
	"os"
	"path/filepath"
	"regexp"
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
	bed, plan, _, err := a.read(t.Context(), path, nil, nil)
	if err == nil && os.Geteuid() == 0 { // who may make links and capture packets
		if found := bed.Obstacles(t.Context(), plan); found != nil {
			err = found
		}
	}
	if err == nil {
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !elsewhere.MatchString(line) {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// elsewhere is what only this machine lacks: a stack or an emulated machine that is not built, a service, a secret.
var elsewhere = regexp.MustCompile("cannot run here|is not built; run: edgegauge devices build|nothing listens at|" +
	"the environment variable TOKEN is not set")
