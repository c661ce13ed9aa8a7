package web

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/report/pagetest"
)

// A world is what a person has: results, a history with a suspect, a study that runs, and a
// server that starts others.
type world struct {
	live     *ongoing
	past     string // folder of the history, named gate
	exported string // folder of an export
	server   *Server
	starts   *starter
	mine     string // folder for studies
}

// tasks are a person's, in the order in which they come on one server.
var tasks = []struct {
	name string
	do   func(reader, *world)
}{
	{"watch", reader.watch},
	{"stop", reader.stop},
	{"resume", reader.resume},
	{"drill to a packet", reader.drill},
	{"compare two", reader.compareTwo},
	{"find a regression", reader.findRegression},
	{"confirm it", reader.confirmIt},
	{"write a study with a fault and mend it", reader.writeStudy},
	{"share", reader.share},
	{"print", reader.print},
}

// everyLook are two widths in both schemes; one of them is of a person without a pointer.
var everyLook = []look{{"light", 1280, false}, {"dark", 1280, true}, {"light", 360, false}, {"dark", 360, false}}

// Each of a person's tasks is done at two widths in both schemes: with no fault of
// accessibility, no message on the console and no request to elsewhere.
func TestTasks(t *testing.T) {
	pagetest.Need(t)
	b := pagetest.Start(t)
	rooms, past, exported := house(t), t.TempDir(), filepath.Join(t.TempDir(), "page")
	gates(t, filepath.Join(past, "gate"))
	from := Options{Folders: []string{filepath.Join(rooms, "wired"), filepath.Join(rooms, "alpha")}}
	_, _, err := Export(t.Context(), from, exported, ExportTrials)
	ok(t, err)
	for _, l := range everyLook {
		w := &world{live: underWay(t, 6), past: past, exported: exported}
		w.server, w.starts, w.mine = controlled(t, w.live.dir, rooms, past)
		h := httptest.NewServer(w.server.Handler())
		at := fmt.Sprintf("%s, %d px", l.scheme, l.width)
		for _, task := range tasks {
			t.Run(task.name+"/"+at, func(t *testing.T) {
				r := reader{T: t, b: b, url: h.URL + "/", look: l}
				r.as(l)
				b.Forget()
				if task.name == tasks[0].name {
					r.open("?token=" + token)
				}
				task.do(r, w)
				b.Clean(t, h.URL+"/", "file://"+exported)
			})
		}
		b.Open(t, "about:blank") // or the page would ask the server that has ended, while the next look begins
		w.server.hub.end()
		h.Close()
		ok(t, os.RemoveAll(filepath.Join(past, "gate/confirmed")))
	}
}

// fine fails if not everybody can read the page as it is; what says which it is.
func (r reader) fine(what string) {
	r.Helper()
	what = fmt.Sprintf("%s-%s-%d", what, r.look.scheme, r.look.width)
	r.b.Accessible(r.T, what, r.look.width)
	r.b.Shoot(r.T, what, true)
}

// await waits until an element says something.
func (r reader) await(selector, what string) {
	r.Helper()
	r.b.Await(r.T, func() bool { return strings.Contains(r.text(selector), what) }, what)
}

func (r reader) watch(w *world) {
	r.follow(".running-note a")
	r.await("#live", "0 of 12")
	w.live.conduct(2)
	w.live.fail("the rain")
	w.live.conduct(1)
	r.await("#live", "3 of 12")
	r.await(".failures", "the rain")
	r.says("#link", "Live")
	if r.count(".strip .mark.valid") != 3 || r.count(".strip .mark") != 12 {
		r.Errorf("the strip has %d marks, %d of them valid", r.count(".strip .mark"), r.count(".strip .mark.valid"))
	}
	r.fine("watch")
}

func (r reader) stop(w *world) {
	stopped := make(chan os.Signal, 8)
	signal.Notify(stopped, os.Interrupt) // this process holds the results' lock
	defer signal.Stop(stopped)
	r.open("now/")
	r.await("#live", "3 of 12")
	r.follow("a.stop")
	r.says("h1", "Stop report-bench")
	r.fine("stop")
	r.send(".orders button")
	r.await("#live", "stopping")
	<-stopped
	ok(r.T, w.live.kept.Close())
	r.b.Await(r.T, func() bool { return r.count("a.resume") > 0 }, "the study to have ended")
	if len(stopped) > 0 {
		r.Error("it was asked twice, which ends a lab at once")
	}
}

