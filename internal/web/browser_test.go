package web

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/report/pagetest"
)

// A reader is a person at a browser.
type reader struct {
	*testing.T
	b    *pagetest.Browser
	url  string
	look look
}

func (r reader) open(to string) { r.b.Open(r.T, r.url+to) }

// A look is a window as a person has it.
type look struct {
	scheme string
	width  int
	keys   bool // there is a keyboard and no pointer
}

// looks have between them both schemes, a screen and a phone.
var looks = []look{{"light", 1100, false}, {"dark", 360, false}}

func (r reader) as(l look) {
	r.Helper()
	r.Logf("%s, %d px", l.scheme, l.width)
	r.b.Scheme(r.T, l.scheme)
	r.b.Size(r.T, l.width, 900)
}

// click clicks what a person can: an element that is within the window, under nothing.
func (r reader) click(selector string) {
	r.Helper()
	if r.look.keys {
		r.tabTo(selector)
		key := "Enter"
		if r.b.Text(r.T, `document.activeElement.type`) == "checkbox" {
			key = " "
		}
		r.press(key)
		return
	}
	under := r.b.Text(r.T, fmt.Sprintf(`((e) => {
		e.scrollIntoView({block: "center", inline: "center"});
		const b = e.getClientRects()[0];
		if (!b) return "nowhere";
		const top = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2);
		return e.contains(top) ? "" : "under " + (top ? top.outerHTML.slice(0, 200) : "the window's edge");
	})(document.querySelector(%q))`, selector))
	if under != "" {
		r.Errorf("%s cannot be clicked: it is %s", selector, under)
	}
	r.b.Eval(r.T, nil, fmt.Sprintf(`document.querySelector(%q).click()`, selector))
}

// follow clicks a link and waits until its page is there.
func (r reader) follow(selector string) {
	r.Helper()
	to := r.b.Text(r.T, fmt.Sprintf(`document.querySelector(%q).href`, selector))
	loads := len(r.b.Happened("Page.loadEventFired"))
	r.click(selector)
	r.loaded(loads)
	if got := r.b.Text(r.T, "location.href"); got != to {
		r.Errorf("%s led to %s, want %s", selector, got, to)
	}
}

// send submits the form that a button is in.
func (r reader) send(button string) {
	r.Helper()
	loads := len(r.b.Happened("Page.loadEventFired"))
	r.click(button)
	r.loaded(loads)
}

func (r reader) loaded(before int) {
	r.Helper()
	r.b.Await(r.T, func() bool { return len(r.b.Happened("Page.loadEventFired")) > before }, "the next page")
}

// text is "" while the page has no such element.
func (r reader) text(selector string) string {
	return r.b.Text(r.T, fmt.Sprintf(`document.querySelector(%q)?.textContent ?? ""`, selector))
}

func (r reader) count(selector string) int {
	var n int
	r.b.Eval(r.T, &n, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
	return n
}

func (r reader) says(selector, want string) {
	r.Helper()
	if got := r.text(selector); !strings.Contains(got, want) {
		r.Errorf("%s says %.300q, want %q", selector, got, want)
	}
}

// atBrowser serves folders to a browser.
func atBrowser(t *testing.T, folders ...string) (reader, *Server) {
	t.Helper()
	s := served(t, Options{Folders: folders, Version: "test"})
	return browserOf(t, s), s
}

// browserOf opens a browser for a server.
func browserOf(t *testing.T, s *Server) reader {
	t.Helper()
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.hub.end()
		h.Close()
	})
	return reader{T: t, b: pagetest.Start(t), url: h.URL + "/"}
}

