package report

import (
	"strings"
	"testing"
)

// Of a stack whose program is another one, and of another edgegauge, a repetition says so first, also in JSON.
func TestARepetitionSaysThatTheProgramDiffers(t *testing.T) {
	like := reportOf(t, simulated(t, pies, piesAsPublished))
	again := reportOf(t, simulated(t, pies, piesAsPublished))
	set := func(r *Report, sum, commit, version, own string) {
		x := StackFacts{Version: "1", Commit: commit}
		x.Checksums = map[string]string{"bin/mine": sum, "lib": "77777777aaaa"}
		r.Facts.Stacks = map[string]StackFacts{"mine": x}
		r.Facts.Edgegauge = map[string]string{"version": version, "sha256": own}
	}
	said := func() (text, json string) {
		c, err := Repeat(like, again, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		var a, b strings.Builder
		if err := c.Text(&a); err != nil {
			t.Fatal(err)
		}
		if err := c.JSON(&b); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(a.String()), " "), b.String()
	}
	set(like, "0123456789", "766ef8660355", "v1", "aaaaaaaaaa")
	for _, same := range []string{"766ef8660355", "c12f76af3ba1"} { // the same program, of whatever commit
		set(again, "0123456789", same, "v1", "aaaaaaaaaa")
		if text, json := said(); !strings.HasPrefix(text, "Same study, settings and kind of machine") ||
			!strings.Contains(json, `"setup_differences": []`) {
			t.Errorf("the same program: %.200s\n%s", text, json)
		}
	}
	set(again, "abcdef0123", "c12f76af3ba1", "v2", "bbbbbbbbbb")
	text, json := said()
	const mine = "stack mine: sha256 of bin/mine 01234567… before, abcdef01… now; commit 766ef8660355 before, c12f76af3ba1 now"
	const own = "edgegauge: v1, sha256 aaaaaaaa… before, v2, bbbbbbbb… now"
	want := "! the program differs: " + mine + " ! the program differs: " + own +
		" Otherwise the same study, settings and kind of machine as "
	if !strings.HasPrefix(text, want) {
		t.Errorf("got %.400s\nwant %s", text, want)
	}
	if !strings.Contains(json, mine) || !strings.Contains(json, own) {
		t.Errorf("JSON lacks them:\n%s", json)
	}
	again.Facts.Edgegauge = like.Facts.Edgegauge
	again.Facts.Stacks["mine"] = StackFacts{Version: "2", Checksums: nil} // as of a stack that is no file
	if text, _ = said(); !strings.HasPrefix(text, "! the program differs: stack mine: commit 766ef8660355 before, not set "+
		"now; version 1 before, 2 now Otherwise") {
		t.Errorf("without checksums: %.300s", text)
	}
}
