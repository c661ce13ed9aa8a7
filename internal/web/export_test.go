package web

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/report"
)

// The folder has the pages of the server, every link of it leads to a file of it, and
// nothing in it needs a server.
func TestExport(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	dir, to := house(t), filepath.Join(t.TempDir(), "page")
	given := Options{Folders: []string{filepath.Join(dir, "alpha"), filepath.Join(dir, "wired/001")}, Token: "x"}
	// three results of 12, 12 and 3 trials, each trial with its slowest requests
	wholeExport(t, given, to, ExportTrials, 2+3+27+27*mostPicks, 0)
	wholeExport(t, given, filepath.Join(t.TempDir(), "few"), 2, 2+3+6+6*mostPicks, 21)
	s := served(t, Options{Folders: []string{dir}})
	result := "r/" + id(t, s, "wired/001") + "/"
	kept, err := os.ReadFile(filepath.Join(to, result, "index.html"))
	ok(t, err)
	_, parts, _ := strings.Cut(shows(t, s, "/"+result), "<header>")
	if !strings.Contains(string(kept), parts) {
		t.Error("the report is another than the server's")
	}
	if _, _, err := Export(t.Context(), Options{Folders: []string{dir}}, to, 1); err == nil ||
		!strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a folder that is full: %v", err)
	}
	none := Options{Folders: []string{t.TempDir()}}
	if _, _, err := Export(t.Context(), none, filepath.Join(t.TempDir(), "x"), 1); err == nil {
		t.Error("of no results")
	}
}

// An export that is stopped writes no further page, and says what is left of it.
func TestExportStops(t *testing.T) {
	dir, to := house(t), filepath.Join(t.TempDir(), "page")
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Folders: []string{filepath.Join(dir, "alpha")}}
	o.Finish = func(string, *report.Report) { cancel() } // in the middle: at the page of the first report
	_, _, err := Export(ctx, o, to, ExportTrials)
	var wrote int
	ok(t, filepath.WalkDir(to, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			wrote++
		}
		return err
	}))
	want := fmt.Sprintf("stopped after %d files; remove %s before you export again", wrote, to)
	if err == nil || err.Error() != want || wrote < 2 || wrote > 10 {
		t.Errorf("got %v after %d files, want %q", err, wrote, want)
	}
}

// wholeExport exports, and finds that each link leads to a file.
func wholeExport(t *testing.T, given Options, to string, trials, wantPages, wantWithout int) {
	t.Helper()
	n, without, err := Export(t.Context(), given, to, trials)
	ok(t, err)
	files, pages := 0, 0
	links := regexp.MustCompile(`(?:href|src|action)="([^"#]*)[^"]*"`)
	ok(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if filepath.Ext(path) != ".html" {
			return nil
		}
		pages++
		b, err := os.ReadFile(path)
		for _, m := range links.FindAllStringSubmatch(string(b), -1) {
			if m[1] == "" {
				continue
			}
			if st, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil || st.IsDir() {
				t.Errorf("%s leads to %s: %v", path, m[1], err)
			}
		}
		if strings.Contains(string(b), "<form") && !strings.Contains(string(b), "compared") {
			t.Errorf("%s has a form", path)
		}
		return err
	}))
	if files != n || pages != wantPages || without != wantWithout {
		t.Errorf("%d files, %d were said, %d pages, want %d; %d trials without, want %d", files, n, pages, wantPages, without,
			wantWithout)
	}
}

// What a stranger's program left beside its log becomes no page of an export, and leads it nowhere.
func TestExportMakesNoPagesOfStrangers(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "page")
	wired(t, filepath.Join(dir, "wired/001"))
	const evil = `<script>alert(1)</script><a href="../../../../../../../../x/">`
	for _, name := range []string{"page.html", "page.svg", "page"} {
		ok(t, os.WriteFile(filepath.Join(dir, "wired/001/trials/0001", name), []byte(evil), 0o644))
	}
	_, _, err := Export(t.Context(), Options{Folders: []string{dir}}, to, ExportTrials)
	ok(t, err)
	logs := 0
	ok(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), evil) {
			t.Errorf("%s is the stranger's", path)
		}
		if d.Name() == "serve.log" {
			logs++
		}
		return err
	}))
	if logs != 3 {
		t.Errorf("%d logs are exported, want 3", logs)
	}
}
