package web

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A study like a result's is the one that was measured, with what --set changed; where the text cannot say that, the
// page does.
func TestAStudyLikeAResult(t *testing.T) {
	dir := t.TempDir()
	ok(t, fabricated.Make(filepath.Join(dir, "plain"), 2, 2, 20))
	h := header(t, filepath.Join(dir, "plain"))
	for name, sets := range map[string][]string{"set": {"requests=33", "design.seed=7"}, "hidden": {"requests=[1"},
		"versions": {"requests=33", "design.precision=off", `factors.stack=["rest-json@base", "rest-json"]`,
			"design.replications=25"}} {
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
	shows(t, s, to+id(t, s, "hidden"), "--set &#39;requests=[1&#39;, which the text does not say")
	body = shows(t, s, to+id(t, s, "versions"), "requests: 33\n", "replications: 2, seed: 1",
		"--set requests=33. A study cannot name the older version of a stack that was measured beside it: ")
	if strings.Contains(body, "@base") {
		t.Error("the text has a stack that no study can name")
	}
	if body := shows(t, s, to+id(t, s, "plain"), "requests: 20\n"); strings.Contains(body, "--set") {
		t.Error("the page speaks of what nobody set")
	}
}

// Whoever types in one form takes no key from others: it keeps its own, and gets another before that ends.
func TestTypingKeepsOtherForms(t *testing.T) {
	s, _, _ := controlled(t, t.TempDir())
	v := visitor{t, s}
	key := v.key("/new/")
	forms := len(s.keys.shown)
	look := func(key string) string {
		w := v.ask("POST", "/new/", url.Values{"key": {key}, "do": {"look"}, "text": {tea}}, nil)
		m := formKeyField.FindStringSubmatch(w.Body.String())
		if m == nil {
			t.Fatalf("%d: %.400s", w.Code, w.Body)
		}
		return m[1]
	}
	for range 3 {
		if got := look(key); got != key {
			t.Errorf("the key is now %s, and was %s", got, key)
		}
	}
	s.keys.shown[len(s.keys.shown)-1].at = time.Now().Add(-formsLast * 2 / 3)
	next := look(key)
	if next == key || len(s.keys.shown) != forms || s.keys.take(key) == nil {
		t.Errorf("an old key became %s: %d forms, of %d", next, len(s.keys.shown), forms)
	}
	ok(t, s.keys.take(next))
	if got := look(next); got == next || s.keys.take(got) != nil {
		t.Errorf("a key that was used became %s", got)
	}
}

// A study is saved beside whatever has a similar name: only what a save of this program left that was cut short goes.
func TestSavingTakesNobodysFile(t *testing.T) {
	s, _, mine := controlled(t, t.TempDir())
	v := visitor{t, s}
	const gone = "tea.yaml.4194305.1-X.partial" // no process has that number
	others := []string{"tea.yaml.partial", "tea.yaml.my-notes.partial", "tea.yaml." + kernel.Owner() + "-Y.partial",
		"green-tea.yaml.4194305.1-X.partial"}
	for _, name := range append(others, gone) {
		ok(t, os.WriteFile(filepath.Join(mine, name), []byte("treasure"), 0o644))
	}
	w := v.ask("POST", "/new/", url.Values{"key": {v.key("/new/")}, "do": {"save"}, "text": {tea}, "file": {"tea.yaml"}},
		nil)
	if saved, err := os.ReadFile(filepath.Join(mine, "tea.yaml")); err != nil || string(saved) != tea {
		t.Fatalf("%d: %v: %.400s", w.Code, err, w.Body)
	}
	for _, name := range others {
		if text, err := os.ReadFile(filepath.Join(mine, name)); err != nil || string(text) != "treasure" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(mine, gone)); err == nil {
		t.Errorf("%s stays", gone)
	}
	if all, err := os.ReadDir(mine); err != nil || len(all) != len(others)+1 {
		t.Errorf("%d files are there, %v", len(all), err)
	}
}

// A page shows the first of very many faults, and says how many there are besides.
func TestManyFaultsAreCounted(t *testing.T) {
	s, _, _ := controlled(t, t.TempDir())
	v := visitor{t, s}
	text := strings.Builder{}
	text.WriteString(tea)
	for i := range study.MostShown + 7 {
		fmt.Fprintf(&text, "unknown%d: 1\n", i)
	}
	body := v.ask("POST", "/new/", url.Values{"key": {v.key("/new/")}, "do": {"look"}, "text": {text.String()}},
		nil).Body.String()
	if n := strings.Count(body, `unknown key`); n != study.MostShown || !strings.Contains(body, "<li>and 7 more</li>") {
		t.Errorf("%d faults are shown; what else there is: %t", n, strings.Contains(body, "more</li>"))
	}
}
