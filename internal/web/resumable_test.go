package web

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
)

// A page resumes nothing that edgegauge run would refuse to go on with, and offers none: what was begun with benches, a
// copy without raw files, a search for a capacity, and two versions of a stack.
func TestAPageResumesOnlyWhatRunDoes(t *testing.T) {
	l := underWay(t, 2)
	l.shared(1, "rack1")
	ok(t, l.kept.Close())
	plain, _, err := fabricated.Create(filepath.Join(l.dir, "plain/001"), fabricated.Study(2, 2, 20))
	ok(t, err)
	ok(t, plain.Keep(t.Context(), filepath.Join(l.dir, "copy/001")))
	ok(t, plain.Close())
	search, _, err := fabricated.Create(filepath.Join(l.dir, "search/001"), fabricated.Study(2, 2, 20))
	ok(t, err)
	ok(t, search.Close())
	versions, _, err := fabricated.Create(filepath.Join(l.dir, "versions/001"), []byte("study: s\nservice: echo\nn: 5\n"+
		"factors: {stack: [s@base, s]}\nrequests: 5\n"))
	ok(t, err)
	ok(t, versions.Close())
	note := []byte(`{"format": 1, "slo": "failed < 1%"}`)
	ok(t, os.WriteFile(filepath.Join(l.dir, "search/001", searchFile), note, 0o644))
	s, st, _ := controlled(t, l.dir)
	v := visitor{t, s}
	if now := v.ask("GET", "/now/", nil, nil).Body.String(); strings.Count(now, "act resume") != 1 ||
		!strings.Contains(now, `class="act resume" href="../r/`+id(t, s, "plain/001")+`/resume/`) {
		t.Errorf("the page of what runs now leads to %s", now)
	}
	for name, want := range map[string]string{"run/001": "was begun with benches", "copy/001": "a copy without raw files",
		"search/001": "is a search for the capacity", "versions/001": "measures two versions of a stack",
		"plain/001": ""} {
		to := "/r/" + id(t, s, name) + "/resume/"
		if shown := v.ask("GET", strings.TrimSuffix(to, "resume/"), nil, nil).Body.String(); strings.Contains(shown,
			"resume it") != (want == "") {
			t.Errorf("%s: the page of the result says %.3000s", name, shown)
		}
		page := v.ask("GET", to, nil, nil)
		sent := v.ask("POST", to, url.Values{"key": {s.keys.next()}}, nil)
		if want == "" {
			if page.Code != http.StatusOK || sent.Code != http.StatusSeeOther || st.last(t, 1).Out == "" {
				t.Errorf("%s: got %d and %d: %.2000s", name, page.Code, sent.Code, sent.Body)
			}
			continue
		}
		for _, w := range []string{page.Body.String(), sent.Body.String()} {
			if page.Code != http.StatusConflict || sent.Code != http.StatusConflict || !strings.Contains(w, want) {
				t.Errorf("%s: got %d and %d: %.2000s", name, page.Code, sent.Code, w)
			}
		}
	}
}