// Everyone can read the pages, in both colour schemes and on a phone.
func TestPagesAreAccessible(t *testing.T) {
	pagetest.Need(t)
	dir := house(t)
	gates(t, filepath.Join(dir, "gate"))
	confirmGate(t, filepath.Join(dir, "gate"))
	r, s := atBrowser(t, dir)
	result := "r/" + id(t, s, "wired/001") + "/"
	pages := map[string]string{"all": "", "filtered": "?q=nothing", "now": "now/", "result": result,
		"trial":    result + "t/1/",
		"exchange": result + "t/1/x/7/", "choose": "compare/",
		"history": "history/?study=gate&base=" + id(t, s, "gate/001"), "histories": "history/",
		"compare": "compare/?all=1&r=" + id(t, s, "alpha/001") + "&r=" + id(t, s, "alpha/002")}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1100, 360} {
			r.b.Scheme(t, scheme)
			r.b.Size(t, width, 800)
			for name, to := range pages {
				r.open(to)
				r.b.Eval(t, nil, `for (const d of document.querySelectorAll("details")) d.open = true`)
				what := fmt.Sprintf("%s-%s-%d", name, scheme, width)
				r.b.Accessible(t, what, width)
				r.b.Shoot(t, what, true)
			}
		}
	}
	r.b.Clean(t, r.url)
}

// A page that watches follows the run, says when the server is gone, heals when it is
// back, and neither grows nor listens while it is hidden.
func TestWatchInBrowser(t *testing.T) {
	pagetest.Need(t)
	l := underWay(t, 20)
	s := served(t, Options{Folders: []string{l.dir}, Version: "test"})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	address := listener.Addr().String()
	h := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.Handler()}}
	h.Start()
	r := reader{T: t, b: pagetest.Start(t), url: "http://" + address + "/"}
	r.b.Size(t, 1100, 900)
	r.open("now/")
	state := func() string { return r.b.Text(t, `document.getElementById("link").dataset.state`) }
	shown := func(what string) {
		t.Helper()
		r.b.Await(t, func() bool { return strings.Contains(r.text("#live"), what) }, what)
	}
	shown("0 of 40")
	l.conduct(5)
	l.fail("the rain")
	shown("5 of 40")
	shown("the rain")
	shown("busy CPUs") // known a second after the page began to watch
	nodes := r.count("*")
	for range 8 {
		l.conduct(1)
	}
	shown("13 of 40")
	if got := r.count("*"); got != nodes { // the figure has a point and a title more for each trial
		added := r.count("#live .fig-pt") - 5
		if got != nodes+2*added {
			t.Errorf("the page had %d elements and has %d after 8 trials", nodes, got)
		}
	}
	n, err := kernel.NewNotice(NoticeName)
	ok(t, err)
	defer n.Close()
	text, err := json.Marshal(LabNotice{Step: "measure",
		Devices: &population.State{Devices: 10_000, Down: 12, Requests: 4711,
			Failed: 12, Rate: 166, Lateness: 2e5}, Benches: []fleet.BenchState{{Bench: "rack1", Standing: fleet.Up, Block: 7,
			Heard: time.Now()}, {Bench: "rack2", Standing: fleet.Barred, Why: "it runs edgegauge v0, this is v1"}}})
	ok(t, err)
	n.Write(text)
	shown("9988 of 10000")
	shown("rack2")
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1100, 360} {
			r.b.Scheme(t, scheme)
			r.b.Size(t, width, 800)
			what := fmt.Sprintf("watch-%s-%d", scheme, width)
			r.b.Accessible(t, what, width)
			r.b.Shoot(t, what, true)
		}
	}
	if got := state(); got != "live" {
		t.Errorf("the page says %q", got)
	}
	r.b.Clean(t, r.url)

	s.hub.end()
	h.Close()
	r.b.Await(t, func() bool { return state() == "lost" }, "the page to say that the connection is lost")
	l.conduct(1)
	again := served(t, Options{Folders: []string{l.dir}})
	listener, err = net.Listen("tcp", address)
	ok(t, err)
	h = &httptest.Server{Listener: listener, Config: &http.Server{Handler: again.Handler()}}
	h.Start()
	defer h.Close()
	defer again.hub.end()
	shown("14 of 40")
	if got := r.count("section.run"); got != 1 {
		t.Errorf("the run is shown %d times", got)
	}

	readers := func() int {
		again.hub.mu.Lock()
		defer again.hub.mu.Unlock()
		return again.hub.readers
	}
	r.b.Eval(t, nil, `Object.defineProperty(document, "hidden", {value: true, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`)
	r.b.Await(t, func() bool { return readers() == 0 }, "the hidden page to stop watching")
	l.conduct(1)
	r.b.Eval(t, nil, `Object.defineProperty(document, "hidden", {value: false}); document.dispatchEvent(new Event("visibilitychange"))`)
	shown("15 of 40")
}
