package web

import (
	"fmt"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/report/pagetest"
)

// press presses a key and lets it go.
func (r reader) press(key string) {
	r.Helper()
	k := map[string]struct {
		code int // Windows' virtual key
		text string
	}{"Tab": {9, ""}, "Enter": {13, "\r"}, " ": {32, " "}, "Backspace": {8, ""}, "End": {35, ""}, "Home": {36, ""},
		"ArrowLeft": {37, ""}, "ArrowUp": {38, ""}, "ArrowRight": {39, ""}, "ArrowDown": {40, ""}, "Escape": {27, ""}}[key]
	code := key
	if key == " " {
		code = "Space"
	}
	down := map[string]any{"type": "rawKeyDown", "key": key, "code": code, "windowsVirtualKeyCode": k.code}
	if k.text != "" {
		down["type"], down["text"] = "keyDown", k.text
	}
	r.b.Must(r.T, nil, "Input.dispatchKeyEvent", down)
	r.b.Must(r.T, nil, "Input.dispatchKeyEvent",
		map[string]any{"type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": k.code})
}

// focus is what has the keyboard, and what is wrong with how it looks.
type focus struct {
	There     bool   // it is what was looked for
	Stop      string // the number that a test gave it; empty: none
	What, Ill string
}

// focused asks for it. An element that has the keyboard is within the window, is not covered, and has an outline.
func (r reader) focused(selector string) (f focus) {
	r.Helper()
	r.b.Eval(r.T, &f, fmt.Sprintf(`((e, want) => {
		const what = e.outerHTML.slice(0, 150);
		if (e === document.body || e === document.documentElement) return {there: false, stop: "", what, ill: ""};
		const box = e.getClientRects()[0], style = getComputedStyle(e), ill = [];
		const lined = (s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none";
		if (!lined(style)) ill.push("has no outline");
		if (!box || !box.width || !box.height) ill.push("has no size");
		else {
			const x = Math.max(box.x, 0) + Math.min(box.width, innerWidth) / 2, y = Math.max(box.y, 0) + Math.min(box.height, 20) / 2;
			const top = document.elementFromPoint(x, y);
			if (box.bottom < 0 || box.top > innerHeight) ill.push("is out of the window");
			else if (top && !e.contains(top) && !top.contains(e)) ill.push("is under " + top.outerHTML.slice(0, 100));
		}
		return {there: e === want, stop: e.dataset.stop || "other", what, ill: ill.join(", ")};
	})(document.activeElement, document.querySelector(%q))`, selector))
	return f
}

// tabTo moves the keyboard to an element by Tab alone.
func (r reader) tabTo(selector string) {
	r.Helper()
	if r.count(selector) == 0 {
		r.Fatalf("there is no %s", selector)
	}
	if r.focused(selector).There {
		return
	}
	const most = 500
	for range most {
		r.press("Tab")
		f := r.focused(selector)
		if f.Ill != "" {
			r.Errorf("on the way to %s: %s %s", selector, f.What, f.Ill)
		}
		if f.There {
			return
		}
	}
	r.Fatalf("Tab does not lead to %s in %d steps", selector, most)
}

