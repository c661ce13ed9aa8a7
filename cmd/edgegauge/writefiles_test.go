package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/report"
)

// Of files that cannot be written, as on a full disk, no empty folder is left; one that was there stays, and so does
// what was written.
func TestNoEmptyFolderIsLeft(t *testing.T) {
	full := report.File{Name: "full.svg", Write: func(io.Writer) error { return errors.New("no space left") }}
	fine := report.File{Name: "fine.svg", Write: func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }}
	dir := t.TempDir()
	for _, tt := range []struct {
		words string
		files []report.File
		out   string
		left  string // what must be there
		gone  string // what must not
	}{
		{"a new folder in a new one", []report.File{full}, "new/figures", "", "new"},
		{"one that was there", []report.File{full}, "there", "there", "there/full.svg"},
		{"after one that was written", []report.File{fine, full}, "some", "some/fine.svg", "some/full.svg"},
		{"all were written", []report.File{fine}, "good", "good/fine.svg", ""},
	} {
		if err := os.MkdirAll(filepath.Join(dir, "there"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := writeFiles(io.Discard, tt.files, filepath.Join(dir, filepath.FromSlash(tt.out)))
		if (err == nil) != (tt.words == "all were written") {
			t.Errorf("%s: %v", tt.words, err)
		}
		if tt.left != "" && !exists(filepath.Join(dir, tt.left)) || tt.gone != "" && exists(filepath.Join(dir, tt.gone)) {
			t.Errorf("%s: %s must be there, %s not", tt.words, tt.left, tt.gone)
		}
	}
}