func (r reader) resume(w *world) {
	r.open("?state=unfinished")
	r.follow(".results tbody a")
	r.follow("a.resume")
	r.says("main", "3 of 12 trials are valid")
	r.fine("resume")
	r.send(".orders button")
	o := w.starts.last(r.T, 1)
	if dir, _ := filepath.EvalSymlinks(filepath.Join(w.live.dir, "run/001")); o.Out != dir || o.Study != dir+
		"/study.yaml" || o.Trust {
		r.Errorf("it was resumed by %+v", o)
	}
	r.await("#live", "prepares")
	ok(r.T, os.WriteFile(o.Log, []byte("1/2  x\nno room on the <disk>\n"), 0o644))
	w.starts.end(1, 3)
	r.await(".said", "no room on the <disk>")
	r.says("#live", "ended with code 3")
	r.fine("failed")
}

func (r reader) drill(*world) {
	r.open("")
	r.choose("select[name=study]", "wired")
	r.send(".look-for button")
	r.says("#count", "1 of 20")
	if got := r.b.Text(r.T, "location.search"); !strings.Contains(got, "study=wired") {
		r.Errorf("the address is %s", got)
	}
	r.follow(".results tbody a")
	r.says("h1", "What is on the wire?")
	if ready := r.b.Text(r.T, `document.getElementById("explore").dataset.ready > 0`); ready != "true" {
		r.Error("the report's chart is not drawn")
	}
	r.b.Shoot(r.T, fmt.Sprintf("result-%s-%d", r.look.scheme, r.look.width), false)
	r.follow(".trials a.mark")
	r.says("h1", "Trial 1")
	r.b.Shoot(r.T, fmt.Sprintf("trial-%s-%d", r.look.scheme, r.look.width), true)
	r.follow(`#client a[href*="/x/"]`)
	r.says("h1", "of trial 1")
	seq := strings.Fields(r.text("h1"))[1]
	if got := r.count(".packets tbody th"); got != 2 {
		r.Errorf("got %d packets, want 2", got)
	}
	r.says(".packets pre", "request "+seq)
	r.b.Eval(r.T, nil, `document.querySelectorAll("details").forEach((d) => d.open = true)`)
	r.fine("exchange")
}

func (r reader) compareTwo(*world) {
	r.open("?study=report-bench&state=complete")
	for i := range r.count("input[name=r]") {
		r.click(fmt.Sprintf("tr:nth-of-type(%d) input[name=r]", i+1))
	}
	r.send("form[action] button")
	r.says("h1", "Compare")
	r.says("#settings", "requests")
	r.says(".against", "against the baseline")
	base := r.text(".compared li:first-child .path")
	r.follow(".compared a[href*=base]")
	if now := r.text(".compared li:first-child .path"); now == base {
		r.Errorf("the baseline is still %s", now)
	}
	r.fine("compare")
}

func (r reader) findRegression(*world) {
	r.open("")
	r.follow(`.site a[href$="history/"]`)
	r.choose("select[name=study]", "gate")
	r.send(".look-for button")
	r.says("#answer", "no confirmed regression; 1 suspect to confirm")
	r.says(".marks .mark-suspect", "edgegauge confirm ")
	r.says(".marks .mark-machine", "6.1 → 6.6")
	r.fine("suspect")
}