// write puts a text in place of a field's.
func (r reader) write(selector, text string) {
	r.Helper()
	if !r.look.keys {
		r.b.Eval(r.T, nil, fmt.Sprintf(`{const x = document.querySelector(%q); x.value = %q; `+
			`for (const kind of ["input", "change"]) x.dispatchEvent(new Event(kind, {bubbles: true}))}`, selector, text))
		return
	}
	r.tabTo(selector)
	r.b.Must(r.T, nil, "Input.dispatchKeyEvent", map[string]any{"type": "rawKeyDown", "key": "a", "code": "KeyA",
		"windowsVirtualKeyCode": 65, "modifiers": 2, "commands": []string{"selectAll"}})
	r.b.Must(r.T, nil, "Input.dispatchKeyEvent",
		map[string]any{"type": "keyUp", "key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65})
	r.press("Backspace")
	if text != "" {
		r.b.Must(r.T, nil, "Input.insertText", map[string]any{"text": text})
	}
	if r.b.Text(r.T, `document.activeElement.tagName`) == "INPUT" { // which is changed when it is left
		r.press("Tab")
	}
}

// choose chooses an option of a list.
func (r reader) choose(selector, value string) {
	r.Helper()
	chosen := func() bool { return r.b.Text(r.T, fmt.Sprintf(`document.querySelector(%q).value`, selector)) == value }
	if !r.look.keys {
		r.b.Eval(r.T, nil, fmt.Sprintf(`document.querySelector(%q).value = %q`, selector, value))
	} else {
		r.tabTo(selector)
		for range 50 {
			if chosen() {
				break
			}
			r.press("ArrowDown")
		}
	}
	if !chosen() {
		r.Fatalf("%s cannot be made %s", selector, value)
	}
}

// On every kind of page Tab leads to all that can be used, shows where it is, holds nobody, and comes round; the plan
// of a running study is one stop, along which arrows lead, and what is renewed keeps the keyboard's place.
func TestKeyboardReachesEverything(t *testing.T) {
	pagetest.Need(t)
	dir := house(t)
	gates(t, filepath.Join(dir, "gate"))
	l := underWay(t, 6)
	l.conduct(2)
	s, _, _ := controlled(t, dir, l.dir)
	r := browserOf(t, s)
	r.as(look{"light", 1100, true})
	result, run := "r/"+id(t, s, "wired/001")+"/", "r/"+id(t, s, "run/001")+"/"
	r.open("?token=" + token)
	for name, to := range map[string]string{"all": "", "now": "now/", "result": result, "trial": result + "t/1/",
		"exchange": result + "t/1/x/7/", "choose": "compare/", "history": "history/?study=gate",
		"new":     "new/?from=quickstart",
		"compare": "compare/?all=1&r=" + id(t, s, "alpha/001") + "&r=" + id(t, s, "alpha/002"), "stop": run + "stop/"} {
		r.open(to)
		if name == "now" { // whose parts stay as they are from here on
			r.await("#link", "Live")
			r.await("#live .live", "busy CPUs")
			r.b.Eval(t, nil, `dispatchEvent(new Event("pagehide"))`)
		}
		// What a browser stops at: not what is hidden, closed or switched off; of a group of radio buttons one.
		var want int
		r.b.Eval(t, &want, `[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter((e) =>
			!e.disabled && e.tabIndex >= 0 && e.type !== "hidden" && e.checkVisibility({visibilityProperty: true}) &&
			(e.type !== "radio" || e.checked)).map((e, i) => e.dataset.stop = i).length`)
		seen, last, times := map[string]bool{}, "", 0
		for range 5*want + 20 {
			r.press("Tab")
			f := r.focused("body")
			if f.Ill != "" {
				t.Errorf("%s: %s %s", name, f.What, f.Ill)
			}
			if times++; f.Stop+f.What != last {
				times, last = 0, f.Stop+f.What
			}
			if times > 3 && f.Stop != "" { // a date has a stop for each of day, month, year and calendar
				t.Errorf("%s: Tab does not leave %s", name, f.What)
			}
			if seen[f.Stop] = true; f.Stop == "" && len(seen) > want {
				break
			}
		}
		for i := range want {
			if !seen[fmt.Sprint(i)] {
				t.Errorf("%s: Tab does not lead to %s", name,
					r.b.Text(t, fmt.Sprintf(`document.querySelector("[data-stop='%d']").outerHTML.slice(0, 200)`, i)))
			}
		}
		if want < 5 {
			t.Errorf("%s: only %d can be used", name, want)
		}
	}

	r.open("now/")
	r.await("#live", "2 of 12")
	r.tabTo(".strip a")
	at := func() string {
		return r.b.Text(t, `[...document.querySelectorAll(".strip a")].indexOf(document.activeElement)`)
	}
	for _, step := range [][2]string{{"ArrowRight", "1"}, {"ArrowRight", "2"}, {"ArrowLeft", "1"},
		{"End", "11"}, {"ArrowRight", "11"},
		{"Home", "0"}, {"ArrowLeft", "0"}, {"ArrowRight", "1"}, {"ArrowRight", "2"}} {
		r.press(step[0])
		if got := at(); got != step[1] {
			t.Errorf("%s leads to mark %s, want %s", step[0], got, step[1])
		}
	}
	l.conduct(1) // whose mark is made anew
	r.await("#live", "3 of 12")
	if got := at(); got != "2" {
		t.Errorf("the keyboard was at mark 2, which was renewed, and is at %s", got)
	}
	r.b.Clean(t, r.url)
}

// Every page has the parts by which those who hear it find their way: a language, a title of its own, one main part and
// one heading of the first rank, no rank left out, named regions, and figures whose picture has a text.
func TestPagesCanBeHeard(t *testing.T) {
	pagetest.Need(t)
	dir := house(t)
	gates(t, filepath.Join(dir, "gate"))
	l := underWay(t, 6)
	l.conduct(2)
	s, _, _ := controlled(t, dir, l.dir)
	r := browserOf(t, s)
	r.open("?token=" + token)
	result, run := "r/"+id(t, s, "wired/001")+"/", "r/"+id(t, s, "run/001")+"/"
	titles := map[string]string{}
	for name, to := range map[string]string{"all": "", "now": "now/", "result": result, "trial": result + "t/1/",
		"exchange": result + "t/1/x/7/", "choose": "compare/", "history": "history/?study=gate",
		"new":     "new/?from=quickstart",
		"compare": "compare/?all=1&r=" + id(t, s, "alpha/001") + "&r=" + id(t, s, "alpha/002"), "stop": run + "stop/",
		"none": "r/x/"} {
		r.open(to)
		var x struct {
			Lang, Title        string
			Mains, Firsts, Svg int
			Faults             []string
		}
		r.b.Eval(t, &x, `(() => {
			const q = (s) => [...document.querySelectorAll(s)].filter((e) => e.checkVisibility()), faults = [];
			let rank = 0;
			for (const h of q("h1,h2,h3,h4,h5,h6")) {
				const now = Number(h.tagName[1]);
				if (now > rank + 1) faults.push("rank " + now + " below " + rank + ": " + h.textContent);
				rank = now;
			}
			for (const e of q("nav, section[tabindex], [role=region], form.look-for"))
				if (!e.ariaLabel && !e.getAttribute("aria-labelledby")) faults.push("no name: " + e.outerHTML.slice(0, 100));
			for (const e of q("svg").filter((e) => !e.parentElement.closest("svg"))) {
				const named = e.closest("[aria-hidden=true]") || e.ariaLabel || e.getAttribute("aria-labelledby") || e.querySelector(":scope > title") ||
					e.closest("figure, [role=img]")?.querySelector("figcaption");
				if (!named) faults.push("no text: " + e.outerHTML.slice(0, 100));
			}
			return {lang: document.documentElement.lang, title: document.title, mains: q("main").length, firsts: q("h1").length,
				svg: q("svg").length, faults};
		})()`)
		if x.Lang != "en" || x.Mains != 1 || x.Firsts != 1 {
			t.Errorf("%s: language %q, %d main parts, %d headings of the first rank", name, x.Lang, x.Mains, x.Firsts)
		}
		for _, f := range x.Faults {
			t.Errorf("%s: %s", name, f)
		}
		if other := titles[x.Title]; other != "" {
			t.Errorf("%s and %s are both called %s", name, other, x.Title)
		}
		titles[x.Title] = name
		if name == "now" && r.count("[aria-live=polite]") != 1 {
			t.Error("the live page has no region that is read out")
		}
	}
}
