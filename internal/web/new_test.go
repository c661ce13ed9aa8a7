package web

import (
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
)

// A study like a result's is the one that was measured, with what --set changed; where the text cannot say that, the
// page does.
func TestAStudyLikeAResult(t *testing.T) {
	dir := t.TempDir()
	ok(t, fabricated.Make(filepath.Join(dir, "plain"), 2, 2, 20))
	h := header(t, filepath.Join(dir, "plain"))
	for name, sets := range map[string][]string{"set": {"requests=33", "design.seed=7"}, "hidden": {"requests=[1"}} {
		h.Overrides = sets
		kept, err := store.Create(filepath.Join(dir, name), h)
		ok(t, err)
		ok(t, kept.Close())
	}
	s := served(t, Options{Folders: []string{dir}, Bed: bench(t)})
	to := "/new/?like="
	body := shows(t, s, to+id(t, s, "set"), "requests: 33\n", "replications: 2, seed: 7",
		"--set requests=33 --set design.seed=7")
	if strings.Contains(body, "requests: 20\n") {
		t.Error("the text has the requests of the file")
	}
	shows(t, s, to+id(t, s, "hidden"), "--set requests=[1, which the text does not say")
	if body := shows(t, s, to+id(t, s, "plain"), "requests: 20\n"); strings.Contains(body, "--set") {
		t.Error("the page speaks of what nobody set")
	}
}