func (r reader) confirmIt(w *world) {
	t := r.T
	r.open("history/?study=gate")
	r.follow("a.confirm")
	r.says("h1", "Confirm a suspect of gate")
	if got := r.b.Text(t, `document.getElementById("base").value`); got != "0123456789ab" {
		t.Errorf("the older version is %q", got)
	}
	r.write("#base", "")
	r.write("#detect", "10 %")
	r.send(".orders button")
	r.says("#problem", "The older version is not named")
	if got := r.b.Text(t, `document.getElementById("detect").value`); got != "10 %" {
		t.Errorf("the form has forgotten %q", got)
	}
	r.fine("confirm")
	r.write("#base", "1f2e3d4c")
	n := len(w.starts.orders)
	r.send(".orders button")
	r.says("#problem", "runs what did not come with edgegauge")
	r.click("input[name=trust]")
	r.send(".orders button")
	o := w.starts.last(t, n+1)
	c := o.Confirm
	if c == nil || filepath.Base(c.Old) < "009" || filepath.Base(c.Old) > "013" ||
		filepath.Base(c.New) != "016" || c.Base != "1f2e3d4c" ||
		c.Response != "client.rtt" || c.Detect != "10%" || !o.Trust ||
		!strings.HasPrefix(o.Out, w.live.dir) {
		t.Fatalf("it was started by %+v, %+v", o, c)
	}
	r.says("h1", "History: gate")
	r.says("#live", "prepares")
	r.says(".marks .mark-suspect", "It is being measured again.")

	kept, plan := gateBegun(t, o.Out, "factors: {stack: [s@base, s]}", "6.6", "1") // as that command does
	about := report.Confirms{Old: began(t, c.Old), New: began(t, c.New), OldDir: c.Old, NewDir: c.New,
		Responses: []string{c.Response},
		Detect:    0.1}
	ok(t, about.Begin(o.Out))
	noise := rand.New(rand.NewPCG(1, 1))
	for _, trial := range plan.Trials[:6] {
		gateTrial(t, kept, trial, noise, 1e-3, 1.3e-3)
	}
	r.await("#live", "6 of 16")
	r.says("#live .state", "running")
	r.fine("confirming")
	for _, trial := range plan.Trials[6:] {
		gateTrial(t, kept, trial, noise, 1e-3, 1.3e-3)
	}
	ok(t, kept.Close())
	ok(t, about.Write(o.Out))
	w.starts.end(n+1, 1)
	r.b.Await(t, func() bool {
		return strings.Contains(r.text("h1"), "History") &&
			r.count(".marks .mark-worse") == 1
	}, "the verdict")
	r.says("#answer", "1 confirmed regression")
	r.fine("regression")
	r.follow(".marks .mark-worse a")
	r.says("h1", "gate")
	r.says("main", "s@base")
	ok(t, os.RemoveAll(filepath.Dir(o.Out)))
}

func (r reader) share(w *world) {
	there := r
	there.url = "file://" + w.exported + "/"
	there.open("index.html")
	there.says("#count", "3 of 3 results")
	there.fine("shared")
	there.follow(`.results tbody a`)
	if ready := r.b.Text(r.T, `document.getElementById("explore").dataset.ready > 0`); ready != "true" {
		r.Error("the report's chart is not drawn")
	}
	there.follow(".trials a.mark")
	there.follow(`#client a[href*="/x/"]`)
	there.fine("shared-request")
	there.follow(".brand")
	there.follow(`#count a`)
	there.says("h1", "Compare")
}

