package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/study"
)

// The pages of findings and their pictures are those that the kept results make, and no others.
func TestFindingsAreMadeOfKeptResults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	kept, err := filepath.Glob("../../findings/*")
	if err != nil || len(kept) == 0 {
		t.Fatalf("no results are kept: %v", err)
	}
	anew := t.TempDir()
	if err := writeFindings(io.Discard, kept, anew); err != nil {
		t.Fatal(err)
	}
	const again = "edgegauge report --findings findings/* --out doc/findings"
	made, err := os.ReadDir(anew)
	if err != nil {
		t.Fatal(err)
	}
	over, err := os.ReadFile(filepath.Join(anew, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range made {
		want, err := os.ReadFile(filepath.Join(anew, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if name, page := strings.CutSuffix(f.Name(), ".md"); page && name != "README" &&
			!strings.Contains(string(over), "From ["+name+"]("+f.Name()+"):") {
			t.Errorf("README.md tells an engineer nothing from %s", f.Name())
		}
		if got, err := os.ReadFile(filepath.Join("../../doc/findings", f.Name())); err != nil || string(got) != string(want) {
			t.Errorf("doc/findings/%s is not what findings/ makes (%v); run: %s", f.Name(), err, again)
		}
	}
	there, err := os.ReadDir("../../doc/findings")
	if err != nil || len(there) != len(made) {
		t.Errorf("doc/findings has %d files, findings/ makes %d (%v); remove the others, and run: %s",
			len(there), len(made), err,
			again)
	}
}

// What pages say to type runs: each paper's study takes the settings of boards like the paper's.
func TestStudiesRunOnThePapersBoards(t *testing.T) {
	boards := 0
	for _, name := range paper.Names() {
		p, err := paper.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.On) == 0 {
			continue
		}
		boards++
		if p.Boards == "" {
			t.Errorf("%s: settings for boards, but no words on them", name)
		}
		a := &app{quiet: true, stackFolders: []string{"../../stacks"}}
		_, plan, _, err := a.readElsewhere(t.Context(), "../../studies/"+name+".yaml", nil, p.On)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.ContainsFunc(plan.Trials, func(x study.Trial) bool {
			return strings.Contains(x.Setup.Client.Device+" "+x.Setup.Server.Device, "ssh://")
		}) {
			t.Errorf("%s: no trial runs on a board", name)
		}
	}
	if boards < 3 {
		t.Errorf("only %d papers have boards", boards)
	}
}

// Kept results are small: the repository carries them for ever.
func TestKeptResultsAreSmall(t *testing.T) {
	var bytes int64
	err := filepath.Walk("../../findings", func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			bytes += info.Size()
		}
		return err
	})
	if err != nil || bytes == 0 || bytes > 20e6 {
		t.Errorf("findings/ holds %d B (%v), want up to 20 MB", bytes, err)
	}
}
