package labbench

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

var update = flag.Bool("update", false, "write the page anew")

// kept are the runs of some files, in the order of their names.
func kept(t *testing.T, pattern string) (runs []Kept) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var k Kept
		if err := json.Unmarshal(b, &k); err != nil || k.Format != 1 || len(k.Parts) == 0 {
			t.Fatalf("%s: %v, format %d, %d parts", f, err, k.Format, len(k.Parts))
		}
		runs = append(runs, k)
	}
	return runs
}

// compare holds what a page has of tables against those that were made, or writes them there.
func compare(t *testing.T, page, name, tables string) {
	t.Helper()
	old, write := kerneltest.Made(t, page, "go test ./internal/bench/labbench -run "+name+" -update")
	made := "\n" + strings.TrimSpace(tables) + "\n\n"
	switch {
	case *update:
		write(made)
	case old != made:
		t.Errorf("%s differs from the kept runs; run this test with -update", page)
	}
}

// The tables of doc/driving-speed.md are those of the runs that are kept beside it: no number in
// them was written by hand.
func TestPageOfDrivingSpeed(t *testing.T) {
	runs := kept(t, "testdata/driving-speed-*.json")
	if len(runs) == 0 {
		t.Fatal("no kept runs")
	}
	var tables strings.Builder
	WritePage(&tables, runs)
	compare(t, "../../../doc/driving-speed.md", "TestPageOfDrivingSpeed", tables.String())
}

// So are those of what the lab itself costs, each part as it was measured last. What edgegauge bench --json prints is
// kept as testdata/lab-N.json.
func TestPagesOfTheLab(t *testing.T) {
	runs := kept(t, "testdata/lab-*.json")
	for page, parts := range map[string][]string{"driving-speed": {"overhead", "store", "report"},
		"how-many-devices": {"population", "streams"}} {
		t.Run(page, func(t *testing.T) {
			var tables strings.Builder
			WritePage(&tables, Latest(runs, parts...))
			if tables.Len() == 0 {
				tables.WriteString("No run is kept yet.")
			}
			compare(t, "../../../doc/"+page+".md", "TestPagesOfTheLab/"+page, tables.String())
		})
	}
}

// Of each part the last run counts, of a piece of one as well.
func TestLatest(t *testing.T) {
	run := func(version string, parts ...string) Kept {
		k := Kept{Version: version}
		for _, p := range parts {
			k.Parts = append(k.Parts, KeptPart{Name: p})
		}
		return k
	}
	runs := []Kept{run("a", "store/10M", "overhead", "wrk"),
		run("b", "store/100M", "population", "overhead"), run("c", "wrk")}
	var got []string
	for _, k := range Latest(runs, "store", "overhead") {
		for _, p := range k.Parts {
			got = append(got, k.Version+" "+p.Name)
		}
	}
	if want := []string{"b store/100M", "b overhead", "a store/10M"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(runs[0].Parts) != 3 {
		t.Error("the runs were changed")
	}
}
