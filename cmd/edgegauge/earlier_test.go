package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/store"
)

// figureColumns are the columns of a summary whose meaning never changes: what was counted and measured. Intervals and
// warnings are the judgement of the version that reads.
var figureColumns = []string{"unit", "trials", "mean", "sd", "median", "p95", "method", "request_min", "request_sd"}

// Results that an earlier version kept, one directory of each study that comes with the program, say today what they
// said
// then: the summary.csv in each was written by the version that measured (commit 6615402, results format 1).
func TestEarlierResultsSayTheSame(t *testing.T) {
	archives, err := filepath.Glob("testdata/results/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no earlier results: %v", err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			unpack(t, archive, dir)
			kept, err := store.OpenReadOnly(dir)
			if err != nil {
				t.Fatal(err)
			}
			if bad := errors.Join(append(kept.Verify(), kept.Close())...); bad != nil {
				t.Errorf("it is whole, and said to be damaged: %v", bad)
			}
			then := figuresOf(t, filepath.Join(dir, "summary.csv"))
			now := filepath.Join(t.TempDir(), "now.csv")
			edgegauge(t, "report", dir, "--format", "csv", "--out", now)
			got := figuresOf(t, now)
			for row, want := range then {
				for i, w := range want {
					if !sameFigure(got[row][i], w) {
						t.Errorf("%s, %s: got %q, then %q", row, figureColumns[i], got[row][i], w)
					}
				}
			}
			if len(then) < 4 {
				t.Errorf("%d rows compared", len(then))
			}
		})
	}
}

// sameFigure: equal but for the last digits, which depend on the order of adding up.
func sameFigure(got, want string) bool {
	if got == want {
		return true
	}
	g, err := strconv.ParseFloat(got, 64)
	w, err2 := strconv.ParseFloat(want, 64)
	return err == nil && err2 == nil && math.Abs(g-w) <= 1e-12*math.Abs(w)
}

// figuresOf reads a summary: for each treatment, side and response its figures.
func figuresOf(t *testing.T, file string) map[string][9]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	key := slices.Index(rows[0], "response") + 1
	out := map[string][9]string{}
	for _, row := range rows[1:] {
		var figures [9]string
		for i, name := range figureColumns {
			figures[i] = row[slices.Index(rows[0], name)]
		}
		out[strings.Join(row[:key], " ")] = figures
	}
	return out
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
