package web

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
)

// A page resumes nothing that edgegauge run would refuse to go on with: what was begun with benches, and a copy
// without raw files.
func TestAPageResumesOnlyWhatRunDoes(t *testing.T) {
	l := underWay(t, 2)
	l.shared(1, "rack1")
	ok(t, l.kept.Close())
	plain, _, err := fabricated.Create(filepath.Join(l.dir, "plain/001"), fabricated.Study(2, 2, 20))
	ok(t, err)
	ok(t, plain.Keep(filepath.Join(l.dir, "copy/001")))
	ok(t, plain.Close())
	s, st, _ := controlled(t, l.dir)
	v := visitor{t, s}
	for name, want := range map[string]string{"run/001": "was begun with benches", "copy/001": "a copy without raw files",
		"plain/001": ""} {
		to := "/r/" + id(t, s, name) + "/resume/"
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