func (r reader) print(w *world) {
	defer r.as(r.look)
	result := "r/" + id(r.T, w.server, "wired/001") + "/"
	for name, to := range map[string]string{"all": "", "now": "now/", "result": result, "trial": result + "t/1/",
		"exchange": result + "t/1/x/7/",
		"history":  "history/?study=gate", "compare": "compare/?r=" + id(r.T, w.server, "alpha/001") + "&r=" +
			id(r.T, w.server, "alpha/002")} {
		r.open(to)
		r.b.Must(r.T, nil, "Emulation.setEmulatedMedia", map[string]any{"media": "print"})
		for _, hidden := range []string{".site", ".look-for", "form button"} {
			if got := r.b.Text(r.T, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).length`,
				hidden)); got != "0" {
				r.Errorf("%s: %s %s are printed", name, got, hidden)
			}
		}
		if got := r.b.Text(r.T, `getComputedStyle(document.body).backgroundColor + " " + getComputedStyle(document.body).color`); !strings.HasPrefix(got,
			"rgb(255, 255, 255) rgb(") || strings.HasSuffix(got, " rgb(255, 255, 255)") {
			r.Errorf("%s: it is printed in %s", name, got)
		}
		if pdf := r.b.Print(r.T, fmt.Sprintf("%s-%s-%d", name, r.look.scheme, r.look.width)); !strings.HasPrefix(string(pdf),
			"%PDF-") || len(pdf) < 10_000 {
			r.Errorf("%s: the print has %d B", name, len(pdf))
		}
	}
}

// writeStudy writes a study with a fault, mends it by text and form, saves and starts it.
func (r reader) writeStudy(w *world) {
	r.open("new/")
	r.b.Await(r.T, func() bool { return r.b.Text(r.T, `document.getElementById("study").dataset.words > 30`) == "true" },
		"the words")
	if r.look.keys {
		r.suggestions()
	}
	r.turn(func() {
		r.write("#text", "study: tea # green\nservice: monitro\nfactors:\n  stack: [rest-json, coap-cbor] # two\nrequests: 20\n"+
			"design: {replications: 2, cooldown: 1s}\n")
	})
	r.says(".faults", "line 2, column 10")
	r.says(".faults", "monitor")
	r.fine("fault")
	r.click(".faults a")
	if got := r.b.Text(r.T, `getSelection().toString() || document.getElementById("text").value.slice(...`+
		`[document.getElementById("text").selectionStart, document.getElementById("text").selectionEnd])`); got != "service: monitro" {
		r.Errorf("the fault leads to %q", got)
	}
	set := func(path, value string) {
		r.turn(func() { r.write(fmt.Sprintf("[name='set.%s']", path), value) })
	}
	set("service", "monitor")
	r.says("#answer", "2 treatments, 4 trials")
	r.says("#answer", "at least 4s")
	set("design.replications", "3")
	set("factors.stack", "[rest-json, coap-cbor, soap]")
	want := "study: tea # green\nservice: monitor\nfactors:\n  stack: [rest-json, coap-cbor, soap] # two\nrequests: 20\n" +
		"design: {replications: 3, cooldown: 1s}\n"
	if got := r.b.Text(r.T, `document.getElementById("text").value`); got != want {
		r.Errorf("the form made of the text\n%s", got)
	}
	r.says("#answer", "3 treatments, 9 trials")
	r.fine("mended")
	n := len(w.starts.orders)
	r.send(`button[value=start]`)
	o := w.starts.last(r.T, n+1)
	if text, err := os.ReadFile(o.Study); err != nil || string(text) != want ||
		o.Study != filepath.Join(w.mine, "tea.yaml") {
		r.Errorf("saved in %s, %v:\n%s", o.Study, err, text)
	}
	if !strings.HasSuffix(o.Out, "/tea/001") || o.Trust {
		r.Errorf("started by %+v", o)
	}
	r.says("h1", "Now")
	w.starts.end(n+1, 0)
}

// suggestions writes a key that is suggested, by the keyboard alone.
func (r reader) suggestions() {
	r.Helper()
	text := func() string { return r.b.Text(r.T, `document.getElementById("text").value`) }
	r.turn(func() { r.write("#text", "study: tea\nti") })
	r.b.Await(r.T, func() bool { return r.count("#suggest:not([hidden]) button") == 2 }, "time and timeouts")
	ctrlSpace := func() {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			r.b.Must(r.T, nil, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": " ", "code": "Space",
				"windowsVirtualKeyCode": 32, "modifiers": 2})
		}
	}
	ctrlSpace()
	if f := r.focused("#suggest button:first-child"); !f.There || f.Ill != "" {
		r.Errorf("Ctrl+Space leads to %s %s", f.What, f.Ill)
	}
	r.press("Escape")
	if f := r.focused("#text"); !f.There || text() != "study: tea\nti" {
		r.Errorf("Escape leads to %s in the text %q", f.What, text())
	}
	ctrlSpace()
	r.press("ArrowRight")
	r.press("Enter")
	if f := r.focused("#text"); !f.There || text() != "study: tea\ntimeouts: " {
		r.Errorf("a suggestion leads to %s in the text %q", f.What, text())
	}
}

// turn does something to a form, and waits for the server's answer.
func (r reader) turn(act func()) {
	r.Helper()
	before := r.b.Text(r.T, `document.getElementById("study").dataset.turn`)
	act()
	r.b.Await(r.T, func() bool { return r.b.Text(r.T, `document.getElementById("study").dataset.turn`) != before },
		"the answer")
}
