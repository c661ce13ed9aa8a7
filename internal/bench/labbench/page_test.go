package labbench

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page anew")

// The tables of doc/driving-speed.md are those of the runs that are kept beside it: no number in
// them was written by hand.
func TestPageOfDrivingSpeed(t *testing.T) {
	const page = "../../../doc/driving-speed.md"
	files, err := filepath.Glob("testdata/driving-speed-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kept runs: %v", err)
	}
	slices.Sort(files)
	var runs []Kept
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
	var tables strings.Builder
	WritePage(&tables, runs)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- made by: go test ./internal/bench/labbench -run TestPageOfDrivingSpeed -update -->\n",
		"<!-- end -->\n"
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has no place for the tables")
	}
	made := "\n" + strings.TrimSpace(tables.String()) + "\n\n"
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+made+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != made {
		t.Errorf("%s differs from the kept runs; run this test with -update", page)
	}
}
